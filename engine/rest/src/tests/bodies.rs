use axum::body::Body;
use serde_json::json;

use super::{Api, at};
use crate::Options;

#[tokio::test]
async fn an_object_lives_from_post_to_delete() {
    let api = Api::start().await;
    let made = api.thing(json!({"name": "a", "size": "5", "hidden": "h", "labels": ["x", "y"]})).await;
    assert_eq!(
        made,
        json!({"id": made["id"], "name": "a", "project_id": "admin", "tenant_id": "admin", "up": true, "size": 5, "secret": "",
            "labels": ["x", "y"], "description": "", "revision_number": made["revision_number"]})
    );
    let path = at(&made);
    assert_eq!(api.get(&path).await.expect(200), json!({ "thing": made }));
    let changed = api.put(&path, json!({"thing": {"name": "b\"\\\u{1}é"}})).await.expect(200);
    assert_eq!(changed["thing"]["name"], "b\"\\\u{1}é");
    let gone = api.delete(&path).await;
    assert_eq!((gone.status.as_u16(), gone.text.as_str()), (204, ""));
    assert!(!gone.headers.contains_key("content-type"));
    api.delete(&path).await.fault(404, "ThingNotFound");
    assert_eq!(api.get("/v2.0/things").await.expect(200), json!({"things": []}));
}

#[tokio::test]
async fn bodies_that_hold_no_object_are_400() {
    let api = Api::start().await;
    let path = at(&api.thing(json!({})).await);
    let deep = format!("{{\"thing\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
    for body in [
        "",
        " ",
        "{",
        "{}",
        "[]",
        "null",
        "5",
        "\"thing\"",
        "[{\"thing\": {}}]",
        "{\"other\": {}}",
        "{\"thing\": null}",
        "{\"thing\": []}",
        "{\"thing\": \"x\"}",
        "{\"thing\": {},}",
        "{\"thing\": {}} x",
        "{\"thing\": {\"size\": NaN}}",
        "{\"thing\": {\"name\": \"\\ud800\"}}",
        "{\"thing\": {\"bogus\": 1}}",
        "{\"thing\": {\"size\": 101}}",
        deep.as_str(),
    ] {
        api.send("POST", "/v2.0/things", body.to_owned()).await.fault(400, "HTTPBadRequest");
        api.send("PUT", &path, body.to_owned()).await.fault(400, "HTTPBadRequest");
    }
    api.send("POST", "/v2.0/things", vec![b'{', 0xff, b'}']).await.fault(400, "HTTPBadRequest");
    assert_eq!(api.get("/v2.0/things?fields=name").await.expect(200), json!({"things": [{"name": ""}]}));
}

#[tokio::test]
async fn other_keys_doubled_keys_marks_and_content_types_do_not_matter() {
    let api = Api::start().await;
    for (body, name) in [
        ("{\"thing\": {\"name\": \"a\"}, \"other\": {}}", "a"),
        ("{\"thing\": {\"name\": \"a\", \"name\": \"b\"}}", "b"),
        ("\u{feff}{\"thing\": {\"name\": \"c\"}}", "c"),
    ] {
        for kind in ["application/json", "text/plain", "application/x-www-form-urlencoded", "application/xml"] {
            let made = api.header("content-type", kind).send("POST", "/v2.0/things", body).await.expect(201);
            assert_eq!(made["thing"]["name"], name);
        }
    }
    let path = at(&api.thing(json!({})).await);
    api.send("GET", &path, "{").await.expect(200);
    let message = api.send("DELETE", &path, "{}").await.fault(400, "HTTPBadRequest");
    assert!(message.contains("DELETE"), "{message}");
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_and_stores_nothing() {
    let api = Api::with(Options { max_body: 1000, ..Options::default() }).await;
    let body = |length: usize| {
        let empty = json!({"thing": {"description": ""}}).to_string();
        json!({"thing": {"description": " ".repeat(length - empty.len())}}).to_string()
    };
    let fits = api.send("POST", "/v2.0/things", body(1000)).await;
    fits.fault(400, "HTTPBadRequest");
    for length in [1001, 100_000] {
        let message = api.send("POST", "/v2.0/things", body(length)).await.fault(413, "HTTPRequestEntityTooLarge");
        assert!(message.contains("1000"), "{message}");
    }
    // Without a length, in pieces.
    let pieces = futures::stream::iter((0..200).map(|_| Ok::<_, std::io::Error>(vec![b' '; 10])));
    api.send("POST", "/v2.0/things", Body::from_stream(pieces)).await.fault(413, "HTTPRequestEntityTooLarge");
    let endless = futures::stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1 << 16]));
    api.send("POST", "/v2.0/things", Body::from_stream(endless)).await.fault(413, "HTTPRequestEntityTooLarge");
    assert_eq!(api.get("/v2.0/things").await.expect(200), json!({"things": []}));
}

#[tokio::test]
async fn a_body_that_does_not_come_is_408() {
    let api = Api::with(Options { body_timeout: std::time::Duration::from_millis(20), ..Options::default() }).await;
    let stuck = futures::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    api.send("POST", "/v2.0/things", Body::from_stream(stuck)).await.fault(408, "HTTPRequestTimeout");
    let broken = futures::stream::iter([Ok(vec![b'{']), Err(std::io::Error::other("reset"))]);
    api.send("POST", "/v2.0/things", Body::from_stream(broken)).await.fault(400, "HTTPBadRequest");
}

#[tokio::test]
async fn if_match_lets_only_the_seen_revision_be_changed() {
    let api = Api::start().await;
    let made = api.thing(json!({})).await;
    let path = at(&made);
    let put = |name: &str| json!({"thing": {"name": name}});
    let seen = format!("revision_number={}", made["revision_number"]);
    api.header("if-match", &seen).put(&path, put("a")).await.expect(200);
    for stale in [
        seen.as_str(),
        "revision_number=9999",
        "revision_number=-1",
        "\"revision_number=9999\"",
        "\"x\", \"revision_number=9999\"",
    ] {
        let api = api.header("if-match", stale);
        api.put(&path, put("b")).await.fault(412, "RevisionNumberConstraintFailed");
        api.delete(&path).await.fault(412, "RevisionNumberConstraintFailed");
    }
    for bad in
        ["revision_number=", "revision_number=x", "revision_number=1.5", "\"revision_number=1\",\"revision_number=1\""]
    {
        api.header("if-match", bad).put(&path, put("b")).await.fault(400, "BadRequest");
        api.header("if-match", bad).delete(&path).await.fault(400, "BadRequest");
    }
    for other in ["*", "5", "", "\"etag\"", " revision_number = 1", "W/\"x\""] {
        api.header("if-match", other).put(&path, put(other)).await.expect(200);
    }
    // Reading and making are not changes.
    api.header("if-match", "revision_number=0").get(&path).await.expect(200);
    api.header("if-match", "revision_number=0").post("/v2.0/things", put("c")).await.expect(201);
    let now = api.get(&path).await.expect(200);
    let now = format!("\"revision_number={}\"", now["thing"]["revision_number"]);
    assert_eq!(api.header("if-match", &now).delete(&path).await.status, 204);
}

#[tokio::test]
async fn owners_have_two_names_and_others_do_not_see_their_things() {
    let api = Api::start().await;
    let theirs = api.thing(json!({"tenant_id": "p1"})).await;
    assert_eq!((&theirs["project_id"], &theirs["tenant_id"]), (&json!("p1"), &json!("p1")));
    let own = api.member("p1").thing(json!({"project_id": "p1", "tenant_id": "p1"})).await;
    assert!(own.get("secret").is_none(), "{own}");
    assert_eq!(api.member("p1").get("/v2.0/things?fields=id").await.expect(200)["things"].as_array().unwrap().len(), 2);
    api.member("p2").get(&at(&own)).await.fault(404, "ThingNotFound");
    api.member("p2").delete(&at(&own)).await.fault(404, "ThingNotFound");
    for name in ["tenant_id", "project_id"] {
        let listed = api.get(&format!("/v2.0/things?{name}=p1")).await.expect(200);
        assert_eq!(listed["things"].as_array().unwrap().len(), 2);
        api.member("p1").post("/v2.0/things", json!({"thing": {name: "p2"}})).await.fault(400, "HTTPBadRequest");
    }
    let different = json!({"thing": {"tenant_id": "a", "project_id": "b"}});
    assert!(api.post("/v2.0/things", different).await.fault(400, "HTTPBadRequest").contains("do not match"));
    api.member("p1").post("/v2.0/things", json!({"thing": {"secret": "s"}})).await.fault(403, "PolicyNotAuthorized");
}
