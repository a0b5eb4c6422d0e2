//! What all collections have in common.

use api::{Answer, Api, Object, encoded, together};
use serde_json::{Value, json};

/// Seven networks with names of which some are equal.
fn seven(api: &Api) {
    let names = ["p00", "p00", "p01", "p01", "p02", "p02", "p03"].map(|name| json!({ "name": name }));
    api.try_create_all("network", json!(names)).expect(201);
}

fn names(page: &Answer) -> Vec<String> {
    page.objects(200).iter().map(|network| network.text("name").to_owned()).collect()
}

/// A link of a page, as a path below `/v2.0/`.
fn link(page: &Answer, rel: &str) -> Option<String> {
    let body = page.json();
    let link = body["networks_links"].as_array()?.iter().find(|link| link["rel"] == rel)?["href"].as_str()?;
    let (_, path) = link.split_once("/v2.0/").expect("links are absolute");
    Some(path.to_owned())
}

#[test]
fn api_pagination() {
    let api = Api::start();
    seven(&api);
    let first = api.get("networks?limit=3&sort_key=name&sort_dir=asc");
    let second = api.get(&link(&first, "next").expect("a next page"));
    let third = api.get(&link(&second, "next").expect("a next page"));
    assert_eq!(names(&first), ["p00", "p00", "p01"]);
    assert_eq!(names(&second), ["p01", "p02", "p02"]);
    assert_eq!(names(&third), ["p03"]);
    assert!(link(&first, "previous").is_some() && link(&second, "previous").is_some());
    assert!(link(&third, "next").is_none() && link(&third, "previous").is_some());
    let mut ids: Vec<String> = [&first, &second, &third]
        .iter()
        .flat_map(|page| page.objects(200))
        .map(|network| network.id().into())
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 7, "no row twice, none left out");
    let back = api.get(&link(&third, "previous").expect("a way back"));
    assert_eq!(back.json()["networks"], second.json()["networks"]);
    let marker = second.objects(200)[0].id().to_owned();
    let before = api.get(&format!("networks?limit=3&sort_key=name&sort_dir=asc&marker={marker}&page_reverse=True"));
    assert_eq!(before.json()["networks"], first.json()["networks"]);

    let full = api.get("networks?limit=7");
    assert_eq!(full.objects(200).len(), 7);
    let empty = api.get(&link(&full, "next").expect("a page that is full may have a next one"));
    assert!(empty.objects(200).is_empty());
    let unlimited = api.get("networks?limit=0");
    assert_eq!(unlimited.objects(200).len(), 7);
    assert_eq!(unlimited.json().get("networks_links"), None);
    for limit in ["-1", "abc"] {
        api.get(&format!("networks?limit={limit}")).fault(400, "BadRequest");
    }
    let few = api.get("networks?limit=10");
    assert!(link(&few, "next").is_none() && link(&few, "previous").is_some());

    let named = api.header("Host", "net.example.test:9999").get("networks?limit=1&name=p00&name=p01&fields=id");
    let body = named.json();
    let id = body["networks"][0]["id"].as_str().expect("an id");
    let here = "http://net.example.test:9999/v2.0/networks?limit=1&name=p00&name=p01&fields=id";
    let next = json!({"rel": "next", "href": format!("{here}&marker={id}")});
    let previous = json!({"rel": "previous", "href": format!("{here}&marker={id}&page_reverse=True")});
    assert_eq!(body["networks_links"], json!([next, previous]));
}

#[test]
fn api_pagination_bad_marker() {
    let api = Api::start();
    seven(&api);
    let first = api.get("networks?limit=3");
    let next = link(&first, "next").expect("a next page");
    let marker = first.objects(200).pop().expect("three networks");
    api.delete(&marker).expect(204);
    api.get(&next).fault(404, "NetworkNotFound");
    let foreign = api.member("p1").create("network", json!({}));
    api.member("p2").get(&format!("networks?limit=1&marker={}", foreign.id())).fault(404, "NetworkNotFound");
}

#[test]
fn api_sort_errors() {
    let api = Api::start();
    let message = api.get("networks?sort_key=name").fault(400, "HTTPBadRequest");
    assert!(message.contains("number of sort_keys and sort_dirs must be same"), "{message}");
    let message = api.get("networks?sort_key=bogus&sort_dir=asc").fault(400, "HTTPBadRequest");
    assert!(message.contains("bogus"), "{message}");
    api.get("networks?sort_key=name&sort_dir=up").fault(400, "HTTPBadRequest");
    api.get("networks?sort_key=name&sort_key=id&sort_dir=asc").fault(400, "HTTPBadRequest");
}

#[test]
fn api_filter_validation() {
    let api = Api::start();
    let vlan = json!({"provider:network_type": "vlan", "provider:physical_network": "physnet1"});
    let vlan = api.create("network", vlan);
    let own = api.member("p1").create("network", json!({"name": "own"}));
    let message = api.get("networks?bogus=1").fault(400, "HTTPBadRequest");
    assert!(message.contains("['bogus'] is invalid attribute for filtering"), "{message}");
    assert_eq!(api.list("networks?mtu=1450").len(), 1);
    let found = api.list("networks?provider:network_type=vlan");
    assert_eq!(found.iter().map(Object::id).collect::<Vec<_>>(), [vlan.id()]);
    assert!(api.member("p1").list("networks?provider:network_type=vlan").is_empty());
    assert_eq!(api.member("p1").list("networks?provider:network_type=vxlan").len(), 1);
    let message = api.get("networks?admin_state_up=maybe").fault(400, "InvalidInput");
    assert!(message.contains("maybe"), "{message}");
    api.get("networks?admin_state_up=").fault(400, "InvalidInput");
    assert!(api.list("networks?router:external=True").is_empty());
    assert!(api.list("networks?shared=true").is_empty());
    let revision = own.number("revision_number");
    assert!(api.list(&format!("networks?revision_number={revision}")).iter().any(|network| network.id() == own.id()));
    api.get("networks?changed_since=2020-01-01T00:00:00Z").fault(400, "HTTPBadRequest");
}

#[test]
fn api_filter_empty_and_multi() {
    let api = Api::start();
    let net = api.create("network", json!({"name": "p00"}));
    api.create("network", json!({"name": "p01"}));
    let unnamed = api.create("network", json!({}));
    let subnet = json!({"network_id": net.id(), "ip_version": 4, "cidr": "192.0.2.0/24"});
    let subnet = api.create("subnet", subnet);
    let free = json!({"network_id": net.id(), "fixed_ips": [{"subnet_id": subnet.id(), "ip_address": "192.0.2.9"}]});
    let free = api.create("port", free);
    let attached = api.create("port", json!({"network_id": net.id(), "device_id": "vm"}));
    let elsewhere = api.create("port", json!({"network_id": unnamed.id(), "device_id": "vm"}));

    let ids = |path: &str| {
        let mut ids: Vec<String> = api.list(path).iter().map(|object| object.id().to_owned()).collect();
        ids.sort();
        ids
    };
    let sorted = |objects: &[&Object]| {
        let mut ids: Vec<String> = objects.iter().map(|object| object.id().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids("ports?device_id="), sorted(&[&free]));
    assert_eq!(ids("networks?name="), sorted(&[&unnamed]));
    assert_eq!(ids("networks?name=p00&name=p01").len(), 2);
    let by_address = |condition: &str| ids(&format!("ports?fixed_ips={}", encoded(condition)));
    assert_eq!(by_address("ip_address=192.0.2.9"), sorted(&[&free]));
    assert_eq!(by_address("ip_address_substr=192.0."), sorted(&[&free, &attached]));
    assert_eq!(by_address(&format!("subnet_id={}", subnet.id())), sorted(&[&free, &attached]));
    assert!(!by_address("ip_address_substr=192.0.").contains(&elsewhere.id().to_owned()));
    assert_eq!(ids("subnets?cidr=192.0.2.5/24"), sorted(&[&subnet]));
}

#[test]
fn api_project_tenant() {
    let api = Api::start();
    for body in
        [json!({"project_id": "p1"}), json!({"tenant_id": "p1"}), json!({"project_id": "p1", "tenant_id": "p1"})]
    {
        let made = api.create("network", body);
        assert_eq!((made.text("project_id"), made.text("tenant_id")), ("p1", "p1"));
        let seen = api.member("p1").read(&made);
        assert_eq!((seen.text("project_id"), seen.text("tenant_id")), ("p1", "p1"));
    }
    let message = api.try_create("network", json!({"project_id": "a", "tenant_id": "b"})).fault(400, "HTTPBadRequest");
    assert!(message.contains("do not match"), "{message}");
    for name in ["project_id", "tenant_id"] {
        let message = api.member("p1").try_create("network", json!({ name: "p2" })).fault(400, "HTTPBadRequest");
        let expected = "Specifying 'project_id' or 'tenant_id' other than the authenticated project";
        let either = message.contains(expected)
            || message.contains("Specifying 'project_id' other than the authenticated project");
        assert!(either, "{message}");
        assert_eq!(api.list(&format!("networks?{name}=p1")).len(), 3);
        let shown = api.get(&format!("networks?{name}=p1&fields={name}")).expect(200).json();
        assert_eq!(shown, json!({"networks": [{ name: "p1" }, { name: "p1" }, { name: "p1" }]}));
    }
}

#[test]
fn api_not_found_and_methods() {
    let api = Api::start();
    for path in ["/v2.0/bogus", "/v2.0/bogus/x", "/v2.0", "/v2.0/network", "/v2.0/NETWORKS"] {
        api.send("GET", path, "").fault(404, "HTTPNotFound");
    }
    api.put("networks", json!({"network": {"name": "x"}})).fault(404, "NetworkNotFound");
    api.send("HEAD", "/v2.0/networks", "").expect(405);
    api.send("PATCH", "/v2.0/networks", "{}").fault(405, "HTTPMethodNotAllowed");
    api.get("networks/not-a-uuid").fault(404, "NetworkNotFound");
    api.get("extensions/nope").fault(404, "HTTPNotFound");
    let network = api.create("network", json!({}));
    assert_eq!(api.get("networks.json").json(), api.get("networks").json());
    let gone = api.delete(&network);
    gone.expect(204);
    assert_eq!(gone.text, "");
    assert!(!gone.headers.contains_key("content-type"));
}

/// Resident memory of this process in KiB.
fn resident() -> i64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

#[test]
fn api_not_found_leaks_nothing() {
    let api = Api::start();
    let ask = |times: usize| {
        for i in 0..times {
            api.get(&format!("bogus{i}/{i}")).fault(404, "HTTPNotFound");
        }
    };
    ask(500);
    let before = resident();
    ask(5_000);
    let grown = resident() - before;
    // A kilobyte kept for each would be 5 MB.
    assert!(grown < 4_000, "5000 unknown paths took {grown} KiB");
}

#[test]
fn api_request_id() {
    let api = Api::start();
    let given = "req-11111111-2222-4333-8444-555555555555";
    for api in [&api, &api.header("X-Openstack-Request-Id", given)] {
        for path in ["/", "/v2.0/networks", "/v2.0/bogus", "/v2.0/networks?bogus=1"] {
            let answer = api.send("GET", path, "");
            let id = answer.headers["x-openstack-request-id"].to_str().expect("text").to_owned();
            assert!(id.starts_with("req-") && id.len() == 40, "{id}");
            assert_ne!(id, given);
        }
    }
    // It goes along to the agents.
    let server = api.server();
    server.report(&super::ports::dhcp_agent("net1"));
    let sent = server.sent_by(|| {
        let api = api.header("X-Openstack-Request-Id", given);
        let net = api.create("network", json!({}));
        api.create("subnet", json!({"network_id": net.id(), "ip_version": 4, "cidr": "192.0.2.0/24"}));
    });
    let told: Vec<_> = sent.iter().filter(|sent| sent.target.topic.starts_with("dhcp_agent")).collect();
    assert!(!told.is_empty());
    for told in told {
        assert_eq!(told.context.0["global_request_id"], given, "{told:?}");
        assert!(told.context.0["request_id"].as_str().is_some_and(|id| id.starts_with("req-") && id != given));
    }
}

#[test]
fn api_create_then_use() {
    let api = Api::start();
    let server = api.server();
    server.report(&super::ports::dhcp_agent("net1"));
    // From here on nothing that is sent arrives.
    server.fake_bus().set_down(true);
    let net = api.create("network", json!({}));
    let subnet = api.create("subnet", json!({"network_id": net.id(), "ip_version": 4, "cidr": "192.0.2.0/24"}));
    let port = api.create("port", json!({"network_id": net.id(), "binding:host_id": "cmp1"}));
    server.wait(server.store().settled());
    for object in [&net, &subnet, &port] {
        api.show(object).expect(200);
    }
    assert_eq!(api.update(&port, json!({"name": "still here"})).text("name"), "still here");
}

#[test]
fn api_concurrent_delete_list() {
    let api = Api::start();
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| {
            for _ in 0..20 {
                let network = api.create("network", json!({}));
                let port = api.create("port", json!({"network_id": network.id()}));
                api.delete(&port).expect(204);
                api.delete(&network).expect(204);
            }
        });
        let mut lists = 0;
        while lists < 100 || !changes.is_finished() {
            api.get("ports").expect(200);
            api.get("networks").expect(200);
            lists += 1;
        }
    });
}

#[test]
fn api_dns_names() {
    let api = Api::with("[DEFAULT]\ndns_domain = example.test.");
    let net = api.create("network", json!({}));
    api.create("subnet", json!({"network_id": net.id(), "ip_version": 4, "cidr": "192.0.2.0/24"}));
    let port = api.create("port", json!({"network_id": net.id(), "dns_name": "vm-a"}));
    let address = port.addresses()[0];
    let assignment = json!([{"hostname": "vm-a", "fqdn": "vm-a.example.test.", "ip_address": address}]);
    assert_eq!(port["dns_assignment"], assignment);
    let long = format!("{}.example.test.", "a.".repeat(127));
    for bad in ["bad_name", long.as_str()] {
        let port = json!({"network_id": net.id(), "dns_name": bad});
        api.try_create("port", port).expect(400);
    }
}

#[test]
fn bodies_that_make_no_sense_are_400_and_store_nothing() {
    let api = Api::start();
    let network = api.create("network", json!({"name": "t"}));
    let path = format!("/v2.0/{}", network.path());
    for body in [
        "",
        "{",
        "[]",
        "null",
        "5",
        "{}",
        "{\"net\": {}}",
        "{\"network\": null}",
        "{\"network\": []}",
        "{\"network\": {\"bogus\": 1}}",
        "{\"network\": {\"name\": 5}}",
        "{\"network\": {\"admin_state_up\": \"maybe\"}}",
        "{\"network\": {\"mtu\": \"x\"}}",
        "{\"networks\": []}",
        "{\"networks\": {}}",
    ] {
        for (method, path) in [("POST", "/v2.0/networks"), ("PUT", path.as_str())] {
            let answer = api.send(method, path, body);
            answer.expect(400);
            assert!(answer.json()["NeutronError"]["type"].is_string(), "{}", answer.text);
        }
    }
    let large = format!("{{\"network\": {{\"name\": \"{}\"}}}}", "x".repeat(200_000));
    api.send("POST", "/v2.0/networks", large).fault(413, "HTTPRequestEntityTooLarge");
    assert_eq!(api.list("networks?fields=name").len(), 1);
    assert_eq!(api.read(&network), network);
}

#[test]
fn roles_see_and_change_what_is_theirs() {
    let api = Api::start();
    let own = api.member("p1").create("network", json!({"name": "own"}));
    assert!(!own.has("provider:network_type"), "only administrators see it");
    assert!(api.read(&own).has("provider:network_type"));
    for stranger in [api.member("p2"), api.reader("p2")] {
        stranger.show(&own).fault(404, "NetworkNotFound");
        stranger.try_update(&own, json!({"name": "x"})).fault(404, "NetworkNotFound");
        stranger.delete(&own).fault(404, "NetworkNotFound");
        assert!(stranger.list("networks").is_empty());
    }
    let reader = api.reader("p1");
    assert_eq!(reader.read(&own).text("name"), "own");
    reader.try_update(&own, json!({"name": "x"})).fault(403, "PolicyNotAuthorized");
    reader.delete(&own).fault(403, "PolicyNotAuthorized");
    reader.try_create("network", json!({})).fault(403, "PolicyNotAuthorized");
    let message = api.member("p1").try_create("network", json!({"shared": true})).fault(403, "PolicyNotAuthorized");
    assert!(message.contains("create_network:shared"), "{message}");
}

#[test]
fn one_of_several_writers_with_the_same_revision_wins() {
    let api = Api::start();
    let network = api.create("network", json!({}));
    let seen = format!("revision_number={}", network.number("revision_number"));
    let outcomes = together(8, |i| {
        let change: Value = json!({ "name": format!("n{i}") });
        api.header("If-Match", &seen).try_update(&network, change).summary()
    });
    let won = outcomes.iter().filter(|outcome| *outcome == "200").count();
    let lost = outcomes.iter().filter(|outcome| *outcome == "412 RevisionNumberConstraintFailed").count();
    assert_eq!((won, lost), (1, 7), "{outcomes:?}");
}

#[test]
fn versions_extensions_health_and_metrics() {
    let api = Api::start();
    let versions = api.send("GET", "/", "").expect(200).json();
    assert_eq!(versions["versions"][0]["id"], "v2.0");
    let extensions = api.get("extensions").expect(200).json();
    let aliases: Vec<&str> = extensions["extensions"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|extension| extension["alias"].as_str())
        .collect();
    for alias in ["provider", "binding", "agent", "standard-attr-revisions"] {
        assert!(aliases.contains(&alias), "{alias} is missing in {aliases:?}");
        assert_eq!(api.get(&format!("extensions/{alias}")).expect(200).json()["extension"]["alias"], alias);
    }
    assert_eq!(api.send("GET", "/healthcheck", "").expect(200).text, "OK");
    let metrics = api.send("GET", "/metrics", "").expect(200).text.clone();
    for name in ["http_requests_total", "store_statements_total", "store_effects_waiting"] {
        assert!(metrics.contains(name), "{metrics}");
    }
    let agent = api::Agent {
        agent_type: "DHCP agent",
        binary: "neutron-dhcp-agent",
        topic: "dhcp_agent",
        host: "h1".to_owned(),
        configurations: json!({}),
    };
    api.server().report(&agent);
    let metrics = api.send("GET", "/metrics", "").expect(200).text.clone();
    assert!(metrics.contains("agents_alive{type=\"DHCP agent\"} 1"), "{metrics}");
    let health = api.header("Accept", "application/json").send("GET", "/healthcheck", "").expect(200).json();
    assert_eq!(health["roles"], json!(["api", "rpc"]));
}
