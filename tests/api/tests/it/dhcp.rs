//! Which DHCP agents serve which networks.

use api::{Agent, Answer, Api, Object, together};
use rpc::dhcp::{DhcpClient, MetadataClient, NetworkInfo, PortBody, PortRequest};
use rpc::view::FixedIpRequest;
use serde_json::{Value, json};

use crate::ports::{dhcp_agent, l2_agent};

/// The agent of a type on a host.
fn agent(api: &Api, kind: &str, host: &str) -> Object {
    let found = api.list(&format!("agents?host={host}&agent_type={}", api::encoded(kind)));
    assert_eq!(found.len(), 1, "the {kind} of {host}");
    found.into_iter().next().expect("one was found")
}

fn serving(api: &Api, network: &Object) -> Vec<String> {
    let mut hosts: Vec<String> = api
        .list(&format!("networks/{}/dhcp-agents", network.id()))
        .iter()
        .map(|agent| agent.text("host").to_owned())
        .collect();
    hosts.sort();
    hosts
}

fn subnet(api: &Api, network: &Object, cidr: &str) -> Object {
    api.create("subnet", json!({"network_id": network.id(), "ip_version": 4, "cidr": cidr}))
}

fn add(api: &Api, agent: &str, network: &Object) -> Answer {
    api.post(&format!("agents/{agent}/dhcp-networks"), json!({"network_id": network.id()}))
}

fn remove(api: &Api, agent: &str, network: &Object) -> Answer {
    api.send("DELETE", &format!("/v2.0/agents/{agent}/dhcp-networks/{}", network.id()), "")
}

const NOBODY: &str = "11111111-2222-4333-8444-555555555555";

/// Networks as the agent of that host gets them when it starts.
fn asked(api: &Api, host: &str) -> Vec<NetworkInfo> {
    let server = api.server();
    let client = DhcpClient::new(server.bus());
    let context = messaging::Context::admin();
    let networks = server.wait(client.get_active_networks_info(&context, host.to_owned(), false, None, None));
    networks.unwrap_or_else(|error| panic!("the networks of {host}: {error}"))
}

/// A dead agent still has the network, until it is moved.
#[test]
fn zones_of_a_network_are_those_of_all_its_agents() {
    let api = Api::start();
    api.server().report(&dhcp_agent("net1"));
    let network = api.create("network", json!({}));
    subnet(&api, &network, "192.0.2.0/24");
    assert_eq!(serving(&api, &network), ["net1"]);
    api.server().wait(async {
        let mut txn = api.server().store().write().await.expect("a transaction");
        txn.execute("UPDATE agents SET heartbeat_timestamp = '2020-01-01 00:00:00'", &[]).await.expect("a row");
        txn.commit().await.expect("a commit");
    });
    assert_eq!(api.read(&network)["availability_zones"], json!(["nova"]));
}

#[test]
fn dhcp_manual_scheduling_errors() {
    let api = Api::with("[DEFAULT]\ndhcp_agents_per_network = 2");
    let server = api.server();
    for host in ["d1", "d2"] {
        server.report(&dhcp_agent(host));
    }
    server.report(&l2_agent("d1"));
    let (d1, d2) = (agent(&api, "DHCP agent", "d1"), agent(&api, "DHCP agent", "d2"));
    let l2 = agent(&api, "Open vSwitch agent", "d1");
    let net = api.create("network", json!({}));

    let sent = server.sent_by(|| {
        assert_eq!(add(&api, d1.id(), &net).expect(201).json(), Value::Null);
    });
    assert_eq!(sent.iter().map(|sent| sent.method()).collect::<Vec<_>>(), ["network_create_end"]);
    assert!(add(&api, d1.id(), &net).fault(409, "NetworkHostedByDHCPAgent").contains(net.id()));
    assert_eq!(serving(&api, &net), ["d1"]);
    assert_eq!(api.list(&format!("agents/{}/dhcp-networks", d1.id())).len(), 1);
    let sent = server.sent_by(|| {
        remove(&api, d1.id(), &net).expect(204);
    });
    assert_eq!(sent.iter().map(|sent| sent.method()).collect::<Vec<_>>(), ["network_delete_end"]);
    assert!(remove(&api, d1.id(), &net).fault(409, "NetworkNotHostedByDhcpAgent").contains(d1.id()));
    add(&api, NOBODY, &net).fault(404, "AgentNotFound");
    remove(&api, NOBODY, &net).fault(404, "AgentNotFound");
    api.get(&format!("agents/{NOBODY}/dhcp-networks")).fault(404, "AgentNotFound");
    add(&api, l2.id(), &net).fault(404, "InvalidDHCPAgent");
    remove(&api, l2.id(), &net).fault(409, "NetworkNotHostedByDhcpAgent");
    let path = format!("agents/{}/dhcp-networks", d1.id());
    api.post(&path, json!({"network_id": NOBODY})).fault(404, "NetworkNotFound");
    for body in [json!({}), json!({"network_id": 4}), json!([]), json!({"network_id": null})] {
        assert_eq!(api.post(&path, body.clone()).status, 400, "{body}");
    }
    assert_eq!(api.list(&format!("networks/{NOBODY}/dhcp-agents")), []);
    api.member("p1").get(&path).fault(403, "PolicyNotAuthorized");
    add(&api.member("p1"), d1.id(), &net).fault(403, "PolicyNotAuthorized");

    // A disabled agent gets nothing, by hand or by itself.
    api.update(&d1, json!({"admin_state_up": false}));
    add(&api, d1.id(), &net).fault(404, "InvalidDHCPAgent");
    let other = api.create("network", json!({}));
    subnet(&api, &other, "198.51.100.0/24");
    assert_eq!(serving(&api, &other), ["d2"]);
    assert_eq!(asked(&api, "d1").len(), 0);
    assert_eq!(serving(&api, &other), ["d2"]);

    // By hand there may be more than the limit says.
    api.update(&d1, json!({"admin_state_up": true}));
    server.report(&dhcp_agent("d3"));
    let d3 = agent(&api, "DHCP agent", "d3");
    add(&api, d1.id(), &other).expect(201);
    add(&api, d3.id(), &other).expect(201);
    assert_eq!(serving(&api, &other), ["d1", "d2", "d3"]);
    remove(&api, d2.id(), &other).expect(204);
    add(&api, d2.id(), &other).expect(201);
    assert_eq!(serving(&api, &other), ["d1", "d2", "d3"]);
}

#[test]
fn dhcp_manual_scheduling_errors_only_by_hand() {
    let api = Api::with("[DEFAULT]\nnetwork_auto_schedule = false");
    api.server().report(&dhcp_agent("d1"));
    let net = api.create("network", json!({}));
    subnet(&api, &net, "192.0.2.0/24");
    api.create("port", json!({"network_id": net.id()}));
    assert_eq!(asked(&api, "d1").len(), 0);
    assert!(serving(&api, &net).is_empty());
    add(&api, agent(&api, "DHCP agent", "d1").id(), &net).expect(201);
    assert_eq!(asked(&api, "d1").len(), 1);
}

#[test]
fn dhcp_manual_scheduling_errors_by_several_at_once() {
    let api = Api::with("[DEFAULT]\ndhcp_agents_per_network = 2");
    for host in ["d1", "d2", "d3", "d4"] {
        api.server().report(&dhcp_agent(host));
    }
    let net = api.create("network", json!({}));
    let made = together(8, |number| match number % 4 {
        // Some ask as agents do.
        3 => asked(&api, &format!("d{}", number / 4 + 1)).len(),
        _ => {
            subnet(&api, &net, &format!("10.0.{number}.0/24"));
            0
        }
    });
    assert_eq!(made.len(), 8);
    assert_eq!(serving(&api, &net).len(), 2);
    let by_hand = together(4, |_| add(&api, agent(&api, "DHCP agent", "d1").id(), &net).status);
    let added = by_hand.iter().filter(|status| **status == 201).count();
    assert!(added <= 1 && by_hand.iter().all(|status| [201, 409].contains(status)), "{by_hand:?}");
}

fn l2_of(host: &str, physical_networks: &[&str]) -> Agent {
    let mappings: serde_json::Map<String, Value> =
        physical_networks.iter().map(|name| ((*name).to_owned(), json!(format!("br-{name}")))).collect();
    let mut agent = l2_agent(host);
    agent.configurations["bridge_mappings"] = mappings.into();
    agent
}

/// A network with a segment on physnet1 and one on physnet2.
fn routed(api: &Api) -> (Object, [Object; 2]) {
    let vlan = |name: &str, number: i64| json!({"provider:network_type": "vlan", "provider:physical_network": name, "provider:segmentation_id": number});
    let net = api.create("network", json!({"segments": [vlan("physnet1", 150), vlan("physnet2", 50)]}));
    let of = |name: &str| {
        let found = api.list(&format!("segments?network_id={}&physical_network={name}", net.id()));
        found.into_iter().next().expect("the segment")
    };
    let segments = [of("physnet1"), of("physnet2")];
    (net, segments)
}

fn on_segment(api: &Api, network: &Object, segment: &Object, cidr: &str) -> Object {
    let subnet = json!({"network_id": network.id(), "ip_version": 4, "cidr": cidr, "segment_id": segment.id()});
    api.create("subnet", subnet)
}

#[test]
fn segment_dhcp_after_mapping() {
    let api = Api::with("[DEFAULT]\ndhcp_agents_per_network = 2");
    let server = api.server();
    let (net, [one, two]) = routed(&api);
    server.report(&l2_of("rack1", &["physnet1"]));
    server.report(&dhcp_agent("rack1"));
    let far = on_segment(&api, &net, &one, "192.0.2.0/24");
    let near = on_segment(&api, &net, &two, "198.51.100.0/24");
    assert_eq!(serving(&api, &net), ["rack1"]);

    // The map appears after the subnet and after the DHCP agent.
    server.report(&dhcp_agent("rack2"));
    assert_eq!(asked(&api, "rack2").len(), 0);
    let sent = server.sent_by(|| server.report(&l2_of("rack2", &["physnet2"])));
    let told: Vec<&str> = sent.iter().map(|sent| sent.method()).filter(|method| *method != "report_state").collect();
    assert_eq!(told, ["network_create_end"]);
    assert_eq!(serving(&api, &net), ["rack1", "rack2"]);

    // Each agent gets the subnets of its own segment, and has its port there.
    let info = asked(&api, "rack2").remove(0);
    assert_eq!(info.subnets.iter().map(|subnet| subnet.id.as_str()).collect::<Vec<_>>(), [near.id()]);
    assert_eq!(info.non_local_subnets.iter().map(|subnet| subnet.id.as_str()).collect::<Vec<_>>(), [far.id()]);
    let hosts: Vec<&Value> = info.segments.iter().map(|segment| &segment["hosts"]).collect();
    assert_eq!(hosts, [&json!(["rack1"]), &json!(["rack2"])]);
    for (host, subnet) in [("rack1", &far), ("rack2", &near)] {
        let port = PortRequest {
            network_id: Some(net.id().to_owned()),
            device_id: Some(format!("dhcp-{host}")),
            admin_state_up: Some(true),
            fixed_ips: Some(vec![FixedIpRequest { subnet_id: subnet.id().to_owned(), ip_address: None }]),
            ..PortRequest::default()
        };
        let client = DhcpClient::new(server.bus());
        let context = messaging::Context::admin();
        let made = server.wait(client.create_dhcp_port(&context, PortBody { port }, host.to_owned()));
        let made = made.unwrap_or_else(|error| panic!("the port on {host}: {error}")).expect("a port");
        assert_eq!(made.fixed_ips.iter().map(|ip| ip.subnet_id.as_str()).collect::<Vec<_>>(), [subnet.id()]);
    }

    // Two more on the segment of rack2: one is wanted, the third stays idle however often it starts.
    for host in ["rack3", "rack4"] {
        server.report(&dhcp_agent(host));
        server.report(&l2_of(host, &["physnet2"]));
        asked(&api, host);
    }
    let before = serving(&api, &net);
    assert_eq!(before, ["rack1", "rack2", "rack3"]);
    for host in ["rack4", "rack3", "rack2"] {
        server.report(&dhcp_agent(host));
        server.report(&l2_of(host, &["physnet2"]));
        asked(&api, host);
    }
    assert_eq!(serving(&api, &net), before);

    // A host that is cabled anew serves its new segment.
    server.report(&dhcp_agent("rack5"));
    assert_eq!(serving(&api, &net), before);
    server.report(&l2_of("rack5", &["physnet1"]));
    assert_eq!(serving(&api, &net), ["rack1", "rack2", "rack3", "rack5"]);
}

#[test]
fn segment_dhcp_after_mapping_keeps_the_last_automatic_subnet() {
    let api = Api::start();
    let (net, [one, _]) = routed(&api);
    api.server().report(&l2_of("rack1", &["physnet1"]));
    let automatic = json!({
        "network_id": net.id(), "ip_version": 6, "cidr": "2001:db8::/64", "segment_id": one.id(),
        "ipv6_ra_mode": "slaac", "ipv6_address_mode": "slaac",
    });
    let automatic = api.create("subnet", automatic);
    let port = api.create("port", json!({"network_id": net.id(), "binding:host_id": "rack1"}));
    assert_eq!(port.addresses().len(), 1);
    api.delete(&automatic).fault(409, "SubnetInUse");
    api.delete(&port).expect(204);
    api.delete(&automatic).expect(204);
}

/// DHCP agents of the reference ask so for a metadata port on each network that they serve.
#[test]
fn ports_are_found_for_metadata_by_filters() {
    let api = Api::start();
    let server = api.server();
    let net = api.create("network", json!({}));
    let port = api.create(
        "port",
        json!({"network_id": net.id(), "device_owner": "network:distributed", "device_id": "ovnmeta-1"}),
    );
    api.create("port", json!({"network_id": net.id(), "device_owner": "network:distributed", "device_id": "other"}));
    let client = MetadataClient::new(server.bus());
    let ask = |device: &str| {
        let filters = json!({"device_owner": ["network:distributed"], "device_id": [device]});
        let Value::Object(filters) = filters else { panic!("an object") };
        let found = server.wait(client.get_ports(&messaging::Context::admin(), filters)).expect("an answer");
        found.into_iter().map(|port| port.id).collect::<Vec<String>>()
    };
    assert_eq!(ask("ovnmeta-1"), [port.id()]);
    assert!(ask("ovnmeta-2").is_empty());
}

/// A server that dies between a commit and its news: the next one names the port to its agents.
#[test]
fn ports_that_wait_are_named_again() {
    let api = Api::start();
    let server = api.server();
    server.report(&dhcp_agent("one"));
    server.report(&l2_of("one", &["physnet1"]));
    let net = api.create("network", json!({}));
    api.create("subnet", json!({"network_id": net.id(), "ip_version": 4, "cidr": "192.0.2.0/24"}));
    let port = json!({"network_id": net.id(), "binding:host_id": "one", "device_owner": "compute:nova"});
    let port = api.create("port", port);
    let remind = || {
        let sent = server.sent_by(|| {
            let wired = server.wired();
            server.wait(wired.dhcp_news.remind(&wired.system)).expect("the database answers");
        });
        let named = sent.iter().filter(|sent| sent.method() == "port_create_end");
        named
            .map(|sent| sent.message.args["payload"]["port"]["id"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(remind(), [port.id()]);
    let client = DhcpClient::new(server.bus());
    server
        .wait(client.dhcp_ready_on_ports(&messaging::Context::admin(), vec![port.id().to_owned()]))
        .expect("an answer");
    assert_eq!(remind(), [""; 0], "it waits no more");
}
