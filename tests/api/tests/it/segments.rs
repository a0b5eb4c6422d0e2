//! Segments of networks as objects of their own.

use api::{Api, Object};
use serde_json::{Value, json};

use crate::ports::l2_agent;

fn vlan(api: &Api, number: i64) -> Object {
    let provider = json!({
        "provider:network_type": "vlan", "provider:physical_network": "physnet1", "provider:segmentation_id": number,
    });
    api.create("network", provider)
}

fn segment(network: &Object, more: Value) -> Value {
    let mut segment = json!({"network_id": network.id(), "network_type": "vlan", "physical_network": "physnet1"});
    for (name, value) in more.as_object().into_iter().flatten() {
        segment[name] = value.clone();
    }
    segment
}

#[test]
fn segments_are_added_named_and_removed() {
    let api = Api::start();
    let net = vlan(&api, 160);
    let of_net = format!("segments?network_id={}", net.id());
    let first = api.list(&of_net).remove(0);
    assert_eq!((first.text("network_type"), first.number("segmentation_id")), ("vlan", 160));
    assert!(api.member("p1").list("segments").is_empty());
    assert_eq!(api.member("p1").show(&first).status, 404);
    api.member("p1")
        .try_create("segment", segment(&net, json!({"segmentation_id": 161})))
        .fault(403, "PolicyNotAuthorized");

    api.try_create("segment", segment(&net, json!({"segmentation_id": 160}))).fault(409, "VlanIdInUse");
    api.try_create("segment", segment(&net, json!({"network_type": "nope"}))).fault(400, "InvalidInput");
    api.try_create("segment", segment(&net, json!({"segmentation_id": "x"}))).fault(400, "InvalidInput");
    api.try_create("segment", json!({"network_id": net.id()})).fault(400, "HTTPBadRequest");
    let vxlan = json!({"network_id": net.id(), "network_type": "vxlan"});
    assert!(api.try_create("segment", vxlan).fault(400, "InvalidInput").contains("1450"));

    let second = api.create("segment", segment(&net, json!({"segmentation_id": 161, "name": "two"})));
    assert_eq!(api.list(&of_net).len(), 2);
    assert_eq!(api.read(&net)["segments"].as_array().map(Vec::len), Some(2));
    let renamed = api.update(&second, json!({"name": null, "description": "d"}));
    assert_eq!((renamed["name"].clone(), renamed.text("description")), (Value::Null, "d"));
    api.try_update(&second, json!({"segmentation_id": 7})).fault(400, "HTTPBadRequest");
    api.delete(&second).expect(204);
    api.delete(&second).fault(404, "SegmentNotFound");
    // The number is free again.
    api.create("segment", segment(&net, json!({"segmentation_id": 161})));
}

#[test]
fn a_segment_with_subnets_or_ports_stays() {
    let api = Api::start();
    api.server().report(&l2_agent("cmp1"));
    let net = vlan(&api, 162);
    let one = api.list(&format!("segments?network_id={}", net.id())).remove(0);
    let two = api.create("segment", segment(&net, json!({"segmentation_id": 163})));
    let subnet = json!({"network_id": net.id(), "ip_version": 4, "cidr": "192.0.2.0/24", "segment_id": two.id()});
    let subnet = api.create("subnet", subnet);
    assert!(api.delete(&two).fault(409, "SegmentInUse").contains(subnet.id()));
    // The host's agent reported before there was a second segment.
    let port = api.create("port", json!({"network_id": net.id(), "binding:host_id": "cmp1"}));
    assert_eq!(port.addresses().len(), 1);
    api.delete(&one).fault(409, "SegmentInUse");
    api.delete(&port).expect(204);
    api.delete(&subnet).expect(204);
    api.delete(&two).expect(204);
}
