//! Booting an instance, step by step.

use std::{
    fmt, fs,
    net::IpAddr,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use linux::{
    Handle, LinkSpec, Netns,
    dhcp_client::{DhcpClient, Family},
    link,
    sysctl::{Sysctl, ipv6},
};

use super::{
    api::{Api, Network, Port, Subnet},
    state::{Instance, Store, check_name},
};

/// Between two looks at the port. The service is on the same host as a rule.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// What to boot.
#[derive(Debug, Clone)]
pub struct Request {
    /// Name or id of the network.
    pub network: String,
    /// Name of the instance; the first free of vm1, vm2… without it.
    pub name: Option<String>,
    /// Name of this host as its agents report it; its host name without it.
    pub host: Option<String>,
    /// Longest wait for the port to become active, and again for an address.
    pub timeout: Duration,
    /// Leave everything in place when it fails.
    pub keep: bool,
}

/// A booted instance with the times it took.
#[derive(Debug, Clone)]
pub struct Created {
    /// The instance.
    pub instance: Instance,
    /// The addresses that it leased.
    pub leased: Vec<IpAddr>,
    /// From the request for the port until it was active.
    pub active_after: Duration,
    /// From the request for the port until all addresses were leased.
    pub leased_after: Duration,
}

impl fmt::Display for Created {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.instance.name;
        let addresses: Vec<String> = self.leased.iter().map(IpAddr::to_string).collect();
        write!(
            f,
            "instance {name} is up: {} {} on {}\nrun something in it with: neutrino instance exec {name} -- ip addr",
            self.instance.mac,
            if addresses.is_empty() { "without an address".to_owned() } else { addresses.join(" ") },
            self.instance.tap,
        )
    }
}

/// Boots an instance; `progress` gets each step with the time since the request for the port. When a step fails, what was made is taken away again, unless
/// the request says to keep it.
pub fn create(
    api: &Api,
    store: &Store,
    request: &Request,
    progress: &mut dyn FnMut(Duration, &str),
) -> Result<Created> {
    let network = find_network(api, &request.network)?;
    let name = request.name.clone().unwrap_or_else(|| store.free_name());
    check_name(&name)?;
    if store.has(&name) {
        bail!("there is an instance {name} already; delete it or choose another name");
    }
    let host = match &request.host {
        Some(host) => host.clone(),
        None => host_name()?,
    };
    let mut instance = Instance {
        name: name.clone(),
        id: uuid::Uuid::new_v4().to_string(),
        network: network.id,
        network_name: network.name,
        port: None,
        mac: String::new(),
        tap: String::new(),
    };
    if Netns::exists(&instance.netns_name()) {
        bail!("namespace {} is there already but not ours; choose another name", instance.netns_name());
    }
    store.put(&instance)?;
    let began = Instant::now();
    let booted = boot(api, store, &mut instance, &host, request.timeout, progress);
    if booted.is_err() {
        if request.keep {
            progress(
                began.elapsed(),
                &format!("kept for you to look at; take it away with: neutrino instance delete {name}"),
            );
        } else if let Err(error) = super::delete(api, store, &name) {
            progress(began.elapsed(), &format!("cannot take it away: {error:#}"));
        }
    }
    booted.with_context(|| format!("instance {name} is not up"))
}

fn boot(
    api: &Api,
    store: &Store,
    instance: &mut Instance,
    host: &str,
    timeout: Duration,
    progress: &mut dyn FnMut(Duration, &str),
) -> Result<Created> {
    let start = Instant::now();
    let mut tell = |what: String| progress(start.elapsed(), &what);

    let port = api.create_port(&instance.network, &instance.name, &instance.id, host)?;
    instance.port = Some(port.id.clone());
    instance.mac = port.mac_address.to_string();
    instance.tap = format!("tap{}", port.id.chars().take(11).collect::<String>());
    store.put(instance)?;
    let addresses: Vec<String> = port.fixed_ips.iter().map(|fixed| fixed.ip_address.to_string()).collect();
    tell(format!("port {} on network {}: {} {}", port.id, instance.network_name, instance.mac, addresses.join(" ")));
    check_binding(api, &port, host)?;

    let subnets = port.fixed_ips.iter().map(|fixed| Ok((fixed.ip_address, api.subnet(&fixed.subnet_id)?)));
    let subnets: Vec<(IpAddr, Subnet)> = subnets.collect::<Result<_>>()?;
    let namespace = plug(instance, &port)?;
    tell(format!("plugged in as {} with eth0 in namespace {}", instance.tap, namespace.name()));

    wait_active(api, &port, host, timeout)?;
    let active_after = start.elapsed();
    tell("port is ACTIVE".to_owned());

    let dhcp = instance.dhcp(store, &namespace);
    let mut leased = Vec::new();
    for (address, subnet) in &subnets {
        match configuration(*address, subnet) {
            Configuration::Dhcp(family) => {
                let ip = lease(&dhcp, family, *address, subnet, timeout)?;
                leased.push(ip);
                tell(format!("leased {ip} by DHCP"));
            }
            Configuration::Announced => tell(format!("{address} comes with a router's announcement, if there is one")),
            Configuration::ByHand => tell(format!("{} has no DHCP; {address} is not configured", subnet.cidr)),
        }
    }
    Ok(Created { instance: instance.clone(), leased, active_after, leased_after: start.elapsed() })
}

fn find_network(api: &Api, name: &str) -> Result<Network> {
    let mut found = api.networks(name)?;
    match (found.pop(), found.len()) {
        (Some(network), 0) => Ok(network),
        (None, _) => bail!("there is no network {name}; make one with: openstack network create {name}"),
        (Some(last), _) => {
            let ids: Vec<&str> = found.iter().chain([&last]).map(|network| network.id.as_str()).collect();
            bail!("several networks are named {name}; name one by its id: {}", ids.join(", "))
        }
    }
}

fn host_name() -> Result<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").context("cannot read the host's name")?;
    Ok(name.trim().to_owned())
}

fn check_binding(api: &Api, port: &Port, host: &str) -> Result<()> {
    match port.vif_type.as_deref() {
        Some("binding_failed") => {
            bail!("port {} cannot be bound on host {host}: {}", port.id, describe_agents(api, host))
        }
        Some("unbound") => bail!("port {} was not bound to host {host}; the service ignored the host", port.id),
        _ => Ok(()),
    }
}

fn describe_agents(api: &Api, host: &str) -> String {
    match api.agents(host) {
        Ok(agents) if agents.is_empty() => {
            "the service knows no agent of that host; name it as its agents do, with --host".to_owned()
        }
        Ok(agents) => {
            let state = |(kind, alive): &(String, bool)| format!("{kind} is {}", if *alive { "alive" } else { "dead" });
            let states: Vec<String> = agents.iter().map(state).collect();
            format!("{}; does an agent of it have a mapping for the network?", states.join(", "))
        }
        Err(error) => error.to_string(),
    }
}

fn plug(instance: &Instance, port: &Port) -> Result<Netns> {
    let namespace = Netns::create(&instance.netns_name())?;
    let inside = namespace.handle()?;
    let settings = Sysctl::in_netns(&namespace);
    if settings.ipv6_available() {
        // Its addresses are the service's to keep unique; without detection they can be used at once.
        settings.set_all([(&*ipv6("default", "accept_dad"), "0"), (&*ipv6("all", "accept_dad"), "0")])?;
    }
    inside.link_set(link::set("lo").up())?;
    let spec = LinkSpec::veth(&instance.tap, "eth0").up().peer_netns(&namespace).peer_mac(port.mac_address);
    let host = Handle::new()?;
    host.link_add(&spec)?;
    if port.vif_type.as_deref() == Some("bridge") {
        // As the compute service's driver does: it makes the network's bridge if it comes first, and plugs the device in.
        let bridge = host.link_ensure(&LinkSpec::bridge(&linuxbridge::names::bridge(&port.network_id)).up())?;
        host.link_set(link::set(instance.tap.as_str()).master(bridge))?;
    }
    inside.link_set(link::set("eth0").up())?;
    Ok(namespace)
}

fn wait_active(api: &Api, port: &Port, host: &str, timeout: Duration) -> Result<()> {
    let deadline = Instant::now() + timeout;
    loop {
        let now = api.port(&port.id)?;
        if now.status == "ACTIVE" {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let agents = describe_agents(api, host);
            bail!("port {} is {} after {timeout:?}; on host {host}: {agents}", port.id, now.status);
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// How an address of a subnet is configured in an instance.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Configuration {
    Dhcp(Family),
    Announced,
    ByHand,
}

pub(super) fn configuration(address: IpAddr, subnet: &Subnet) -> Configuration {
    match (address, subnet.enable_dhcp, subnet.ipv6_address_mode.as_deref()) {
        (IpAddr::V4(_), true, _) => Configuration::Dhcp(Family::V4),
        (IpAddr::V6(_), true, Some("dhcpv6-stateful")) => Configuration::Dhcp(Family::V6),
        (IpAddr::V6(_), _, Some("slaac" | "dhcpv6-stateless")) => Configuration::Announced,
        _ => Configuration::ByHand,
    }
}

fn lease(dhcp: &DhcpClient, family: Family, address: IpAddr, subnet: &Subnet, timeout: Duration) -> Result<IpAddr> {
    let dhcp = dhcp.clone().prefix_length(subnet.cidr.prefix_len());
    let lease = dhcp.acquire(family, timeout).map_err(|e| {
        let program = if family == Family::V4 { "udhcpc" } else { "isc-dhcp-client" };
        let missing = e.is_not_found();
        let error = anyhow::Error::from(e);
        if missing {
            error.context(format!("the DHCP client is not installed; run: apt-get install {program}"))
        } else {
            error.context(format!("no address from the DHCP server of {}; is a DHCP agent alive?", subnet.cidr))
        }
    })?;
    if lease.ip() != address {
        bail!("the DHCP server gave {} instead of {address}", lease.ip());
    }
    Ok(lease.ip())
}
