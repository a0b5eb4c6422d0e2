//! Subnets, subnet pools and the management of addresses.

use std::collections::{BTreeMap, BTreeSet};

use api::{Api, Object, together};
use serde_json::{Value, json};

fn counted(outcomes: &[String]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for outcome in outcomes {
        *counts.entry(outcome.as_str()).or_insert(0) += 1;
    }
    counts
}

fn network(api: &Api) -> Object {
    api.create("network", json!({}))
}

/// A subnet's body with more in it.
fn v4(network: &Object, cidr: &str, more: Value) -> Value {
    let mut body = json!({"network_id": network.id(), "ip_version": 4, "cidr": cidr});
    body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    body
}

fn slaac(network: &Object, cidr: &str) -> Value {
    json!({"network_id": network.id(), "ip_version": 6, "cidr": cidr, "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac"})
}

fn pool(start: &str, end: &str) -> Value {
    json!({"start": start, "end": end})
}

#[test]
fn subnet_same_cidr_concurrent() {
    let api = Api::start();
    let net = network(&api);
    let outcomes = together(6, |_| {
        let answer = api.try_create("subnet", v4(&net, "192.0.2.0/24", json!({})));
        if answer.status != 201 {
            let message = answer.fault(400, "InvalidInput");
            assert!(message.contains("192.0.2.0/24") && message.contains("overlap"), "{message}");
        }
        answer.summary()
    });
    assert_eq!(counted(&outcomes), BTreeMap::from([("201", 1), ("400 InvalidInput", 5)]));
    assert_eq!(api.list(&format!("subnets?network_id={}", net.id())).len(), 1);
}

#[test]
fn subnet_delete_vs_port_create() {
    let api = Api::start();
    for _ in 0..5 {
        let net = network(&api);
        let subnet = api.create("subnet", v4(&net, "192.0.2.0/24", json!({})));
        let outcomes = together(6, |i| match i % 3 {
            0 => ("delete", api.delete(&subnet).summary()),
            _ => {
                let port = json!({"network_id": net.id(), "fixed_ips": [{"subnet_id": subnet.id()}]});
                ("create", api.try_create("port", port).summary())
            }
        });
        for (verb, outcome) in &outcomes {
            let possible: &[&str] = match *verb {
                "delete" => &["204", "404 SubnetNotFound", "409 SubnetInUse"],
                _ => &["201", "404 SubnetNotFound", "400 InvalidInput"],
            };
            assert!(possible.contains(&outcome.as_str()), "{outcomes:?}");
        }
        let ports = api.list(&format!("ports?network_id={}", net.id()));
        let gone = api.show(&subnet).status == 404;
        let created = outcomes.iter().filter(|(verb, outcome)| *verb == "create" && outcome == "201").count();
        assert_eq!(ports.len(), created);
        assert!(
            !gone || ports.iter().all(|port| port.addresses().is_empty()),
            "a port of a subnet that is gone: {outcomes:?}"
        );
        assert!(gone || ports.iter().all(|port| port.addresses().len() == 1));
    }
    let net = network(&api);
    api.create("subnet", v4(&net, "198.51.100.0/24", json!({})));
    let outcomes = together(50, |_| api.try_create("port", json!({"network_id": net.id()})).summary());
    assert_eq!(counted(&outcomes), BTreeMap::from([("201", 50)]));
}

#[test]
fn subnet_gateway_from_pool() {
    let api = Api::start();
    let pool = json!({"name": "p", "prefixes": ["198.51.100.0/24"], "default_prefixlen": 26, "max_prefixlen": 28});
    let pool = api.create("subnetpool", pool);
    let net = network(&api);
    let subnet = |gateway: Value| {
        let body = json!({"network_id": net.id(), "ip_version": 4, "subnetpool_id": pool.id(), "prefixlen": 28, "gateway_ip": gateway});
        api.create("subnet", body)
    };
    let none = subnet(json!(null));
    assert_eq!(none["gateway_ip"], json!(null));
    let hosts = none["allocation_pools"].as_array().expect("pools");
    assert_eq!(hosts.len(), 1);
    let first: std::net::Ipv4Addr = hosts[0]["start"].as_str().expect("text").parse().expect("an address");
    let last: std::net::Ipv4Addr = hosts[0]["end"].as_str().expect("text").parse().expect("an address");
    assert_eq!(last.to_bits() - first.to_bits(), 13, "all fourteen hosts of a /28");
    let chosen = subnet(json!("198.51.100.94"));
    assert_eq!((chosen.text("cidr"), chosen.text("gateway_ip")), ("198.51.100.80/28", "198.51.100.94"));
    assert_eq!(chosen["allocation_pools"], json!([{"start": "198.51.100.81", "end": "198.51.100.93"}]));
}

#[test]
fn subnet_gateway_pool_conflict() {
    let api = Api::start();
    let net = network(&api);
    let within = json!({"gateway_ip": "192.0.2.50", "allocation_pools": [pool("192.0.2.10", "192.0.2.60")]});
    api.try_create("subnet", v4(&net, "192.0.2.0/24", within)).fault(409, "GatewayConflictWithAllocationPools");
    let subnet = api.create("subnet", v4(&net, "192.0.2.0/24", json!({})));
    assert_eq!(subnet.text("gateway_ip"), "192.0.2.1");
    let pools = json!({"allocation_pools": [pool("192.0.2.1", "192.0.2.10")]});
    api.try_update(&subnet, pools).fault(409, "GatewayConflictWithAllocationPools");
    api.delete(&subnet).expect(204);
    let split = api.create("subnet", v4(&net, "192.0.2.0/24", json!({"gateway_ip": "192.0.2.50"})));
    let mut pools: Vec<String> =
        split["allocation_pools"].as_array().expect("pools").iter().map(Value::to_string).collect();
    pools.sort();
    let mut expected = [pool("192.0.2.1", "192.0.2.49").to_string(), pool("192.0.2.51", "192.0.2.254").to_string()];
    expected.sort();
    assert_eq!(pools, expected);
}

#[test]
fn subnet_no_allocation_pool() {
    let api = Api::start();
    for pools in [json!([]), json!(null)] {
        let net = network(&api);
        let subnet = api.create("subnet", v4(&net, "198.51.100.0/24", json!({ "allocation_pools": pools })));
        assert_eq!(subnet["allocation_pools"], json!([pool("198.51.100.2", "198.51.100.254")]));
        let none = api.update(&subnet, json!({"allocation_pools": []}));
        assert_eq!(none["allocation_pools"], json!([]));
        api.try_create("port", json!({"network_id": net.id()})).fault(409, "IpAddressGenerationFailure");
        let address = json!([{"subnet_id": subnet.id(), "ip_address": "198.51.100.250"}]);
        let port = api.create("port", json!({"network_id": net.id(), "fixed_ips": address}));
        assert_eq!(port.addresses(), ["198.51.100.250"]);
    }
}

#[test]
fn subnet_dns_family_mismatch() {
    let api = Api::start();
    let net = network(&api);
    let pool =
        api.create("subnetpool", json!({"name": "p", "prefixes": ["2001:db8:10::/48"], "default_prefixlen": 64}));
    let v6 = |more: Value| {
        let mut body = json!({"network_id": net.id(), "ip_version": 6});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        api.try_create("subnet", body)
    };
    v6(json!({"subnetpool_id": pool.id(), "dns_nameservers": ["192.0.2.53"]})).fault(400, "InvalidInput");
    v6(json!({"cidr": "2001:db8:1::/64", "dns_nameservers": ["192.0.2.53"]})).fault(400, "InvalidInput");
    let twice = json!({"cidr": "2001:db8:1::/64", "dns_nameservers": ["2001:db8::53", "2001:db8::53"]});
    let message = v6(twice).fault(400, "HTTPBadRequest");
    assert!(message.contains("2001:db8::53"), "{message}");
}

#[test]
fn slaac_explicit_eui64() {
    let api = Api::start();
    let net = network(&api);
    let subnet = api.create("subnet", slaac(&net, "2001:db8:6::/64"));
    let eui64 = "2001:db8:6:0:f816:3eff:fe12:3459";
    let port = json!({"network_id": net.id(), "mac_address": "fa:16:3e:12:34:59",
        "fixed_ips": [{"subnet_id": subnet.id(), "ip_address": eui64}]});
    assert_eq!(api.create("port", port).addresses(), [eui64]);
    let other = json!({"network_id": net.id(), "fixed_ips": [{"ip_address": "2001:db8:6::99"}]});
    api.try_create("port", other).fault(400, "AllocationOnAutoAddressSubnet");
}

#[test]
fn slaac_mac_change() {
    let api = Api::start();
    let net = api.create("network", json!({"project_id": "a", "shared": true}));
    api.create("subnet", slaac(&net, "2001:db8:6::/64"));
    let port = json!({"network_id": net.id(), "mac_address": "fa:16:3e:12:34:5a", "project_id": "b"});
    let port = api.create("port", port);
    let mac = json!({"mac_address": "fa:16:3e:aa:aa:ab"});
    api.member("b").try_update(&port, mac.clone()).fault(403, "PolicyNotAuthorized");
    assert_eq!(api.update(&port, mac).addresses(), ["2001:db8:6:0:f816:3eff:feaa:aaab"]);
}

#[test]
fn slaac_subnet_late_add_remove() {
    let api = Api::start();
    let net = network(&api);
    let first = api.create("subnet", v4(&net, "192.0.2.0/24", json!({})));
    let port = api.create("port", json!({"network_id": net.id(), "mac_address": "fa:16:3e:12:34:5b"}));
    let late = api.create("subnet", slaac(&net, "2001:db8:8::/64"));
    let eui64 = "2001:db8:8:0:f816:3eff:fe12:345b";
    let with = api.read(&port);
    assert!(with.addresses().contains(&eui64), "{:?}", with.addresses());
    assert!(with.number("revision_number") > port.number("revision_number"));
    api.delete(&late).expect(204);
    assert_eq!(api.read(&port).addresses(), port.addresses());
    api.delete(&first).fault(409, "SubnetInUse");
    // With nothing but that subnet, an empty list of addresses leaves the automatic one.
    let only = network(&api);
    api.create("subnet", slaac(&only, "2001:db8:9::/64"));
    let port = api.create("port", json!({"network_id": only.id()}));
    assert_eq!(api.update(&port, json!({"fixed_ips": []})).addresses(), port.addresses());
}

#[test]
fn port_update_subnet_only_keeps_ip() {
    let api = Api::start();
    let net = network(&api);
    let subnet = api.create("subnet", v4(&net, "192.0.2.0/24", json!({})));
    let address = json!([{"subnet_id": subnet.id(), "ip_address": "192.0.2.234"}]);
    let port = api.create("port", json!({"network_id": net.id(), "fixed_ips": address}));
    let same = api.update(&port, json!({"fixed_ips": [{"subnet_id": subnet.id()}]}));
    assert_eq!(same.addresses(), ["192.0.2.234"]);
}

#[test]
fn subnetpool_concurrent_allocation() {
    let api = Api::start();
    let pool = api.create("subnetpool", json!({"name": "p", "prefixes": ["198.18.0.0/22"], "default_prefixlen": 26}));
    let networks: Vec<Object> = (0..8).map(|_| network(&api)).collect();
    let made = together(8, |i| {
        let body = json!({"network_id": networks[i].id(), "ip_version": 4, "subnetpool_id": pool.id()});
        api.create("subnet", body).text("cidr").to_owned()
    });
    assert!(made.iter().all(|cidr| cidr.ends_with("/26")), "{made:?}");
    // Of equal size, so they are disjoint if they differ.
    assert_eq!(made.iter().collect::<BTreeSet<_>>().len(), 8, "{made:?}");
}

#[test]
fn subnetpool_default_quota() {
    let api = Api::start();
    for (quota, second) in [(300, 409), (0, 201)] {
        let pool = json!({"name": "p", "prefixes": ["198.18.0.0/16"], "default_prefixlen": 24, "default_quota": quota});
        let pool = api.create("subnetpool", pool);
        let subnet = || {
            let net = network(&api);
            api.try_create("subnet", json!({"network_id": net.id(), "ip_version": 4, "subnetpool_id": pool.id()}))
        };
        subnet().expect(201);
        let answer = subnet();
        if second == 409 {
            answer.fault(409, "SubnetPoolQuotaExceeded");
        } else {
            answer.expect(201);
        }
    }
}

#[test]
fn subnetpool_prefix_update_rules() {
    let api = Api::start();
    let pool = api.create("subnetpool", json!({"name": "p", "prefixes": ["198.18.0.0/25", "198.18.0.128/25"]}));
    assert_eq!(pool.texts("prefixes"), ["198.18.0.0/24"]);
    api.try_update(&pool, json!({"prefixes": ["198.18.0.0/25"]})).fault(400, "IllegalSubnetPoolPrefixUpdate");
    assert_eq!(api.update(&pool, json!({"prefixes": ["198.18.0.0/23"]})).texts("prefixes"), ["198.18.0.0/23"]);
    let scope = api.create("address_scope", json!({"name": "s", "ip_version": 4}));
    let scoped = |prefix: &str| {
        api.try_create("subnetpool", json!({"name": "q", "prefixes": [prefix], "address_scope_id": scope.id()}))
    };
    scoped("198.20.0.0/16").expect(201);
    scoped("198.20.1.0/24").fault(409, "AddressScopePrefixConflict");
    let net = network(&api);
    api.create("subnet", json!({"network_id": net.id(), "ip_version": 4, "subnetpool_id": pool.id(), "prefixlen": 26}));
    api.delete(&pool).fault(400, "SubnetPoolDeleteError");
}

#[test]
fn ipam_dangling_allocation() {
    for seed in 0..3 {
        let faults = store::Faults { seed, deadlock: 3, lost_before: 0, lost_after: 0 };
        let api = Api::with_faults(faults);
        let net = network(&api);
        api.create("subnet", v4(&net, "192.0.2.0/24", json!({})));
        let ports: Vec<Object> = (0..5).map(|_| api.create("port", json!({"network_id": net.id()}))).collect();
        let late = api.create("subnet", slaac(&net, "2001:db8::/64"));
        assert!(ports.iter().all(|port| api.read(port).addresses().len() == 2));
        let allocated = |table| api.server().count(&format!("SELECT COUNT(*) FROM {table}"));
        assert_eq!((allocated("ipallocations"), allocated("ipamallocations")), (10, 10));
        let only_one =
            "SELECT COUNT(*) FROM ipallocations WHERE ip_address NOT IN (SELECT ip_address FROM ipamallocations)";
        assert_eq!(api.server().count(only_one), 0);
        for port in &ports {
            api.delete(port).expect(204);
        }
        api.delete(&late).expect(204);
        api.delete(&net).expect(204);
        assert_eq!((allocated("ipallocations"), allocated("ipamallocations"), allocated("ports")), (0, 0, 0));
    }
}
