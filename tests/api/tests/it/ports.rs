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

pub fn l2_agent(host: &str) -> Agent {
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

pub fn dhcp_agent(host: &str) -> Agent {
    Agent {
        agent_type: "DHCP agent",
        binary: "neutron-dhcp-agent",
        topic: "dhcp_agent",
        host: host.to_owned(),
        configurations: json!({"dhcp_driver": "neutron.agent.linux.dhcp.Dnsmasq", "dhcp_lease_duration": 86400}),
    }
}

/// The reference writes neither the kind of allocation nor, into the details, the drivers; it shows both.
#[test]
fn what_the_reference_leaves_out_of_rows_is_shown() {
    let api = Api::start();
    api.server().report(&l2_agent("cmp1"));
    let net = api.create("network", json!({}));
    let port = api.create("port", json!({"network_id": net.id(), "binding:host_id": "cmp1"}));
    api.server().wait(async {
        let mut txn = api.server().store().write().await.expect("a transaction");
        txn.execute("UPDATE ports SET ip_allocation = NULL", &[]).await.expect("a row");
        txn.execute("UPDATE ml2_port_bindings SET vif_details = '{\"port_filter\": true}'", &[]).await.expect("a row");
        txn.commit().await.expect("a commit");
    });
    let details = json!({"port_filter": true, "bound_drivers": {"0": "openvswitch"}});
    for shown in [api.read(&port), api.list("ports").remove(0)] {
        assert_eq!(shown.text("ip_allocation"), "immediate");
        assert_eq!(shown["binding:vif_details"], details);
    }
    assert_eq!(api.list("ports?fields=ip_allocation")[0].text("ip_allocation"), "immediate");
    assert_eq!(api.update(&port, json!({"name": "x"}))["binding:vif_details"], details);
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

#[test]
fn port_update_notification_economy() {
    let api = Api::start();
    let server = api.server();
    server.report(&dhcp_agent("net1"));
    let net = api.create("network", json!({}));
    subnet(&api, &net, "192.0.2.0/24");
    let port = api.create("port", json!({"network_id": net.id()}));
    assert_eq!(
        api.get(&format!("networks/{}/dhcp-agents", net.id())).json()["agents"].as_array().map(Vec::len),
        Some(1)
    );
    // Only services may set a profile.
    let nova = api.header("X-Roles", "admin,service");
    let dhcp = |change: Value| {
        let sent = server.sent_by(|| drop(nova.update(&port, change)));
        sent.iter()
            .filter(|sent| sent.target.topic.starts_with("dhcp_agent"))
            .map(|sent| sent.method().to_owned())
            .collect::<Vec<_>>()
    };
    for quiet in [json!({"name": "n"}), json!({"description": "d"}), json!({"binding:profile": {"a": "b"}})] {
        assert!(dhcp(quiet.clone()).is_empty(), "{quiet}");
    }
    let tagged = server.sent_by(|| {
        api.put(&format!("{}/tags/t", port.path()), json!({})).expect(201);
    });
    assert!(tagged.iter().all(|sent| !sent.target.topic.starts_with("dhcp_agent")), "{tagged:?}");
    for loud in [
        json!({"fixed_ips": [{"ip_address": "192.0.2.77"}]}),
        json!({"mac_address": "fa:16:3e:00:00:77"}),
        json!({"dns_name": "vm"}),
        json!({"extra_dhcp_opts": [{"opt_name": "mtu", "opt_value": "1400"}]}),
    ] {
        assert_eq!(dhcp(loud.clone()), ["port_update_end"], "{loud}");
    }
}

#[test]
fn port_provisioning_blocks() {
    let api = Api::start();
    let server = api.server();
    server.report(&l2_agent("cmp1"));
    let bound = |net: &Object, owner: &str| {
        let port = json!({"network_id": net.id(), "device_owner": owner, "device_id": "x", "binding:host_id": "cmp1"});
        let port = api.create("port", port);
        assert_eq!(port.text("binding:vif_type"), "ovs");
        port
    };
    let l2 = rpc::l2::PluginClient::new(server.bus());
    let dhcp = rpc::dhcp::DhcpClient::new(server.bus());
    let context = messaging::Context::admin();
    let wire = |port: &Object| {
        let device = port.id().to_owned().into();
        let up = l2.update_device_up(&context, device, Some("agent".into()), Some("cmp1".into()));
        server.wait(up).expect("the server takes it");
    };
    let status = |port: &Object| api.read(port).text("status").to_owned();

    // Nobody serves DHCP there yet.
    let without_agent = api.create("network", json!({}));
    subnet(&api, &without_agent, "198.51.100.0/24");
    let alone = bound(&without_agent, "compute:nova");

    server.report(&dhcp_agent("net1"));
    let served = api.create("network", json!({}));
    subnet(&api, &served, "192.0.2.0/24");
    let guest = bound(&served, "compute:nova");
    wire(&guest);
    assert_eq!(status(&guest), "DOWN", "DHCP is not ready");
    server.wait(dhcp.dhcp_ready_on_ports(&context, vec![guest.id().to_owned()])).expect("the server takes it");
    assert_eq!(status(&guest), "ACTIVE");

    let no_dhcp = api.create("network", json!({}));
    api.create(
        "subnet",
        json!({"network_id": no_dhcp.id(), "ip_version": 4, "cidr": "203.0.113.0/24", "enable_dhcp": false}),
    );
    for port in [bound(&no_dhcp, "compute:nova"), bound(&served, "network:router_interface"), alone] {
        wire(&port);
        assert_eq!(status(&port), "ACTIVE", "{}", *port);
    }
}

#[test]
fn port_attributes_for_the_compute_service() {
    let api = Api::start();
    api.server().report(&l2_agent("cmp1"));
    let net = api.create("network", json!({}));
    let plain = api.create("port", json!({"network_id": net.id()}));
    for name in ["device_profile", "numa_affinity_policy", "trusted", "hardware_offload_type"] {
        assert!(plain[name].is_null(), "{name} of {plain:?}");
    }
    assert_eq!((&plain["propagate_uplink_status"], &plain["binding:profile"]), (&json!(true), &json!({})));
    let port = api.create(
        "port",
        json!({"network_id": net.id(), "device_profile": "fpga", "numa_affinity_policy": "required", "trusted": true,
               "hardware_offload_type": "switchdev", "propagate_uplink_status": false}),
    );
    assert_eq!(port["binding:profile"], json!({"capabilities": ["switchdev"], "trusted": true}));
    let changed =
        api.update(&port, json!({"numa_affinity_policy": null, "trusted": false, "propagate_uplink_status": true}));
    assert!(changed["numa_affinity_policy"].is_null());
    assert_eq!(changed["binding:profile"], json!({"capabilities": ["switchdev"], "trusted": false}));
    assert_eq!((&changed["device_profile"], &changed["propagate_uplink_status"]), (&json!("fpga"), &json!(true)));
    assert_eq!(api.read(&port), changed);
    for wrong in [
        json!({"numa_affinity_policy": "far"}),
        json!({"hardware_offload_type": "switchdev"}),
        json!({"device_profile": "gpu"}),
        json!({"trusted": null}),
    ] {
        api.try_update(&port, wrong).expect(400);
    }
    api.update(&port, json!({"binding:host_id": "cmp1"}));
    api.try_update(&port, json!({"numa_affinity_policy": "socket"})).fault(409, "PortBoundNUMAAffinityPolicy");
    // Trust is the administrators' to give and to see.
    let member = api.member("someone");
    let own = member.create("network", json!({}));
    member.try_create("port", json!({"network_id": own.id(), "trusted": true})).expect(403);
    assert!(!member.create("port", json!({"network_id": own.id()})).has("trusted"));
}
