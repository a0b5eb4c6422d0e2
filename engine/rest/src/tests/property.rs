//! Whatever is sent: an answer below 500, and JSON where it says so.

use axum::body::Body;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Answer, Api};

fn check(answer: &Answer, asked: &str) {
    assert!(answer.status.as_u16() < 500, "{asked}: {} {}", answer.status, answer.text);
    if answer.headers.get("content-type").is_some_and(|kind| kind == "application/json") {
        assert!(serde_json::from_str::<Value>(&answer.text).is_ok(), "{asked}: {}", answer.text);
    }
    if answer.status.is_client_error() {
        let body: Value = serde_json::from_str(&answer.text).unwrap();
        assert!(body["NeutronError"]["type"].is_string(), "{asked}: {}", answer.text);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!("x".repeat(256))),
    ];
    let key = prop_oneof![
        Just("thing".to_owned()),
        Just("things".to_owned()),
        Just("name".to_owned()),
        Just("size".to_owned()),
        Just("up".to_owned()),
        Just("labels".to_owned()),
        Just("project_id".to_owned()),
        Just("tenant_id".to_owned()),
        Just("id".to_owned()),
        any::<String>(),
    ];
    leaf.prop_recursive(4, 32, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

/// A body that is nearly right.
fn near_body() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("name"),
        Just("size"),
        Just("up"),
        Just("labels"),
        Just("project_id"),
        Just("description"),
        Just("secret")
    ];
    let object = prop::collection::vec((name.prop_map(str::to_owned), any_json()), 0..4)
        .prop_map(|pairs| pairs.into_iter().collect::<Value>())
        .boxed();
    prop_oneof![
        object.clone().prop_map(|thing| json!({ "thing": thing })),
        prop::collection::vec(object, 0..3).prop_map(|things| json!({ "things": things })),
        any_json(),
    ]
}

fn any_query() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("name"),
        Just("size"),
        Just("up"),
        Just("project_id"),
        Just("limit"),
        Just("marker"),
        Just("page_reverse"),
        Just("sort_key"),
        Just("sort_dir"),
        Just("fields"),
        Just("id"),
        Just("revision_number"),
        Just("bogus"),
        Just(""),
    ];
    let value = prop_oneof![
        Just("name".to_owned()),
        Just("asc".to_owned()),
        Just("3".to_owned()),
        Just("True".to_owned()),
        "[-+%=.0-9A-Za-z]{0,12}",
    ];
    prop::collection::vec((name, value), 0..5).prop_map(|pairs| {
        pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
    })
}

fn any_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("things"),
        Just("odd-things"),
        Just("extensions"),
        Just("parts"),
        Just("things.json"),
        Just("a.b"),
        Just(""),
        Just("%2f"),
        Just("%00"),
        Just("%ff"),
        Just(".."),
        Just("{id}"),
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| format!("/v2.0/{}", parts.join("/")))
}

fn run<S: Strategy>(cases: u32, strategy: S, test: impl AsyncFn(&Api, S::Value)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let api = runtime.block_on(Api::start());
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig { cases, ..ProptestConfig::default() });
    runner
        .run(&strategy, |value| {
            runtime.block_on(test(&api, value));
            Ok(())
        })
        .unwrap();
}

#[test]
fn any_body() {
    run(400, (near_body(), any::<bool>()), async |api, (body, put)| {
        let body = body.to_string();
        let answer = match put {
            false => api.send("POST", "/v2.0/things", body.clone()).await,
            true => {
                let one = api.thing(json!({})).await;
                api.send("PUT", &super::at(&one), body.clone()).await
            }
        };
        check(&answer, &body);
        if answer.status == 201 {
            for path in ["/v2.0/things", "/v2.0/things?limit=3&sort_key=name&sort_dir=desc&sort_key=size&sort_dir=asc"]
            {
                check(&api.get(path).await, path);
            }
        }
    });
}

#[test]
fn any_bytes() {
    run(300, (prop::collection::vec(any::<u8>(), 0..60), 0..3_usize), async |api, (bytes, method)| {
        let method = ["POST", "PUT", "DELETE"][method];
        for path in ["/v2.0/things", "/v2.0/things/x", "/v2.0/things/x/parts/y"] {
            check(&api.send(method, path, bytes.clone()).await, path);
        }
    });
}

#[test]
fn any_query_of_lists_and_objects() {
    run(500, any_query(), async |api, query| {
        if api.system.store.statements() < 20 {
            api.post(
                "/v2.0/things",
                json!({"things": [{"name": "3", "size": 3}, {"name": "True"}, {"name": "b", "up": false}]}),
            )
            .await
            .expect(201);
        }
        let one = api.get("/v2.0/things?limit=1").await.expect(200)["things"][0].clone();
        for path in ["/v2.0/things".to_owned(), super::at(&one)] {
            let path = format!("{path}?{query}");
            check(&api.get(&path).await, &path);
        }
    });
}

#[test]
fn any_path_and_method() {
    run(500, (any_path(), any_query(), 0..7_usize), async |api, (path, query, method)| {
        let method = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"][method];
        let path = format!("{path}?{query}");
        check(&api.send(method, &path, Body::empty()).await, &format!("{method} {path}"));
    });
}

#[test]
fn any_header() {
    let name = prop_oneof![
        Just("if-match"),
        Just("accept"),
        Just("x-openstack-request-id"),
        Just("x-roles"),
        Just("x-project-id"),
        Just("x-forwarded-proto"),
        Just("content-length"),
        Just("content-type"),
    ];
    run(300, (name, "[ -~]{0,40}"), async |api, (name, value)| {
        let api = api.header(name, &value);
        check(&api.get("/v2.0/things?limit=1").await, &value);
        check(&api.post("/v2.0/things", json!({"thing": {}})).await, &value);
    });
}
