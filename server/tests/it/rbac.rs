//! Objects that projects share with each other. Tests named after a case of the collection of cases check what it expects.

use serde_json::{Value, json};

use crate::support::{As, TestServer};

const PATH: &str = "/rbac-policies";
const A: &str = "aaaaaaaaaaaa4aaaaaaaaaaaaaaaaaaa";
const B: &str = "bbbbbbbbbbbb4bbbbbbbbbbbbbbbbbbb";
const C: &str = "cccccccccccc4ccccccccccccccccccc";

fn id(object: &Value) -> &str {
    object["id"].as_str().unwrap()
}

fn policy(kind: &str, object: &Value, target: &str) -> Value {
    json!({"rbac_policy": {"object_type": kind, "object_id": object["id"], "target_tenant": target,
                           "action": "access_as_shared"}})
}

async fn share(owner: &As<'_>, kind: &str, object: &Value, target: &str) -> Value {
    owner.post(PATH, policy(kind, object, target)).await.expect(201)["rbac_policy"].clone()
}

#[tokio::test]
async fn rbac_removal_in_use() {
    let server = TestServer::start("").await;
    let (a, b, admin) = (server.member(A), server.member(B), server.admin());
    let network = a.make("network", json!({})).await;
    let shared = share(&a, "network", &network, B).await;
    let one = format!("{PATH}/{}", id(&shared));
    let port = b.make("port", json!({"network_id": network["id"]})).await;
    a.delete(&one).await.fault(409, "RbacPolicyInUse");
    let to = |target: &str| json!({"rbac_policy": {"target_tenant": target}});
    a.put(&one, to(C)).await.fault(409, "RbacPolicyInUse");
    a.put(&one, to("*")).await.fault(403, "PolicyNotAuthorized");
    // Sharing with everybody besides makes no difference, nor does its end.
    let everybody = admin.post(PATH, policy("network", &network, "*")).await.expect(201)["rbac_policy"].clone();
    admin.delete(&format!("{PATH}/{}", id(&everybody))).await.expect(204);
    let path = format!("/networks/{}", id(&network));
    admin.put(&path, json!({"network": {"shared": true}})).await.expect(200);
    a.delete(&one).await.expect(204);
    admin.put(&path, json!({"network": {"shared": false}})).await.fault(409, "InvalidSharedSetting");
    let shared = share(&a, "network", &network, B).await;
    admin.put(&path, json!({"network": {"shared": false}})).await.expect(200);
    b.delete(&format!("/ports/{}", id(&port))).await.expect(204);
    a.delete(&format!("{PATH}/{}", id(&shared))).await.expect(204);
    b.get(&path).await.fault(404, "NetworkNotFound");
}

#[tokio::test]
async fn rbac_shared_capabilities() {
    let server = TestServer::start("").await;
    let (a, b) = (server.member(A), server.member(B));
    let network = a.make("network", json!({})).await;
    let subnet = json!({"network_id": network["id"], "ip_version": 4, "cidr": "192.0.2.0/24"});
    let subnet = a.make("subnet", subnet).await;
    share(&a, "network", &network, B).await;
    let path = format!("/networks/{}", id(&network));
    assert_eq!(b.get(&path).await.expect(200)["network"]["shared"], true);
    assert_eq!(a.get(&path).await.expect(200)["network"]["shared"], false);
    assert_eq!(b.get("/subnets").await.expect(200)["subnets"].as_array().unwrap().len(), 1);
    let on = |change: Value| {
        let mut port = json!({"network_id": network["id"]});
        port.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        json!({"port": port})
    };
    let port = b.post("/ports", on(json!({}))).await.expect(201)["port"].clone();
    for (change, status) in [
        (json!({"fixed_ips": [{"ip_address": "192.0.2.77"}]}), 403),
        (json!({"fixed_ips": [{"subnet_id": subnet["id"]}]}), 201),
        (json!({"mac_address": "fa:16:3e:00:00:01"}), 403),
        (json!({"device_owner": "network:dhcp"}), 403),
    ] {
        b.post("/ports", on(change)).await.expect(status);
    }
    let own = format!("/ports/{}", id(&port));
    let put = |change: Value| b.put(&own, json!({"port": change}));
    put(json!({"allowed_address_pairs": [{"ip_address": "192.0.2.0/24"}]})).await.expect(403);
    put(json!({"device_owner": "network:router_interface"})).await.expect(403);
    put(json!({"device_owner": "compute:nova"})).await.expect(200);
    b.put(&path, json!({"network": {"name": "x"}})).await.expect(403);
    b.post("/subnets", json!({"subnet": {"network_id": network["id"], "ip_version": 4, "cidr": "198.51.100.0/24"}}))
        .await
        .expect(403);
    b.delete(&path).await.expect(403);
    a.get(&own).await.expect(200);
    a.delete(&own).await.expect(403);
}

#[tokio::test]
async fn policies_are_one_collection() {
    let server = TestServer::start("").await;
    let (a, b, admin) = (server.member(A), server.member(B), server.admin());
    let network = a.make("network", json!({})).await;
    let body = json!({"security_group": {"name": "g"}});
    let group = a.post("/security-groups", body).await.expect(201)["security_group"].clone();
    let body = json!({"address_group": {"name": "g"}});
    let addresses = a.post("/address-groups", body).await.expect(201)["address_group"].clone();
    let body = json!({"address_scope": {"name": "g", "ip_version": 4}});
    let scope = a.post("/address-scopes", body).await.expect(201)["address_scope"].clone();
    let pool = json!({"name": "g", "prefixes": ["10.0.0.0/8"], "address_scope_id": scope["id"]});
    let pool = a.make("subnetpool", pool).await;
    // A pool is no good without its scope.
    a.post(PATH, policy("subnetpool", &pool, B)).await.fault(400, "InvalidInput");
    let mut made = Vec::new();
    for (kind, object, path) in [
        ("network", &network, "networks"),
        ("security_group", &group, "security-groups"),
        ("address_group", &addresses, "address-groups"),
        ("address_scope", &scope, "address-scopes"),
        ("subnetpool", &pool, "subnetpools"),
    ] {
        let one = format!("/{path}/{}", id(object));
        b.get(&one).await.expect(404);
        let policy = share(&a, kind, object, B).await;
        assert_eq!((&policy["object_type"], &policy["project_id"]), (&json!(kind), &json!(A)));
        b.get(&one).await.expect(200);
        b.put(&one, json!({kind: {"name": "x"}})).await.fault(403, "PolicyNotAuthorized");
        a.post(PATH, self::policy(kind, object, B)).await.fault(409, "DuplicateRbacPolicy");
        made.push(policy);
    }
    let listed = a.get(PATH).await.expect(200)["rbac_policies"].clone();
    let mut listed: Vec<&str> = listed.as_array().unwrap().iter().map(id).collect();
    listed.sort_unstable();
    let mut wanted: Vec<&str> = made.iter().map(id).collect();
    wanted.sort_unstable();
    assert_eq!(listed, wanted);
    let filtered =
        a.get(&format!("{PATH}?object_type=subnetpool&target_tenant={B}&fields=object_id")).await.expect(200);
    assert_eq!(filtered["rbac_policies"], json!([{"object_id": pool["id"]}]));
    a.get(&format!("{PATH}?object_type=foo")).await.fault(400, "InvalidInput");
    assert_eq!(b.get(PATH).await.expect(200)["rbac_policies"], json!([]));
    b.get(&format!("{PATH}/{}", id(&made[0]))).await.fault(404, "RbacPolicyNotFound");
    let used = a.get(&format!("/quotas/{A}/details")).await.expect(200);
    assert_eq!(used["quota"]["rbac_policy"]["used"], 5);
    for (change, kind) in [
        (json!({"object_type": "foo"}), "InvalidInput"),
        (json!({"object_type": null}), "InvalidInput"),
        (json!({"target_tenant": "abc"}), "InvalidInput"),
        (json!({"action": "foo"}), "InvalidActionForType"),
        (json!({"object_type": "security_group"}), "InvalidInput"),
        (json!({"object_id": "abc"}), "HTTPBadRequest"),
    ] {
        let mut body = policy("network", &network, C);
        body["rbac_policy"].as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        admin.post(PATH, body).await.fault(400, kind);
    }
    b.post(PATH, policy("network", &network, C)).await.fault(400, "InvalidInput");
    a.post(PATH, policy("network", &network, "*")).await.fault(403, "PolicyNotAuthorized");
    let one = format!("{PATH}/{}", id(&made[4]));
    a.put(&one, json!({"rbac_policy": {"action": "x"}})).await.fault(400, "HTTPBadRequest");
    a.put(&one, json!({"rbac_policy": {"target_tenant": C}})).await.fault(400, "InvalidInput");
    for policy in made.iter().rev() {
        a.delete(&format!("{PATH}/{}", id(policy))).await.expect(204);
    }
    let used = a.get(&format!("/quotas/{A}/details")).await.expect(200);
    assert_eq!(used["quota"]["rbac_policy"]["used"], 0);
}

#[tokio::test]
async fn what_others_use_stays_shared() {
    let server = TestServer::start("").await;
    let (a, b) = (server.member(A), server.member(B));
    let body = json!({"security_group": {"name": "g"}});
    let group = a.post("/security-groups", body.clone()).await.expect(201)["security_group"].clone();
    let body_of_addresses = json!({"address_group": {"name": "g"}});
    let addresses = a.post("/address-groups", body_of_addresses).await.expect(201)["address_group"].clone();
    let of_group = share(&a, "security_group", &group, B).await;
    let of_addresses = share(&a, "address_group", &addresses, B).await;
    let network = b.make("network", json!({})).await;
    let port = b.make("port", json!({"network_id": network["id"], "security_groups": [group["id"]]})).await;
    let own = b.post("/security-groups", body).await.expect(201)["security_group"].clone();
    let rule = json!({"security_group_rule": {"security_group_id": own["id"], "direction": "ingress",
                                              "remote_address_group_id": addresses["id"]}});
    b.post("/security-group-rules", rule).await.expect(201);
    // What is shared is not given away.
    let rule = json!({"security_group_rule": {"security_group_id": group["id"], "direction": "ingress"}});
    b.post("/security-group-rules", rule).await.fault(403, "PolicyNotAuthorized");
    for policy in [&of_group, &of_addresses] {
        a.delete(&format!("{PATH}/{}", id(policy))).await.fault(409, "RbacPolicyInUse");
    }
    let one = format!("/security-groups/{}", id(&group));
    a.delete(&one).await.fault(409, "SecurityGroupInUse");
    b.delete(&format!("/ports/{}", id(&port))).await.expect(204);
    a.delete(&format!("{PATH}/{}", id(&of_group))).await.expect(204);
    a.delete(&one).await.expect(204);
}

#[tokio::test]
async fn networks_become_external_for_one_project() {
    let server = TestServer::start("").await;
    let (b, c, admin) = (server.member(B), server.member(C), server.admin());
    let network = admin.make("network", json!({})).await;
    let path = format!("/networks/{}", id(&network));
    let mut body = policy("network", &network, B);
    body["rbac_policy"]["action"] = json!("access_as_external");
    let policy = admin.post(PATH, body).await.expect(201)["rbac_policy"].clone();
    let seen = b.get(&path).await.expect(200)["network"].clone();
    assert_eq!((&seen["router:external"], &seen["shared"]), (&json!(true), &json!(false)));
    c.get(&path).await.fault(404, "NetworkNotFound");
    admin.delete(&format!("{PATH}/{}", id(&policy))).await.expect(204);
    assert_eq!(admin.get(&path).await.expect(200)["network"]["router:external"], false);
    let external = admin.make("network", json!({"router:external": true})).await;
    let policies = admin.get(&format!("{PATH}?object_id={}&fields=action", id(&external))).await.expect(200);
    assert_eq!(policies["rbac_policies"], json!([{"action": "access_as_external"}]));
}

#[tokio::test]
async fn policies_that_go_with_their_object_leave_room() {
    let server = TestServer::start("[quotas]\nquota_rbac_policy = 1\n").await;
    let a = server.member(A);
    let (one, two) = (a.make("network", json!({})).await, a.make("network", json!({})).await);
    share(&a, "network", &one, B).await;
    a.post(PATH, policy("network", &two, B)).await.fault(409, "OverQuota");
    a.delete(&format!("/networks/{}", id(&one))).await.expect(204);
    share(&a, "network", &two, B).await;
    a.post(PATH, policy("network", &two, C)).await.fault(409, "OverQuota");
}
