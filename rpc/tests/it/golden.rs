//! Messages recorded between the reference's server and agents must decode into our types and encode to the same JSON.
//! `tests/golden/recorded.jsonl`: one exchange a line (exchange, routing key, message inside the envelope, replies), tokens
//! replaced. `tests/golden/written.jsonl`: the same form, written from the reference's source for messages that no
//! recording holds.

use std::collections::BTreeSet;

use messaging::wire::{Reply, Request};
use rpc::api::{Kind, Method};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Exchange {
    exchange: String,
    routing_key: String,
    message: Value,
    replies: Vec<Value>,
}

fn exchanges() -> Vec<Exchange> {
    [include_str!("../golden/recorded.jsonl"), include_str!("../golden/written.jsonl")]
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The topic behind exchange and routing key, without the server's name.
fn topic(exchange: &Exchange) -> (String, bool) {
    match exchange.exchange.strip_suffix("_fanout") {
        Some(topic) => (topic.to_owned(), true),
        None => (exchange.routing_key.split('.').next().unwrap().to_owned(), false),
    }
}

fn method(topic: &str, name: &str) -> &'static Method {
    let matches = |m: &&Method| m.name == name && (m.topic == topic || topic.starts_with(&format!("{}-", m.topic)));
    let mut found = rpc::APIS.iter().flat_map(|api| api.methods).filter(matches);
    let method = found.next().unwrap_or_else(|| panic!("no method {name} on {topic}"));
    assert!(found.next().is_none(), "{name} on {topic} is declared twice");
    method
}

fn assert_same(what: &str, ours: &Value, theirs: &Value) {
    if ours != theirs {
        panic!(
            "{what} changed on its way\n  ours: {}\ntheirs: {}",
            serde_json::to_string(ours).unwrap(),
            serde_json::to_string(theirs).unwrap()
        );
    }
}

#[test]
fn recorded_messages_survive() {
    let exchanges = exchanges();
    assert!(exchanges.len() >= 66, "the golden files are incomplete");
    for exchange in &exchanges {
        let (topic, fanout) = topic(exchange);
        let request = Request::from_flat(exchange.message.clone()).unwrap();
        assert_same("the envelope", &request.to_flat(), &exchange.message);
        let name = &request.message.method;
        let method = method(&topic, name);
        assert_eq!(request.reply_to.is_some(), method.kind == Kind::Call, "{name}: kind");
        assert!(!fanout || method.kind != Kind::Call, "{name}: a fanout is no call");
        let version = request.message.version.parse().unwrap();
        let api = rpc::APIS.iter().find(|api| api.methods.iter().any(|m| std::ptr::eq(m, method))).unwrap();
        assert!(api.version.serves(version), "{name}: {version} is not served");
        let args = method.recode_args(request.message.args.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut wanted = Value::Object(request.message.args);
        fill_defaults(name, &mut wanted);
        assert_same(name, &args, &wanted);
        for reply in &exchange.replies {
            let result = Reply::from_flat(reply.clone()).unwrap().result.unwrap();
            let ours = method.recode_result(result.clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_same(&format!("the result of {name}"), &ours, &result);
        }
    }
}

/// Every message of the recording, also those to services that are not here yet (`tests/golden/others.jsonl`: routers, quality
/// of service, trunks): bytes in, bytes out, the same JSON.
#[test]
fn every_envelope_survives() {
    use messaging::wire::{open, seal};
    let others = include_str!("../golden/others.jsonl").lines().map(|line| serde_json::from_str(line).unwrap());
    let all: Vec<Exchange> = exchanges().into_iter().chain(others).collect();
    assert!(all.len() >= 107, "the golden files are incomplete");
    for Exchange { message, replies, .. } in all {
        let request = Request::from_flat(open(&seal(&message).unwrap()).unwrap()).unwrap();
        assert_same("a request", &open(&seal(&request.to_flat()).unwrap()).unwrap(), &message);
        for reply in replies {
            let again = Reply::from_flat(open(&seal(&reply).unwrap()).unwrap()).unwrap();
            assert_same("a reply", &open(&seal(&again.to_flat()).unwrap()).unwrap(), &reply);
        }
    }
}

/// Arguments that we always send while some senders leave them to their default.
fn fill_defaults(method: &str, args: &mut Value) {
    let args = args.as_object_mut().unwrap();
    if method == "binding_deactivate" {
        args.entry("network_id").or_insert(Value::Null);
    }
}

/// Clients ask for the version in which a method appeared, so that they reach older servers: never for more than recorded
/// agents do.
#[test]
fn we_ask_for_no_newer_version_than_the_reference() {
    for exchange in exchanges() {
        let (topic, _) = topic(&exchange);
        let request = Request::from_flat(exchange.message).unwrap();
        let method = method(&topic, &request.message.method);
        assert!(method.since <= request.message.version.parse().unwrap(), "{}", method.name);
    }
}

/// Every method is seen on the wire, save those listed; the list may only shrink.
#[test]
fn the_golden_files_cover_the_contract() {
    const UNSEEN: &[&str] = &[];
    let seen: BTreeSet<&str> = exchanges()
        .iter()
        .map(|e| {
            let (topic, _) = topic(e);
            method(&topic, e.message["method"].as_str().unwrap()).name
        })
        .collect();
    let unseen: Vec<&str> =
        rpc::APIS.iter().flat_map(|api| api.methods).map(|m| m.name).filter(|name| !seen.contains(name)).collect();
    assert_eq!(unseen, UNSEEN);
}

#[test]
fn the_context_we_send_has_the_keys_of_the_reference() {
    let report = exchanges().into_iter().find(|e| e.message["method"] == "report_state").unwrap();
    let theirs = Request::from_flat(report.message).unwrap().context;
    let ours = messaging::Context::admin();
    let keys = |c: &messaging::Context| c.0.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(keys(&ours), keys(&theirs));
    for (key, value) in &theirs.0 {
        if !["request_id", "timestamp", "roles"].contains(&key.as_str()) {
            assert_eq!(ours.0[key], *value, "{key}");
        }
    }
    assert_eq!(ours.0["timestamp"].as_str().unwrap().len(), theirs.0["timestamp"].as_str().unwrap().len());
    assert_eq!(ours.roles().collect::<BTreeSet<_>>(), theirs.roles().collect());
    assert_eq!(ours.request_id().map(str::len), theirs.request_id().map(str::len));
}

#[test]
fn typed_objects_are_the_recorded_ones() {
    use rpc::objects::{Network, Object, Port, SecurityGroup, SecurityGroupRule, Subnet};
    let mut counts = [0; 5];
    for exchange in exchanges() {
        let pushed = exchange.message["args"]["resource_list"].as_array().cloned().unwrap_or_default();
        let pulled = exchange.replies.iter().flat_map(|r| r["result"].as_array().cloned().unwrap_or_default());
        for value in pushed.into_iter().chain(pulled) {
            let Ok(object) = serde_json::from_value::<Object>(value.clone()) else { continue };
            let again = match object.name.as_str() {
                "Port" => (0, object.read::<Port>().and_then(|o| Object::of(&o))),
                "Network" => (1, object.read::<Network>().and_then(|o| Object::of(&o))),
                "Subnet" => (2, object.read::<Subnet>().and_then(|o| Object::of(&o))),
                "SecurityGroup" => (3, object.read::<SecurityGroup>().and_then(|o| Object::of(&o))),
                "SecurityGroupRule" => (4, object.read::<SecurityGroupRule>().and_then(|o| Object::of(&o))),
                _ => continue,
            };
            counts[again.0] += 1;
            let mut again = again.1.unwrap();
            again.changes.clone_from(&object.changes);
            assert_same(&object.name, &json!(again), &value);
        }
    }
    assert!(counts.iter().all(|n| *n > 0), "{counts:?}");
}
