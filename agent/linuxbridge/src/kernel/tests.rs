//! The model against the kernel: what plans do in a real namespace is what they said they would.

use super::*;
use crate::{
    desired::{Desired, Device, Network, Segment},
    forwarding::Forwarding,
    plan::{Plan, plan},
    settings::{DEFAULT_VXLAN_PORT, Vxlan},
    testing::{Lab, mac},
};

const NET: &str = "86349e14-eafd-4798-b475-0b82ac4ed47d";
const BRQ: &str = "brq86349e14-ea";
const TAP: &str = "tap703569fc-e6";

fn settings() -> Settings {
    Settings {
        interface_mappings: [("physnet1".to_owned(), "p1".to_owned())].into(),
        bridge_mappings: Default::default(),
        vxlan: Some(Vxlan {
            local_ip: "192.0.2.10".parse().unwrap(),
            group: None,
            ranges: Vec::new(),
            ttl: None,
            tos: None,
            port: DEFAULT_VXLAN_PORT,
            source_ports: (0, 0),
            l2_population: true,
            arp_responder: true,
        }),
    }
}

fn desire(segment: Segment) -> Desired {
    let mut desired = Desired::default();
    let network = Network { segment, mtu: Some(1400), forwarding: Forwarding::default() };
    desired.networks.insert(NET.to_owned(), network);
    desired.devices.insert(TAP.to_owned(), Device { network: NET.to_owned(), admin_up: true, plug: true });
    desired
}

/// Reads, plans, applies, reads again; checks that the kernel did what the model says.
fn turn(kernel: &mut Kernel, settings: &Settings, desired: &Desired) -> Plan {
    let mut host = kernel.observe(settings).unwrap();
    let first = plan(settings, desired, &host);
    assert_eq!(kernel.apply(&first.steps, &host), Failures::new(), "{first}");
    for step in &first.steps {
        host.apply(&step.op).unwrap();
    }
    let seen = kernel.observe(settings).unwrap();
    let second = plan(settings, desired, &seen);
    assert!(second.is_empty(), "after\n{first}\nthere is still\n{second}");
    for (name, expected) in &host.links {
        let seen = seen.links.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(seen.master, expected.master, "{name}");
        assert_eq!(seen.up, expected.up, "{name}");
        assert_eq!(seen.network, expected.network, "{name}");
        assert_eq!(seen.ipv6_disabled, expected.ipv6_disabled, "{name}");
        let sorted = |addresses: &[types::IpNet]| BTreeSet::from_iter(addresses.iter().copied());
        assert_eq!(sorted(&seen.addresses), sorted(&expected.addresses), "{name}");
        let texts = |routes: &[Route]| BTreeSet::from_iter(routes.iter().map(|route| (route.destination, route.via)));
        assert_eq!(texts(&seen.routes), texts(&expected.routes), "{name}");
        assert_eq!(seen.forwarding, expected.forwarding, "{name}");
        assert_eq!(seen.neighbours, expected.neighbours, "{name}");
    }
    assert_eq!(seen.links.len(), host.links.len());
    first
}

fn lab() -> (Lab, Kernel) {
    let lab = Lab::new();
    lab.uplink("p1", &["192.0.2.10/24", "192.0.2.11/24", "2001:db8:1::10/64"]);
    lab.default_routes(&["192.0.2.1", "2001:db8:1::1"]);
    lab.tap(TAP);
    let kernel = Kernel::open(&lab.host).unwrap();
    (lab, kernel)
}

#[test]
fn lb_host_ip_moves_and_returns() {
    let (lab, mut kernel) = lab();
    let settings = settings();
    let before = kernel.observe(&settings).unwrap();
    let desired = desire(Segment::Flat { physical: "physnet1".to_owned() });
    turn(&mut kernel, &settings, &desired);
    let host = kernel.observe(&settings).unwrap();
    assert_eq!(host.links[BRQ].mac, before.links["p1"].mac);
    assert_eq!(host.links[BRQ].addresses.len(), 3);
    assert_eq!(host.links[BRQ].routes.len(), 2);
    assert!(host.links["p1"].addresses.is_empty() && host.links["p1"].routes.is_empty());
    // A second agent, or the same one again, finds nothing to do.
    assert!(turn(&mut Kernel::open(&lab.host).unwrap(), &settings, &desired).is_empty());

    let mut end = Desired::default();
    end.deleted.insert(NET.to_owned(), None);
    turn(&mut kernel, &settings, &end);
    let after = kernel.observe(&settings).unwrap();
    assert_eq!(after.links["p1"].addresses.len(), 3);
    assert_eq!(BTreeSet::from_iter(after.links["p1"].routes.iter().map(|r| r.via)).len(), 2);
    assert!(!after.links.contains_key(BRQ) && after.links.contains_key(TAP));
}

#[test]
fn addresses_that_are_there_already_are_no_error() {
    let (lab, mut kernel) = lab();
    // The operator, or an agent that was killed in the middle, made half of it.
    lab.handle.link_add(&LinkSpec::bridge(BRQ).up()).unwrap();
    let index = lab.handle.index(BRQ).unwrap();
    lab.handle.address_add(index, "192.0.2.10/24".parse().unwrap()).unwrap();
    turn(&mut kernel, &settings(), &desire(Segment::Flat { physical: "physnet1".to_owned() }));
}

#[test]
fn tunnels_forward_as_told() {
    let (_lab, mut kernel) = lab();
    let settings = settings();
    let mut desired = desire(Segment::Vxlan { vni: 4242 });
    turn(&mut kernel, &settings, &desired);
    let remote = |last: u8| IpAddr::from([192, 0, 2, last]);
    let flood = (Mac::ZERO, IpAddr::from([0, 0, 0, 0]));
    let port = |last: u8| (mac(last), IpAddr::from([10, 0, 0, last]));
    let table = |desired: &mut Desired, agents: &[(IpAddr, Vec<crate::Entry>)]| {
        desired.networks.get_mut(NET).unwrap().forwarding.add(agents);
    };
    let sixth = (mac(1), "2001:db8:9::1".parse().unwrap());
    table(&mut desired, &[(remote(201), vec![flood, port(1), sixth]), (remote(202), vec![flood, port(2)])]);
    assert_eq!(turn(&mut kernel, &settings, &desired).steps.len(), 7);
    table(&mut desired, &[(remote(203), vec![flood, port(1)])]);
    assert_eq!(turn(&mut kernel, &settings, &desired).steps.len(), 2);
    desired.networks.get_mut(NET).unwrap().forwarding.remove(&[(remote(203), vec![flood, port(1)])]);
    turn(&mut kernel, &settings, &desired);

    // The interface under the tunnel gets the tunnel's address moved away.
    let mut end = Desired::default();
    end.deleted.insert(NET.to_owned(), Some(Segment::Vxlan { vni: 4242 }));
    turn(&mut kernel, &settings, &end);
}

#[test]
fn lb_fdb_replace() {
    let (lab, mut kernel) = lab();
    let settings = settings();
    let mut desired = desire(Segment::Vxlan { vni: 7 });
    turn(&mut kernel, &settings, &desired);
    let index = lab.handle.index("vxlan-7").unwrap();
    let guest = mac(0x22);
    // As learned from a frame: it has another place, and would age.
    let learned = Fdb { permanent: false, ..Fdb::remote(index, guest, "192.0.2.77".parse().unwrap()) };
    lab.handle.run(neigh::fdb_add(&learned)).unwrap();
    let at = "192.0.2.202".parse().unwrap();
    let forwarding = &mut desired.networks.get_mut(NET).unwrap().forwarding;
    forwarding.add(&[(at, vec![(guest, "10.0.0.22".parse().unwrap())])]);
    turn(&mut kernel, &settings, &desired);
    let entries = lab.handle.fdb(Some(index)).unwrap();
    let guests: Vec<_> = entries.iter().filter(|entry| entry.mac == guest).collect();
    assert_eq!(guests, [&Fdb::remote(index, guest, at)]);

    let forwarding = &mut desired.networks.get_mut(NET).unwrap().forwarding;
    forwarding.remove(&[(at, vec![(guest, "10.0.0.22".parse().unwrap())])]);
    forwarding.add(&[(at, vec![(mac(0x33), "10.0.0.22".parse().unwrap())])]);
    turn(&mut kernel, &settings, &desired);
    let neighbour = lab.handle.neighbours(Some(index)).unwrap();
    let ours: Vec<_> = neighbour.iter().filter(|n| n.permanent()).map(|n| (n.ip.to_string(), n.mac)).collect();
    assert_eq!(ours, [("10.0.0.22".to_owned(), Some(mac(0x33)))]);
}

#[test]
fn a_refused_step_leaves_nothing_half_made() {
    let (lab, mut kernel) = lab();
    let host = kernel.observe(&settings()).unwrap();
    let mut steps = plan(&settings(), &desire(Segment::Vxlan { vni: 9 }), &host).steps;
    // As when the interface's MTU is lowered after the plan was made.
    for step in &mut steps {
        if let Op::SetMtu { mtu, .. } = &mut step.op {
            *mtu = 9000;
        }
    }
    let failures = kernel.apply(&steps, &host);
    let text = &failures[&Subject::Network(NET.to_owned())];
    assert!(text.contains("set vxlan-9 mtu 9000"), "{text}");
    assert_eq!(lab.handle.link("vxlan-9").unwrap(), None);
    assert_eq!(lab.handle.link(BRQ).unwrap(), None);
}

#[test]
fn a_failed_uplink_leaves_the_hosts_addresses() {
    let (lab, mut kernel) = lab();
    let settings = settings();
    let host = kernel.observe(&settings).unwrap();
    let mut steps = plan(&settings, &desire(Segment::Flat { physical: "physnet1".to_owned() }), &host).steps;
    // The uplink cannot get into the bridge.
    let enslave = steps.iter().position(|step| matches!(&step.op, Op::SetMaster { name, .. } if name == "p1")).unwrap();
    steps[enslave].op = Op::SetMaster { name: "lo".into(), master: BRQ.into() };
    assert_eq!(kernel.apply(&steps, &host).len(), 2, "the network, and the device that found no bridge");
    let after = kernel.observe(&settings).unwrap();
    assert_eq!(after.links["p1"].addresses.len(), 3);
    assert_eq!(after.links["p1"].routes.len(), 2);
    assert_eq!(lab.handle.link(BRQ).unwrap(), None);
}

#[test]
fn a_vlan_works_or_the_kernels_refusal_is_told() {
    let (lab, mut kernel) = lab();
    let host = kernel.observe(&settings()).unwrap();
    let steps = plan(&settings(), &desire(Segment::Vlan { physical: "physnet1".to_owned(), id: 100 }), &host).steps;
    let failures = kernel.apply(&steps, &host);
    match lab.handle.link_add(&LinkSpec::vlan("probe", lab.handle.index("p1").unwrap(), 99)) {
        Ok(_) => assert_eq!(failures, Failures::new()),
        Err(_) => {
            let text = &failures[&Subject::Network(NET.to_owned())];
            assert!(text.contains("add vlan p1.100 on p1 id 100"), "{text}");
        }
    }
}

#[test]
fn a_bridge_of_novas_is_corrected() {
    let (lab, mut kernel) = lab();
    lab.sh("ip link add brq86349e14-ea type bridge stp_state 1 forward_delay 1500");
    turn(&mut kernel, &settings(), &desire(Segment::Local));
}

#[test]
fn a_device_that_vanished_fails_alone() {
    let (lab, mut kernel) = lab();
    lab.tap("tap-stays");
    let mut desired = desire(Segment::Local);
    desired.devices.insert("tap-stays".into(), Device { network: NET.to_owned(), admin_up: true, plug: true });
    let host = kernel.observe(&settings()).unwrap();
    let steps = plan(&settings(), &desired, &host).steps;
    lab.handle.link_delete(TAP).unwrap();
    let failures = kernel.apply(&steps, &host);
    assert_eq!(failures.keys().collect::<Vec<_>>(), [&Subject::Device(TAP.to_owned())]);
    assert!(lab.handle.link("tap-stays").unwrap().unwrap().master.is_some());
}
