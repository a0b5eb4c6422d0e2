//! VXLAN between two hosts.

use std::{collections::BTreeMap, net::IpAddr};

use rpc::l2pop::{Entries, FdbEntries, PortInfo};
use testkit::{
    eventually,
    lab::{Host, Lab},
};

use super::{
    exists,
    fake::{Port, SOON, World, network, port},
    plug, sh,
};

/// Two hosts with a cable between them that carries frames of `mtu` bytes.
fn hosts(lab: &Lab, world: &World, mtu: u32) -> (Host, Host) {
    let (a, b) = (lab.host("a"), lab.host("b"));
    lab.cable(&a, "eth0", &b, "eth0");
    for (host, last) in [(&a, 201), (&b, 202)] {
        host.handle().link_set(linux::link::set("eth0").mtu(mtu)).unwrap();
        host.address("eth0", &format!("192.0.2.{last}/24"));
        // Several addresses: the kernel would choose the first.
        world.book().tunnels.insert(host.name().to_owned(), IpAddr::from([192, 0, 2, last]));
    }
    (a, b)
}

fn ini(last: u8, more: &str) -> String {
    format!("[VXLAN]\nlocal_ip = 192.0.2.{last}\n{more}\n")
}

fn ports() -> (Port, Port) {
    (port(1, "a"), port(2, "b"))
}

#[test]
fn unicast_by_l2_population() {
    let (lab, world) = (Lab::new(), World::new());
    let (a, b) = hosts(&lab, &world, 1500);
    let _agents =
        [world.agent(&a, &ini(201, "l2_population = true")), world.agent(&b, &ini(202, "l2_population = true"))];
    let (one, two) = ports();
    world.put(&one);
    world.put(&two);
    let (first, second) = (plug(&lab, &a, &one), plug(&lab, &b, &two));
    first.ping(two.ip);
    second.ping(one.ip);
    let fdb = sh(a.netns(), "bridge fdb show dev vxlan-1001");
    assert!(fdb.contains("00:00:00:00:00:00 dst 192.0.2.202 self permanent"), "{fdb}");
    assert!(fdb.contains(&format!("{} dst 192.0.2.202 self permanent", two.mac)), "{fdb}");
    let link = sh(a.netns(), "ip -d link show vxlan-1001");
    assert!(!link.contains(" group 2"), "{link}");
}

#[test]
fn the_responder_answers_in_place_of_the_other_host() {
    let (lab, world) = (Lab::new(), World::new());
    let (a, b) = hosts(&lab, &world, 1500);
    let more = "l2_population = true\narp_responder = true";
    let _agents = [world.agent(&a, &ini(201, more)), world.agent(&b, &ini(202, more))];
    let (one, two) = ports();
    world.put(&one);
    world.put(&two);
    let (first, _second) = (plug(&lab, &a, &one), plug(&lab, &b, &two));
    first.ping(two.ip);
    assert!(sh(a.netns(), "ip -d link show vxlan-1001").contains(" proxy "));
    let neighbours = sh(a.netns(), "ip neigh show dev vxlan-1001");
    assert!(neighbours.contains(&format!("{} lladdr {} PERMANENT", two.ip, two.mac)), "{neighbours}");
    // An address that the other guest does not even have is answered for all the same, when the server says so.
    let ghost = PortInfo(two.mac, "10.0.0.77".parse().unwrap());
    let sixth = PortInfo(two.mac, "2001:db8:9::77".parse().unwrap());
    let ports = BTreeMap::from([("192.0.2.202".parse().unwrap(), vec![ghost, sixth])]);
    let entries = Entries { segment_id: Some(1001), network_type: "vxlan".into(), ports };
    world.populate(FdbEntries::from([(one.network.clone(), entries)]));
    first.address("2001:db8:9::1/64");
    let probe = |ip: &str| {
        let script = format!("ping -c1 -W1 {ip} >/dev/null || true; ip neigh show {ip}");
        eventually(SOON, || sh(first.netns(), &script).contains(&two.mac.to_string()));
    };
    probe("10.0.0.77");
    probe("2001:db8:9::77");
}

#[test]
fn multicast_without_l2_population() {
    let (lab, world) = (Lab::new(), World::new());
    let (a, b) = hosts(&lab, &world, 1500);
    let more = "vxlan_group = 239.1.0.0/16\nttl = 4\nudp_dstport = 4789";
    let _agents = [world.agent(&a, &ini(201, more)), world.agent(&b, &ini(202, more))];
    world.book().tunnels.clear();
    let (one, two) = ports();
    world.put(&one);
    world.put(&two);
    let (first, _second) = (plug(&lab, &a, &one), plug(&lab, &b, &two));
    first.ping(two.ip);
    let link = sh(a.netns(), "ip -d link show vxlan-1001");
    for fact in ["group 239.1.3.233", "local 192.0.2.201", "dev eth0", "dstport 4789", "ttl 4"] {
        assert!(link.contains(fact), "{fact} is not in {link}");
    }
}

#[test]
fn lb_vxlan_local_ip() {
    let (lab, world) = (Lab::new(), World::new());
    let host = lab.host("a");
    host.address("lo", "192.0.2.201/32");
    let _agent = world.agent(&host, &ini(201, "l2_population = true"));
    let one = port(1, "a");
    world.put(&one);
    plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    let link = sh(host.netns(), "ip -d link show vxlan-1001");
    assert!(link.contains("vxlan id 1001") && link.contains("local 192.0.2.201 dev lo"), "{link}");
    assert!(!link.contains(" proxy ") && !link.contains(" group 2"), "{link}");
}

#[test]
fn lb_mtu() {
    let (lab, world) = (Lab::new(), World::new());
    let (a, b) = hosts(&lab, &world, 9000);
    let l2 = "l2_population = true";
    let _agents = [world.agent(&a, &ini(201, l2)), world.agent(&b, &ini(202, l2))];
    let (mut one, mut two) = ports();
    (one.mtu, two.mtu) = (Some(8950), Some(8950));
    world.put(&one);
    world.put(&two);
    // Devices come with 1500, as libvirt's do.
    let (first, second) = (plug(&lab, &a, &one), plug(&lab, &b, &two));
    for (host, port) in [(&a, &one), (&b, &two)] {
        world.wait(port, "ACTIVE");
        for device in [port.tap(), port.bridge(), "vxlan-1001".to_owned()] {
            assert_eq!(host.handle().link(device.as_str()).unwrap().unwrap().mtu, 8950, "{device}");
        }
    }
    for machine in [&first, &second] {
        machine.handle().link_set(linux::link::set("eth0").mtu(8950)).unwrap();
    }
    first.ping(two.ip);
    sh(first.netns(), &format!("ping -c 3 -W 2 -M do -s 8900 {}", two.ip));

    // The network's MTU changes while its ports live.
    (one.mtu, two.mtu) = (Some(1400), Some(1400));
    world.put(&one);
    world.put(&two);
    world.network_updated(&one.network);
    for (host, port) in [(&a, &one), (&b, &two)] {
        let is = |device: &str| host.handle().link(device).unwrap().unwrap().mtu == 1400;
        eventually(SOON, || is(&port.tap()) && is(&port.bridge()) && is("vxlan-1001"));
    }

    // Too high for the interface: nothing is made, the port is not active, others are.
    for host in [&a, &b] {
        host.handle().link_set(linux::link::set("eth0").mtu(1500)).unwrap();
    }
    let mut high = port(3, "a");
    (high.network, high.segmentation_id, high.mtu) = (network(2), Some(1002), Some(9000));
    world.put(&high);
    plug(&lab, &a, &high);
    world.wait(&high, "DOWN");
    assert!(!exists(&a, "vxlan-1002"));
    // Mended by the operator, without a word to the agent: the interface's own event is enough.
    a.handle().link_set(linux::link::set("eth0").mtu(9050)).unwrap();
    world.wait(&high, "ACTIVE");
}

#[test]
fn entries_of_unknown_networks_hold_up_no_others() {
    let (lab, world) = (Lab::new(), World::new());
    let (a, _b) = hosts(&lab, &world, 1500);
    let _agent = world.agent(&a, &ini(201, "l2_population = true"));
    let one = port(1, "a");
    world.put(&one);
    plug(&lab, &a, &one);
    world.wait(&one, "ACTIVE");
    let entry = |n: u8| Entries {
        segment_id: Some(1001),
        network_type: "vxlan".into(),
        ports: BTreeMap::from([(
            "192.0.2.202".parse().unwrap(),
            vec![PortInfo::FLOOD, PortInfo(crate::testing::mac(n), IpAddr::from([10, 0, 0, n]))],
        )]),
    };
    // The unknown ones come before and after in the message.
    world.populate(FdbEntries::from([(network(0), entry(7)), (one.network.clone(), entry(8)), (network(9), entry(9))]));
    eventually(SOON, || sh(a.netns(), "bridge fdb show dev vxlan-1001").contains("fa:16:3e:00:00:08 dst 192.0.2.202"));
}

#[test]
fn a_restart_keeps_what_is_forwarded_until_the_server_has_spoken() {
    let (lab, world) = (Lab::new(), World::new());
    let (a, b) = hosts(&lab, &world, 1500);
    let l2 = "l2_population = true";
    let (agent, _other) = (world.agent(&a, &ini(201, l2)), world.agent(&b, &ini(202, l2)));
    let (one, two) = ports();
    world.put(&one);
    world.put(&two);
    let (first, _second) = (plug(&lab, &a, &one), plug(&lab, &b, &two));
    first.ping(two.ip);
    world.stop(agent);
    // A server that populates nothing any more.
    world.book().tunnels.clear();
    let reports = world.book().reports.len();
    let _agent = world.agent(&a, &ini(201, l2));
    eventually(SOON, || world.book().reports.len() > reports);
    world.wait(&one, "ACTIVE");
    let fdb = sh(a.netns(), "bridge fdb show dev vxlan-1001");
    assert!(fdb.contains(&format!("{} dst 192.0.2.202 self permanent", two.mac)), "{fdb}");
    assert!(first.reaches(two.ip));
}
