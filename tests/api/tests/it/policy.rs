//! Who may do what, as the caller sees it. Rule by rule it is compared in `server/tests/it/policy.rs`.

use api::Api;
use serde_json::json;

fn as_role(api: &Api, project: &str, roles: &str) -> Api {
    api.header("X-Project-Id", project).header("X-User-Id", "someone").header("X-Roles", roles)
}

// Case policy-403-404.
#[test]
fn policy_403_404_what_is_seen_is_forbidden_and_what_is_not_is_not_there() {
    let api = Api::start();
    let (owner, other, reader) = (api.member("p1"), api.member("p2"), api.reader("p1"));
    let network = owner.post("networks", json!({"network": {}})).object(201);
    let port = owner.post("ports", json!({"port": {"network_id": network.id()}})).object(201);
    let path = format!("ports/{}", port.id());
    let change = json!({"port": {"name": "x"}});
    other.get(&path).fault(404, "PortNotFound");
    other.put(&path, change.clone()).fault(404, "PortNotFound");
    other.delete(&port).fault(404, "PortNotFound");
    other.post("ports", json!({"port": {"network_id": network.id()}})).fault(404, "NetworkNotFound");
    reader.get(&path).expect(200);
    assert!(reader.put(&path, change).fault(403, "PolicyNotAuthorized").contains("update_port"));
    reader.delete(&port).fault(403, "PolicyNotAuthorized");
    reader.post("networks", json!({"network": {}})).fault(403, "PolicyNotAuthorized");
    let shared = owner.post("networks", json!({"network": {"shared": true}})).fault(403, "PolicyNotAuthorized");
    assert!(shared.contains("create_network:shared"), "{shared}");
    let bound = owner.put(&path, json!({"port": {"binding:host_id": "h"}})).fault(403, "PolicyNotAuthorized");
    assert!(bound.contains("update_port:binding:host_id"), "{bound}");
}

// Case policy-service-role.
#[test]
fn policy_service_role_other_services_do_their_work_with_the_service_role() {
    let api = Api::start();
    let service = as_role(&api, "service", "service");
    let owner = api.member("p1");
    let network = owner.post("networks", json!({"network": {}})).object(201);
    let subnet = json!({"subnet": {"network_id": network.id(), "ip_version": 4, "cidr": "192.0.2.0/24"}});
    let subnet = owner.post("subnets", subnet).object(201);
    let port = owner.post("ports", json!({"port": {"network_id": network.id()}})).object(201);
    let path = format!("ports/{}", port.id());
    let profile = json!({"port": {"binding:profile": {"os_vif_delegation": true}, "device_id": "d"}});
    service.put(&path, profile.clone()).expect(200);
    service.get(&format!("subnets/{}", subnet.id())).expect(200);
    service.get("network-ip-availabilities").expect(200);
    let seen = service.get(&path).object(200);
    assert!(seen.has("binding:profile"));
    api.admin("admin").put(&path, profile).fault(403, "PolicyNotAuthorized");
    // A port for somebody else.
    let made = json!({"port": {"network_id": network.id(), "project_id": "p1", "device_owner": "compute:nova"}});
    assert_eq!(service.post("ports", made).object(201).text("project_id"), "p1");
}

// Case policy-no-leak-of-helper-fields.
#[test]
fn policy_no_leak_of_helper_fields_what_rules_look_at_is_not_in_answers() {
    let api = Api::start();
    let owner = api.member("p1");
    let network = owner.post("networks", json!({"network": {}})).object(201);
    let port = owner.post("ports", json!({"port": {"network_id": network.id()}})).object(201);
    let path = format!("ports/{}", port.id());
    let answers = [
        owner.get(&path),
        owner.put(&path, json!({"port": {"name": "x"}})),
        owner.get("ports"),
        owner.get("security-group-rules"),
    ];
    for answer in answers {
        answer.expect(200);
        for helper in ["network:", "ext_parent", "security_group:"] {
            assert!(!answer.text.contains(&format!("\"{helper}")), "{}", answer.text);
        }
    }
}

// Case policy-tags.
#[test]
fn tags_are_the_owners() {
    let api = Api::start();
    let owner = api.member("p1");
    let network = owner.post("networks", json!({"network": {}})).object(201);
    let tag = format!("/v2.0/networks/{}/tags/evil", network.id());
    assert!(matches!(api.member("p2").send("PUT", &tag, "").status, 403 | 404));
    assert_eq!(api.reader("p1").send("PUT", &tag, "").status, 403);
    assert_eq!(owner.send("PUT", &tag, "").status, 201);
}

#[test]
fn a_policy_file_changes_who_may_what() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.yaml");
    std::fs::write(&file, "\"create_network:shared\": \"role:member\"\n\"context_is_admin\": \"role:boss\"\n").unwrap();
    let api = Api::with(&format!("[oslo_policy]\npolicy_file = {}\n", file.display()));
    let shared = json!({"network": {"shared": true}});
    api.member("p1").post("networks", shared.clone()).expect(201);
    // Nobody is an administrator by his role's usual name any more.
    let owner = api.member("p2").post("networks", json!({"network": {}})).object(201);
    let path = format!("networks/{}", owner.id());
    assert_eq!(as_role(&api, "p3", "admin,member,reader").get(&path).status, 404);
    as_role(&api, "p3", "boss,member,reader").get(&path).expect(200);
    // Changes count without a restart.
    std::fs::write(&file, "\"create_network:shared\": \"!\"\n").unwrap();
    testkit::eventually(std::time::Duration::from_secs(30), || {
        api.member("p1").post("networks", shared.clone()).status == 403
    });
    as_role(&api, "p3", "admin,member,reader").get(&path).expect(200);
}
