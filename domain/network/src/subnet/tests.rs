use schema::Value;
use serde_json::json;

use crate::settings::Settings;
use crate::testing::{Lab, id, ips, told};

fn error(status: u16, kind: &str) -> (u16, String) {
    (status, kind.to_owned())
}

#[tokio::test]
async fn a_subnet_shows_what_it_was_given_and_what_follows() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let subnet = admin.subnet(&network, json!({"cidr": "192.0.2.7/24", "name": "s"})).await;
    let want = json!({
        "id": subnet["id"], "name": "s", "project_id": "admin-project", "network_id": network, "ip_version": 4,
        "subnetpool_id": null, "enable_dhcp": true, "ipv6_ra_mode": null, "ipv6_address_mode": null,
        "gateway_ip": "192.0.2.1", "cidr": "192.0.2.0/24",
        "allocation_pools": [{"start": "192.0.2.2", "end": "192.0.2.254"}],
        "host_routes": [], "dns_nameservers": [], "description": "", "router:external": false, "service_types": [],
        "dns_publish_fixed_ip": false, "segment_id": null, "revision_number": 0,
        "created_at": subnet["created_at"], "updated_at": subnet["updated_at"],
    });
    assert_eq!(subnet, want);
    assert_eq!(admin.get("subnet", &id(&subnet)).await.unwrap(), want);
    let network = admin.get("network", &network).await.unwrap();
    assert_eq!(network["subnets"], json!([subnet["id"]]));
    assert_eq!(network["revision_number"], 2, "a network changes with its subnets");

    let subnet = admin.slaac(&id(&network), "2001:db8::/64").await;
    assert_eq!(subnet["gateway_ip"], "2001:db8::");
    assert_eq!(subnet["allocation_pools"], json!([{"start": "2001:db8::1", "end": "2001:db8::ffff:ffff:ffff:ffff"}]));
}

#[tokio::test]
async fn nameservers_keep_their_order_and_routes_and_types_are_kept() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let route = json!({"destination": "203.0.113.0/24", "nexthop": "192.0.2.9"});
    let body = json!({
        "cidr": "192.0.2.0/24", "dns_nameservers": ["198.51.100.9", "198.51.100.1"], "host_routes": [route],
        "service_types": ["compute:nova"], "dns_publish_fixed_ip": true, "gateway_ip": null,
    });
    let subnet = admin.subnet(&network, body).await;
    assert_eq!(subnet["dns_nameservers"], json!(["198.51.100.9", "198.51.100.1"]));
    assert_eq!(subnet["host_routes"], json!([route]));
    assert_eq!(subnet["service_types"], json!(["compute:nova"]));
    assert_eq!(subnet["dns_publish_fixed_ip"], true);
    assert_eq!(subnet["gateway_ip"], Value::Null);
    assert_eq!(subnet["allocation_pools"], json!([{"start": "192.0.2.1", "end": "192.0.2.254"}]));

    let change = json!({"dns_nameservers": ["198.51.100.1", "198.51.100.9"], "host_routes": null, "service_types": []});
    let subnet = admin.update("subnet", &id(&subnet), change).await.unwrap();
    assert_eq!(subnet["dns_nameservers"], json!(["198.51.100.1", "198.51.100.9"]));
    assert_eq!(subnet["host_routes"], json!([]));
    assert_eq!(subnet["service_types"], json!([]));
    assert_eq!(subnet["revision_number"], 1);
}

#[tokio::test]
async fn wrong_subnets_are_refused_by_name() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let bad_request = error(400, "HTTPBadRequest");
    let invalid = error(400, "InvalidInput");
    let bad = error(400, "BadRequest");
    let four = |more: Value| crate::testing::merged(json!({"ip_version": 4, "cidr": "192.0.2.0/24"}), more);
    let six = |more: Value| crate::testing::merged(json!({"ip_version": 6, "cidr": "2001:db8::/64"}), more);
    let cases = [
        (json!({"ip_version": 4}), &bad),
        (json!({"ip_version": 4, "cidr": null}), &bad),
        (json!({"ip_version": 5, "cidr": "192.0.2.0/24"}), &bad_request),
        (json!({"cidr": "192.0.2.0/24"}), &bad_request),
        (json!({"ip_version": 4, "cidr": "192.0.2.0"}), &invalid),
        (json!({"ip_version": 4, "cidr": 7}), &invalid),
        (json!({"ip_version": 4, "cidr": "010.0.0.0/8"}), &invalid),
        (json!({"ip_version": "x", "cidr": "192.0.2.0/24"}), &invalid),
        (json!({"ip_version": 6, "cidr": "192.0.2.0/24"}), &invalid),
        (json!({"ip_version": 4, "cidr": "0.0.0.0/0"}), &invalid),
        (json!({"ip_version": 4, "cidr": "0.0.0.0/8"}), &invalid),
        (json!({"ip_version": 4, "cidr": "127.0.0.0/8"}), &invalid),
        (json!({"ip_version": 4, "cidr": "224.0.0.0/24"}), &invalid),
        (json!({"ip_version": 4, "cidr": "192.0.2.0/31"}), &invalid),
        (json!({"ip_version": 6, "cidr": "2001:db8::/127"}), &invalid),
        (json!({"ip_version": 6, "cidr": "::/64"}), &invalid),
        (four(json!({"prefixlen": 26})), &bad),
        (four(json!({"prefixlen": -1})), &bad_request),
        (four(json!({"use_default_subnetpool": true, "subnetpool_id": "11111111-2222-4333-8444-555555555555"})), &bad),
        (four(json!({"use_default_subnetpool": true})), &bad),
        (four(json!({"gateway_ip": "192.0.2.0"})), &invalid),
        (four(json!({"gateway_ip": "192.0.2.255"})), &invalid),
        (four(json!({"gateway_ip": "2001:db8::1"})), &invalid),
        (four(json!({"gateway_ip": "x"})), &bad_request),
        (four(json!({"ipv6_ra_mode": "slaac"})), &invalid),
        (four(json!({"ipv6_address_mode": "slaac"})), &invalid),
        (six(json!({"ipv6_ra_mode": "slaac", "ipv6_address_mode": "dhcpv6-stateful"})), &invalid),
        (six(json!({"ipv6_ra_mode": "slaac", "enable_dhcp": false})), &invalid),
        (json!({"ip_version": 6, "cidr": "2001:db8::/63", "ipv6_address_mode": "slaac"}), &invalid),
        (four(json!({"allocation_pools": [{"start": "192.0.2.9"}]})), &bad_request),
        (four(json!({"allocation_pools": "192.0.2.9"})), &invalid),
        (four(json!({"host_routes": [{"destination": "2001:db8::/64", "nexthop": "192.0.2.9"}]})), &invalid),
        (four(json!({"host_routes": [{"destination": "203.0.113.0/24"}]})), &bad_request),
        (four(json!({"service_types": "compute:nova"})), &bad_request),
        (four(json!({"service_types": [7]})), &error(400, "InvalidInputSubnetServiceType")),
        (four(json!({"host_routes": [{"destination": "203.0.113.9/24", "nexthop": "192.0.2.9"}]})), &bad_request),
        (four(json!({"service_types": ["compute:a", "compute:a"]})), &error(409, "NeutronDbObjectDuplicateEntry")),
        (four(json!({"service_types": ["nova"]})), &error(400, "InvalidSubnetServiceType")),
        (four(json!({"segment_id": "11111111-2222-4333-8444-555555555555"})), &error(404, "SegmentNotFound")),
        (four(json!({"subnetpool_id": "11111111-2222-4333-8444-555555555555"})), &error(404, "SubnetPoolNotFound")),
        (four(json!({"id": "11111111-2222-4333-8444-555555555555"})), &bad_request),
        (four(json!({"router:external": true})), &bad_request),
        (four(json!({"network:project_id": "x"})), &bad_request),
    ];
    for (body, want) in cases {
        let body = crate::testing::merged(json!({"network_id": network}), body);
        assert_eq!(&admin.try_create("subnet", body.clone()).await, want, "{body}");
    }
    let body = json!({"network_id": "11111111-2222-4333-8444-555555555555", "ip_version": 4, "cidr": "192.0.2.0/24"});
    assert_eq!(admin.try_create("subnet", body).await, error(404, "NetworkNotFound"));
    assert_eq!(lab.sql("SELECT COUNT(*) FROM subnets").await, "0");
    assert_eq!(lab.sql("SELECT COUNT(*) FROM ipamsubnets").await, "0");
}

#[tokio::test]
async fn limits_of_lists() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let servers: Vec<String> = (1..=6).map(|n| format!("198.51.100.{n}")).collect();
    let body = json!({"network_id": network, "ip_version": 4, "cidr": "192.0.2.0/24", "dns_nameservers": servers});
    assert_eq!(admin.try_create("subnet", body).await, error(400, "DNSNameServersExhausted"));
    let routes: Vec<Value> =
        (1..=21).map(|n| json!({"destination": format!("10.{n}.0.0/16"), "nexthop": "192.0.2.9"})).collect();
    let body = json!({"network_id": network, "ip_version": 4, "cidr": "192.0.2.0/24", "host_routes": routes});
    assert_eq!(admin.try_create("subnet", body).await, error(400, "HostRoutesExhausted"));
}

#[tokio::test]
async fn a_small_mtu_refuses_ipv6() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = id(&admin.create("network", json!({"mtu": 1000})).await.unwrap());
    let body = json!({"network_id": network, "ip_version": 6, "cidr": "2001:db8::/64"});
    assert_eq!(admin.try_create("subnet", body).await, error(409, "NetworkMTUSubnetConflict"));
    admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await;
}

#[tokio::test]
async fn subnets_of_a_network_do_not_overlap() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let (network, other) = (admin.network().await, admin.network().await);
    admin.subnet(&network, json!({"cidr": "192.0.2.0/25"})).await;
    for cidr in ["192.0.2.0/24", "192.0.2.64/26", "192.0.2.0/25"] {
        let body = json!({"network_id": network, "ip_version": 4, "cidr": cidr});
        let fault = admin.create("subnet", body).await.unwrap_err();
        assert_eq!(told(&fault), error(400, "InvalidInput"));
        assert!(fault.message().contains(cidr) && fault.message().contains("overlaps with another subnet"));
    }
    admin.subnet(&network, json!({"cidr": "192.0.2.128/25"})).await;
    admin.subnet(&other, json!({"cidr": "192.0.2.0/24"})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn subnet_same_cidr_concurrent() {
    let lab = Lab::new().await;
    let other_server = Lab::on(lab.system.store.clone(), Settings::default());
    let network = lab.admin().network().await;
    let tasks: Vec<_> = (0..6)
        .map(|n| {
            let admin = if n % 2 == 0 { lab.admin() } else { other_server.admin() };
            let body = json!({"network_id": network, "ip_version": 4, "cidr": "192.0.2.0/24"});
            tokio::spawn(async move { admin.create("subnet", body).await })
        })
        .collect();
    let mut created = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => created += 1,
            Err(fault) => {
                assert_eq!(told(&fault), error(400, "InvalidInput"));
                assert!(fault.message().contains("192.0.2.0/24"));
            }
        }
    }
    assert_eq!(created, 1);
    assert_eq!(lab.admin().list("subnet", &format!("network_id={network}")).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn subnet_delete_vs_port_create() {
    for _ in 0..10 {
        let lab = Lab::new().await;
        let admin = lab.admin();
        let network = admin.network().await;
        let subnet = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await);
        let mut ports = Vec::new();
        let mut deletes = Vec::new();
        for n in 0..6 {
            let (admin, subnet, network) = (lab.admin(), subnet.clone(), network.clone());
            if n % 3 == 1 {
                deletes.push(tokio::spawn(async move { admin.delete("subnet", &subnet).await }));
            } else {
                let body = json!({"fixed_ips": [{"subnet_id": subnet}]});
                ports.push(tokio::spawn(async move { admin.port(&network, body).await }));
            }
        }
        let mut gone = false;
        for task in deletes {
            match task.await.unwrap() {
                Ok(()) => gone = true,
                Err(fault) => {
                    assert!(["SubnetInUse", "SubnetNotFound"].contains(&fault.kind()), "{fault}");
                }
            }
        }
        for task in ports {
            match task.await.unwrap() {
                Ok(port) => assert!(!gone && ips(&port).starts_with("192.0.2."), "{port}"),
                Err(fault) => assert!(gone && told(&fault) == error(404, "SubnetNotFound"), "{fault}"),
            }
        }
        lab.check_addresses().await;
    }
}

#[tokio::test]
async fn subnet_gateway_pool_conflict() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let pool = |start: &str, end: &str| json!({"start": start, "end": end});
    let conflict = error(409, "GatewayConflictWithAllocationPools");
    let body = json!({"network_id": network, "ip_version": 4, "cidr": "192.0.2.0/24", "gateway_ip": "192.0.2.50",
        "allocation_pools": [pool("192.0.2.10", "192.0.2.60")]});
    assert_eq!(admin.try_create("subnet", body).await, conflict);

    let subnet = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await);
    let body = json!({"allocation_pools": [pool("192.0.2.1", "192.0.2.10")]});
    assert_eq!(told(&admin.update("subnet", &subnet, body).await.unwrap_err()), conflict);
    let body = json!({"gateway_ip": "192.0.2.9"});
    assert_eq!(told(&admin.update("subnet", &subnet, body).await.unwrap_err()), conflict);
    let body = json!({"gateway_ip": "192.0.2.9", "allocation_pools": [pool("192.0.2.20", "192.0.2.30")]});
    let changed = admin.update("subnet", &subnet, body).await.unwrap();
    assert_eq!(changed["gateway_ip"], "192.0.2.9");
    assert_eq!(changed["allocation_pools"], json!([pool("192.0.2.20", "192.0.2.30")]));
    admin.delete("subnet", &subnet).await.unwrap();

    let subnet = admin.subnet(&network, json!({"cidr": "192.0.2.0/24", "gateway_ip": "192.0.2.50"})).await;
    let split = json!([pool("192.0.2.1", "192.0.2.49"), pool("192.0.2.51", "192.0.2.254")]);
    assert_eq!(subnet["allocation_pools"], split);
}

#[tokio::test]
async fn subnet_no_allocation_pool() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    for pools in [json!([]), Value::Null] {
        let network = admin.network().await;
        let subnet = admin.subnet(&network, json!({"cidr": "198.51.100.0/24", "allocation_pools": pools})).await;
        assert_eq!(subnet["allocation_pools"], json!([{"start": "198.51.100.2", "end": "198.51.100.254"}]));
        let changed = admin.update("subnet", &id(&subnet), json!({"allocation_pools": []})).await.unwrap();
        assert_eq!(changed["allocation_pools"], json!([]));
        let fault = admin.port(&network, json!({})).await.unwrap_err();
        assert_eq!(told(&fault), error(409, "IpAddressGenerationFailure"));
        let fixed = json!([{"subnet_id": subnet["id"], "ip_address": "198.51.100.250"}]);
        let port = admin.port(&network, json!({"fixed_ips": fixed})).await.unwrap();
        assert_eq!(ips(&port), "198.51.100.250");
    }
}

#[tokio::test]
async fn a_pool_that_is_narrowed_or_widened_holds_at_once() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let subnet = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await);
    admin.port(&network, json!({})).await.unwrap();
    for (start, end) in [("192.0.2.200", "192.0.2.200"), ("192.0.2.200", "192.0.2.201")] {
        let body = json!({"allocation_pools": [{"start": start, "end": end}]});
        admin.update("subnet", &subnet, body).await.unwrap();
        assert_eq!(ips(&admin.port(&network, json!({})).await.unwrap()), end);
    }
    let fault = admin.port(&network, json!({})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "IpAddressGenerationFailure"));
    lab.check_addresses().await;
}

#[tokio::test]
async fn subnet_dns_family_mismatch() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let pool = json!({"name": "p", "prefixes": ["2001:db8:10::/48"]});
    let pool = id(&admin.create("subnetpool", pool).await.unwrap());
    let body =
        json!({"network_id": network, "subnetpool_id": pool, "ip_version": 6, "dns_nameservers": ["192.0.2.53"]});
    let fault = admin.create("subnet", body).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "InvalidInput"));
    assert!(fault.message().contains("192.0.2.53") && fault.message().contains("ip_version '6'"), "{fault}");
    let body =
        json!({"network_id": network, "ip_version": 6, "cidr": "2001:db8:1::/64", "dns_nameservers": ["192.0.2.53"]});
    assert_eq!(admin.try_create("subnet", body).await, error(400, "InvalidInput"));
    let twice = ["2001:db8::53", "2001:db8:0::53"];
    let body = json!({"network_id": network, "ip_version": 6, "cidr": "2001:db8:1::/64", "dns_nameservers": twice});
    let fault = admin.create("subnet", body).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "HTTPBadRequest"));
    assert!(fault.message().contains("2001:db8::53"), "{fault}");
}

#[tokio::test]
async fn slaac_subnet_late_add_remove() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let four = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await);
    let port = admin.port(&network, json!({"mac_address": "fa:16:3e:12:34:59"})).await.unwrap();
    let router = json!({"device_owner": "network:router_interface", "device_id": "r"});
    let router = id(&admin.port(&network, router).await.unwrap());
    let six = id(&admin.slaac(&network, "2001:db8:8::/64").await);
    let with = admin.get("port", &id(&port)).await.unwrap();
    assert_eq!(ips(&with), format!("{} 2001:db8:8:0:f816:3eff:fe12:3459", ips(&port)));
    assert!(with["revision_number"].as_i64() > port["revision_number"].as_i64());
    assert_eq!(ips(&admin.get("port", &router).await.unwrap()).split(' ').count(), 1, "router ports get none");
    lab.check_addresses().await;
    assert!(lab.heard().contains(&id(&port)), "those who react to ports are told");

    admin.delete("subnet", &six).await.unwrap();
    assert!(lab.heard().contains(&id(&port)));
    let without = admin.get("port", &id(&port)).await.unwrap();
    assert_eq!(ips(&without), ips(&port));
    assert!(without["revision_number"].as_i64() > with["revision_number"].as_i64());
    let fault = admin.delete("subnet", &four).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "SubnetInUse"));
    assert!(fault.message().contains(&id(&port)), "{fault}");
    lab.check_addresses().await;

    // An explicit empty list leaves the automatic address in place.
    let network = admin.network().await;
    admin.slaac(&network, "2001:db8:9::/64").await;
    let port = admin.port(&network, json!({"mac_address": "fa:16:3e:12:34:60"})).await.unwrap();
    let same = admin.update("port", &id(&port), json!({"fixed_ips": []})).await.unwrap();
    assert_eq!(ips(&same), "2001:db8:9:0:f816:3eff:fe12:3460");
}

#[tokio::test]
async fn dhcp_ports_do_not_keep_a_subnet() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let subnet = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await);
    let port = admin.port(&network, json!({"device_owner": "network:dhcp"})).await.unwrap();
    assert_eq!(ips(&port), "192.0.2.2", "DHCP ports get the lowest address");
    admin.delete("subnet", &subnet).await.unwrap();
    assert_eq!(ips(&admin.get("port", &id(&port)).await.unwrap()), "");
    lab.check_addresses().await;
}

#[tokio::test]
async fn a_gateway_that_a_router_has_stays() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let subnet = id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await);
    let fixed = json!([{"subnet_id": subnet, "ip_address": "192.0.2.1"}]);
    let port = id(&admin
        .port(&network, json!({"fixed_ips": fixed, "device_owner": "network:router_interface"}))
        .await
        .unwrap());
    lab.execute("INSERT INTO standardattributes (id, resource_type) VALUES (9000, 'routers')").await;
    lab.execute("INSERT INTO routers (id, standard_attr_id) VALUES ('r', 9000)").await;
    lab.execute(&format!("INSERT INTO routerports (router_id, port_id) VALUES ('r', '{port}')")).await;
    let fault = admin.update("subnet", &subnet, json!({"gateway_ip": "192.0.2.254"})).await.unwrap_err();
    // The pool holds .254, so it is narrowed in the same request.
    assert_eq!(told(&fault), error(409, "GatewayIpInUse"));
    let fault = admin.update("subnet", &subnet, json!({"gateway_ip": null})).await.unwrap_err();
    assert_eq!(told(&fault), error(409, "GatewayIpInUse"));
    admin.update("subnet", &subnet, json!({"gateway_ip": "192.0.2.1", "name": "x"})).await.unwrap();
}

#[tokio::test]
async fn dhcp_cannot_be_switched_off_under_ipv6_modes() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    let subnet = id(&admin.slaac(&network, "2001:db8::/64").await);
    let fault = admin.update("subnet", &subnet, json!({"enable_dhcp": false})).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "InvalidInput"));
    let small =
        id(&admin.subnet(&network, json!({"cidr": "192.0.2.0/31", "enable_dhcp": false, "gateway_ip": null})).await);
    let body = json!({"network_id": network, "ip_version": 4, "cidr": "198.51.100.0/31", "enable_dhcp": false});
    assert_eq!(admin.try_create("subnet", body).await, error(409, "IpamValueInvalid"));
    let fault = admin.update("subnet", &small, json!({"enable_dhcp": true})).await.unwrap_err();
    assert_eq!(told(&fault), error(400, "InvalidInput"));
}

#[tokio::test]
async fn who_sees_a_subnet() {
    let lab = Lab::new().await;
    let (admin, one, two) = (lab.admin(), lab.member("one"), lab.member("two"));
    let plain = one.network().await;
    let subnet = id(&one.subnet(&plain, json!({"cidr": "192.0.2.0/24"})).await);
    assert_eq!(told(&two.get("subnet", &subnet).await.unwrap_err()), error(404, "SubnetNotFound"));
    assert_eq!(told(&two.delete("subnet", &subnet).await.unwrap_err()), error(404, "SubnetNotFound"));
    let body = json!({"network_id": plain, "ip_version": 4, "cidr": "198.51.100.0/24"});
    assert_eq!(two.try_create("subnet", body).await, error(403, "PolicyNotAuthorized"));

    for (flag, filter) in [("shared", "shared=true"), ("router:external", "router:external=True")] {
        let network = id(&admin.create("network", json!({flag: true})).await.unwrap());
        let subnet = id(&admin.subnet(&network, json!({"cidr": "203.0.113.0/24"})).await);
        two.get("subnet", &subnet).await.unwrap();
        let listed = two.list("subnet", filter).await.unwrap();
        assert_eq!(listed.iter().map(id).collect::<Vec<_>>(), std::slice::from_ref(&subnet));
        assert_eq!(
            told(&two.update("subnet", &subnet, json!({"name": "x"})).await.unwrap_err()),
            error(403, "PolicyNotAuthorized")
        );
        assert_eq!(admin.get("subnet", &subnet).await.unwrap()["router:external"], flag == "router:external");
    }
    // The owner of a network sees and removes what others have on it.
    let foreign = json!({"network_id": plain, "ip_version": 4, "cidr": "198.51.100.0/24", "project_id": "two"});
    let foreign = id(&admin.create("subnet", foreign).await.unwrap());
    assert_eq!(one.list("subnet", &format!("network_id={plain}")).await.unwrap().len(), 2);
    one.delete("subnet", &foreign).await.unwrap();
    assert!(one.get("subnet", &subnet).await.unwrap().get("segment_id").is_none(), "segments are for administrators");
}

#[tokio::test]
async fn filters_and_constant_statements() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let network = admin.network().await;
    for n in 0..3 {
        admin.subnet(&network, json!({"cidr": format!("10.{n}.0.0/24"), "name": format!("s{n}")})).await;
    }
    assert_eq!(admin.list("subnet", "cidr=10.1.0.0/24").await.unwrap().len(), 1);
    assert_eq!(admin.list("subnet", "ip_version=6").await.unwrap().len(), 0);
    assert_eq!(admin.list("subnet", "enable_dhcp=true&gateway_ip=10.2.0.1").await.unwrap().len(), 1);
    assert_eq!(told(&admin.list("subnet", "allocation_pools=x").await.unwrap_err()).0, 400);
    assert_eq!(told(&admin.list("subnet", "shared=perhaps").await.unwrap_err()), error(400, "InvalidInput"));
    let count = async || {
        let before = lab.system.store.statements();
        admin.list("subnet", "sort_key=name&sort_dir=desc").await.unwrap();
        lab.system.store.statements() - before
    };
    let few = count().await;
    for n in 10..60 {
        admin.subnet(&network, json!({"cidr": format!("10.{n}.0.0/24")})).await;
    }
    assert_eq!(count().await, few);
    assert!(few <= 10, "{few}");
}

#[tokio::test]
async fn a_network_goes_with_its_subnets() {
    let lab = Lab::new().await;
    let admin = lab.admin();
    let seeds = lab.sql("SELECT COUNT(*) FROM standardattributes").await;
    let network = admin.network().await;
    admin.subnet(&network, json!({"cidr": "192.0.2.0/24"})).await;
    admin.slaac(&network, "2001:db8::/64").await;
    admin.port(&network, json!({"device_owner": "network:dhcp"})).await.unwrap();
    admin.delete("network", &network).await.unwrap();
    assert_eq!(lab.sql("SELECT COUNT(*) FROM standardattributes").await, seeds);
    for table in ["subnets", "ports", "ipallocations", "ipamsubnets", "ipamallocations", "ipallocationpools"] {
        assert_eq!(lab.sql(&format!("SELECT COUNT(*) FROM {table}")).await, "0", "{table}");
    }
}
