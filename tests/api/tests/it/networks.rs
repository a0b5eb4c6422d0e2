//! Networks.

use api::Api;
use serde_json::json;

#[test]
fn network_mtu_vs_subnet_family() {
    let api = Api::start();
    let small = api.create("network", json!({"mtu": 1200}));
    let v6 = json!({"network_id": small.id(), "ip_version": 6, "cidr": "2001:db8::/64"});
    let message = api.try_create("subnet", v6).fault(409, "NetworkMTUSubnetConflict");
    assert!(message.contains("1280"), "{message}");
    api.create("subnet", json!({"network_id": small.id(), "ip_version": 4, "cidr": "192.0.2.0/24"}));
    let message = api.try_update(&small, json!({"mtu": 60})).fault(409, "NetworkMTUSubnetConflict");
    assert!(message.contains("68"), "{message}");
    assert_eq!(api.read(&small).number("mtu"), 1200);
    let message = api.try_create("network", json!({"mtu": 9000})).fault(400, "InvalidInput");
    assert!(message.contains("1450"), "{message}");
}

#[test]
fn network_delete_in_use_lists_ports() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    let port = api.create("port", json!({"network_id": net.id()}));
    let message = api.delete(&net).fault(409, "NetworkInUse");
    assert!(message.contains(net.id()) && message.contains(port.id()), "{message}");
    api.delete(&port).expect(204);
    let dhcp = json!({"network_id": net.id(), "device_owner": "network:dhcp", "device_id": "agent"});
    let dhcp = api.create("port", dhcp);
    api.delete(&net).expect(204);
    api.show(&dhcp).fault(404, "PortNotFound");
}
