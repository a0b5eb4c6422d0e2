//! The scenario: two networks, three instances, pings.

use std::{
    net::IpAddr,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use linux::{
    Handle, IpNet, LinkSpec, Netns, Route,
    addr::{self, AddOptions},
    link,
    sysctl::{Sysctl, ipv6},
};
use serde_json::{Value, json};

use super::{
    HOST, STATE,
    checks::{Checks, first_answer, is_silent, round_trip},
    paper::{Paper, time},
};
use crate::instance::{self, Api, Created, Identity, Request, Store};

/// The longest that the agents may take to report, and a step of an instance.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The physical network's router, outside of the host, and its addresses.
const ROUTER: &str = "router";
const ROUTER_V4: &str = "198.51.100.1/24";
const ROUTER_V6: &str = "2001:db8:a::1/64";

/// An instance with what was measured of it.
pub(super) struct Booted {
    created: Created,
    pub(super) namespace: Netns,
    status: String,
    first_ping: Duration,
}

impl Booted {
    fn name(&self) -> &str {
        &self.created.instance.name
    }

    /// Its address of the family of another one.
    pub(super) fn address_like(&self, v4: bool) -> Result<IpAddr> {
        let found = self.created.leased.iter().copied().find(|ip| ip.is_ipv4() == v4);
        found.with_context(|| format!("{} has no IPv{} address", self.name(), if v4 { 4 } else { 6 }))
    }
}

/// The world around the host: a cable `uplink` to a router in a namespace of its own, as a provider network has it.
pub fn build_datacentre() -> Result<()> {
    let router = Netns::create(ROUTER)?;
    let handle = router.handle()?;
    handle.link_set(link::set("lo").up())?;
    Sysctl::in_netns(&router).set(&ipv6("default", "accept_dad"), "0")?;
    Handle::new()?.link_add(&LinkSpec::veth("uplink", "eth0").up().peer_netns(&router))?;
    handle.link_set(link::set("eth0").up())?;
    let index = handle.index("eth0")?;
    for text in [ROUTER_V4, ROUTER_V6] {
        let net: IpNet = text.parse()?;
        handle.run(addr::add(index, net, AddOptions { no_dad: true, ..AddOptions::default() }))?;
    }
    Ok(())
}

pub fn play(paper: &Paper, checks: &mut Checks, endpoint: &str) -> Result<()> {
    let api = Api::new(endpoint, Identity::default())?;
    wait_for_agents(&api)?;
    paper.step("server", &format!("API on {endpoint}, DHCP agent and Linux bridge agent alive"));

    let blue = network(&api, paper, "blue", json!({}))?;
    subnet(&api, paper, "blue", &blue, json!({"ip_version": 4, "cidr": "192.0.2.0/24"}))?;
    subnet(&api, paper, "blue", &blue, json!({"ip_version": 6, "cidr": "2001:db8:b::/64"}))?;
    let flat = json!({"provider:network_type": "flat", "provider:physical_network": "datacentre"});
    let amber = network(&api, paper, "amber", flat)?;
    subnet(&api, paper, "amber", &amber, json!({"ip_version": 4, "cidr": "198.51.100.0/24"}))?;
    subnet(&api, paper, "amber", &amber, json!({"ip_version": 6, "cidr": "2001:db8:a::/64"}))?;

    let (of_blue, of_amber) =
        (wait_for_dhcp(&api, paper, "blue", &blue, 2)?, wait_for_dhcp(&api, paper, "amber", &amber, 2)?);

    let booted = [
        boot(&api, paper, "vm1", "blue", of_blue)?,
        boot(&api, paper, "vm2", "blue", of_blue)?,
        boot(&api, paper, "vm3", "amber", of_amber)?,
    ];
    print_table(paper, &booted);
    let [vm1, vm2, vm3] = &booted;

    for vm in &booted {
        let leased = vm.created.leased.len() == 2;
        let what = format!("{} leased its IPv4 and IPv6 address by DHCP", vm.name());
        checks.note(paper, leased, &what, &time(vm.created.leased_after));
        checks.note(
            paper,
            vm.status == "ACTIVE",
            &format!("the port of {} is ACTIVE", vm.name()),
            &time(vm.created.active_after),
        );
    }
    for (from, to) in [(vm1, vm2), (vm2, vm1)] {
        for v4 in [true, false] {
            reaches(paper, checks, from, to.name(), to.address_like(v4)?)?;
        }
    }
    for text in [ROUTER_V4, ROUTER_V6] {
        let net: IpNet = text.parse()?;
        reaches(paper, checks, vm3, "the datacentre's router", net.addr())?;
    }
    apart(paper, checks, &[(vm1, vm3), (vm3, vm2)])?;
    Ok(())
}

pub(super) fn wait_for_agents(api: &Api) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let agents = api.agents(HOST)?;
        if agents.len() == 2 && agents.iter().all(|(_, alive)| *alive) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            bail!("only {} of 2 agents report to the server", agents.len());
        }
        thread::sleep(LOOK_EVERY);
    }
}

pub(super) fn network(api: &Api, paper: &Paper, name: &str, mut body: Value) -> Result<String> {
    body["name"] = name.into();
    let network = api.create("network", "networks", body)?;
    let kind = network["provider:network_type"].as_str().unwrap_or_default();
    let place = match (network["provider:segmentation_id"].as_i64(), network["provider:physical_network"].as_str()) {
        (Some(id), _) => format!("{kind} {id}"),
        (None, Some(physical)) => format!("{kind}, on physical network {physical}"),
        (None, None) => kind.to_owned(),
    };
    paper.step(name, &format!("network, {place}, MTU {}", network["mtu"]));
    Ok(network["id"].as_str().context("a network has an id")?.to_owned())
}

pub(super) fn subnet(api: &Api, paper: &Paper, name: &str, network: &str, mut body: Value) -> Result<()> {
    body["network_id"] = network.into();
    let is_v6 = body["ip_version"] == 6;
    if is_v6 {
        body["ipv6_ra_mode"] = "dhcpv6-stateful".into();
        body["ipv6_address_mode"] = "dhcpv6-stateful".into();
    }
    let subnet = api.create("subnet", "subnets", body)?;
    let how = if is_v6 { "DHCPv6, stateful" } else { "DHCP" };
    let cidr = subnet["cidr"].as_str().unwrap_or_default();
    paper.step(name, &format!("subnet {cidr}, {how}"));
    Ok(())
}

/// Waits until the DHCP servers of a network have their addresses; the IPv4 one.
pub(super) fn wait_for_dhcp(api: &Api, paper: &Paper, name: &str, network: &str, subnets: usize) -> Result<IpAddr> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let addresses = api.dhcp_addresses(network)?;
        if let (Some(v4), true) = (addresses.iter().find(|ip| ip.is_ipv4()), addresses.len() >= subnets) {
            let list: Vec<String> = addresses.iter().map(IpAddr::to_string).collect();
            paper.step(name, &format!("DHCP server at {}", list.join(" and ")));
            return Ok(*v4);
        }
        if Instant::now() >= deadline {
            bail!("network {name} has no DHCP server");
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Boots an instance while pinging a neighbour from it, so that the time of the first answer is known.
pub(super) fn boot(api: &Api, paper: &Paper, name: &str, network: &str, neighbour: IpAddr) -> Result<Booted> {
    let store = Store::new(Path::new(STATE));
    let request = Request {
        network: network.to_owned(),
        name: Some(name.to_owned()),
        host: Some(HOST.to_owned()),
        timeout: PATIENCE,
        keep: true,
    };
    let start = Instant::now();
    let given_up = AtomicBool::new(false);
    let (created, answered) = thread::scope(|scope| {
        let pings = scope.spawn(|| {
            let answered = first_answer(&instance::netns_name(name), neighbour, &given_up);
            if answered.is_ok() {
                paper.step(name, &format!("ping to {neighbour} is answered"));
            }
            answered
        });
        let created = instance::create(api, &store, &request, &mut |_, step| paper.step(name, step));
        given_up.store(created.is_err(), Ordering::Relaxed);
        (created, pings.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    // Why there is no instance is worth more than why it does not ping.
    let created = created?;
    let first_ping = answered?.duration_since(start);
    let namespace = created.instance.netns()?;
    let port = created.instance.port.as_deref().context("an instance has a port")?;
    let status = api.port(port)?.status;
    Ok(Booted { created, namespace, status, first_ping })
}

fn print_table(paper: &Paper, booted: &[Booted]) {
    let rows: Vec<[String; 7]> = booted
        .iter()
        .map(|vm| {
            let instance = &vm.created.instance;
            let leased: Vec<String> = vm.created.leased.iter().map(IpAddr::to_string).collect();
            [
                instance.name.clone(),
                instance.network_name.clone(),
                instance.mac.clone(),
                leased.join(" "),
                vm.status.clone(),
                time(vm.created.active_after),
                time(vm.first_ping),
            ]
        })
        .collect();
    paper.table(["INSTANCE", "NETWORK", "MAC", "ADDRESSES LEASED", "PORT", "TO ACTIVE", "TO FIRST PING"], &rows);
}

fn reaches(paper: &Paper, checks: &mut Checks, from: &Booted, whom: &str, to: IpAddr) -> Result<()> {
    let answered = round_trip(&from.namespace, to)?;
    let detail = answered.map_or_else(|| "no answer".to_owned(), time);
    checks.note(paper, answered.is_some(), &format!("{} pings {whom} at {to}", from.name()), &detail);
    Ok(())
}

/// Instances of different networks do not reach each other: not even with the other's address on their wire, so that
/// nothing but the networks keeps them apart.
fn apart(paper: &Paper, checks: &mut Checks, pairs: &[(&Booted, &Booted)]) -> Result<()> {
    let mut asked = Vec::new();
    for (from, to) in pairs {
        for v4 in [true, false] {
            on_wire(from, to.address_like(v4)?)?;
            on_wire(to, from.address_like(v4)?)?;
            asked.push((*from, *to, to.address_like(v4)?));
        }
    }
    // An answer that does not come takes its time; all at once take no longer than one.
    let silent: Vec<Result<bool>> = thread::scope(|scope| {
        let started: Vec<_> =
            asked.iter().map(|(from, _, ip)| scope.spawn(|| is_silent(&from.namespace, *ip))).collect();
        let wait = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        started.into_iter().map(wait).collect()
    });
    for ((from, to, ip), silent) in asked.iter().zip(silent) {
        let silent = silent?;
        let detail = if silent { "no answer" } else { "it answered" };
        checks.note(paper, silent, &format!("{} does not reach {} at {ip}", from.name(), to.name()), detail);
    }
    Ok(())
}

/// Makes an instance look for an address on its own wire, instead of behind a router.
fn on_wire(from: &Booted, to: IpAddr) -> Result<()> {
    let handle = from.namespace.handle()?;
    let device = handle.index("eth0")?;
    handle.route_replace(&Route::to(IpNet::from(to)).dev(device))?;
    Ok(())
}
