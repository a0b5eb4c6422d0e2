use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::files::tests::{S6, net_d, network, port_id, settings, v6_subnet};
use crate::model::id;

fn desired() -> Desired {
    let mut net = net_d();
    net["subnets"].as_array_mut().unwrap().push(v6_subnet("dhcpv6-stateful"));
    let fixed = json!({"subnet_id": S6, "ip_address": "2001:db8:7a::2"});
    net["ports"][1]["fixed_ips"].as_array_mut().unwrap().push(fixed);
    let network = network(&net);
    want(&settings(), &network, &network.ports[&id(&port_id(2)).unwrap()])
}

/// What the host looks like after the steps.
fn applied(desired: Option<&Desired>, mut seen: Observed, ops: &[Op]) -> Observed {
    for op in ops {
        crate::host::fake::step(&mut seen, desired, op, 7);
    }
    seen
}

fn in_place() -> Observed {
    let desired = desired();
    let ops = plan(Some(&desired), &Observed::default());
    applied(Some(&desired), Observed::default(), &ops)
}

#[test]
fn from_nothing_in_the_order_that_works() {
    let ops = plan(Some(&desired()), &Observed::default());
    assert_eq!(
        ops,
        [
            Op::CreateNamespace,
            Op::PrepareNamespace,
            Op::Plug,
            Op::AddAddress { net: "192.0.2.2/24".parse().unwrap() },
            Op::AddAddress { net: "2001:db8:7a::2/64".parse().unwrap() },
            Op::SetGateway { ip: "192.0.2.1".parse().unwrap() },
            Op::SetGateway { ip: "2001:db8:7a::1".parse().unwrap() },
            Op::WriteFiles,
            Op::StartDnsmasq,
        ]
    );
    let device = desired().device;
    assert_eq!((device.name.as_str(), device.tap.as_str()), ("ns-00000000-00", "tap00000000-00"));
}

#[test]
fn what_is_in_place_is_left_alone() {
    assert_eq!(plan(Some(&desired()), &in_place()), []);
    let mut python = in_place();
    let args = &mut python.dnsmasq.as_mut().unwrap().args;
    args[0] = "/usr/sbin/dnsmasq".into();
    args.insert(2, String::new());
    assert_eq!(plan(Some(&desired()), &python), [], "the Python agent's dnsmasq is adopted");
}

#[test]
fn changed_files_are_written_and_loaded_once() {
    let mut want = desired();
    want.files.host.push_str("another line\n");
    assert_eq!(plan(Some(&want), &in_place()), [Op::WriteFiles, Op::Reload { pid: 7 }]);
    // The agent ended between the two.
    let mut seen = in_place();
    seen.reload_pending = true;
    assert_eq!(plan(Some(&desired()), &seen), [Op::Reload { pid: 7 }]);
}

#[test]
fn changed_arguments_restart() {
    let mut want = desired();
    want.args.push("--dhcp-broadcast".into());
    assert_eq!(plan(Some(&want), &in_place()), [Op::StopDnsmasq { pid: 7 }, Op::StartDnsmasq]);
    let mut dead = in_place();
    dead.dnsmasq = None;
    assert_eq!(plan(Some(&desired()), &dead), [Op::StartDnsmasq]);
    let mut astray = in_place();
    astray.dnsmasq.as_mut().unwrap().in_namespace = false;
    assert_eq!(plan(Some(&desired()), &astray), [Op::StopDnsmasq { pid: 7 }, Op::StartDnsmasq]);
}

#[test]
fn dhcp_port_change_follow_on_the_device() {
    let mut want = desired();
    want.device.addresses = ["192.0.2.7/24".parse().unwrap(), "2001:db8:7a::2/64".parse().unwrap()].into();
    assert_eq!(
        plan(Some(&want), &in_place()),
        [
            Op::DeleteAddress { net: "192.0.2.2/24".parse().unwrap() },
            Op::AddAddress { net: "192.0.2.7/24".parse().unwrap() },
        ]
    );
    let mut want = desired();
    want.device.mtu = 1400;
    assert_eq!(plan(Some(&want), &in_place()), [Op::SetMtu]);
    let mut want = desired();
    want.device.gateways = vec![Gateway { ip: "198.51.100.1".parse().unwrap(), on_link: true }];
    assert_eq!(
        plan(Some(&want), &in_place()),
        [
            Op::AddOnLink { ip: "198.51.100.1".parse().unwrap() },
            Op::SetGateway { ip: "198.51.100.1".parse().unwrap() },
            Op::DeleteGateway { ip: "2001:db8:7a::1".parse().unwrap() },
        ]
    );
    // Another port, as after it was deleted by hand: the old device goes once the new one is there.
    let mut want = desired();
    (want.device.name, want.device.tap) = ("ns-99999999-00".into(), "tap99999999-00".into());
    let ops = plan(Some(&want), &in_place());
    assert_eq!(ops.first(), Some(&Op::Plug));
    assert!(ops.contains(&Op::Unplug { device: "ns-00000000-00".into() }));
    assert!(ops.contains(&Op::WriteInterface));
}

#[test]
fn dhcp_stale_netns_file_is_made_anew() {
    let seen = Observed { namespace: Namespace::Stale, ..in_place() };
    let ops = plan(Some(&desired()), &seen);
    assert_eq!(ops.first(), Some(&Op::CreateNamespace));
    // The host end of the lost pair must not block the new one.
    let unplug = ops.iter().position(|op| *op == Op::Unplug { device: "tap00000000-00".into() }).unwrap();
    assert!(unplug < ops.iter().position(|op| *op == Op::Plug).unwrap());
}

#[test]
fn metadata_addresses_when_served() {
    let mut settings = settings();
    settings.isolated_metadata = true;
    let network = network(&net_d());
    let own = &network.ports[&id(&port_id(2)).unwrap()];
    let addresses = want(&settings, &network, own).device.addresses;
    assert!(addresses.contains(&"169.254.169.254/32".parse().unwrap()));
    assert!(!addresses.contains(&"fe80::a9fe:a9fe/128".parse().unwrap()), "no IPv6 subnet");
}

#[test]
fn removal_leaves_nothing() {
    let seen = in_place();
    let ops = plan(None, &seen);
    assert_eq!(
        ops,
        [
            Op::StopDnsmasq { pid: 7 },
            Op::Unplug { device: "ns-00000000-00".into() },
            Op::DeleteNamespace,
            Op::RemoveFiles,
        ]
    );
    let after = applied(None, seen, &ops);
    assert_eq!(after, Observed::default());
    assert_eq!(plan(None, &after), []);
}

fn any_observed() -> impl Strategy<Value = Observed> {
    let address =
        prop_oneof![Just("192.0.2.2/24"), Just("192.0.2.9/24"), Just("2001:db8:7a::2/64"), Just("10.0.0.1/8")];
    let addresses = proptest::collection::btree_set(address, 0..3);
    let ips = || {
        proptest::collection::btree_set(
            prop_oneof![Just("192.0.2.1"), Just("192.0.2.200"), Just("2001:db8:7a::1"), Just("2001:db8:7a::99")],
            0..3,
        )
    };
    let device = (
        "(ns-00000000-00|ns-11111111-11)",
        any::<bool>(),
        1280u32..1500,
        any::<bool>(),
        addresses,
        ips(),
        ips(),
        any::<bool>(),
    )
        .prop_map(|(name, mac, mtu, up, addresses, gateways, on_link, dynamic)| {
            // The kernel has one IPv4 default route of a metric.
            let mut seen_v4 = false;
            let gateways = gateways.into_iter().map(|ip| ip.parse::<IpAddr>().unwrap());
            SeenDevice {
                name,
                mtu,
                up,
                mac: mac.then_some(Mac([0xfa, 0x16, 0x3e, 0, 0, 2])),
                addresses: addresses
                    .into_iter()
                    .map(|net| SeenAddress { net: net.parse().unwrap(), dynamic })
                    .collect(),
                gateways: gateways.filter(|ip| ip.is_ipv6() || !std::mem::replace(&mut seen_v4, true)).collect(),
                on_link: on_link.into_iter().map(|ip| ip.parse().unwrap()).collect(),
            }
        });
    let devices = proptest::collection::vec(device, 0..3).prop_map(|mut devices| {
        devices.sort_by(|a, b| a.name.cmp(&b.name));
        devices.dedup_by(|a, b| a.name == b.name);
        devices
    });
    let namespace = prop_oneof![Just(Namespace::Missing), Just(Namespace::Stale), Just(Namespace::Present)];
    (namespace, any::<bool>(), devices, any::<bool>(), 0..4, 0..3, (any::<bool>(), any::<bool>())).prop_map(
        |(namespace, lo_up, devices, tap, dnsmasq, files, (reload_pending, relief))| {
            let mut args = desired().args;
            if dnsmasq == 2 {
                args.pop();
            }
            Observed {
                namespace,
                lo_up,
                devices: if namespace == Namespace::Present { devices } else { Vec::new() },
                taps: if tap { BTreeSet::from(["tap00000000-00".to_owned()]) } else { BTreeSet::new() },
                dnsmasq: (dnsmasq > 0).then_some(Dnsmasq { pid: 7, args, in_namespace: dnsmasq != 3 }),
                files: match files {
                    0 => None,
                    1 => Some(Files { host: String::new(), addn_hosts: String::new(), opts: String::new() }),
                    _ => Some(desired().files),
                },
                interface: (files > 1).then(|| "ns-00000000-00".to_owned()),
                reload_pending,
                relief: relief.then_some(8),
                directory: true,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn the_plan_of_an_applied_state_is_empty(seen in any_observed()) {
        let desired = desired();
        let after = applied(Some(&desired), seen.clone(), &plan(Some(&desired), &seen));
        prop_assert_eq!(plan(Some(&desired), &after), []);
        let after = applied(None, seen.clone(), &plan(None, &seen));
        prop_assert_eq!(plan(None, &after), []);
    }
}
