//! What the protocol costs beside the system that it serves: `cargo bench -p rest`. Figures, not thresholds.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it cannot go on")]

#[path = "../src/tests/things.rs"]
mod things;

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use http_body_util::BodyExt;
use identity::Noauth;
use policy::Context;
use resource::Query;
use rest::{Options, Rest};
use serde_json::{Value, json};
use tower::ServiceExt;

const THINGS: usize = 10_000;
const ROUNDS: usize = 20_000;

async fn call(router: &Router, method: &str, path: &str, body: String) -> (u16, usize) {
    let request = Request::builder().method(method).uri(path).header("host", "net.example.test");
    let response = router.clone().oneshot(request.body(Body::from(body)).expect("a request")).await.expect("an answer");
    let status = response.status().as_u16();
    let mut body = response.into_body();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        length += frame.expect("a frame").data_ref().map_or(0, bytes::Bytes::len);
    }
    (status, length)
}

/// The mean time of a run of one after another.
async fn mean(rounds: usize, mut run: impl AsyncFnMut()) -> Duration {
    run().await;
    let start = Instant::now();
    for _ in 0..rounds {
        run().await;
    }
    start.elapsed() / u32::try_from(rounds).expect("few rounds")
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let system = Arc::new(things::system().await);
    let rest = Rest::new(system.clone(), Arc::new(Noauth), Options::default()).expect("no endpoint twice");
    let router = rest.router();
    for _ in 0..THINGS / 500 {
        let thing = json!({"name": "a name of usual length", "description": "d".repeat(100), "labels": ["one", "two", "three"]});
        let things: Vec<Value> = vec![thing; 500];
        let made = call(&router, "POST", "/v2.0/things?fields=id", json!({ "things": things }).to_string()).await;
        assert_eq!(made.0, 201);
    }

    let context = Context { project_id: "admin".into(), ..Context::internal() };
    let entity = system.entity("thing").expect("it is there");
    let system_list = mean(10, async || {
        let listed = system.list(&context, &entity, &Query::default()).await.expect("a list");
        assert_eq!(listed.len(), THINGS);
    });
    let system_list = system_list.await;
    let mut length = 0;
    let list = mean(10, async || length = call(&router, "GET", "/v2.0/things", String::new()).await.1).await;
    println!("list of {THINGS}: {list:?}, of it the system {system_list:?}; {} KiB", length >> 10);

    let query = Query { limit: Some(1), ..Query::default() };
    let id = system.list(&context, &entity, &query).await.expect("a list")[0].id().to_owned();
    let path = format!("/v2.0/things/{id}");
    let system_get = mean(ROUNDS, async || drop(system.get(&context, &entity, &id).await.expect("a thing"))).await;
    let get = mean(ROUNDS, async || assert_eq!(call(&router, "GET", &path, String::new()).await.0, 200)).await;
    println!("get of one: {get:?}, of it the system {system_get:?}");
    let unknown =
        mean(ROUNDS, async || assert_eq!(call(&router, "GET", "/v2.0/bogus", String::new()).await.0, 404)).await;
    println!("unknown path: {unknown:?}");
}
