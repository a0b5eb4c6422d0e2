//! Security groups where they meet the protocol, ports, quotas and agents. Tests named after a case of the collection of
//! cases check what it expects.

use std::collections::BTreeMap;

use futures::future::join_all;
use messaging::Context;
use rpc::security_groups::SecurityGroupPlugin;
use serde_json::{Value, json};

use crate::support::{As, TestServer};

const GROUPS: &str = "/security-groups";
const RULES: &str = "/security-group-rules";

fn id(object: &Value) -> &str {
    object["id"].as_str().unwrap()
}

async fn group(asker: &As<'_>, name: &str) -> Value {
    let body = json!({"security_group": {"name": name}});
    asker.post(GROUPS, body).await.expect(201)["security_group"].clone()
}

fn rule_in(group: &Value, change: Value) -> Value {
    let mut rule = json!({"security_group_id": group["id"], "direction": "ingress"});
    rule.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    json!({"security_group_rule": rule})
}

async fn rule(asker: &As<'_>, group: &Value, change: Value) -> Value {
    asker.post(RULES, rule_in(group, change)).await.expect(201)["security_group_rule"].clone()
}

async fn port(asker: &As<'_>, network: &Value, groups: &[&Value]) -> Value {
    let groups: Vec<&Value> = groups.iter().map(|group| &group["id"]).collect();
    asker.make("port", json!({"network_id": network["id"], "security_groups": groups})).await
}

async fn network(asker: &As<'_>) -> Value {
    let network = asker.make("network", json!({})).await;
    asker.make("subnet", json!({"network_id": network["id"], "ip_version": 4, "cidr": "192.0.2.0/24"})).await;
    network
}

async fn default_of(asker: &As<'_>) -> Value {
    asker.get(&format!("{GROUPS}?name=default")).await.expect(200)["security_groups"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn sg_default_race() {
    let server = TestServer::start("").await;
    let member = server.member("fresh");
    let lists = join_all((0..8).map(|_| member.get(GROUPS))).await;
    for list in lists {
        let groups = list.expect(200)["security_groups"].clone();
        assert_eq!(groups.as_array().unwrap().len(), 1);
        let mut rules: Vec<(String, String, bool)> = Vec::new();
        for rule in groups[0]["security_group_rules"].as_array().unwrap() {
            let own = rule["remote_group_id"] == groups[0]["id"];
            assert!(own || rule["remote_group_id"].is_null());
            assert_eq!(rule["belongs_to_default_sg"], true);
            rules.push((rule["direction"].to_string(), rule["ethertype"].to_string(), own));
        }
        rules.sort();
        let rules: Vec<String> = rules.iter().map(|(way, family, own)| format!("{way} {family} {own}")).collect();
        let wanted = [
            "\"egress\" \"IPv4\" false",
            "\"egress\" \"IPv6\" false",
            "\"ingress\" \"IPv4\" true",
            "\"ingress\" \"IPv6\" true",
        ];
        assert_eq!(rules, wanted);
    }
    assert_eq!(server.number("SELECT COUNT(*) FROM securitygroups").await, 1);
    // Also when ports and networks come first.
    let other = server.member("other");
    let made = join_all((0..8).map(|_| other.make("network", json!({})))).await;
    let ports = join_all(made.iter().map(|network| other.make("port", json!({"network_id": network["id"]})))).await;
    let default = default_of(&other).await;
    assert!(ports.iter().all(|port| port["security_groups"] == json!([default["id"]])));
    assert_eq!(server.number("SELECT COUNT(*) FROM securitygroups").await, 2);
}

#[tokio::test]
async fn sg_default_foreign_project() {
    let server = TestServer::start("").await;
    let list = server.member("p1").get(&format!("{GROUPS}?tenant_id=p2")).await.expect(200);
    assert_eq!(list["security_groups"], json!([]));
    assert_eq!(server.number("SELECT COUNT(*) FROM securitygroups WHERE project_id = 'p2'").await, 0);
    for (column, project) in [("project_id", "p3"), ("tenant_id", "p4")] {
        let list = server.admin().get(&format!("{GROUPS}?{column}={project}")).await.expect(200);
        assert_eq!(list["security_groups"][0]["name"], "default");
        assert_eq!(list["security_groups"][0]["project_id"], project);
    }
    // What is no project makes nothing.
    let long = "x".repeat(300);
    let list = server.admin().get(&format!("{GROUPS}?project_id={long}")).await.expect(200);
    assert_eq!(list["security_groups"], json!([]));
}

#[tokio::test]
async fn sg_default_protection() {
    let server = TestServer::start("").await;
    let member = server.member("p1");
    for name in ["default", "Default"] {
        let body = json!({"security_group": {"name": name}});
        member.post(GROUPS, body).await.fault(409, "SecurityGroupDefaultAlreadyExists");
    }
    let default = default_of(&member).await;
    let one = format!("{GROUPS}/{}", id(&default));
    member.put(&one, json!({"security_group": {"name": "foo"}})).await.fault(409, "SecurityGroupCannotUpdateDefault");
    member.put(&one, json!({"security_group": {"description": "mine"}})).await.expect(200);
    member.delete(&one).await.fault(409, "SecurityGroupCannotRemoveDefault");
    server.admin().delete(&one).await.expect(204);
    // The next one who needs it makes it again.
    assert_ne!(default_of(&member).await["id"], default["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sg_duplicate_race() {
    let server = TestServer::start("").await;
    let member = server.member("p1");
    let group = group(&member, "g").await;
    let https = json!({"protocol": "tcp", "port_range_min": 443, "port_range_max": 443});
    let answers = join_all((0..8).map(|_| member.post(RULES, rule_in(&group, https.clone())))).await;
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    for answer in answers {
        *counts.entry(answer.status.as_u16()).or_default() += 1;
        if answer.status.as_u16() != 201 {
            answer.fault(409, "SecurityGroupRuleExists");
        }
    }
    assert_eq!(counts, BTreeMap::from([(201, 1), (409, 7)]));
    let different = (0..16).map(|port| {
        let port = 1000 + port;
        member.post(RULES, rule_in(&group, json!({"protocol": "tcp", "port_range_min": port, "port_range_max": port})))
    });
    for answer in join_all(different).await {
        answer.expect(201);
    }
    let sql = format!("SELECT COUNT(*) FROM securitygrouprules WHERE security_group_id = '{}'", id(&group));
    assert_eq!(server.number(&sql).await, 2 + 17);
}

#[tokio::test]
async fn sg_ports_and_protocol_matrix() {
    let server = TestServer::start("").await;
    let member = server.member("p1");
    let group = group(&member, "g").await;
    let ports = |protocol: Value, min: Value, max: Value| json!({"protocol": protocol, "port_range_min": min, "port_range_max": max});
    let all = rule(&member, &group, ports(json!("tcp"), json!(1), json!(65535))).await;
    assert_eq!((&all["port_range_min"], &all["port_range_max"]), (&Value::Null, &Value::Null));
    assert_eq!(rule(&member, &group, json!({"protocol": "any"})).await["protocol"], Value::Null);
    for (change, kind) in [
        (ports(Value::Null, json!(80), json!(90)), "SecurityGroupProtocolRequiredWithPorts"),
        (ports(json!("gre"), json!(80), json!(90)), "SecurityGroupInvalidProtocolForPort"),
        (ports(json!("tcp"), json!(90), json!(80)), "SecurityGroupInvalidPortRange"),
        (ports(json!("tcp"), json!(0), json!(0)), "SecurityGroupInvalidPortValue"),
        (ports(json!("tcp"), json!(80), Value::Null), "SecurityGroupInvalidPortRange"),
        (json!({"protocol": 999}), "SecurityGroupRuleInvalidProtocol"),
        (json!({"protocol": "foo"}), "SecurityGroupRuleInvalidProtocol"),
        (json!({"ethertype": "IPv5"}), "SecurityGroupRuleInvalidEtherType"),
        (json!({"ethertype": null}), "SecurityGroupRuleInvalidEtherType"),
        (json!({"remote_ip_prefix": "10.0.0.0/33"}), "InvalidCIDR"),
        (json!({"remote_ip_prefix": "::/0"}), "SecurityGroupRuleParameterConflict"),
        (json!({"protocol": "ipv6-icmp"}), "SecurityGroupEthertypeConflictWithProtocol"),
        (json!({"protocol": "icmp", "port_range_max": 3}), "SecurityGroupMissingIcmpType"),
        (json!({"protocol": "icmp", "port_range_min": 256}), "SecurityGroupInvalidIcmpValue"),
        (json!({"direction": "both"}), "HTTPBadRequest"),
        (json!({"remote_ip_prefix": "10.0.0.0/8", "remote_group_id": "x"}), "SecurityGroupMultipleRemoteEntites"),
    ] {
        member.post(RULES, rule_in(&group, change)).await.fault(400, kind);
    }
    for number in ["255", "0"] {
        assert_eq!(rule(&member, &group, json!({"protocol": number})).await["protocol"], number);
    }
    let kept = rule(&member, &group, json!({"remote_ip_prefix": "10.1.2.3/8"})).await;
    assert_eq!((&kept["remote_ip_prefix"], &kept["normalized_cidr"]), (&json!("10.1.2.3/8"), &json!("10.0.0.0/8")));
    // The group counts its rules' changes.
    let shown = member.get(&format!("{GROUPS}/{}", id(&group))).await.expect(200);
    assert_eq!(shown["security_group"]["revision_number"], 6);
    let one = format!("{RULES}/{}", id(&kept));
    member.put(&one, json!({"security_group_rule": {"direction": "egress"}})).await.fault(400, "HTTPBadRequest");
    member.delete(&one).await.expect(204);
    member.delete(&one).await.fault(404, "SecurityGroupRuleNotFound");
}

#[tokio::test]
async fn rules_come_in_bulk_of_one_group() {
    let server = TestServer::start("").await;
    let (member, admin) = (server.member("p1"), server.admin());
    let (one, two) = (group(&member, "g").await, group(&member, "h").await);
    let bulk = |rules: &[(&Value, u16)]| {
        let rules: Vec<Value> = rules
            .iter()
            .map(|(group, port)| {
                let ports = json!({"protocol": "tcp", "port_range_min": port, "port_range_max": port});
                rule_in(group, ports)["security_group_rule"].clone()
            })
            .collect();
        json!({"security_group_rules": rules})
    };
    server.bus.clear();
    let made = member.post(RULES, bulk(&[(&one, 1), (&one, 2), (&one, 3)])).await.expect(201);
    assert_eq!(made["security_group_rules"].as_array().unwrap().len(), 3);
    server.store().settled().await;
    let told = server.bus.sent_as("security_groups_rule_updated");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].message.args["security_groups"], json!([one["id"]]));
    let doubled = bulk(&[(&one, 4), (&one, 5), (&one, 4)]);
    member.post(RULES, doubled).await.fault(409, "DuplicateSecurityGroupRuleInPost");
    member.post(RULES, bulk(&[(&one, 6), (&one, 1)])).await.fault(409, "SecurityGroupRuleExists");
    let mixed = bulk(&[(&one, 7), (&two, 7)]);
    admin.post(RULES, mixed).await.fault(400, "SecurityGroupNotSingleGroupRules");
    assert_eq!(server.number("SELECT COUNT(*) FROM securitygrouprules WHERE port_range_min > 3").await, 0);
}

#[tokio::test]
async fn sg_stateful_conflicts() {
    let server = TestServer::start("").await;
    let member = server.member("p1");
    let network = network(&member).await;
    let (one, two) = (group(&member, "one").await, group(&member, "two").await);
    let body = json!({"security_group": {"name": "stateless", "stateful": false}});
    let stateless = member.post(GROUPS, body).await.expect(201)["security_group"].clone();
    let port = port(&member, &network, &[&one]).await;
    let group = format!("{GROUPS}/{}", id(&one));
    member.put(&group, json!({"security_group": {"stateful": false}})).await.fault(409, "SecurityGroupInUse");
    member.put(&group, json!({"security_group": {"stateful": true}})).await.expect(200);
    let path = format!("/ports/{}", id(&port));
    let put = |groups: Value| member.put(&path, json!({"port": {"security_groups": groups}}));
    put(json!([one["id"], stateless["id"]])).await.fault(409, "SecurityGroupConflict");
    put(json!([stateless["id"]])).await.expect(200);
    put(json!([one["id"], two["id"]])).await.expect(200);
    let both = json!({"network_id": network["id"], "security_groups": [one["id"], stateless["id"]]});
    member.post("/ports", json!({"port": both})).await.fault(409, "SecurityGroupConflict");
}

#[tokio::test]
async fn sg_rule_quota_on_group_create() {
    let server = TestServer::start("").await;
    let (member, admin) = (server.member("p1"), server.admin());
    member.get(GROUPS).await.expect(200);
    let limit = |rules: i64| admin.put("/quotas/p1", json!({"quota": {"security_group_rule": rules, "force": true}}));
    limit(5).await.expect(200);
    let body = json!({"security_group": {"name": "g"}});
    let message = member.post(GROUPS, body.clone()).await.fault(409, "OverQuota");
    assert!(message.contains("security_group_rule"), "{message}");
    assert_eq!(server.number("SELECT COUNT(*) FROM securitygroups").await, 1);
    limit(6).await.expect(200);
    let template = json!({"default_security_group_rule": {"direction": "ingress", "protocol": "tcp",
        "used_in_default_sg": false, "used_in_non_default_sg": true}});
    admin.post("/default-security-group-rules", template).await.expect(201);
    member.post(GROUPS, body.clone()).await.fault(409, "OverQuota");
    limit(7).await.expect(200);
    let made = member.post(GROUPS, body).await.expect(201)["security_group"].clone();
    assert_eq!(made["security_group_rules"].as_array().unwrap().len(), 3);
    member.post(RULES, rule_in(&made, json!({"protocol": "udp"}))).await.fault(409, "OverQuota");
    let used = async |kind: &str| member.get("/quotas/p1/details").await.expect(200)["quota"][kind]["used"].clone();
    assert_eq!(used("security_group_rule").await, 7);
    member.delete(&format!("{GROUPS}/{}", id(&made))).await.expect(204);
    assert_eq!(used("security_group_rule").await, 4);
    assert_eq!(used("security_group").await, 1);
    // What went made room.
    group(&member, "again").await;
}

#[tokio::test]
async fn sg_admin_rules_visible() {
    let server = TestServer::start("").await;
    let (member, admin) = (server.member("p1"), server.admin());
    let list = server.member("fresh").get(RULES).await.expect(200);
    assert_eq!(list["security_group_rules"].as_array().unwrap().len(), 4);
    let group = group(&member, "g").await;
    let made = rule(&admin, &group, json!({"protocol": "udp"})).await;
    assert_eq!(made["project_id"], "admin");
    let shown = member.get(&format!("{GROUPS}/{}", id(&group))).await.expect(200);
    let inside = shown["security_group"]["security_group_rules"].as_array().unwrap();
    assert!(inside.iter().any(|rule| rule["id"] == made["id"]));
    let list = member.get(&format!("{RULES}?security_group_id={}", id(&group))).await.expect(200);
    let list = list["security_group_rules"].as_array().unwrap().clone();
    assert!(list.iter().any(|rule| rule["id"] == made["id"]));
    // No helper of the rules of policy is shown.
    assert!(list.iter().all(|rule| rule.as_object().unwrap().keys().all(|key| !key.contains(':'))));
    let other = server.member("p2");
    other.get(&format!("{RULES}/{}", id(&made))).await.expect(404);
    other.post(RULES, rule_in(&group, json!({}))).await.fault(403, "PolicyNotAuthorized");
    let nowhere = json!({"id": "11111111-2222-4333-8444-555555555555"});
    other.post(RULES, rule_in(&nowhere, json!({}))).await.fault(404, "SecurityGroupNotFound");
}

#[tokio::test]
async fn sg_remote_group_deleted() {
    let server = TestServer::start("").await;
    let member = server.member("p1");
    let (a, b) = (group(&member, "a").await, group(&member, "b").await);
    let made = rule(&member, &a, json!({"remote_group_id": b["id"]})).await;
    server.bus.clear();
    member.delete(&format!("{GROUPS}/{}", id(&b))).await.expect(204);
    member.get(&format!("{RULES}/{}", id(&made))).await.fault(404, "SecurityGroupRuleNotFound");
    server.store().settled().await;
    let told = server.bus.sent_as("security_groups_rule_updated");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].message.args["security_groups"], json!([a["id"]]));
    // Nothing of it is left behind.
    let sql = "SELECT COUNT(*) FROM standardattributes WHERE resource_type = 'securitygrouprules'";
    let rules = "SELECT COUNT(*) FROM securitygrouprules";
    assert_eq!(server.number(sql).await, server.number(rules).await);
}

#[tokio::test]
async fn groups_of_ports() {
    let server = TestServer::start("").await;
    let (member, admin) = (server.member("p1"), server.admin());
    let network = network(&member).await;
    let default = default_of(&member).await;
    let one = group(&member, "one").await;
    let foreign = group(&server.member("p2"), "foreign").await;
    let on = |change: Value| {
        let mut port = json!({"network_id": network["id"]});
        port.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"port": port})
    };
    for (change, groups) in [
        (json!({}), json!([default["id"]])),
        (json!({"security_groups": null}), json!([])),
        (json!({"security_groups": []}), json!([])),
        (json!({"security_groups": [one["id"]]}), json!([one["id"]])),
        (json!({"port_security_enabled": false}), json!([])),
        (json!({"device_owner": "network:dhcp"}), json!([])),
        (json!({"device_owner": "network:dhcp", "port_security_enabled": true}), json!([])),
    ] {
        let port = member.post("/ports", on(change.clone())).await.expect(201)["port"].clone();
        assert_eq!(port["security_groups"], groups, "{change}");
        if change["device_owner"] == "network:dhcp" {
            assert_eq!(port["port_security_enabled"], false);
        }
    }
    for (change, status, kind) in [
        (json!({"security_groups": ["abc"]}), 400, "HTTPBadRequest"),
        (json!({"security_groups": "abc"}), 400, "HTTPBadRequest"),
        (json!({"security_groups": [one["id"], one["id"]]}), 400, "HTTPBadRequest"),
        (json!({"security_groups": [foreign["id"]]}), 404, "SecurityGroupNotFound"),
        (json!({"security_groups": [network["id"]]}), 404, "SecurityGroupNotFound"),
        (
            json!({"security_groups": [one["id"]], "port_security_enabled": false}),
            400,
            "PortSecurityAndIPRequiredForSecurityGroups",
        ),
        (
            json!({"security_groups": [one["id"]], "device_owner": "network:dhcp"}),
            400,
            "PortSecurityAndIPRequiredForSecurityGroups",
        ),
    ] {
        member.post("/ports", on(change)).await.fault(status, kind);
    }
    let port = port(&member, &network, &[&one]).await;
    let path = format!("/ports/{}", id(&port));
    member.delete(&format!("{GROUPS}/{}", id(&one))).await.fault(409, "SecurityGroupInUse");
    let listed = member.get(&format!("/ports?security_groups={}&fields=id", id(&one))).await.expect(200);
    assert_eq!(listed["ports"].as_array().unwrap().len(), 2);
    let put = |change: Value| member.put(&path, json!({"port": change}));
    // The same in another order is no change.
    let two = json!([default["id"], one["id"]]);
    let before = put(json!({"security_groups": two})).await.expect(200)["port"]["revision_number"].clone();
    let turned = json!([one["id"], default["id"]]);
    assert_eq!(put(json!({"security_groups": turned})).await.expect(200)["port"]["revision_number"], before);
    put(json!({"port_security_enabled": false})).await.fault(409, "PortSecurityPortHasSecurityGroup");
    put(json!({"port_security_enabled": false, "security_groups": two}))
        .await
        .fault(400, "PortSecurityAndIPRequiredForSecurityGroups");
    put(json!({"security_groups": [foreign["id"]]})).await.fault(404, "SecurityGroupNotFound");
    put(json!({"port_security_enabled": false, "security_groups": []})).await.expect(200);
    put(json!({"security_groups": two})).await.fault(400, "PortSecurityAndIPRequiredForSecurityGroups");
    put(json!({"port_security_enabled": true, "security_groups": two})).await.expect(200);
    // An administrator may put anybody's groups on it, and what is there may stay.
    admin.put(&path, json!({"port": {"security_groups": [foreign["id"]]}})).await.expect(200);
    put(json!({"security_groups": [foreign["id"]], "name": "x"})).await.expect(200);
    put(json!({"security_groups": [foreign["id"], one["id"]]})).await.fault(404, "SecurityGroupNotFound");
    member.delete(&path).await.expect(204);
}

#[tokio::test]
async fn default_rules_are_the_administrators() {
    const TEMPLATES: &str = "/default-security-group-rules";
    let server = TestServer::start("").await;
    let (member, admin) = (server.member("p1"), server.admin());
    let list = member.get(TEMPLATES).await.expect(200);
    assert_eq!(list["default_security_group_rules"].as_array().unwrap().len(), 4);
    let template = |change: Value| {
        let mut rule = json!({"direction": "ingress", "used_in_default_sg": true, "used_in_non_default_sg": true});
        rule.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"default_security_group_rule": rule})
    };
    member.post(TEMPLATES, template(json!({}))).await.fault(403, "PolicyNotAuthorized");
    let ssh = json!({"protocol": "tcp", "port_range_min": 22, "port_range_max": 22, "remote_group_id": "PARENT"});
    let made = admin.post(TEMPLATES, template(ssh.clone())).await.expect(201)["default_security_group_rule"].clone();
    assert!(made.get("project_id").is_none());
    admin.post(TEMPLATES, template(ssh)).await.fault(409, "DefaultSecurityGroupRuleExists");
    let bad = json!({"protocol": "tcp", "port_range_min": 22});
    admin.post(TEMPLATES, template(bad)).await.fault(400, "SecurityGroupInvalidPortRange");
    let group = group(&member, "g").await;
    let ssh = group["security_group_rules"].as_array().unwrap().iter().find(|rule| rule["port_range_min"] == 22);
    assert_eq!(ssh.unwrap()["remote_group_id"], group["id"]);
    let one = format!("{TEMPLATES}/{}", id(&made));
    member.delete(&one).await.fault(403, "PolicyNotAuthorized");
    admin.delete(&one).await.expect(204);
    member.get(&one).await.fault(404, "DefaultSecurityGroupRuleNotFound");
}

#[tokio::test]
async fn statefulness_has_a_default() {
    const PATH: &str = "/security-groups-default-statefulness";
    const NAME: &str = "security_groups_default_statefulness";
    let server = TestServer::start("").await;
    let (member, admin) = (server.member("p1"), server.admin());
    let set = |project: Value| admin.post(PATH, json!({NAME: {"project_id": project, "stateful": false}}));
    let own = set(json!("p1")).await.expect(201)[NAME].clone();
    set(json!("p1")).await.fault(409, "SecurityGroupDefaultStatefulnessAlreadyExists");
    assert_eq!(group(&member, "a").await["stateful"], false);
    assert_eq!(group(&server.member("p2"), "a").await["stateful"], true);
    set(Value::Null).await.expect(201);
    set(Value::Null).await.fault(409, "SecurityGroupDefaultStatefulnessAlreadyExists");
    assert_eq!(group(&server.member("p2"), "b").await["stateful"], false);
    admin.put(&format!("{PATH}/{}", id(&own)), json!({NAME: {"stateful": true}})).await.expect(200);
    assert_eq!(group(&member, "b").await["stateful"], true);
    member.post(PATH, json!({NAME: {"stateful": true}})).await.fault(403, "PolicyNotAuthorized");
}

#[tokio::test]
async fn address_groups_hold_networks() {
    const PATH: &str = "/address-groups";
    let server = TestServer::start("").await;
    let member = server.member("p1");
    let body = json!({"address_group": {"name": "a", "addresses": ["10.1.2.3/8", "fd00::1/64"]}});
    let made = member.post(PATH, body).await.expect(201)["address_group"].clone();
    assert_eq!(made["addresses"], json!(["10.0.0.0/8", "fd00::/64"]));
    assert!(made.get("shared").is_none());
    let one = format!("{PATH}/{}", id(&made));
    let act = async |what: &str, addresses: Value| {
        member.put(&format!("{one}/{what}"), json!({"addresses": addresses})).await
    };
    let group = group(&member, "g").await;
    let made_rule = rule(&member, &group, json!({"remote_address_group_id": made["id"]})).await;
    server.bus.clear();
    let added = act("add_addresses", json!(["192.0.2.1"])).await.expect(200);
    assert_eq!(added["address_group"]["addresses"], json!(["10.0.0.0/8", "192.0.2.1/32", "fd00::/64"]));
    server.store().settled().await;
    assert_eq!(server.bus.sent_as("security_groups_rule_updated").len(), 1);
    act("add_addresses", json!(["10.9.9.9/8"])).await.fault(400, "AddressesAlreadyExist");
    act("add_addresses", json!(["abc"])).await.fault(400, "AddrFormatError");
    act("add_addresses", Value::Null).await.expect(400);
    act("remove_addresses", json!(["192.0.2.2/32"])).await.fault(404, "AddressesNotFound");
    let left = act("remove_addresses", json!(["192.0.2.1/32"])).await.expect(200);
    assert_eq!(left["address_group"]["addresses"], json!(["10.0.0.0/8", "fd00::/64"]));
    member.delete(&one).await.fault(409, "AddressGroupInUse");
    server.member("p2").get(&one).await.fault(404, "AddressGroupNotFound");
    member.delete(&format!("{RULES}/{}", id(&made_rule))).await.expect(204);
    member.delete(&one).await.expect(204);
}

#[tokio::test]
async fn firewalls_get_what_they_ask_for() {
    let server = TestServer::start("").await;
    let member = server.member("p1");
    let network = network(&member).await;
    let (a, b) = (group(&member, "a").await, group(&member, "b").await);
    let body = json!({"address_group": {"addresses": ["198.51.100.0/28", "fd00::/64"]}});
    let addresses = member.post("/address-groups", body).await.expect(201)["address_group"].clone();
    rule(
        &member,
        &a,
        json!({"protocol": "tcp", "port_range_min": 80, "port_range_max": 80, "remote_group_id": b["id"]}),
    )
    .await;
    rule(&member, &a, json!({"protocol": "tcp", "remote_address_group_id": addresses["id"]})).await;
    rule(&member, &a, json!({"protocol": "udp", "remote_ip_prefix": "10.1.2.3/8"})).await;
    let filtered = port(&member, &network, &[&a]).await;
    server.bus.clear();
    let peer = port(&member, &network, &[&b]).await;
    server.store().settled().await;
    let told = server.bus.sent_as("security_groups_member_updated");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].message.args["security_groups"], json!([b["id"]]));
    let pair = json!({"port": {"allowed_address_pairs": [{"ip_address": "203.0.113.0/24"}]}});
    member.put(&format!("/ports/{}", id(&peer)), pair).await.expect(200);
    let dhcp = member.make("port", json!({"network_id": network["id"], "device_owner": "network:dhcp"})).await;

    let plugin = &server.wired.filters;
    let tap = |port: &Value| format!("tap{}", &id(port)[..11]);
    let devices = vec![tap(&filtered), tap(&dhcp), "tap00000000-00".to_owned()];
    let context = Context::admin();
    let info = plugin.security_group_info_for_devices(&context, devices.clone(), Some("1.3".into())).await.unwrap();
    let info = serde_json::to_value(info.decode().unwrap()).unwrap();
    // Trusted ports and strangers are left out.
    let found: Vec<&String> = info["devices"].as_object().unwrap().keys().collect();
    assert_eq!(found, [id(&filtered)]);
    let device = &info["devices"][id(&filtered)];
    assert_eq!(device["device"], tap(&filtered));
    assert_eq!(device["fixed_ips"], json!([filtered["fixed_ips"][0]["ip_address"]]));
    assert_eq!(device["security_groups"], json!([a["id"]]));
    assert_eq!(device["security_group_source_groups"], json!([b["id"]]));
    assert_eq!(device["security_group_remote_address_groups"], json!([addresses["id"]]));
    assert_eq!(device["security_group_rules"].as_array().unwrap().len(), 3, "DHCP for both families");
    let rules = info["security_groups"][id(&a)].as_array().unwrap();
    assert_eq!(rules.len(), 5);
    let http = rules.iter().find(|rule| rule["port_range_min"] == 80).unwrap();
    let wanted = json!({"direction": "ingress", "ethertype": "IPv4", "protocol": "tcp", "port_range_min": 80,
                        "port_range_max": 80, "remote_group_id": b["id"], "stateful": true});
    assert_eq!(*http, wanted);
    assert!(rules.iter().any(|rule| rule["source_ip_prefix"] == "10.0.0.0/8"));
    let of_b = &info["sg_member_ips"][id(&b)];
    let (ip, mac) = (&peer["fixed_ips"][0]["ip_address"], &peer["mac_address"]);
    assert_eq!(*of_b, json!({"IPv4": [[ip, null], ["203.0.113.0/24", mac]]}));
    let of_addresses = &info["sg_member_ips"][id(&addresses)];
    assert_eq!(*of_addresses, json!({"IPv4": [["198.51.100.0/28", null]]}));

    let written = plugin.security_group_rules_for_devices(&context, devices).await.unwrap().decode().unwrap();
    let rules = &written[id(&filtered)].security_group_rules;
    let from: Vec<&str> = rules.iter().filter_map(|rule| rule.source_ip_prefix.as_deref()).collect();
    let peer_ip = format!("{}/32", ip.as_str().unwrap());
    for prefix in [peer_ip.as_str(), "203.0.113.0/24", "198.51.100.0/28", "10.0.0.0/8"] {
        assert!(from.contains(&prefix), "{prefix} in {from:?}");
    }
}
