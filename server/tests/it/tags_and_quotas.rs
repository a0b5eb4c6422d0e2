//! Tags and quotas where they meet the protocol and the other domains.

use serde_json::json;

use crate::support::TestServer;

#[tokio::test]
async fn every_taggable_resource_has_tags() {
    let server = TestServer::start("").await;
    let admin = server.admin();
    let network = admin.make("network", json!({})).await;
    let on = network["id"].clone();
    let subnet = admin.make("subnet", json!({"network_id": on, "ip_version": 4, "cidr": "192.0.2.0/24"})).await;
    let port = admin.make("port", json!({"network_id": on, "tags": ["from", "the start"]})).await;
    assert_eq!(port["tags"], json!(["from", "the start"]));
    let pool = admin.make("subnetpool", json!({"name": "pool", "prefixes": ["198.18.0.0/16"]})).await;
    for (collection, object) in [("networks", network), ("subnets", subnet), ("ports", port), ("subnetpools", pool)] {
        let one = format!("/{collection}/{}", object["id"].as_str().unwrap());
        admin.put(&format!("{one}/tags"), json!({"tags": ["b", "a"]})).await.expect(200);
        let name = collection.strip_suffix('s').unwrap();
        assert_eq!(admin.get(&one).await.expect(200)[name]["tags"], json!(["a", "b"]));
        for tag in ["a%20b", "gr%C3%BCn", "x.json", "a,b"] {
            admin.send("PUT", &format!("{one}/tags/{tag}"), None).await.expect(201);
        }
        let tags = admin.get(&format!("{one}/tags.json")).await.expect(200);
        assert_eq!(tags, json!({"tags": ["a", "a b", "a,b", "b", "grün", "x.json"]}));
        admin.send("PUT", &format!("{one}/tags/a%2Fb"), None).await.expect(404);
        admin.send_text("PUT", &format!("{one}/tags"), "{").await.expect(400);
        admin.send("PUT", &format!("{one}/tags"), None).await.fault(400, "InvalidInput");
        admin.put(&one, json!({name: {"tags": ["z"]}})).await.fault(400, "HTTPBadRequest");
        assert_eq!(
            admin.get(&format!("/{collection}?tags=a,b&fields=id")).await.expect(200)[collection][0]["id"],
            object["id"]
        );
        admin.delete(&format!("{one}/tags")).await.expect(204);
        assert_eq!(admin.get(&format!("/{collection}?tags=a")).await.expect(200)[collection], json!([]));
    }
    admin.get("/agents/a0000000-0000-4000-8000-000000000001/tags").await.fault(404, "HTTPNotFound");
}

#[tokio::test]
async fn quotas_hold_for_every_resource() {
    let server = TestServer::start("[QUOTAS]\nquota_network = 7\ndefault_quota = 9\n").await;
    let (admin, member) = (server.admin(), server.member("p1"));
    let limits = member.get("/quotas/p1").await.expect(200)["quota"].clone();
    assert_eq!((&limits["network"], &limits["subnetpool"], &limits["port"]), (&json!(7), &json!(9), &json!(500)));
    let quota = json!({"quota": {"network": 2, "port": 3, "subnet": 1, "subnetpool": 1}});
    admin.put("/quotas/p1", quota).await.expect(200);
    let n1 = member.make("network", json!({})).await["id"].clone();
    let two = json!({"networks": [{}, {}]});
    assert_eq!(
        member.post("/networks", two).await.fault(409, "OverQuota"),
        "Quota exceeded for resources: ['network']."
    );
    let n2 = member.make("network", json!({})).await["id"].clone();
    member.post("/networks", json!({"network": {}})).await.fault(409, "OverQuota");
    admin.post("/networks", json!({"network": {"project_id": "p1"}})).await.fault(409, "OverQuota");
    let subnet = |id| json!({"subnet": {"network_id": id, "ip_version": 4, "cidr": "192.0.2.0/24"}});
    member.post("/subnets", subnet(&n1)).await.expect(201);
    member.post("/subnets", subnet(&n2)).await.fault(409, "OverQuota");
    let pool = |name: &str, prefix: &str| json!({"subnetpool": {"name": name, "prefixes": [prefix]}});
    member.post("/subnetpools", pool("a", "10.90.0.0/24")).await.expect(201);
    member.post("/subnetpools", pool("b", "10.91.0.0/24")).await.fault(409, "OverQuota");
    let four = json!({"ports": vec![json!({"network_id": n1}); 4]});
    member.post("/ports", four).await.fault(409, "OverQuota");
    let parallel = (0..6).map(|_| member.post("/ports", json!({"port": {"network_id": n1}})));
    let answers = futures::future::join_all(parallel).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 3);
    let details = member.get("/quotas/p1/details.json").await.expect(200)["quota"].clone();
    for (kind, limit, used) in
        [("network", 2, 2), ("subnet", 1, 1), ("subnetpool", 1, 1), ("port", 3, 3), ("router", 10, 0)]
    {
        assert_eq!(details[kind], json!({"limit": limit, "used": used, "reserved": 0}), "{kind}");
    }
    // A network takes its subnets along.
    for port in member.get("/ports").await.expect(200)["ports"].as_array().unwrap() {
        member.delete(&format!("/ports/{}", port["id"].as_str().unwrap())).await.expect(204);
    }
    member.delete(&format!("/networks/{}", n1.as_str().unwrap())).await.expect(204);
    for (kind, used) in [("network", 1), ("subnet", 0), ("port", 0)] {
        let sql =
            format!("SELECT in_use FROM quotausages WHERE NOT dirty AND project_id = 'p1' AND resource = '{kind}'");
        assert_eq!(server.number(&sql).await, used, "{kind}");
    }
    member.post("/subnets", subnet(&n2)).await.expect(201);
    member.get("/quotas/tenant.json").await.expect(200);
    admin.post("/quotas", json!({"quota": {}})).await.fault(501, "HTTPNotImplemented");
}

#[tokio::test]
async fn extensions_are_announced() {
    let server = TestServer::start("").await;
    let extensions = server.admin().get("/extensions").await.expect(200);
    let aliases: Vec<&str> =
        extensions["extensions"].as_array().unwrap().iter().map(|e| e["alias"].as_str().unwrap()).collect();
    for alias in [
        "quotas",
        "quota_details",
        "quota-check-limit",
        "quota-check-limit-default",
        "standard-attr-tag",
        "tag-creation",
        "tag-ports-during-bulk-creation",
    ] {
        assert!(aliases.contains(&alias), "{alias} is not announced");
    }
}
