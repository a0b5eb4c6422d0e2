use std::sync::{Arc, Mutex};
use std::time::Duration;

use identity::keystone::{Interface, Options};
use identity::testing::{Asked, FakeKeystone, Peer, Reply};
use serde_json::{Value, json};

use super::{Event, Nova, Settings};

/// Nova's endpoint: what it got, and what it answers, the last answer for ever.
struct FakeNova {
    got: Arc<Mutex<Vec<Asked>>>,
    _peer: Peer,
}

impl FakeNova {
    async fn start(keystone: &FakeKeystone, answers: Vec<Reply>) -> FakeNova {
        let got: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let seen = got.clone();
        let peer = Peer::start(move |asked| {
            let mut got = seen.lock().unwrap();
            got.push(asked.clone());
            answers[(got.len() - 1).min(answers.len() - 1)].clone()
        })
        .await
        .unwrap();
        keystone.known().catalog = json!([{"type": "compute", "name": "nova", "endpoints": [
            {"interface": "public", "region_id": "A", "region": "A", "url": "http://127.0.0.1:1/v2.1"},
            {"interface": "internal", "region_id": "B", "region": "B", "url": format!("{}/v2.1/", peer.url())},
        ]}]);
        FakeNova { got, _peer: peer }
    }

    /// The events of each request so far, once there are as many.
    async fn requests(&self, count: usize) -> Vec<Vec<Value>> {
        let there = async {
            while self.got.lock().unwrap().len() < count {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), there).await.expect("as many requests");
        let got = self.got.lock().unwrap();
        got.iter().map(|asked| asked.body["events"].as_array().unwrap().clone()).collect()
    }
}

fn settings(keystone: &FakeKeystone) -> Settings {
    Settings {
        login: Options { retries: 0, ..keystone.options() },
        interface: Interface::Internal,
        region: Some("B".into()),
        status_changes: true,
        data_changes: true,
        interval: Duration::from_millis(50),
    }
}

fn event(name: &'static str, port: &str) -> Event {
    let status = (name != "network-changed").then_some("completed");
    Event { name, server: "11111111-2222-3333-4444-555555555555".into(), port: port.into(), status }
}

fn taken(asked: &[Value]) -> Reply {
    let events: Vec<Value> = asked
        .iter()
        .map(|event| {
            let mut event = event.clone();
            event["code"] = json!(200);
            event
        })
        .collect();
    Reply::new(200, json!({ "events": events }))
}

#[tokio::test]
async fn what_comes_while_a_batch_is_sent_is_the_next_batch() {
    let keystone = FakeKeystone::start().await.unwrap();
    let nova = FakeNova::start(&keystone, vec![taken(&[])]).await;
    let way = Nova::start(settings(&keystone)).unwrap();
    way.queue(event("network-vif-plugged", "a"));
    nova.requests(1).await;
    for event in [event("network-changed", "a"), event("network-vif-unplugged", "b"), event("network-changed", "a")] {
        way.queue(event);
    }
    let server = "11111111-2222-3333-4444-555555555555";
    assert_eq!(
        nova.requests(2).await,
        [
            vec![json!({"name": "network-vif-plugged", "server_uuid": server, "tag": "a", "status": "completed"})],
            vec![
                json!({"name": "network-changed", "server_uuid": server, "tag": "a"}),
                json!({"name": "network-vif-unplugged", "server_uuid": server, "tag": "b", "status": "completed"}),
            ],
        ]
    );
    let got = nova.got.lock().unwrap();
    assert_eq!((got[0].method.as_str(), got[0].path.as_str()), ("POST", "/v2.1/os-server-external-events"));
    assert_eq!((got[0].header("X-Auth-Token"), got[0].header("OpenStack-API-Version")), ("own-1", "compute 2.1"));
    assert!(got[0].header("X-OpenStack-Request-ID").starts_with("req-"));
    assert_eq!(keystone.known().logins.len(), 1);
}

#[tokio::test]
async fn nova_api_unavailable_for_a_while_is_asked_again() {
    let keystone = FakeKeystone::start().await.unwrap();
    let answers = vec![Reply::new(503, json!({})), Reply::new(500, json!({})), taken(&[])];
    let nova = FakeNova::start(&keystone, answers).await;
    let way = Nova::start(settings(&keystone)).unwrap();
    way.queue(event("network-vif-plugged", "a"));
    let requests = nova.requests(3).await;
    assert_eq!(requests[0], requests[2]);
    way.queue(event("network-vif-plugged", "b"));
    assert_eq!(nova.requests(4).await[3][0]["tag"], "b");
}

#[tokio::test]
async fn nova_api_unavailable_for_some_events_is_sent_those_again() {
    let keystone = FakeKeystone::start().await.unwrap();
    let word = |port: &str, code: i64, status: &str| json!({"name": "network-vif-plugged", "tag": port, "code": code, "status": status});
    let mixed = Reply::new(
        207,
        json!({"events": [
            word("a", 200, "completed"), word("b", 404, "failed"), word("c", 422, "failed"), word("d", 500, "failed"),
        ]}),
    );
    let nova = FakeNova::start(&keystone, vec![taken(&[]), mixed, taken(&[])]).await;
    let way = Nova::start(settings(&keystone)).unwrap();
    way.queue(event("network-vif-plugged", "first"));
    nova.requests(1).await;
    for port in ["a", "b", "c", "d"] {
        way.queue(event("network-vif-plugged", port));
    }
    let requests = nova.requests(3).await;
    assert_eq!(requests[1].len(), 4);
    assert_eq!(requests[2], [event("network-vif-plugged", "d").to_json()]);
}

#[tokio::test]
async fn instances_that_nova_does_not_know_are_let_be() {
    let keystone = FakeKeystone::start().await.unwrap();
    for status in [404, 400, 403] {
        let nova = FakeNova::start(&keystone, vec![Reply::new(status, json!({})), taken(&[])]).await;
        let way = Nova::start(settings(&keystone)).unwrap();
        way.queue(event("network-vif-plugged", "a"));
        nova.requests(1).await;
        way.queue(event("network-vif-plugged", "b"));
        assert_eq!(nova.requests(2).await[1].len(), 1, "{status}");
        assert_eq!(way.waiting(), 0);
    }
}

#[tokio::test]
async fn an_ended_token_is_made_anew() {
    let keystone = FakeKeystone::start().await.unwrap();
    let nova = FakeNova::start(&keystone, vec![Reply::new(401, json!({})), taken(&[])]).await;
    let way = Nova::start(settings(&keystone)).unwrap();
    way.queue(event("network-vif-plugged", "a"));
    let requests = nova.requests(2).await;
    assert_eq!(requests[0], requests[1]);
    assert_eq!(nova.got.lock().unwrap()[1].header("X-Auth-Token"), "own-2");
}

#[tokio::test]
async fn nova_api_unavailable_in_the_catalog_is_found_when_it_comes() {
    let mut keystone = FakeKeystone::start().await.unwrap();
    let way = Nova::start(settings(&keystone)).unwrap();
    way.queue(event("network-vif-plugged", "a"));
    let asked = async {
        while keystone.known().logins.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked).await.unwrap();
    keystone.stop();
    way.queue(event("network-vif-plugged", "b"));
    let nova = FakeNova::start(&keystone, vec![taken(&[])]).await;
    keystone.resume().await.unwrap();
    let tags: Vec<Value> = nova.requests(1).await[0].iter().map(|event| event["tag"].clone()).collect();
    assert_eq!(tags, ["a", "b"]);
}

#[tokio::test]
async fn an_end_waits_for_what_nova_has_to_hear() {
    let keystone = FakeKeystone::start().await.unwrap();
    let nova = FakeNova::start(&keystone, vec![taken(&[])]).await;
    let way = Nova::start(settings(&keystone)).unwrap();
    assert_eq!(way.drain(Duration::ZERO).await, 0, "nothing waits");
    for port in ["a", "b"] {
        way.queue(event("network-changed", port));
    }
    assert_eq!(way.drain(Duration::from_secs(60)).await, 0);
    let got: usize = nova.got.lock().unwrap().len();
    assert!((1..=2).contains(&got), "{got}");
    way.queue(event("network-changed", "c"));
    assert_eq!(way.drain(Duration::ZERO).await, 1, "nobody waits for ever");
}
