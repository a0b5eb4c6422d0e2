use std::sync::Arc;

use identity::{Authenticator, Refusal};
use serde_json::json;

use super::{Api, at};
use crate::{Options, Rest};

#[tokio::test]
async fn versions_and_resources_carry_the_host_of_the_client() {
    let api = Api::start().await;
    let versions = api.get("/").await.expect(200);
    assert_eq!(
        versions,
        json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": [
            {"rel": "self", "href": "http://net.example.test:9696/v2.0/"}]}]})
    );
    let resources = api.get("/v2.0/").await.expect(200);
    assert_eq!(
        resources,
        json!({"resources": [{"name": "thing", "collection": "things", "links": [
            {"rel": "self", "href": "http://net.example.test:9696/v2.0/things"}]}]})
    );
}

#[tokio::test]
async fn extensions_are_listed_and_shown_by_alias() {
    let api = Api::start().await;
    let one = json!({"alias": "odd-things", "name": "Odd things", "description": "Things that \"others\" brought.",
        "updated": "2020-01-01T00:00:00-00:00", "links": []});
    assert_eq!(api.get("/v2.0/extensions").await.expect(200), json!({ "extensions": [one] }));
    assert_eq!(api.get("/v2.0/extensions/odd-things").await.expect(200), json!({ "extension": one }));
    let message = api.get("/v2.0/extensions/nope").await.fault(404, "HTTPNotFound");
    assert!(message.contains("nope"), "{message}");
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        api.send(method, "/v2.0/extensions", "").await.fault(404, "HTTPNotFound");
        api.send(method, "/v2.0/extensions/odd-things", "").await.fault(404, "HTTPNotFound");
    }
}

#[tokio::test]
async fn paths_that_are_not_there_are_404_with_a_body() {
    let api = Api::start().await;
    for path in [
        "/v2.0",
        "/v2",
        "/v2.0x/things",
        "/v3",
        "/bogus",
        "/v2.0/bogus",
        "/v2.0/bogus/x/y",
        "/v2.0/THINGS",
        "/v2.0/thing",
        "/v2.0/things/x/bogus",
        "/v2.0/things/x/parts/y/z",
        "/v2.0/things/..%2fthings",
        "/v2.0/things/%ff",
        "/v2.0/things.xml",
    ] {
        api.get(path).await.fault(404, "HTTPNotFound");
    }
    for path in ["/v2.0/things/not-a-uuid", "/v2.0/things/%00", "/v2.0/things/11111111-2222-4333-8444-555555555555"] {
        api.get(path).await.fault(404, "ThingNotFound");
        api.delete(path).await.fault(404, "ThingNotFound");
        api.put(path, json!({"thing": {"name": "x"}})).await.fault(404, "ThingNotFound");
    }
}

#[tokio::test]
async fn methods_that_a_path_does_not_take() {
    let api = Api::start().await;
    let one = at(&api.thing(json!({})).await);
    api.send("PATCH", "/v2.0/things", "").await.fault(405, "HTTPMethodNotAllowed");
    api.send("BREW", "/v2.0/things", "").await.fault(405, "HTTPMethodNotAllowed");
    api.send("POST", &one, "{}").await.fault(405, "HTTPMethodNotAllowed");
    api.send("PATCH", &one, "").await.fault(405, "HTTPMethodNotAllowed");
    assert_eq!(api.send("HEAD", &one, "").await.status, 405);
    assert_eq!(api.send("HEAD", "/v2.0/things", "").await.status, 405);
    api.send("POST", "/", "").await.fault(405, "HTTPMethodNotAllowed");
    api.send("POST", "/v2.0/", "").await.fault(405, "HTTPMethodNotAllowed");
    // Of a collection these are changes of an object without an id.
    api.put("/v2.0/things", json!({"thing": {}})).await.fault(404, "ThingNotFound");
    api.delete("/v2.0/things").await.fault(404, "ThingNotFound");
    assert_eq!(api.send("OPTIONS", "/v2.0/things", "").await.expect(200)["things"].as_array().unwrap().len(), 1);
    // A resource that only reads.
    api.post("/v2.0/odd-things", json!({"thing": {}})).await.fault(400, "HTTPBadRequest");
    api.post("/v2.0/odd-things", json!({"odd_thing": {}})).await.fault(405, "HTTPMethodNotAllowed");
    api.put("/v2.0/odd-things/x", json!({"odd_thing": {}})).await.fault(405, "HTTPMethodNotAllowed");
    api.delete("/v2.0/odd-things/x").await.fault(405, "HTTPMethodNotAllowed");
}

#[tokio::test]
async fn spellings_of_a_path() {
    let api = Api::start().await;
    let one = at(&api.thing(json!({})).await);
    for path in ["/v2.0/things", "/v2.0/things/", "/v2.0//things", "/v2.0/things.json", "/v2.0/things.json/"] {
        assert_eq!(api.get(path).await.expect(200)["things"].as_array().unwrap().len(), 1, "{path}");
    }
    api.get(&format!("{one}.json")).await.expect(200);
    api.get(&format!("{one}/")).await.expect(200);
    assert_eq!(api.get("/v2.0/odd_things").await.expect(200), api.get("/v2.0/odd-things").await.expect(200));
    assert_eq!(api.get("/v2.0/odd-things/a.b").await.expect(200)["odd_thing"]["name"], "dotted");
    assert_eq!(api.get("/v2.0/odd-things/a%2Eb.json").await.expect(200)["odd_thing"]["name"], "dotted");
}

#[tokio::test]
async fn actions_get_what_the_request_said() {
    let api = Api::start().await;
    let id = "req-11111111-2222-4333-8444-555555555555";
    let asking = api.member("p1").header("if-match", "revision_number=7").header("x-openstack-request-id", id);
    let answer = asking.get("/v2.0/things/a%20b/parts?x=1&y=%C3%A9+z&x").await;
    let body = answer.expect(200);
    assert_eq!(body["id"], "a b");
    assert_eq!(body["query"], json!([["x", "1"], ["y", "é z"], ["x", ""]]));
    assert_eq!(
        (&body["if_match"], &body["project"], &body["global_request_id"]),
        (&json!(7), &json!("p1"), &json!(id))
    );
    assert_eq!(answer.headers["x-openstack-request-id"], body["request_id"].as_str().unwrap());
    let put = api.send("PUT", "/v2.0/things/x/parts/y.json", "").await;
    assert_eq!((put.status.as_u16(), put.text.as_str()), (201, "null"));
    api.send("PUT", "/v2.0/things/x/parts/y", "{").await.fault(400, "HTTPBadRequest");
    let gone = api.delete("/v2.0/things/x/parts/y").await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
    assert!(!gone.headers.contains_key("content-type"));
    api.post("/v2.0/things/x/parts", json!({})).await.fault(405, "HTTPMethodNotAllowed");
}

#[tokio::test]
async fn every_answer_has_its_own_request_id() {
    let api = Api::start().await;
    let mut seen = std::collections::HashSet::new();
    for path in
        ["/", "/healthcheck", "/bogus", "/v2.0/bogus", "/v2.0/things", "/v2.0/things?%ff=1", "/v2.0/broken/inside"]
    {
        let given = "req-11111111-2222-4333-8444-555555555555";
        for api in [api.header("x-openstack-request-id", given), api.header("x-openstack-request-id", "req-\u{e9}")] {
            let id = api.get(path).await.headers["x-openstack-request-id"].to_str().unwrap().to_owned();
            assert!(id.starts_with("req-") && id.len() == 40 && id != given, "{id}");
            assert!(seen.insert(id));
        }
    }
    for bad in [
        "req-x",
        "11111111-2222-4333-8444-555555555555",
        "req-11111111-2222-4333-8444-55555555555G",
        "req-1111111122224333844455555555555500",
    ] {
        let body = api.header("x-openstack-request-id", bad).get("/v2.0/things/x/parts").await.expect(200);
        assert_eq!(body["global_request_id"], json!(null), "{bad}");
    }
}

#[tokio::test]
async fn faults_of_ours_are_500_and_keep_their_causes() {
    let api = Api::start().await;
    for (method, path, status, kind) in [
        ("GET", "/v2.0/broken/inside", 500, "HTTPInternalServerError"),
        ("GET", "/v2.0/broken/away", 503, "HTTPServiceUnavailable"),
        ("GET", "/v2.0/things/panic", 500, "HTTPInternalServerError"),
        ("POST", "/v2.0/broken/panic", 500, "HTTPInternalServerError"),
    ] {
        let answer = api.send(method, path, "").await;
        answer.fault(status, kind);
        assert!(!answer.text.contains("swordfish"), "{}", answer.text);
    }
    api.get("/v2.0/things").await.expect(200);
}

#[tokio::test]
async fn health_is_text_or_json_and_a_file_turns_it_off() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("disable");
    let api = Api::with(Options { health_file: Some(file.clone()), ..Options::default() }).await;
    for method in ["GET", "POST"] {
        let answer = api.send(method, "/healthcheck", "").await;
        assert_eq!((answer.status.as_u16(), answer.text.as_str()), (200, "OK"));
        assert_eq!(answer.headers["content-type"], "text/plain; charset=UTF-8");
    }
    assert_eq!(api.send("HEAD", "/healthcheck", "").await.status, 204);
    let json = api.header("accept", "application/json").get("/healthcheck").await.expect(200);
    assert_eq!(json, json!({"detailed": false, "reasons": ["OK"], "roles": ["api"]}));
    std::fs::write(&file, "").unwrap();
    let answer = api.get("/healthcheck").await;
    assert_eq!((answer.status.as_u16(), answer.text.as_str()), (503, "DISABLED BY FILE"));
}

#[tokio::test]
async fn a_client_that_takes_no_json_gets_406() {
    let api = Api::start().await;
    for accept in ["application/xml", "text/html", "image/png, text/plain", "application/json;q=0", "application/jsonx"]
    {
        api.header("accept", accept).get("/v2.0/things").await.fault(406, "HTTPNotAcceptable");
    }
    for accept in [
        "*/*",
        "application/json",
        "Application/JSON; charset=utf-8",
        "text/plain;q=0.5, application/*",
        "text/html,application/xml",
        "",
    ] {
        api.header("accept", accept).get("/v2.0/things").await.expect(200);
    }
}

struct Nobody;

#[async_trait::async_trait]
impl Authenticator for Nobody {
    async fn authenticate(&self, request: &axum::http::request::Parts) -> Result<policy::Context, Refusal> {
        match request.headers.get("x-auth-token").and_then(|token| token.to_str().ok()) {
            None => {
                Err(Refusal::Unauthorized { challenge: Some("Keystone uri=\"http://identity.example.test\"".into()) })
            }
            Some("bad") => Err(Refusal::Malformed("The token is bad.".into())),
            Some(_) => Err(Refusal::Unavailable("connection refused".into())),
        }
    }
}

#[tokio::test]
async fn without_an_identity_only_versions_and_health_answer() {
    let mut api = Api::start().await;
    api.rest = Rest::new(api.system.clone(), Arc::new(Nobody), Options::default()).unwrap();
    api.router = api.rest.router();
    api.get("/").await.expect(200);
    assert_eq!(api.get("/healthcheck").await.status, 200);
    for path in ["/v2.0/", "/v2.0/things", "/v2.0/bogus", "/v2.0/extensions"] {
        let answer = api.get(path).await;
        let message = "The request you have made requires authentication.";
        assert_eq!(answer.expect(401), json!({"error": {"code": 401, "title": "Unauthorized", "message": message}}));
        assert_eq!(answer.headers["www-authenticate"], "Keystone uri=\"http://identity.example.test\"");
        assert!(answer.headers.contains_key("x-openstack-request-id"));
    }
    api.header("x-auth-token", "bad").get("/v2.0/").await.fault(400, "HTTPBadRequest");
    let away = api.header("x-auth-token", "good").get("/v2.0/").await;
    away.fault(503, "HTTPServiceUnavailable");
    assert!(!away.text.contains("refused"));
}
