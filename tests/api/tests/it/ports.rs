//! Ports.

use std::collections::BTreeMap;

use api::{Agent, Api, Object, together};
use serde_json::{Value, json};

/// How often each outcome came.
fn counted(outcomes: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        *counts.entry(outcome.as_str()).or_insert(0) += 1;
    }
    counts
}

fn subnet(api: &Api, network: &Object, cidr: &str) -> Object {
    let version = if cidr.contains(':') { 6 } else { 4 };
    api.create("subnet", json!({"network_id": network.id(), "ip_version": version, "cidr": cidr}))
}

fn l2_agent(host: &str) -> Agent {
    Agent {
        agent_type: "Open vSwitch agent",
        binary: "neutron-openvswitch-agent",
        topic: "N/A",
        host: host.to_owned(),
        configurations: json!({
            "bridge_mappings": {"physnet1": "br-1"}, "tunnel_types": ["vxlan"], "tunneling_ip": "192.0.2.1", "l2_population": true,
            "datapath_type": "system",
        }),
    }
}

#[test]
fn port_binding_failed_heals() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    let port = api.create("port", json!({"network_id": net.id(), "binding:host_id": "cmp1"}));
    assert_eq!(port.text("binding:vif_type"), "binding_failed");
    api.server().report(&l2_agent("cmp1"));
    testkit::eventually(std::time::Duration::from_secs(10), || {
        let now = api.read(&port);
        if now.text("binding:vif_type") == "ovs" { Ok(()) } else { Err(now.to_string()) }
    });
}

#[test]
fn port_vnic_and_mac_on_bound() {
    let api = Api::start();
    api.server().report(&l2_agent("cmp1"));
    let net = api.member("p1").create("network", json!({}));
    let port = api.member("p1").create("port", json!({"network_id": net.id()}));
    let bound = api.update(&port, json!({"binding:host_id": "cmp1"}));
    assert_eq!(bound.text("binding:vif_type"), "ovs");
    api.member("p1").try_update(&port, json!({"binding:vnic_type": "direct"})).fault(409, "PortInUse");
    api.try_update(&port, json!({"mac_address": "fa:16:3e:00:00:77"})).fault(409, "PortBound");
    let unbound = api.update(&port, json!({"binding:host_id": null}));
    assert_eq!((unbound.text("binding:host_id"), unbound.text("binding:vif_type")), ("", "unbound"));
    api.member("p1").try_update(&port, json!({"binding:vnic_type": "direct"})).expect(200);
    assert_eq!(api.update(&port, json!({"mac_address": "fa:16:3e:00:00:77"})).text("mac_address"), "fa:16:3e:00:00:77");
}

#[test]
fn port_mac_normalise_and_filter() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    let port = json!({"network_id": net.id(), "mac_address": "FA-16-3E-AA-BB-CC", "fixed_ips": []});
    let port = api.create("port", port);
    assert_eq!(port.text("mac_address"), "fa:16:3e:aa:bb:cc");
    let found = api.list("ports?mac_address=FA:16:3E:AA:BB:CC");
    assert_eq!(found.iter().map(Object::id).collect::<Vec<_>>(), [port.id()]);
    let zero = json!({"network_id": net.id(), "mac_address": "00:00:00:00:00:00"});
    api.try_create("port", zero).fault(400, "HTTPBadRequest");
}

#[test]
fn port_mac_duplicate_race() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    let with_mac = |net: &Object| json!({"network_id": net.id(), "mac_address": "fa:16:3e:01:02:03"});
    let outcomes = together(8, |_| api.try_create("port", with_mac(&net)).summary());
    assert_eq!(counted(&outcomes), BTreeMap::from([("201", 1), ("409 MacAddressInUse", 7)]));
    let other = api.create("network", json!({}));
    api.create("port", with_mac(&other));
}

#[test]
fn port_fixed_ip_duplicate_race() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    subnet(&api, &net, "192.0.2.0/24");
    let start = std::time::Instant::now();
    // The gateway's own address may be asked for.
    let wanted = json!({"network_id": net.id(), "fixed_ips": [{"ip_address": "192.0.2.1"}]});
    let outcomes = together(8, |_| api.try_create("port", wanted.clone()).summary());
    assert_eq!(counted(&outcomes), BTreeMap::from([("201", 1), ("409 IpAddressAlreadyAllocated", 7)]));
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn port_security_flag_by_non_owner() {
    let api = Api::start();
    let net = api.create("network", json!({"project_id": "a", "shared": true}));
    let port = |more: Value| {
        let mut port = json!({"network_id": net.id()});
        port.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        api.member("b").try_create("port", port)
    };
    let message = port(json!({"port_security_enabled": true})).fault(403, "PolicyNotAuthorized");
    assert!(message.contains("create_port:port_security_enabled"), "{message}");
    port(json!({})).expect(201);
}

#[test]
fn extra_dhcp_opt_injection() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    let with = |option: Value| api.try_create("port", json!({"network_id": net.id(), "extra_dhcp_opts": [option]}));
    for bad in [
        json!({"opt_name": "3", "opt_value": "192.0.2.3\ntag:x,3,192.0.2.66"}),
        json!({"opt_name": "3\ntag:x,3", "opt_value": "192.0.2.3"}),
        json!({"opt_name": "3", "opt_value": "192.0.2.3", "ip_version": 9}),
        json!({"opt_name": "server-ip-address", "opt_value": ""}),
    ] {
        with(bad).expect(400);
    }
    assert!(api.list("ports").is_empty());
    with(json!({"opt_name": "router", "opt_value": ""})).expect(201);
}

#[test]
fn port_bulk_partial_failure() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    subnet(&api, &net, "192.0.2.0/29");
    let outside = json!({"network_id": net.id(), "fixed_ips": [{"ip_address": "203.0.113.9"}]});
    let fine = json!({"network_id": net.id()});
    for _ in 0..4 {
        let answer = api.try_create_all("port", json!([fine, fine, outside]));
        answer.fault(400, "InvalidIpForNetwork");
    }
    assert!(api.list("ports").is_empty());
    assert_eq!(api.server().count("SELECT COUNT(*) FROM ipallocations"), 0);
    assert_eq!(api.server().count("SELECT COUNT(*) FROM ipamallocations"), 0);
    // .2 to .6, all of them.
    api.try_create_all("port", json!([fine, fine, fine, fine, fine])).expect(201);
    api.try_create("port", fine).fault(409, "IpAddressGenerationFailure");
}

#[test]
fn port_bulk_attributes() {
    let api = Api::start();
    let net = api.create("network", json!({}));
    let slaac = json!({"network_id": net.id(), "ip_version": 6, "cidr": "2001:db8::/64", "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"});
    api.create("subnet", slaac);
    let ports = json!([
        {"network_id": net.id(), "name": "b1", "description": "d1"},
        {"network_id": net.id(), "name": "b2", "description": "d2", "admin_state_up": false, "binding:vnic_type": "direct"},
    ]);
    let made = api.try_create_all("port", ports).objects(201);
    assert_eq!((made[0].text("name"), made[0].text("description")), ("b1", "d1"));
    assert_eq!((made[1].text("name"), made[1].text("description")), ("b2", "d2"));
    assert_eq!((&made[1]["admin_state_up"], made[1].text("binding:vnic_type")), (&json!(false), "direct"));
    for port in &made {
        let mac: Vec<u8> =
            port.text("mac_address").split(':').map(|octet| u8::from_str_radix(octet, 16).expect("hex")).collect();
        let tail = [mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]];
        let address: std::net::Ipv6Addr = port.addresses()[0].parse().expect("an address");
        assert_eq!(address.octets()[8..], tail, "{address} is made of {}", port.text("mac_address"));
    }
    let one = api.try_create_all("port", json!([{"network_id": net.id()}])).objects(201);
    assert_eq!(one.len(), 1);
    let message = api.try_create_all("port", json!([])).fault(400, "HTTPBadRequest");
    assert!(message.contains("Resources required"), "{message}");
}
