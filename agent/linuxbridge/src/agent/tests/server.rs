//! Servers that are away, slow or talk nonsense.

use std::time::Duration;

use linux::LinkSpec;
use serde_json::json;
use testkit::{eventually, lab::Lab};

use super::{
    INI, bridge_of, exists,
    fake::{SOON, World, network, port},
    host, plug,
};

#[test]
fn it_reports_what_the_servers_drivers_bind_by() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    host.bridge("br-ex", &[]);
    let ini = format!("{INI}bridge_mappings = public:br-ex\n");
    let _agent = world.agent(&host, &ini);
    let one = port(1, "a");
    world.put(&one);
    plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    let last = |state: &rpc::state::AgentState| !state.start_flag && state.configurations["devices"] == 1;
    eventually(SOON, || world.book().states.last().is_some_and(last));
    let book = world.book();
    let (first, last) = (&book.states[0], book.states.last().unwrap());
    assert_eq!((first.agent_type.as_str(), first.binary.as_str()), ("Linux bridge agent", "neutron-linuxbridge-agent"));
    assert_eq!((first.topic.as_str(), first.host.as_str(), first.start_flag), ("N/A", "a", true));
    assert!(first.resource_versions.is_none() && last.resource_versions.is_none());
    assert_eq!(
        serde_json::to_value(&last.configurations).unwrap(),
        json!({
            "bridge_mappings": {"public": "br-ex"},
            "interface_mappings": {"physnet1": "p1"},
            "tunneling_ip": "192.0.2.10",
            "tunnel_types": ["vxlan"],
            "l2_population": true,
            "extensions": [],
            "devices": 1,
        })
    );
}

#[test]
fn a_server_that_comes_later_finds_a_waiting_agent() {
    let (lab, world) = (Lab::new(), World::without_server());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let one = port(1, "a");
    world.put(&one);
    plug(&lab, &host, &one);
    world.serve();
    world.wait(&one, "ACTIVE");
}

#[test]
fn a_server_that_dies_costs_no_traffic_and_no_report() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let (one, two) = (port(1, "a"), port(2, "a"));
    world.put(&one);
    world.put(&two);
    let first = plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    world.book().broken = true;
    let second = plug(&lab, &host, &two);
    host.handle().link_set(linux::link::set("vxlan-1001").down()).unwrap();
    // What is known is kept in order meanwhile.
    eventually(SOON, || host.handle().link("vxlan-1001").unwrap().unwrap().up);
    assert_eq!(bridge_of(&host, &one.tap()), Some(one.bridge()));
    assert_eq!(bridge_of(&host, &two.tap()), None);
    let gone = first;
    gone.off();
    eventually(SOON, || !exists(&host, &one.tap()));
    world.book().broken = false;
    world.wait(&two, "ACTIVE");
    world.wait(&one, "DOWN");
    second.address("10.0.0.9/24");
}

#[test]
fn a_revived_agent_asks_about_everything_again() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    let one = port(1, "a");
    world.put(&one);
    plug(&lab, &host, &one);
    world.wait(&one, "ACTIVE");
    eventually(SOON, || world.book().reports.iter().any(|(_, _, refresh)| *refresh));
    // The port changed while the server sent nothing.
    let mut changed = one.clone();
    changed.mtu = Some(1300);
    world.put(&changed);
    let reports = world.book().reports.len();
    world.book().revive = true;
    eventually(SOON, || host.handle().link(one.tap().as_str()).unwrap().unwrap().mtu == 1300);
    eventually(SOON, || world.book().reports[reports..].iter().any(|(up, _, refresh)| *refresh && up == &[one.tap()]));
}

#[test]
fn one_device_that_the_server_chokes_on_holds_up_no_other() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let ports: Vec<_> = (1..=3).map(|n| port(n, "a")).collect();
    for port in &ports {
        world.put(port);
        host.handle().link_add(&LinkSpec::veth(&port.tap(), &format!("x{}", &port.tap()[3..]))).unwrap();
    }
    world.book().failing.insert(ports[1].tap());
    let _agent = world.agent(&host, INI);
    world.wait(&ports[0], "ACTIVE");
    world.wait(&ports[2], "ACTIVE");
    assert_eq!(world.book().status(&ports[1]), "none");
    world.book().failing.clear();
    world.wait(&ports[1], "ACTIVE");
}

#[test]
fn details_that_make_no_sense_concern_their_device_alone() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let (mut bad, mut worse, good) = (port(1, "a"), port(2, "a"), port(3, "a"));
    (bad.network, bad.network_type) = (network(2), "carrier-pigeon");
    (worse.network, worse.segmentation_id) = (network(3), Some(1 << 24));
    let mut foreign = port(4, "a");
    (foreign.network, foreign.network_type, foreign.segmentation_id) = (network(4), "vlan", Some(9));
    for port in [&bad, &worse, &good, &foreign] {
        world.put(port);
        host.handle().link_add(&LinkSpec::veth(&port.tap(), &format!("x{}", &port.tap()[3..]))).unwrap();
    }
    // A name of 15 characters, and one of somebody else's.
    host.handle().link_add(&LinkSpec::veth("tap-by-somebody", "x-by-somebody")).unwrap();
    let _agent = world.agent(&host, INI);
    world.wait(&good, "ACTIVE");
    for port in [&bad, &worse, &foreign] {
        assert_ne!(world.book().status(port), "ACTIVE");
        assert_eq!(bridge_of(&host, &port.tap()), None);
    }
    assert_eq!(bridge_of(&host, "tap-by-somebody"), None);
    // Mended, it works.
    (bad.network_type, bad.segmentation_id) = ("vxlan", Some(7));
    world.put(&bad);
    world.port_updated(&bad);
    world.wait(&bad, "ACTIVE");
}

#[test]
fn a_network_that_cannot_be_built_leaves_nothing_and_can_be_mended() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let _agent = world.agent(&host, INI);
    // The kernel wants at least 68 bytes.
    let mut one = port(1, "a");
    one.mtu = Some(60);
    world.put(&one);
    plug(&lab, &host, &one);
    world.wait(&one, "DOWN");
    assert!(!exists(&host, "vxlan-1001"), "nothing half made stays");
    one.mtu = Some(1400);
    world.put(&one);
    world.port_updated(&one);
    world.wait(&one, "ACTIVE");
}

#[test]
fn a_network_deleted_while_nobody_listened_is_taken_down_later() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let agent = world.agent(&host, INI);
    let (one, mut two) = (port(1, "a"), port(2, "a"));
    (two.network, two.segmentation_id) = (network(2), Some(1002));
    for port in [&one, &two] {
        world.put(port);
        let machine = plug(&lab, &host, port);
        world.wait(port, "ACTIVE");
        machine.off();
        world.wait(port, "DOWN");
    }
    world.stop(agent);
    world.book().networks_gone.insert(one.network.clone());
    world.book().broken = true;
    let _agent = world.agent(&host, INI);
    world.book().broken = false;
    eventually(SOON, || !exists(&host, &one.bridge()) && !exists(&host, "vxlan-1001"));
    assert!(exists(&host, &two.bridge()) && exists(&host, "vxlan-1002"), "one that lives on stays");
}

#[test]
fn mistakes_in_the_configuration_end_the_start() {
    let (lab, world) = (Lab::new(), World::new());
    let host = host(&lab, "a");
    let start = |ini: &str| {
        let agent = world.agent(&host, ini);
        let ended = world.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(10), agent.task).await });
        ended.expect("it ends").unwrap().unwrap_err().to_string()
    };
    insta::assert_snapshot!(start(""), @"enable_vxlan needs local_ip in section VXLAN: the address of an interface for tunnels to leave from");
    insta::assert_snapshot!(start("[VXLAN]\nlocal_ip = 203.0.113.1\n"), @"local_ip 203.0.113.1 is on no interface; tunnels need one that has it");
    let off = "[VXLAN]\nenable_vxlan = false\n[LINUX_BRIDGE]\n";
    insta::assert_snapshot!(start(&format!("{off}physical_interface_mappings = physnet1:p9\n")), @"physical_interface_mappings: interface p9 of physical network physnet1 does not exist");
    insta::assert_snapshot!(start(&format!("{off}bridge_mappings = physnet1:br-no\n")), @"bridge_mappings: bridge br-no of physical network physnet1 does not exist");
}
