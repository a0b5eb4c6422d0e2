//! Bindings of a port to several hosts, as a live migration uses them.

use api::Api;
use serde_json::{Value, json};

use crate::ports::l2_agent;

fn on(host: &str) -> Value {
    json!({"binding": {"host": host}})
}

#[test]
fn a_port_moves_between_hosts() {
    let api = Api::start();
    let server = api.server();
    for host in ["cmp1", "cmp2"] {
        server.report(&l2_agent(host));
    }
    let nova = api.header("X-Roles", "admin,service");
    let net = api.create("network", json!({}));
    let port =
        json!({"network_id": net.id(), "device_owner": "compute:nova", "device_id": "vm", "binding:host_id": "cmp1"});
    let port = api.create("port", port);
    let bindings = format!("{}/bindings", port.path());
    let shown = |host: &str| nova.get(&format!("{bindings}/{host}")).expect(200).json()["binding"].clone();
    assert_eq!((&shown("cmp1")["status"], &shown("cmp1")["vif_type"]), (&json!("ACTIVE"), &json!("ovs")));

    nova.post(&bindings, on("cmp1")).fault(409, "PortBindingAlreadyExists");
    nova.post(&bindings, on("nowhere")).fault(409, "PortBindingError");
    nova.post(&bindings, json!({"binding": {}})).fault(400, "HTTPBadRequest");
    nova.post(&bindings, json!({"binding": {"host": "cmp2", "x": 1}})).fault(400, "HTTPBadRequest");
    nova.post(&bindings, json!({"binding": {"host": "cmp2", "vnic_type": "x"}})).fault(400, "HTTPBadRequest");
    nova.post("ports/11111111-2222-4333-8444-555555555555/bindings", on("cmp2")).fault(404, "PortNotFound");
    api.post(&bindings, on("cmp2")).fault(403, "PolicyNotAuthorized");
    let made = nova.post(&bindings, on("cmp2")).expect(201).json()["binding"].clone();
    assert_eq!((&made["status"], &made["vif_type"]), (&json!("INACTIVE"), &json!("ovs")));
    assert_eq!(api.read(&port).text("binding:host_id"), "cmp1");
    let inactive = nova.get(&format!("{bindings}?status=INACTIVE")).json()["bindings"].clone();
    assert_eq!(inactive.as_array().map(Vec::len), Some(1));
    assert_eq!(api.member("p1").get(&bindings).status, 404);

    let profile = nova.put(&format!("{bindings}/cmp2"), json!({"binding": {"profile": {"a": "b"}}}));
    assert_eq!(profile.expect(200).json()["binding"]["profile"], json!({"a": "b"}));
    nova.put(&format!("{bindings}/cmp2"), on("cmp1")).fault(400, "HTTPBadRequest");

    nova.put(&format!("{bindings}/nowhere/activate"), json!({})).fault(404, "PortBindingNotFound");
    let sent = server.sent_by(|| {
        nova.put(&format!("{bindings}/cmp2/activate"), json!({})).expect(200);
    });
    let told: Vec<&str> =
        sent.iter().map(|sent| sent.method()).filter(|method| method.starts_with("binding_")).collect();
    assert_eq!(told, ["binding_deactivate", "binding_activate"]);
    nova.put(&format!("{bindings}/cmp2/activate"), json!({})).fault(409, "PortBindingAlreadyActive");
    let moved = api.read(&port);
    assert_eq!((moved.text("binding:host_id"), moved.text("status")), ("cmp2", "DOWN"));
    assert_eq!((&shown("cmp1")["status"], &shown("cmp1")["vif_type"]), (&json!("INACTIVE"), &json!("unbound")));
    let levels = "SELECT COUNT(*) FROM ml2_port_binding_levels WHERE host = 'cmp1'";
    assert_eq!(server.count(levels), 0);

    // The migration is taken back.
    nova.put(&format!("{bindings}/cmp1/activate"), json!({})).expect(200);
    assert_eq!((&shown("cmp1")["status"], &shown("cmp1")["vif_type"]), (&json!("ACTIVE"), &json!("ovs")));
    assert_eq!(server.count(levels), 1);
    assert_eq!(shown("cmp2")["profile"], json!({"a": "b"}));
    nova.put(&format!("{bindings}/cmp2/activate"), json!({})).expect(200);

    nova.send("DELETE", &format!("/v2.0/{bindings}/cmp1"), "").expect(204);
    nova.send("DELETE", &format!("/v2.0/{bindings}/cmp1"), "").fault(404, "PortBindingNotFound");
    let left = nova.get(&bindings).json()["bindings"].clone();
    assert_eq!((left.as_array().map(Vec::len), &left[0]["host"]), (Some(1), &json!("cmp2")));
}

#[test]
fn only_ports_of_instances_have_several_bindings() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    let port = api.create("port", json!({"network_id": net.id()}));
    let nova = api.header("X-Roles", "admin,service");
    nova.get(&format!("{}/bindings", port.path())).fault(400, "BadRequest");
    nova.post(&format!("{}/bindings", port.path()), on("cmp1")).fault(400, "BadRequest");
}
