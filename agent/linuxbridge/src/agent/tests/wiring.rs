//! From a device to an active port, and back.

use std::time::{Duration, Instant};

use linux::{LinkSpec, link, tap::TapSpec};
use testkit::{eventually, lab::Lab};

use super::{
    INI, Pinger, bridge_of, exists,
    fake::{SOON, World, network, port},
    host, plug, sh,
};

#[test]
fn a_new_device_is_up_in_milliseconds() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let (one, two) = (port(1, "a"), port(2, "a"));
    world.put(&one);
    world.put(&two);
    let first = plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    let second = lab.machine(&host, "two", &two.tap(), two.mac);
    let since = Instant::now();
    world.wait(&two, "ACTIVE");
    let took = since.elapsed();
    println!("device to ACTIVE: {took:?}");
    assert!(took < Duration::from_millis(500), "{took:?}: far from the event, near the polling");
    second.address("10.0.0.2/24");
    first.ping("10.0.0.2");
    assert_eq!(bridge_of(&host, &one.tap()), Some(one.bridge()));
    assert_eq!(bridge_of(&host, "vxlan-1001"), Some(one.bridge()));
}

#[test]
fn lb_fast_replug() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let one = port(1, "a");
    world.put(&one);
    plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    let before = world.book().history[&one.id].len();
    // Both within one request of the kernel, as far as any reader can tell.
    host.handle().link_delete(one.tap().as_str()).unwrap();
    let spec = LinkSpec::veth(&one.tap(), "again");
    host.handle().link_add(&spec).unwrap();
    eventually(SOON, || world.book().history[&one.id][before..].ends_with(&["BUILD", "ACTIVE"]));
    assert_eq!(bridge_of(&host, &one.tap()), Some(one.bridge()));
}

#[test]
fn lb_one_bad_device() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let ports: Vec<_> = (1..=20).map(|n| port(n, "a")).collect();
    for port in &ports {
        world.put(port);
        host.handle().link_add(&LinkSpec::veth(&port.tap(), &format!("x{}", &port.tap()[3..]))).unwrap();
    }
    let (handle, tenth) = (host.handle().clone(), ports[9].tap());
    world.plugin.on_question(move |names| {
        if names.contains(&tenth) {
            handle.link_delete(&tenth).unwrap();
        }
    });
    let _agent = world.agent(&host, INI);
    for port in ports.iter().filter(|port| port.id != ports[9].id) {
        world.wait(port, "ACTIVE");
    }
    // The server thought that it was being built, and learns otherwise.
    world.wait(&ports[9], "DOWN");
    let book = world.book();
    for port in ports.iter().filter(|port| port.id != ports[9].id) {
        assert_eq!(book.history[&port.id], ["BUILD", "ACTIVE"], "not built twice");
    }
    assert_eq!(book.questions.iter().filter(|names| names.len() > 1).count(), 1, "all asked at once");
}

#[test]
fn a_removed_device_is_reported_down() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let one = port(1, "a");
    world.put(&one);
    let machine = plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    machine.off();
    world.wait(&one, "DOWN");
    // The network stays for the next port.
    assert!(exists(&host, &one.bridge()));
}

#[test]
fn a_port_switched_off_is_down_and_on_again() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let mut one = port(1, "a");
    one.admin_up = false;
    world.put(&one);
    plug(&lab, &host, &one);
    eventually(SOON, || world.book().reports.iter().any(|(_, down, _)| down.contains(&one.tap())));
    assert!(!host.handle().link(one.tap().as_str()).unwrap().unwrap().up);
    one.admin_up = true;
    world.put(&one);
    world.port_updated(&one);
    world.wait(&one, "ACTIVE");
    assert!(host.handle().link(one.tap().as_str()).unwrap().unwrap().up);
    // The hypervisor brings a device up that was switched off meanwhile: it goes down again.
    one.admin_up = false;
    world.put(&one);
    world.port_updated(&one);
    world.wait(&one, "DOWN");
    host.handle().link_set(link::set(one.tap().as_str()).up()).unwrap();
    eventually(SOON, || !host.handle().link(one.tap().as_str()).unwrap().unwrap().up);
}

#[test]
fn a_device_before_its_binding_is_wired_when_the_binding_comes() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let one = port(1, "a");
    plug(&lab, &host, &one);
    eventually(SOON, || !world.book().questions.is_empty());
    assert_eq!(bridge_of(&host, &one.tap()), None);
    world.put(&one);
    world.port_updated(&one);
    world.wait(&one, "ACTIVE");
}

#[test]
fn instances_devices_are_plugged_by_the_hypervisor_or_in_the_end_by_us() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, &INI.replace("[LINUX", "[AGENT]\npolling_interval = 1\n[LINUX"));
    let (mut one, mut two) = (port(1, "a"), port(2, "a"));
    (one.owner, two.owner) = ("compute:nova", "compute:nova");
    (one.segmentation_id, two.segmentation_id) = (Some(5), Some(5));
    world.put(&one);
    world.put(&two);
    TapSpec::new(&one.tap()).netns(host.netns()).create().unwrap();
    // As soon as the bridge is there, libvirt would plug the device; it is up then without a further look.
    eventually(SOON, || exists(&host, "vxlan-5"));
    assert_eq!(bridge_of(&host, &one.tap()), None);
    host.handle().link_master(one.tap().as_str(), one.bridge().as_str()).unwrap();
    world.wait(&one, "ACTIVE");
    // Nobody plugs this one.
    TapSpec::new(&two.tap()).netns(host.netns()).create().unwrap();
    world.wait(&two, "ACTIVE");
    assert_eq!(bridge_of(&host, &two.tap()), Some(two.bridge()));
}

#[test]
fn a_binding_that_moves_away_unplugs_and_one_that_comes_back_plugs() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let mut one = port(1, "a");
    world.put(&one);
    plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    one.inactive = true;
    world.put(&one);
    let context = messaging::Context::admin();
    let deactivate = |to: &str| {
        let (id, to, network) = (one.id.clone(), to.to_owned(), Some(one.network.clone()));
        world.runtime.block_on(world.notify().binding_deactivate(&context, id, to, network)).unwrap();
    };
    deactivate("another");
    deactivate("a");
    eventually(SOON, || bridge_of(&host, &one.tap()).is_none());
    one.inactive = false;
    world.put(&one);
    let activate = world.notify();
    world.runtime.block_on(activate.binding_activate(&context, one.id.clone(), "a".to_owned())).unwrap();
    eventually(SOON, || bridge_of(&host, &one.tap()).is_some());
    world.wait(&one, "ACTIVE");
    // A port that is deleted leaves at once, whoever still holds its device.
    world.book().ports.clear();
    world.runtime.block_on(world.notify().port_delete(&context, one.id.clone())).unwrap();
    eventually(SOON, || bridge_of(&host, &one.tap()).is_none());
}

#[test]
fn lb_network_delete_early() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let agent = world.agent(&host, INI);
    let one = port(1, "a");
    world.put(&one);
    let machine = plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    world.stop(agent);
    machine.off();
    eventually(SOON, || !exists(&host, &one.tap()));
    // The next agent has never heard of the network. It listens before it reports.
    let reports = world.book().states.len();
    let _agent = world.agent(&host, INI);
    eventually(SOON, || world.book().states.len() > reports);
    world.network_deleted(&one.network);
    eventually(SOON, || !exists(&host, &one.bridge()) && !exists(&host, "vxlan-1001"));
    // One that is gone already is no error, nor is a device that goes at the same time.
    world.network_deleted(&one.network);
    let mut two = port(2, "a");
    (two.network, two.segmentation_id) = (network(2), Some(1002));
    world.put(&two);
    let machine = plug(&lab, &host, &two);
    world.wait(&two, "ACTIVE");
    let off = std::thread::spawn(move || machine.off());
    world.network_deleted(&two.network);
    off.join().unwrap();
    eventually(SOON, || !exists(&host, &two.bridge()) && !exists(&host, "vxlan-1002"));
    // And it works on.
    world.put(&one);
    plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
}

#[test]
fn lb_host_ip_moves_and_returns() {
    let (lab, world) = (Lab::new(), World::new());
    let (host, gateway) = (lab.host("a"), lab.host("gateway"));
    lab.cable(&host, "p1", &gateway, "eth0");
    gateway.address("eth0", "192.0.2.1/24");
    gateway.address("eth0", "2001:db8:1::1/64");
    host.address("p1", "192.0.2.10/24");
    host.address("p1", "2001:db8:1::10/64");
    sh(host.netns(), "ip route add default via 192.0.2.1; ip -6 route add default via 2001:db8:1::1");
    let agent = world.agent(&host, INI);
    let mut one = port(1, "a");
    (one.network_type, one.physical, one.segmentation_id) = ("flat", Some("physnet1"), None);
    one.mtu = Some(1500);
    world.put(&one);
    gateway.ping("192.0.2.10");
    let pings = Pinger::start(gateway.netns(), "192.0.2.10", 300);
    let sixth = Pinger::start(gateway.netns(), "2001:db8:1::10", 300);
    let machine = plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");

    let on = |device: &str| {
        sh(
            host.netns(),
            &format!(
                "ip -o addr show dev {device} scope global; ip route show default dev {device}; ip -6 route show default dev {device}"
            ),
        )
    };
    let moved = on(&one.bridge());
    for fact in ["192.0.2.10/24", "2001:db8:1::10/64", "default via 192.0.2.1", "default via 2001:db8:1::1"] {
        assert!(moved.contains(fact), "{fact} is not in {moved}");
    }
    assert_eq!(on("p1"), "");
    // Twice restarted: nothing happens, not even an error about what is there already.
    let mut agent = agent;
    for _ in 0..2 {
        world.stop(agent);
        agent = world.agent(&host, INI);
        world.wait(&one, "ACTIVE");
        assert_eq!(on(&one.bridge()), moved);
    }
    // Guests reach beyond the interface.
    machine.address("192.0.2.99/24");
    machine.ping("192.0.2.1");
    world.network_deleted(&one.network);
    eventually(SOON, || !exists(&host, &one.bridge()));
    let back = on("p1");
    for fact in ["192.0.2.10/24", "2001:db8:1::10/64", "default via 192.0.2.1", "default via 2001:db8:1::1"] {
        assert!(back.contains(fact), "{fact} is not in {back}");
    }
    for pings in [pings, sixth] {
        let (lost, sent) = pings.lost();
        println!("lost {lost} of {sent} pings while the address moved there and back");
        assert!(lost < 200, "more than 2 s: {lost} of {sent}");
    }
    gateway.ping("192.0.2.10");
    gateway.ping("2001:db8:1::10");
}

#[test]
fn lb_user_bridge_untouched() {
    let (lab, world) = (Lab::new(), World::new());
    let host = lab.host("a");
    host.handle().link_add(&LinkSpec::veth("eth9", "eth9-far")).unwrap();
    host.bridge("br-user", &["eth9"]);
    host.bridge("br-vlan", &[]);
    host.address("br-user", "203.0.113.1/24");
    let ini = "[VXLAN]\nenable_vxlan = false\n[LINUX_BRIDGE]\nbridge_mappings = physnet1:br-user\n\
               physical_interface_mappings = physnet2:br-vlan\n";
    let _agent = world.agent(&host, ini);
    let (mut one, mut two) = (port(1, "a"), port(2, "a"));
    (one.network_type, one.physical, one.segmentation_id) = ("flat", Some("physnet1"), None);
    (two.network_type, two.physical, two.segmentation_id) = ("flat", Some("physnet2"), None);
    two.network = network(2);
    world.put(&one);
    world.put(&two);
    plug(&lab, &host, &one);
    plug(&lab, &host, &two);
    world.wait(&one, "ACTIVE");
    world.wait(&two, "DOWN");
    assert_eq!(bridge_of(&host, &one.tap()).as_deref(), Some("br-user"));
    assert_eq!(bridge_of(&host, &two.tap()), None);
    let asked = world.book().questions.len();
    world.network_deleted(&one.network);
    world.network_deleted(&two.network);
    // A later port proves that what came before has been treated.
    let mut three = port(3, "a");
    (three.network, three.network_type, three.physical) = (network(3), "flat", Some("physnet1"));
    three.segmentation_id = None;
    world.put(&three);
    plug(&lab, &host, &three);
    world.wait(&three, "ACTIVE");
    assert_eq!(bridge_of(&host, "eth9").as_deref(), Some("br-user"));
    assert!(sh(host.netns(), "ip -o addr show dev br-user").contains("203.0.113.1/24"));
    assert!(exists(&host, "br-vlan"));
    assert_eq!(world.book().questions.len(), asked + 1, "the wrong mapping is not asked about again and again");
}

#[test]
fn lb_restart_no_loss() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let mut agent = world.agent(&host, INI);
    // Guests in pairs, on tunnelled networks and on one that is in the host's own.
    let mut guests = Vec::new();
    for n in 1..=50u8 {
        let mut port = port(n, "a");
        let pair = u32::from(n.div_ceil(2));
        (port.network, port.segmentation_id) = (network(pair), Some(1000 + pair));
        if pair == 5 {
            // It takes the address that tunnels leave from along, and must leave them room.
            (port.network_type, port.physical, port.segmentation_id) = ("flat", Some("physnet1"), None);
            port.mtu = Some(1500);
        }
        world.put(&port);
        guests.push((plug(&lab, &host, &port), port));
    }
    for (_, port) in &guests {
        world.wait(port, "ACTIVE");
    }
    for pair in guests.chunks(2) {
        pair[0].0.ping(pair[1].1.ip);
    }
    let links = || -> Vec<(String, u32, bool)> {
        let mut all = host.handle().links().unwrap();
        all.retain(|link| link.name != "lo");
        all.into_iter().map(|link| (link.name, link.index, link.up)).collect()
    };
    let before = links();
    let pings: Vec<_> = guests.chunks(2).map(|pair| Pinger::start(pair[0].0.netns(), pair[1].1.ip, 200)).collect();
    for _ in 0..3 {
        world.stop(agent);
        let calls = world.book().reports.len();
        agent = world.agent(&host, INI);
        eventually(SOON, || world.book().reports.len() > calls);
        for (_, port) in &guests {
            world.wait(port, "ACTIVE");
        }
    }
    for pings in pings {
        assert_eq!(pings.lost(), (0, 200));
    }
    assert_eq!(links(), before, "nothing is made anew");
    world.stop(agent);
    assert_eq!(links(), before, "and a stop takes nothing away");
}

#[test]
fn cleanup_leaves_the_host_as_it_was() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let agent = world.agent(&host, INI);
    let (one, mut two) = (port(1, "a"), port(2, "a"));
    (two.network, two.network_type) = (network(2), "flat");
    (two.physical, two.segmentation_id) = (Some("physnet1"), None);
    world.put(&one);
    world.put(&two);
    plug(&lab, &host, &one);
    plug(&lab, &host, &two);
    world.wait(&one, "ACTIVE");
    world.wait(&two, "ACTIVE");
    world.stop(agent);
    // The configuration may be gone by then, as far as tunnels go.
    let config = super::fake::options("a", "[LINUX_BRIDGE]\nphysical_interface_mappings = physnet1:p1\n");
    assert_eq!(crate::cleanup(&config, host.netns()).unwrap(), Vec::<String>::new());
    let names: Vec<String> = host.handle().links().unwrap().into_iter().map(|link| link.name).collect();
    assert_eq!(names, ["lo", "p1", &one.tap(), &two.tap()]);
    assert!(sh(host.netns(), "ip -o addr show dev p1").contains("192.0.2.10/24"));
}
