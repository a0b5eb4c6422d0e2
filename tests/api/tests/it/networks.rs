//! Networks.

use api::{Api, together};
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

/// The DHCP agent makes its port on a new network, and gives it back, while the owner takes the network away again.
#[test]
fn network_delete_meets_its_dhcp_port() {
    let api = Api::start();
    for _ in 0..15 {
        let net = api.create("network", json!({}));
        api.create("subnet", json!({"network_id": net.id(), "ip_version": 4, "cidr": "192.0.2.0/24"}));
        let answers = together(4, |number| match number {
            0 => api.delete(&net),
            3 => {
                let ports = api.list(&format!("/ports?network_id={}", net.id()));
                ports.iter().map(|port| api.delete(port)).next_back().unwrap_or_else(|| api.get("networks"))
            }
            _ => {
                let port =
                    json!({"network_id": net.id(), "device_owner": "network:dhcp", "device_id": number.to_string()});
                api.try_create("port", port)
            }
        });
        answers[0].expect(204);
        for answer in &answers[1..] {
            assert!([200, 201, 204, 400, 404, 409].contains(&answer.status), "{}", answer.summary());
        }
        assert_eq!(api.list(&format!("/ports?network_id={}", net.id())).len(), 0);
    }
    assert_eq!(api.server().count("SELECT COUNT(*) FROM ipallocations"), 0);
    assert_eq!(api.server().count("SELECT COUNT(*) FROM ipamallocations"), 0);
    let attributes = "SELECT COUNT(*) FROM standardattributes WHERE resource_type IN ('networks', 'subnets', 'ports')";
    assert_eq!(api.server().count(attributes), 0);
}
