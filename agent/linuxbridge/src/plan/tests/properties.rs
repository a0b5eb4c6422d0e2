//! Random hosts, settings and wishes: a plan settles, keeps the host reachable at every step, and leaves alone what is
//! not the agent's.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::settings::Settings;

const NETWORKS: [&str; 4] = [
    "aaaaaaaa-0001-4798-b475-0b82ac4ed47d",
    "bbbbbbbb-0002-4798-b475-0b82ac4ed47d",
    "cccccccc-0003-4798-b475-0b82ac4ed47d",
    "dddddddd-0004-4798-b475-0b82ac4ed47d",
];

fn segment() -> impl Strategy<Value = Segment> {
    let physical = || prop_oneof![Just("physnet1"), Just("physnet2"), Just("unmapped")].prop_map(str::to_owned);
    prop_oneof![
        Just(Segment::Local),
        physical().prop_map(|physical| Segment::Flat { physical }),
        (physical(), 1..4u32).prop_map(|(physical, id)| Segment::Vlan { physical, id }),
        (1..4u32).prop_map(|vni| Segment::Vxlan { vni }),
    ]
}

/// Its segment is set later.
fn network() -> impl Strategy<Value = Network> {
    let entry = (0..5u8, 0..5u8).prop_map(|(m, i)| {
        let mac = if m == 0 { Mac::ZERO } else { super::mac(m) };
        (mac, IpAddr::from([10, 0, 0, i]))
    });
    let agents = proptest::collection::vec((200..205u8, proptest::collection::vec(entry, 0..5)), 0..4);
    (proptest::option::of(prop_oneof![Just(1400), Just(1450), Just(1500), Just(9000)]), agents).prop_map(
        |(mtu, agents)| {
            let mut forwarding = Forwarding::default();
            for (last, entries) in agents {
                forwarding.add(&[(IpAddr::from([192, 0, 2, last]), entries)]);
            }
            Network { segment: Segment::Local, mtu, forwarding }
        },
    )
}

/// One wish after another about the same networks. Two networks never share a segment, and none changes its own: the
/// server allots each once.
fn histories() -> impl Strategy<Value = Vec<Desired>> {
    (proptest::collection::vec(segment(), NETWORKS.len()), 1..4usize)
        .prop_flat_map(|(segments, length)| proptest::collection::vec(wishes(segments), length))
}

fn wishes(segments: Vec<Segment>) -> impl Strategy<Value = Desired> {
    let devices = proptest::collection::btree_map(0..6u8, (0..NETWORKS.len(), any::<bool>(), any::<bool>()), 0..6);
    let networks = proptest::collection::vec(network(), NETWORKS.len());
    let deleted = proptest::collection::btree_set(0..NETWORKS.len(), 0..3);
    (networks, devices, deleted, proptest::collection::btree_set(0..6u8, 0..2)).prop_map(
        move |(networks, devices, deleted, unplugged)| {
            let mut desired = Desired::default();
            for (index, (id, mut network)) in NETWORKS.iter().zip(networks).enumerate() {
                network.segment = segments[index].clone();
                if matches!(network.segment, Segment::Local) || !segments[..index].contains(&network.segment) {
                    desired.networks.insert((*id).to_owned(), network);
                }
            }
            for index in deleted {
                let segment = desired.networks.remove(NETWORKS[index]).map(|network| network.segment);
                desired.deleted.insert(NETWORKS[index].to_owned(), segment);
            }
            for (tap, (network, admin_up, plug)) in devices {
                if desired.networks.contains_key(NETWORKS[network]) {
                    let device = Device { network: NETWORKS[network].to_owned(), admin_up, plug };
                    desired.devices.insert(format!("tap{tap}"), device);
                }
            }
            let free = unplugged.iter().map(|tap| format!("tap{tap}"));
            desired.unplugged = free.filter(|tap| !desired.devices.contains_key(tap)).collect();
            desired
        },
    )
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let tunnel = proptest::option::of((prop_oneof![Just("192.0.2.201"), Just("192.0.2.10")], any::<[bool; 3]>()));
    (tunnel, prop_oneof![Just("p2"), Just("br-user"), Just("absent")], any::<bool>()).prop_map(
        |(tunnel, second, own)| {
            let mut settings = settings();
            settings.interface_mappings.insert("physnet2".into(), second.into());
            if own {
                settings.bridge_mappings.insert("physnet2".into(), "br-user".into());
            }
            settings.vxlan =
                tunnel.zip(settings.vxlan).map(|((local_ip, [l2_population, arp_responder, port]), v)| Vxlan {
                    local_ip: ip(local_ip),
                    group: Some("239.0.0.0/8".parse().unwrap()),
                    l2_population,
                    arp_responder,
                    port: if port { 4789 } else { DEFAULT_VXLAN_PORT },
                    ..v
                });
            settings
        },
    )
}

/// A host with what others put there: a second interface, an operator's bridge with a port, a storage VLAN.
fn inhabited() -> Host {
    let mut host = host();
    host.links.remove(TAP);
    for tap in 0..6 {
        host.links.insert(format!("tap{tap}"), Link::new(20 + tap, Kind::Other));
    }
    let second = Link {
        up: true,
        mac: Some(mac(0xdd)),
        addresses: vec![address("198.51.100.2/24")],
        ..Link::new(4, Kind::Other)
    };
    host.links.insert("p2".into(), second);
    host.apply(&Op::AddBridge { name: "br-user".into(), mac: None }).unwrap();
    host.apply(&Op::AddAddress { name: "br-user".into(), address: address("203.0.113.1/24") }).unwrap();
    host.links.insert("eth9".into(), Link { master: Some("br-user".into()), ..Link::new(50, Kind::Other) });
    host.apply(&Op::AddVlan { name: "storage".into(), parent: "p2".into(), id: 2 }).unwrap();
    host
}

fn facts(host: &Host) -> (BTreeSet<String>, BTreeSet<String>) {
    let addresses = host.links.values().flat_map(|l| &l.addresses).map(ToString::to_string).collect();
    let routes = host.links.values().flat_map(|l| &l.routes).map(ToString::to_string).collect();
    (addresses, routes)
}

/// Applies a plan step by step; the host's addresses and routes are somewhere after each.
fn walk(settings: &Settings, desired: &Desired, host: &mut Host) -> Plan {
    let before = facts(host);
    let plan = plan(settings, desired, host);
    for step in &plan.steps {
        host.apply(&step.op).unwrap_or_else(|refusal| panic!("{}: {refusal}", step.op));
        assert_eq!(facts(host), before, "lost by {}", step.op);
    }
    let again = super::super::plan(settings, desired, host);
    assert!(again.is_empty(), "after\n{plan}\nthere is still\n{again}");
    assert!(again.problems.keys().eq(plan.problems.keys()));
    plan
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_of_an_applied_state_is_empty(
        settings in any_settings(),
        wishes in histories(),
    ) {
        let before = inhabited();
        let mut host = before.clone();
        for desired in &wishes {
            walk(&settings, desired, &mut host);
            for name in ["br-user", "eth9", "storage", "lo"] {
                prop_assert_eq!(&host.links[name], &before.links[name]);
            }
            for (name, device) in &desired.devices {
                let plan = plan(&settings, desired, &host);
                let standing = plan.standing(name, device);
                let plugged = host.links[name].master.is_some();
                prop_assert!(standing != Standing::Up || plugged && device.admin_up && host.links[name].up);
            }
        }
        // Deleting every network brings the host back as it was, but for the devices of ports.
        let mut end = Desired::default();
        for desired in &wishes {
            for (id, network) in &desired.networks {
                end.deleted.insert(id.clone(), Some(network.segment.clone()));
            }
        }
        for id in NETWORKS {
            end.deleted.entry(id.to_owned()).or_insert(None);
        }
        walk(&settings, &end, &mut host);
        for name in ["p1", "p2"] {
            let (now, then) = (&host.links[name], &before.links[name]);
            prop_assert_eq!(&now.addresses, &then.addresses);
            prop_assert_eq!(&now.routes, &then.routes);
            prop_assert_eq!(&now.master, &then.master);
        }
        prop_assert!(!host.links.keys().any(|name| name.starts_with("brq")));
    }

    #[test]
    fn damage_of_any_kind_is_repaired(
        settings in any_settings(),
        history in histories(),
        damage in proptest::collection::vec((0..1000usize, 0..4u8), 1..6),
    ) {
        let mut host = inhabited();
        let desired = &history[0];
        walk(&settings, desired, &mut host);
        for (pick, kind) in damage {
            let names: Vec<String> =
                host.links.keys().filter(|n| n.starts_with("brq") || n.contains("vxlan") || n.starts_with("tap")).cloned().collect();
            let name = names[pick % names.len()].clone();
            let has_addresses = !host.links[&name].addresses.is_empty();
            let op = match kind {
                0 if !has_addresses && !name.starts_with("tap") => Op::DeleteLink { name },
                1 => Op::SetUp { name, up: false },
                2 => Op::ClearMaster { name },
                _ => Op::SetIpv6 { name, disabled: false },
            };
            host.apply(&op).unwrap();
        }
        walk(&settings, desired, &mut host);
    }
}
