use std::sync::Arc;

use network::ml2::{AgentView, BindingRequest, MechanismDriver, Segment};
use network::port::PORT;
use schema::{Model, Record};
use serde_json::{Value, json};

use super::*;

fn segment(network_type: &str, physical_network: Option<&str>) -> Segment {
    Segment {
        id: "s".into(),
        network_type: network_type.into(),
        physical_network: physical_network.map(String::from),
        segmentation_id: Some(7),
    }
}

fn agent(agent_type: &str, alive: bool, configurations: Value) -> AgentView {
    AgentView { agent_type: agent_type.into(), host: "cmp1".into(), alive, configurations }
}

fn bind(driver: &dyn MechanismDriver, segments: &[Segment], agents: &[AgentView]) -> Option<(String, String)> {
    let port = Record::new(&Arc::new(Model::new(&PORT, []).unwrap()));
    let request = BindingRequest { port: &port, host: "cmp1", vnic_type: "normal", segments, agents };
    driver.bind(&request).map(|bound| (bound.vif_type.to_owned(), bound.segment.network_type))
}

#[test]
fn a_bridge_agent_binds_what_it_reports() {
    let report = json!({"interface_mappings": {"physnet1": "eth1"}, "bridge_mappings": {}, "tunnel_types": ["vxlan"]});
    let live = agent("Linux bridge agent", true, report.clone());
    let bound = |network_type: &str| Some(("bridge".to_owned(), network_type.to_owned()));
    let one = std::slice::from_ref(&live);
    assert_eq!(bind(&LinuxBridge, &[segment("vlan", Some("physnet1"))], one), bound("vlan"));
    assert_eq!(bind(&LinuxBridge, &[segment("vlan", Some("physnet2"))], one), None);
    assert_eq!(bind(&LinuxBridge, &[segment("gre", None)], one), None);
    let both = [segment("gre", None), segment("vxlan", None)];
    assert_eq!(bind(&LinuxBridge, &both, one), bound("vxlan"));
    let dead = agent("Linux bridge agent", false, report.clone());
    assert_eq!(bind(&LinuxBridge, &both, &[dead]), None);
    let other = agent("Open vSwitch agent", true, report);
    assert_eq!(bind(&LinuxBridge, &both, &[other]), None);
}
