use std::time::Instant;

use super::*;
use crate::testing::host;

fn mac(last: u8) -> Mac {
    Mac([0xfa, 0x16, 0x3e, 0, 0, last])
}

#[test]
fn veth_with_its_peer_in_another_namespace() {
    let (_here, handle) = host();
    let (there, other) = host();
    let spec = LinkSpec::veth("tap1", "ns-1").mtu(1450).up().peer_netns(&there).peer_mac(mac(7)).peer_mtu(1400);
    let index = handle.link_add(&spec).unwrap();

    let tap = handle.link("tap1").unwrap().unwrap();
    assert_eq!((tap.index, tap.kind.name(), tap.mtu, tap.up), (index, "veth", 1450, true));
    assert!(tap.peer_netns.is_some());
    let peer = other.link("ns-1").unwrap().unwrap();
    assert_eq!((peer.mac, peer.mtu, peer.up), (Some(mac(7)), 1400, false));
    assert_eq!((peer.parent, tap.parent), (Some(tap.index), Some(peer.index)));
    assert_eq!(handle.link("ns-1").unwrap(), None);

    assert!(handle.link_add(&spec).unwrap_err().is_exists());
    assert_eq!(handle.link_ensure(&spec).unwrap(), index);
    assert!(handle.link_delete("tap1").unwrap());
    assert!(!handle.link_delete("tap1").unwrap());
    assert_eq!(other.link("ns-1").unwrap(), None);
}

#[test]
fn bridge_forwards_at_once_and_takes_ports() {
    let (_ns, handle) = host();
    let spec = LinkSpec::bridge("brq1").multicast_snooping(false).ageing(0).up();
    let bridge = handle.link_add(&spec).unwrap();
    let link = handle.link(bridge).unwrap().unwrap();
    assert_eq!(link.kind, Kind::Bridge { forward_delay: 0, stp: false, ageing: 0, multicast_snooping: false });

    handle.link_add(&LinkSpec::veth("tap1", "eth1")).unwrap();
    handle.link_master("tap1", "brq1").unwrap();
    assert_eq!(handle.link("tap1").unwrap().unwrap().master, Some(bridge));
    handle.link_set(set("tap1").no_master()).unwrap();
    assert_eq!(handle.link("tap1").unwrap().unwrap().master, None);
}

#[test]
fn vxlan_keeps_every_setting() {
    let (_ns, handle) = host();
    let dev = handle.link_add(&LinkSpec::veth("eth0", "eth1").up()).unwrap();
    let local = "192.0.2.1".parse().unwrap();
    let spec = VxlanSpec {
        vni: 4097,
        group: Some("239.1.1.1".parse().unwrap()),
        local: Some(local),
        dev: Some(dev),
        ttl: Some(32),
        tos: Some(1),
        port: Some(4790),
        source_ports: Some((40000, 40100)),
        learning: Some(false),
        proxy: true,
        l2_miss: true,
        l3_miss: true,
        ageing: Some(120),
        df: Some(Df::Set),
    };
    handle.link_add(&LinkSpec::vxlan("vxlan-4097", spec)).unwrap();
    let want = VxlanInfo {
        vni: 4097,
        group: Some("239.1.1.1".parse().unwrap()),
        local: Some(local),
        dev: Some(dev),
        ttl: 32,
        tos: 1,
        port: 4790,
        source_ports: (40000, 40100),
        learning: false,
        proxy: true,
        l2_miss: true,
        l3_miss: true,
        ageing: 120,
        df: Df::Set,
    };
    let link = handle.link("vxlan-4097").unwrap().unwrap();
    assert_eq!(link.kind, Kind::Vxlan(Box::new(want)));

    // The same identifier on the same port again is taken.
    let again = VxlanSpec { vni: 4097, dev: Some(dev), port: Some(4790), ..VxlanSpec::default() };
    let error = handle.link_add(&LinkSpec::vxlan("vxlan-again", again)).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::Exists, "vxlan-again"));
}

#[test]
fn vxlan_over_ipv6() {
    let (_ns, handle) = host();
    let dev = handle.link_add(&LinkSpec::veth("eth0", "eth1").up()).unwrap();
    let (local, group) = ("2001:db8::1".parse().unwrap(), "ff05::100".parse().unwrap());
    let spec = VxlanSpec { vni: 7, group: Some(group), local: Some(local), dev: Some(dev), ..VxlanSpec::default() };
    handle.link_add(&LinkSpec::vxlan("vxlan-7", spec)).unwrap();
    let Kind::Vxlan(info) = handle.link("vxlan-7").unwrap().unwrap().kind else { panic!("not a VXLAN") };
    assert_eq!((info.local, info.group, info.port, info.learning), (Some(local), Some(group), 8472, true));
}

#[test]
fn every_change_in_one_request() {
    let (_ns, handle) = host();
    let index = handle.link_add(&LinkSpec::veth("a", "b").up()).unwrap();
    let change = set("a").down().mtu(1400).mac(mac(9)).group(77).alias("port 1").promiscuous(true);
    handle.link_set(change).unwrap();
    handle.link_rename("a", "renamed").unwrap();
    let link = handle.link(index).unwrap().unwrap();
    assert_eq!((link.name.as_str(), link.mtu, link.mac, link.group), ("renamed", 1400, Some(mac(9)), 77));
    assert_eq!((link.alias.as_str(), link.up), ("port 1", false));
    assert_ne!(link.flags & nix::libc::IFF_PROMISC as u32, 0);

    let (there, other) = host();
    handle.link_set(set("renamed").netns(&there)).unwrap();
    assert_eq!(handle.link("renamed").unwrap(), None);
    assert!(other.link("renamed").unwrap().is_some());
}

#[test]
fn kinds_that_this_kernel_lacks_are_refused_by_type() {
    // Where the kernel has them (modules of a distribution), creating must work instead.
    let (_ns, handle) = host();
    let parent = handle.link_add(&LinkSpec::veth("eth0", "eth1")).unwrap();
    for spec in [LinkSpec::dummy("dum0"), LinkSpec::vlan("eth0.100", parent, 100)] {
        match handle.link_add(&spec) {
            Ok(index) => {
                let link = handle.link(index).unwrap().unwrap();
                assert!(matches!(link.kind, Kind::Dummy | Kind::Vlan { id: 100, protocol: 0x8100 }), "{link:?}");
            }
            Err(error) => {
                assert_eq!((error.kind(), error.object()), (ErrorKind::Unsupported, spec.name()));
                assert!(error.to_string().contains(spec.name()), "{error}");
            }
        }
    }
}

#[test]
fn bad_requests_name_the_device() {
    let (_ns, handle) = host();
    let parent = handle.link_add(&LinkSpec::veth("eth0", "eth1")).unwrap();
    let too_long = handle.link_add(&LinkSpec::bridge("brq0123456789012")).unwrap_err();
    assert_eq!((too_long.kind(), too_long.object()), (ErrorKind::Invalid, "brq0123456789012"));
    let vlan = handle.link_add(&LinkSpec::vlan("v", parent, 4095)).unwrap_err();
    assert_eq!(vlan.kind(), ErrorKind::Invalid);
    let vni = VxlanSpec { vni: 1 << 24, ..VxlanSpec::default() };
    assert_eq!(handle.link_add(&LinkSpec::vxlan("x", vni)).unwrap_err().kind(), ErrorKind::Invalid);
    let gone = handle.link_set(set("gone").up()).unwrap_err();
    assert_eq!((gone.kind(), gone.object()), (ErrorKind::NotFound, "gone"));
    let mtu = handle.link_set(set("eth0").mtu(70_000)).unwrap_err();
    assert_eq!(mtu.kind(), ErrorKind::Invalid);
    // The kernel's own words are kept.
    assert!(mtu.to_string().contains("mtu"), "{mtu}");
    assert_eq!(handle.link_delete("lo").unwrap_err().kind(), ErrorKind::Unsupported);
    assert_eq!(handle.run(delete_group(0)).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(handle.link("a/b").unwrap(), None);
}

#[test]
fn a_batch_gives_one_result_per_request_and_goes_on() {
    let (_ns, handle) = host();
    let mut requests = Vec::new();
    for i in 0..300 {
        requests.push(add(&LinkSpec::bridge(&format!("br{i}"))));
    }
    requests.insert(10, add(&LinkSpec::bridge("br3")));
    requests.insert(20, add(&LinkSpec::bridge("a-name-that-is-too-long")));
    let results = handle.batch(requests);
    assert_eq!(results.len(), 302);
    for (i, result) in results.iter().enumerate() {
        match i {
            10 => assert!(result.as_ref().unwrap_err().is_exists()),
            20 => assert_eq!(result.as_ref().unwrap_err().kind(), ErrorKind::Invalid),
            _ => assert!(result.is_ok(), "{result:?}"),
        }
    }
    assert_eq!(handle.links().unwrap().iter().filter(|l| l.kind.name() == "bridge").count(), 300);
}

#[test]
fn many_are_deleted_within_one_grace_period() {
    let (_ns, handle) = host();
    let names: Vec<String> = (0..200).map(|i| format!("tap{i}")).collect();
    let made = handle.batch((0..200).map(|i| add(&LinkSpec::veth(&format!("tap{i}"), &format!("p{i}")))));
    assert!(made.iter().all(Result::is_ok));
    let start = Instant::now();
    let found = handle.link_delete_all(names.iter().chain([&"gone".to_owned()])).unwrap();
    // One by one they would take 200 times 16 ms.
    assert!(start.elapsed().as_millis() < 2_000, "{:?}", start.elapsed());
    assert_eq!(found, 200);
    assert!(handle.links().unwrap().iter().all(|link| link.name == "lo"));
    assert!(handle.run(delete_group(5)).unwrap_err().is_not_found());
}

#[test]
fn a_foreign_bridge_is_made_to_forward_at_once() {
    let (namespace, handle) = host();
    let script = "ip link add br0 type bridge stp_state 1 forward_delay 1500";
    let made =
        crate::Program::new("sh").args(["-c", script]).netns(&namespace).check(std::time::Duration::from_secs(10));
    assert!(made.is_ok(), "{made:?}");
    assert!(handle.batch(forward_at_once("br0")).iter().all(Result::is_ok));
    let kind = handle.link("br0").unwrap().unwrap().kind;
    assert!(matches!(kind, Kind::Bridge { forward_delay: 0, stp: false, .. }), "{kind:?}");
    assert!(handle.batch(forward_at_once("br1")).into_iter().all(|result| result.unwrap_err().is_not_found()));
}

#[test]
fn ipv6_switched_off_is_seen() {
    let (namespace, handle) = host();
    handle.link_add(&LinkSpec::bridge("br0")).unwrap();
    assert!(!handle.link("br0").unwrap().unwrap().ipv6_disabled);
    let settings = crate::Sysctl::in_netns(&namespace);
    settings.set(&crate::sysctl::ipv6("br0", "disable_ipv6"), "1").unwrap();
    assert!(handle.link("br0").unwrap().unwrap().ipv6_disabled);
    assert!(handle.links().unwrap().iter().find(|link| link.name == "br0").unwrap().ipv6_disabled);
}
