//! Golden plans for each kind of network, and properties over random hosts.

use std::net::IpAddr;

use linux::route::Protocol;
use types::{IpNet, Mac};

use super::*;
use crate::{
    desired::{Network, Segment},
    forwarding::Forwarding,
    model::{Kind, Link, Route, Tunnel},
    settings::{DEFAULT_VXLAN_PORT, Vxlan},
};

mod properties;

pub(super) const NET: &str = "86349e14-eafd-4798-b475-0b82ac4ed47d";
pub(super) const OTHER: &str = "11111111-2222-4798-b475-0b82ac4ed47d";
pub(super) const BRQ: &str = "brq86349e14-ea";
pub(super) const TAP: &str = "tap703569fc-e6";

pub(super) fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(super) fn address(text: &str) -> IpNet {
    text.parse().unwrap()
}

pub(super) fn route(destination: &str, via: &str) -> Route {
    Route {
        destination: destination.parse().unwrap(),
        via: via.parse().ok(),
        metric: None,
        source: None,
        onlink: false,
        protocol: Protocol::Boot,
    }
}

pub(super) fn mac(last: u8) -> Mac {
    Mac([0xfa, 0x16, 0x3e, 0, 0, last])
}

/// A host with `lo`, an interface `p1` with the host's addresses, and one tap.
pub(super) fn host() -> Host {
    let mut host = Host::default();
    let mut add = |name: &str, link: Link| {
        host.links.insert(name.to_owned(), link);
    };
    let up = |index| Link { up: true, ..Link::new(index, Kind::Other) };
    add("lo", Link { mtu: 65536, addresses: vec![address("192.0.2.201/32")], ..up(1) });
    add(
        "p1",
        Link {
            mac: Some(mac(0xee)),
            addresses: vec![address("192.0.2.10/24"), address("2001:db8:1::10/64")],
            routes: vec![route("0.0.0.0/0", "192.0.2.1"), route("::/0", "2001:db8:1::1")],
            ..up(2)
        },
    );
    add(TAP, Link::new(3, Kind::Other));
    host
}

pub(super) fn settings() -> Settings {
    Settings {
        interface_mappings: [("physnet1".to_owned(), "p1".to_owned())].into(),
        bridge_mappings: Default::default(),
        vxlan: Some(Vxlan {
            local_ip: ip("192.0.2.201"),
            group: None,
            ranges: Vec::new(),
            ttl: None,
            tos: None,
            port: DEFAULT_VXLAN_PORT,
            source_ports: (0, 0),
            l2_population: true,
            arp_responder: false,
        }),
    }
}

pub(super) fn flat() -> Segment {
    Segment::Flat { physical: "physnet1".to_owned() }
}

pub(super) fn desire(segment: Segment, mtu: u32) -> Desired {
    let mut desired = Desired::default();
    let network = Network { segment, mtu: Some(mtu), forwarding: Forwarding::default() };
    desired.networks.insert(NET.to_owned(), network);
    let device = Device { network: NET.to_owned(), admin_up: true, plug: true };
    desired.devices.insert(TAP.to_owned(), device);
    desired
}

/// Applies a plan, which must go without a refusal, and checks that nothing is left to do.
pub(super) fn settle(settings: &Settings, desired: &Desired, host: &mut Host) -> Plan {
    let first = plan(settings, desired, host);
    for step in &first.steps {
        host.apply(&step.op).unwrap_or_else(|refusal| panic!("{}: {refusal}", step.op));
    }
    let second = plan(settings, desired, host);
    assert!(second.is_empty(), "after\n{first}\nthere is still\n{second}");
    assert_eq!(first.problems, second.problems);
    first
}

#[test]
fn a_flat_network_takes_the_hosts_addresses_along() {
    let mut host = host();
    let plan = settle(&settings(), &desire(flat(), 1500), &mut host);
    insta::assert_snapshot!(plan, @r"
    add bridge brq86349e14-ea address fa:16:3e:00:00:ee
    label brq86349e14-ea network 86349e14-eafd-4798-b475-0b82ac4ed47d
    set brq86349e14-ea up
    add address 192.0.2.10/24 to brq86349e14-ea
    add address 2001:db8:1::10/64 to brq86349e14-ea
    set p1 master brq86349e14-ea
    add route default via 192.0.2.1 dev brq86349e14-ea
    add route default via 2001:db8:1::1 dev brq86349e14-ea
    delete route default via 192.0.2.1 dev p1
    delete route default via 2001:db8:1::1 dev p1
    delete address 2001:db8:1::10/64 from p1
    delete address 192.0.2.10/24 from p1
    set tap703569fc-e6 master brq86349e14-ea
    set tap703569fc-e6 up
    ");
    assert!(host.links["p1"].addresses.is_empty() && host.links["p1"].routes.is_empty());
    assert_eq!(plan.standing(TAP, &desire(flat(), 1500).devices[TAP]), Standing::Unfinished);
}

#[test]
fn a_deleted_flat_network_gives_them_back() {
    let before = host();
    let mut host = before.clone();
    settle(&settings(), &desire(flat(), 1500), &mut host);
    let mut desired = Desired::default();
    desired.deleted.insert(NET.to_owned(), None);
    let plan = settle(&settings(), &desired, &mut host);
    insta::assert_snapshot!(plan, @r"
    add address 192.0.2.10/24 to p1
    add address 2001:db8:1::10/64 to p1
    set p1 nomaster
    add route default via 192.0.2.1 dev p1
    add route default via 2001:db8:1::1 dev p1
    delete route default via 192.0.2.1 dev brq86349e14-ea
    delete route default via 2001:db8:1::1 dev brq86349e14-ea
    delete address 2001:db8:1::10/64 from brq86349e14-ea
    delete address 192.0.2.10/24 from brq86349e14-ea
    delete link brq86349e14-ea
    ");
    assert_eq!(host.links["p1"], before.links["p1"]);
}

#[test]
fn a_vlan_network_gets_a_sub_interface() {
    let mut host = host();
    let segment = Segment::Vlan { physical: "physnet1".to_owned(), id: 100 };
    insta::assert_snapshot!(settle(&settings(), &desire(segment.clone(), 1500), &mut host), @r"
    add vlan p1.100 on p1 id 100
    set p1.100 ipv6 off
    set p1.100 up
    add bridge brq86349e14-ea
    label brq86349e14-ea network 86349e14-eafd-4798-b475-0b82ac4ed47d
    set brq86349e14-ea ipv6 off
    set p1.100 master brq86349e14-ea
    set brq86349e14-ea up
    set tap703569fc-e6 master brq86349e14-ea
    set tap703569fc-e6 up
    ");

    let mut desired = Desired::default();
    desired.deleted.insert(NET.to_owned(), Some(segment));
    insta::assert_snapshot!(settle(&settings(), &desired, &mut host), @r"
    delete link p1.100
    delete link brq86349e14-ea
    ");
}

#[test]
fn a_sub_interface_that_had_an_address_stays() {
    let mut host = host();
    host.apply(&Op::AddVlan { name: "p1.100".into(), parent: "p1".into(), id: 100 }).unwrap();
    host.apply(&Op::SetUp { name: "p1.100".into(), up: true }).unwrap();
    host.apply(&Op::AddAddress { name: "p1.100".into(), address: address("198.51.100.1/24") }).unwrap();
    let before = host.clone();
    let segment = Segment::Vlan { physical: "physnet1".to_owned(), id: 100 };
    insta::assert_snapshot!(settle(&settings(), &desire(segment.clone(), 1500), &mut host), @r"
    add bridge brq86349e14-ea
    label brq86349e14-ea network 86349e14-eafd-4798-b475-0b82ac4ed47d
    set brq86349e14-ea ipv6 off
    set brq86349e14-ea up
    add address 198.51.100.1/24 to brq86349e14-ea
    set p1.100 master brq86349e14-ea
    delete address 198.51.100.1/24 from p1.100
    set tap703569fc-e6 master brq86349e14-ea
    set tap703569fc-e6 up
    ");

    let mut desired = Desired::default();
    desired.deleted.insert(NET.to_owned(), Some(segment));
    insta::assert_snapshot!(settle(&settings(), &desired, &mut host), @r"
    add address 198.51.100.1/24 to p1.100
    set p1.100 nomaster
    delete address 198.51.100.1/24 from brq86349e14-ea
    delete link brq86349e14-ea
    ");
    assert_eq!(host.links["p1.100"], before.links["p1.100"]);
}

#[test]
fn a_vlan_in_use_under_another_name_is_named() {
    let mut host = host();
    host.apply(&Op::AddVlan { name: "storage".into(), parent: "p1".into(), id: 100 }).unwrap();
    let segment = Segment::Vlan { physical: "physnet1".to_owned(), id: 100 };
    insta::assert_snapshot!(settle(&settings(), &desire(segment, 1500), &mut host), @"problem: network 86349e14-eafd-4798-b475-0b82ac4ed47d: VLAN 100 of p1 is in use as storage; rename that to p1.100");
}

#[test]
fn lb_vxlan_local_ip() {
    let mut host = host();
    let vxlan = Segment::Vxlan { vni: 77 };
    insta::assert_snapshot!(settle(&settings(), &desire(vxlan.clone(), 1450), &mut host), @r"
    add bridge brq86349e14-ea
    label brq86349e14-ea network 86349e14-eafd-4798-b475-0b82ac4ed47d
    set brq86349e14-ea ipv6 off
    add vxlan vxlan-77 id 77 dev lo local 192.0.2.201 dstport 8472
    set vxlan-77 mtu 1450
    set vxlan-77 ipv6 off
    set vxlan-77 master brq86349e14-ea
    set vxlan-77 up
    set brq86349e14-ea mtu 1450
    set brq86349e14-ea up
    set tap703569fc-e6 mtu 1450
    set tap703569fc-e6 master brq86349e14-ea
    set tap703569fc-e6 up
    ");

    // Without a responder no proxy, with one a proxy; with multicast a group.
    let mut responder = settings();
    responder.vxlan.as_mut().unwrap().arp_responder = true;
    let add = settle(&responder, &desire(vxlan.clone(), 1450), &mut host).steps;
    let add = add.iter().find(|step| matches!(step.op, Op::AddVxlan { .. })).unwrap().op.to_string();
    assert_eq!(add, "add vxlan vxlan-77 id 77 dev lo local 192.0.2.201 dstport 8472 proxy");
    let mut multicast = settings();
    let section = multicast.vxlan.as_mut().unwrap();
    (section.l2_population, section.group) = (false, Some("239.0.0.0/8".parse().unwrap()));
    let add = settle(&multicast, &desire(vxlan, 1450), &mut host).steps;
    let add = add.iter().find(|step| matches!(step.op, Op::AddVxlan { .. })).unwrap().op.to_string();
    assert_eq!(add, "add vxlan vxlan-77 id 77 dev lo local 192.0.2.201 group 239.0.0.77 dstport 8472");
}

#[test]
fn lb_mtu() {
    let vxlan = Segment::Vxlan { vni: 77 };
    let mut settings = settings();
    settings.vxlan.as_mut().unwrap().local_ip = ip("192.0.2.10");
    let mut host = host();
    host.links.get_mut("p1").unwrap().mtu = 9000;
    settle(&settings, &desire(vxlan.clone(), 8950), &mut host);
    for name in [TAP, BRQ, "vxlan-77"] {
        assert_eq!(host.links[name].mtu, 8950, "{name}");
    }
    // A change of the network's MTU reaches all three.
    settle(&settings, &desire(vxlan.clone(), 1400), &mut host);
    for name in [TAP, BRQ, "vxlan-77"] {
        assert_eq!(host.links[name].mtu, 1400, "{name}");
    }
    // Too high: an existing tunnel carries on with what fits…
    let plan = settle(&settings, &desire(vxlan.clone(), 9000), &mut host);
    insta::assert_snapshot!(plan, @r"
    set vxlan-77 mtu 8950
    set brq86349e14-ea mtu 8950
    set tap703569fc-e6 mtu 8950
    warning: network 86349e14-eafd-4798-b475-0b82ac4ed47d: an MTU of 9000 for vxlan-77 is too high for p1, whose MTU of 9000 leaves 8950 in a tunnel; raise the MTU of p1 or lower the network's
    ");

    // …a new one is not begun, and names the devices and both MTUs.
    let desired = desire(vxlan, 9000);
    let mut host = self::host();
    let plan = settle(&settings, &desired, &mut host);
    insta::assert_snapshot!(plan, @"problem: network 86349e14-eafd-4798-b475-0b82ac4ed47d: an MTU of 9000 for vxlan-77 is too high for p1, whose MTU of 1500 leaves 1450 in a tunnel; raise the MTU of p1 or lower the network's");
    assert_eq!(plan.standing(TAP, &desired.devices[TAP]), Standing::Down);
}

#[test]
fn lb_fdb_replace() {
    let mut settings = settings();
    settings.vxlan.as_mut().unwrap().arp_responder = true;
    let mut desired = desire(Segment::Vxlan { vni: 77 }, 1450);
    let mut host = host();
    settle(&settings, &desired, &mut host);
    let table = |desired: &mut Desired, change: &dyn Fn(&mut Forwarding)| {
        change(&mut desired.networks.get_mut(NET).unwrap().forwarding);
    };
    let flood = (Mac::ZERO, ip("0.0.0.0"));
    let remote = ip("192.0.2.202");
    table(&mut desired, &|t| t.add(&[(remote, vec![flood, (mac(0x22), ip("10.0.0.22"))])]));
    table(&mut desired, &|t| t.add(&[(ip("192.0.2.203"), vec![flood])]));
    insta::assert_snapshot!(settle(&settings, &desired, &mut host), @r"
    append flood vxlan-77 dst 192.0.2.202
    append flood vxlan-77 dst 192.0.2.203
    replace fdb vxlan-77 fa:16:3e:00:00:22 dst 192.0.2.202
    replace neighbour vxlan-77 10.0.0.22 lladdr fa:16:3e:00:00:22
    ");

    // The port goes and another comes with its address.
    table(&mut desired, &|t| t.remove(&[(remote, vec![(mac(0x22), ip("10.0.0.22"))])]));
    table(&mut desired, &|t| t.add(&[(remote, vec![(mac(0x33), ip("10.0.0.22"))])]));
    insta::assert_snapshot!(settle(&settings, &desired, &mut host), @r"
    replace fdb vxlan-77 fa:16:3e:00:00:33 dst 192.0.2.202
    replace neighbour vxlan-77 10.0.0.22 lladdr fa:16:3e:00:00:33
    delete fdb vxlan-77 fa:16:3e:00:00:22 dst 192.0.2.202
    ");

    // It moves to another host.
    table(&mut desired, &|t| t.add(&[(ip("192.0.2.203"), vec![(mac(0x33), ip("10.0.0.22"))])]));
    insta::assert_snapshot!(settle(&settings, &desired, &mut host), @"replace fdb vxlan-77 fa:16:3e:00:00:33 dst 192.0.2.203");
}

#[test]
fn entries_for_ourselves_or_the_other_family_are_not_written() {
    let mut desired = desire(Segment::Vxlan { vni: 77 }, 1450);
    let mut host = host();
    settle(&settings(), &desired, &mut host);
    let flood = (Mac::ZERO, ip("0.0.0.0"));
    let port = (mac(0x22), ip("10.0.0.22"));
    desired
        .networks
        .get_mut(NET)
        .unwrap()
        .forwarding
        .add(&[(ip("192.0.2.201"), vec![flood, port]), (ip("2001:db8::9"), vec![flood, port])]);
    assert!(settle(&settings(), &desired, &mut host).is_empty());
}

#[test]
fn lb_user_bridge_untouched() {
    let mut settings = settings();
    settings.bridge_mappings.insert("physnet1".into(), "br-user".into());
    settings.interface_mappings = [("physnet2".to_owned(), "br-vlan".to_owned())].into();
    let mut host = host();
    for name in ["br-user", "br-vlan"] {
        host.apply(&Op::AddBridge { name: name.into(), mac: None }).unwrap();
    }
    host.apply(&Op::SetMaster { name: "p1".into(), master: "br-user".into() }).unwrap();
    let before = host.clone();
    let mut desired = desire(flat(), 1450);
    insta::assert_snapshot!(settle(&settings, &desired, &mut host), @r"
    set tap703569fc-e6 mtu 1450
    set tap703569fc-e6 master br-user
    set tap703569fc-e6 up
    ");
    assert_eq!(host.links["br-user"], before.links["br-user"]);
    assert_eq!(host.links["p1"], before.links["p1"]);

    // The second network's mapping is wrong; it is told, and the first goes on.
    let wrong = Network {
        segment: Segment::Flat { physical: "physnet2".into() },
        mtu: Some(1500),
        forwarding: Forwarding::default(),
    };
    desired.networks.insert(OTHER.to_owned(), wrong);
    host.links.insert("tap2".into(), Link::new(9, Kind::Other));
    let device = Device { network: OTHER.to_owned(), admin_up: true, plug: true };
    desired.devices.insert("tap2".into(), device.clone());
    let plan = settle(&settings, &desired, &mut host);
    insta::assert_snapshot!(plan, @"problem: network 11111111-2222-4798-b475-0b82ac4ed47d: physical_interface_mappings maps physnet2 to br-vlan, which is a bridge; name it in bridge_mappings instead");
    assert_eq!(plan.standing("tap2", &device), Standing::Down);
    assert_eq!(plan.standing(TAP, &desired.devices[TAP]), Standing::Up);

    // Deleting the network leaves the operator's bridge, whether or not its segment is known.
    desired = Desired::default();
    desired.deleted.insert(NET.to_owned(), Some(flat()));
    assert!(plan_of(&settings, &desired, &host).is_empty());
}

fn plan_of(settings: &Settings, desired: &Desired, host: &Host) -> Plan {
    plan(settings, desired, host)
}

#[test]
fn lb_network_delete_early() {
    let mut host = host();
    settle(&settings(), &desire(Segment::Vxlan { vni: 77 }, 1450), &mut host);
    // Of a network that this process never heard of, only the id comes.
    let mut desired = Desired::default();
    desired.deleted.insert(NET.to_owned(), None);
    insta::assert_snapshot!(settle(&settings(), &desired, &mut host), @r"
    delete link vxlan-77
    delete link brq86349e14-ea
    ");
    assert!(settle(&settings(), &desired, &mut host).is_empty());
}

#[test]
fn instances_devices_are_left_to_the_hypervisor() {
    let mut host = host();
    let mut desired = desire(Segment::Local, 1500);
    desired.devices.get_mut(TAP).unwrap().plug = false;
    let plan = settle(&settings(), &desired, &mut host);
    assert_eq!(host.links[TAP].master, None);
    assert_eq!(plan.standing(TAP, &desired.devices[TAP]), Standing::Unfinished);
    host.apply(&Op::SetMaster { name: TAP.into(), master: BRQ.into() }).unwrap();
    let plan = settle(&settings(), &desired, &mut host);
    assert_eq!(plan.standing(TAP, &desired.devices[TAP]), Standing::Up);
}

#[test]
fn a_device_switched_off_is_down_and_stays_plugged() {
    let mut host = host();
    let mut desired = desire(Segment::Local, 1500);
    settle(&settings(), &desired, &mut host);
    desired.devices.get_mut(TAP).unwrap().admin_up = false;
    let plan = settle(&settings(), &desired, &mut host);
    insta::assert_snapshot!(plan, @"set tap703569fc-e6 down");
    assert_eq!(super::plan(&settings(), &desired, &host).standing(TAP, &desired.devices[TAP]), Standing::Down);
}

#[test]
fn a_device_in_a_foreign_bridge_stays_there() {
    let mut host = host();
    host.apply(&Op::AddBridge { name: "br-mine".into(), mac: None }).unwrap();
    host.apply(&Op::SetMaster { name: TAP.into(), master: "br-mine".into() }).unwrap();
    let plan = settle(&settings(), &desire(Segment::Local, 1500), &mut host);
    insta::assert_snapshot!(plan, @r"
    add bridge brq86349e14-ea
    label brq86349e14-ea network 86349e14-eafd-4798-b475-0b82ac4ed47d
    set brq86349e14-ea ipv6 off
    set brq86349e14-ea up
    problem: device tap703569fc-e6: tap703569fc-e6 belongs to br-mine, which is not this agent's; take it out of there
    ");
}

#[test]
fn an_unbound_device_leaves_our_bridge_only() {
    let mut host = host();
    settle(&settings(), &desire(Segment::Local, 1500), &mut host);
    let mut desired = Desired::default();
    desired.unplugged.insert(TAP.into());
    insta::assert_snapshot!(settle(&settings(), &desired, &mut host), @"set tap703569fc-e6 nomaster");
    host.apply(&Op::AddBridge { name: "br-mine".into(), mac: None }).unwrap();
    host.apply(&Op::SetMaster { name: TAP.into(), master: "br-mine".into() }).unwrap();
    assert!(settle(&settings(), &desired, &mut host).is_empty());
}

#[test]
fn a_flat_network_that_replaces_another_inherits_the_interface() {
    // The first network was deleted while the agent was not running.
    let mut host = host();
    settle(&settings(), &desire(flat(), 1500), &mut host);
    host.apply(&Op::ClearMaster { name: TAP.into() }).unwrap();
    let mut desired = desire(flat(), 1500);
    let network = desired.networks.remove(NET).unwrap();
    desired.networks.insert(OTHER.to_owned(), network);
    desired.devices.get_mut(TAP).unwrap().network = OTHER.to_owned();
    insta::assert_snapshot!(settle(&settings(), &desired, &mut host), @r"
    add bridge brq11111111-22 address fa:16:3e:00:00:ee
    label brq11111111-22 network 11111111-2222-4798-b475-0b82ac4ed47d
    set brq11111111-22 up
    add address 192.0.2.10/24 to brq11111111-22
    add address 2001:db8:1::10/64 to brq11111111-22
    set p1 master brq11111111-22
    add route default via 192.0.2.1 dev brq11111111-22
    add route default via 2001:db8:1::1 dev brq11111111-22
    delete route default via 192.0.2.1 dev brq86349e14-ea
    delete route default via 2001:db8:1::1 dev brq86349e14-ea
    delete address 2001:db8:1::10/64 from brq86349e14-ea
    delete address 192.0.2.10/24 from brq86349e14-ea
    delete link brq86349e14-ea
    set tap703569fc-e6 master brq11111111-22
    ");
}

#[test]
fn an_interface_in_an_operators_bridge_is_not_taken() {
    let mut host = host();
    host.apply(&Op::AddBridge { name: "br0".into(), mac: None }).unwrap();
    host.apply(&Op::SetMaster { name: "p1".into(), master: "br0".into() }).unwrap();
    insta::assert_snapshot!(settle(&settings(), &desire(flat(), 1500), &mut host), @"problem: network 86349e14-eafd-4798-b475-0b82ac4ed47d: p1 belongs to br0, which is not this agent's; take it out of there");
}

#[test]
fn missing_things_are_named_with_a_remedy() {
    let problem = |settings: &Settings, segment, host: &mut Host| {
        settle(settings, &desire(segment, 1450), host).problems.into_values().next().unwrap()
    };
    let mut host = host();
    let mut settings = settings();
    insta::assert_snapshot!(problem(&settings, Segment::Flat { physical: "nope".into() }, &mut host), @"physical network nope has no interface here; add it to physical_interface_mappings");
    settings.vxlan.as_mut().unwrap().local_ip = ip("203.0.113.1");
    insta::assert_snapshot!(problem(&settings, Segment::Vxlan { vni: 7 }, &mut host), @"no interface has local_ip 203.0.113.1, which tunnels leave from; add it to one");
    settings.vxlan = None;
    insta::assert_snapshot!(problem(&settings, Segment::Vxlan { vni: 7 }, &mut host), @"VXLAN is switched off here (enable_vxlan in section VXLAN)");
    settings.bridge_mappings.insert("physnet1".into(), "br-gone".into());
    insta::assert_snapshot!(problem(&settings, flat(), &mut host), @"bridge_mappings maps physnet1 to br-gone, which does not exist; create it");
    host.links.remove("p1");
    settings.bridge_mappings.clear();
    insta::assert_snapshot!(problem(&settings, flat(), &mut host), @"interface p1 of physical network physnet1 does not exist");
}

#[test]
fn a_tunnel_with_the_wrong_ends_is_made_again_but_a_pythons_is_kept() {
    let mut settings = settings();
    let section = settings.vxlan.as_mut().unwrap();
    (section.l2_population, section.group) = (false, Some("224.0.0.1/32".parse().unwrap()));
    let mut host = host();
    let python = Tunnel {
        vni: 77,
        lower: Some("lo".into()),
        local: None,
        group: Some(ip("224.0.0.1")),
        port: DEFAULT_VXLAN_PORT,
        source_ports: (0, 0),
        ttl: None,
        tos: None,
        proxy: false,
    };
    host.apply(&Op::AddVxlan { name: "vxlan-77".into(), tunnel: python }).unwrap();
    let desired = desire(Segment::Vxlan { vni: 77 }, 1450);
    let plan = settle(&settings, &desired, &mut host);
    assert!(!plan.to_string().contains("vxlan id"), "{plan}");
    settings.vxlan.as_mut().unwrap().port = 4789;
    insta::assert_snapshot!(settle(&settings, &desired, &mut host), @r"
    delete link vxlan-77
    add vxlan vxlan-77 id 77 dev lo local 192.0.2.201 group 224.0.0.1 dstport 4789
    set vxlan-77 mtu 1450
    set vxlan-77 ipv6 off
    set vxlan-77 master brq86349e14-ea
    set vxlan-77 up
    ");
}

#[test]
fn a_flat_network_that_moves_the_tunnels_address_takes_the_tunnels_along() {
    let mut settings = settings();
    settings.vxlan.as_mut().unwrap().local_ip = ip("192.0.2.10");
    let mut desired = desire(Segment::Vxlan { vni: 77 }, 1450);
    let mut host = host();
    settle(&settings, &desired, &mut host);
    let network = Network { segment: flat(), mtu: Some(1500), forwarding: Forwarding::default() };
    desired.networks.insert(OTHER.to_owned(), network);
    host.links.insert("tap2".into(), Link::new(9, Kind::Other));
    desired.devices.insert("tap2".into(), Device { network: OTHER.to_owned(), admin_up: true, plug: true });
    settle(&settings, &desired, &mut host);
    let Kind::Vxlan(tunnel) = &host.links["vxlan-77"].kind else { panic!("no tunnel") };
    assert_eq!(tunnel.lower.as_deref(), Some("brq11111111-22"));
}

#[test]
fn cleanup_takes_everything_of_ours_and_nothing_else() {
    let before = host();
    let mut host = before.clone();
    host.apply(&Op::AddBridge { name: "br-mine".into(), mac: None }).unwrap();
    let mut desired = desire(flat(), 1500);
    let network = Network { segment: Segment::Vxlan { vni: 5 }, mtu: Some(1400), forwarding: Forwarding::default() };
    desired.networks.insert(OTHER.to_owned(), network);
    host.links.insert("tap2".into(), Link::new(9, Kind::Other));
    desired.devices.insert("tap2".into(), Device { network: OTHER.to_owned(), admin_up: true, plug: true });
    settle(&settings(), &desired, &mut host);
    for step in plan_cleanup(&settings(), &host).steps {
        host.apply(&step.op).unwrap();
    }
    assert_eq!(host.links.keys().map(String::as_str).collect::<Vec<_>>(), ["br-mine", "lo", "p1", "tap2", TAP]);
    assert_eq!(host.links["p1"], before.links["p1"]);
}
