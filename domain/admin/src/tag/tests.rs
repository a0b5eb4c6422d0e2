use std::sync::Arc;

use resource::Method;
use schema::Record;
use serde_json::{Value, json};

use super::MAX_COUNT;
use crate::quota::Limits;
use crate::testing::{As, Lab};

async fn lab() -> Lab {
    Lab::new(Limits::new(-1, |_| Some(-1))).await
}

async fn fault(asker: &As<'_>, method: Method, path: &str, body: Option<Value>) -> (u16, String) {
    match asker.send(method, path, body.clone()).await {
        Ok(answer) => panic!("{method:?} {path} {body:?} answers {answer:?}"),
        Err(fault) => (fault.status(), fault.kind().to_owned()),
    }
}

fn revision(record: &Record) -> i64 {
    record.value("revision_number").and_then(Value::as_i64).unwrap()
}

#[tokio::test]
async fn single_tags() {
    let lab = lab().await;
    let member = lab.member("p1");
    let id = member.network().await;
    let tags = format!("/networks/{id}/tags");
    assert_eq!(member.get(&tags).await, json!({"tags": []}));
    for (tag, body) in [("red", None), ("red", None), ("green", Some(json!({"tag": "x"})))] {
        let answer = member.send(Method::Put, &format!("{tags}/{tag}"), body).await.unwrap();
        assert_eq!((answer.status, answer.body), (201, Some(Value::Null)));
    }
    assert_eq!(member.send(Method::Get, &format!("{tags}/red"), None).await.unwrap().status, 204);
    assert_eq!(fault(&member, Method::Get, &format!("{tags}/blue"), None).await, (404, "TagNotFound".into()));
    assert_eq!(member.get(&tags).await, json!({"tags": ["green", "red"]}));
    let network = member.show("network", &id).await.unwrap();
    assert_eq!(network.value("tags"), Some(&json!(["green", "red"])));
    assert_eq!(revision(&network), 3, "a tag that is there changes nothing");
    assert_eq!(member.send(Method::Delete, &format!("{tags}/red"), None).await.unwrap().status, 204);
    assert_eq!(fault(&member, Method::Delete, &format!("{tags}/red"), None).await, (404, "TagNotFound".into()));
    let long = format!("{tags}/{}", "x".repeat(256));
    assert_eq!(fault(&member, Method::Put, &long, None).await, (400, "InvalidInput".into()));
    for _ in 0..2 {
        assert_eq!(member.send(Method::Delete, &tags, None).await.unwrap().status, 204);
    }
    let network = member.show("network", &id).await.unwrap();
    assert_eq!((network.value("tags"), revision(&network)), (Some(&json!([])), 5));
}

#[tokio::test]
async fn several_tags() {
    let lab = lab().await;
    let member = lab.member("p1");
    let id = member.network().await;
    let tags = format!("/networks/{id}/tags");
    assert_eq!(member.put(&tags, json!({"tags": ["a", "b", "c"]})).await.unwrap(), json!({"tags": ["a", "b", "c"]}));
    assert_eq!(member.put(&tags, json!({"tags": ["c", "b", "a"]})).await.unwrap(), json!({"tags": ["c", "b", "a"]}));
    assert_eq!(revision(&member.show("network", &id).await.unwrap()), 2);
    for body in [json!({"tags": ["d"]}), json!({"tags": ["d", "e"]})] {
        let answer = member.send(Method::Post, &tags, Some(body.clone())).await.unwrap();
        assert_eq!((answer.status, answer.body), (200, Some(body)));
    }
    assert_eq!(member.get(&tags).await, json!({"tags": ["a", "b", "c", "d", "e"]}));
    assert_eq!(revision(&member.show("network", &id).await.unwrap()), 4);
    member.put(&tags, json!({"tags": ["e", "f"]})).await.unwrap();
    assert_eq!(member.get(&tags).await, json!({"tags": ["e", "f"]}));
    for odd in ["", "a,b", "a/b", "grün", " a b ", "Red", "red", "😀", &"y".repeat(255)] {
        member.put(&tags, json!({"tags": [odd]})).await.unwrap();
        assert_eq!(member.get(&tags).await, json!({"tags": [odd]}));
    }
    // Letters of different case are different.
    member.put(&tags, json!({"tags": ["Red", "red"]})).await.unwrap();
    assert_eq!(member.get(&tags).await, json!({"tags": ["Red", "red"]}));
}

#[tokio::test]
async fn bad_bodies_are_refused() {
    let lab = lab().await;
    let member = lab.member("p1");
    let tags = format!("/networks/{}/tags", member.network().await);
    member.put(&tags, json!({"tags": ["kept"]})).await.unwrap();
    for method in [Method::Put, Method::Post] {
        for body in [
            None,
            Some(json!(null)),
            Some(json!([])),
            Some(json!({})),
            Some(json!({"tag": ["a"]})),
            Some(json!({"tags": null})),
            Some(json!({"tags": {}})),
            Some(json!({"tags": "abc"})),
            Some(json!({"tags": [1]})),
            Some(json!({"tags": [null]})),
            Some(json!({"tags": [["a"]]})),
            Some(json!({"tags": ["a", "a"]})),
            Some(json!({"tags": ["x".repeat(256)]})),
        ] {
            assert_eq!(fault(&member, method, &tags, body.clone()).await, (400, "InvalidInput".into()), "{body:?}");
        }
    }
    assert_eq!(member.get(&tags).await, json!({"tags": ["kept"]}));
}

#[tokio::test]
async fn an_object_has_fifty_tags_at_most() {
    let lab = lab().await;
    let member = lab.member("p1");
    let tags = format!("/networks/{}/tags", member.network().await);
    let many = |count: usize| json!({"tags": (0..count).map(|i| format!("t{i}")).collect::<Vec<_>>()});
    let too_many = || (400, "BadRequest".to_owned());
    assert_eq!(fault(&member, Method::Put, &tags, Some(many(MAX_COUNT + 1))).await, too_many());
    member.put(&tags, many(MAX_COUNT)).await.unwrap();
    assert_eq!(fault(&member, Method::Put, &format!("{tags}/more"), None).await, too_many());
    assert_eq!(fault(&member, Method::Post, &tags, Some(json!({"tags": ["more"]}))).await, too_many());
    member.send(Method::Put, &format!("{tags}/t7"), None).await.unwrap();
    member.send(Method::Delete, &format!("{tags}/t7"), None).await.unwrap();
    member.send(Method::Put, &format!("{tags}/more"), None).await.unwrap();
    let network = member.network().await;
    let mut port = many(MAX_COUNT + 1);
    port["network_id"] = json!(network);
    assert_eq!(member.create("port", port).await.unwrap_err().kind(), "BadRequest");
}

#[tokio::test]
async fn policy_tags() {
    let lab = lab().await;
    let member = lab.member("p1");
    let id = member.network().await;
    let one = format!("/networks/{id}/tags/evil");
    let all = format!("/networks/{id}/tags");
    let other = lab.member("p2");
    let hidden = || (404, "NetworkNotFound".to_owned());
    assert_eq!(fault(&other, Method::Put, &one, None).await, hidden());
    assert_eq!(fault(&other, Method::Get, &all, None).await, hidden());
    assert_eq!(fault(&other, Method::Delete, &all, None).await, hidden());
    assert_eq!(fault(&other, Method::Put, &all, Some(json!({"tags": ["x"]}))).await, hidden());
    let reader = lab.reader("p1");
    for method in [Method::Put, Method::Delete] {
        assert_eq!(fault(&reader, method, &one, None).await, (403, "PolicyNotAuthorized".into()));
    }
    assert_eq!(reader.get(&all).await, json!({"tags": []}));
    assert_eq!(member.send(Method::Put, &one, None).await.unwrap().status, 201);
    assert_eq!(reader.send(Method::Get, &one, None).await.unwrap().status, 204);
    // Nothing there, for an administrator neither.
    for id in ["a0000000-0000-4000-8000-000000000001", "abc"] {
        assert_eq!(fault(&lab.admin(), Method::Get, &format!("/networks/{id}/tags"), None).await, hidden());
    }
}

#[tokio::test]
async fn ports_keep_the_tags_of_their_creation() {
    let lab = lab().await;
    let member = lab.member("p1");
    let network = member.network().await;
    let port = member.create("port", json!({"network_id": network, "tags": ["b", "a"]})).await.unwrap();
    assert_eq!(port.value("tags"), Some(&json!(["a", "b"])));
    let bulk = (0..3).map(|i| json!({"network_id": network, "tags": [format!("t{i}"), "all"]})).collect();
    for (i, port) in member.create_all("port", bulk).await.unwrap().iter().enumerate() {
        assert_eq!(port.value("tags"), Some(&json!(["all", format!("t{i}")])));
        assert_eq!(member.show("port", port.id()).await.unwrap().value("tags"), port.value("tags"));
    }
    let renamed = member.rename("port", port.id(), "x").await.unwrap();
    assert_eq!(renamed.value("tags"), Some(&json!(["a", "b"])));
    for (tags, why) in [
        (json!("abc"), "not a list"),
        (json!(null), "not a list"),
        (json!([1]), "not a string"),
        (json!(["a", "a"]), "twice"),
        (json!(["x".repeat(256)]), "length"),
    ] {
        let fault = member.create("port", json!({"network_id": network, "tags": tags})).await.unwrap_err();
        assert_eq!((fault.status(), fault.kind()), (400, "HTTPBadRequest"));
        assert!(fault.message().contains(why), "{fault}");
    }
    assert_eq!(member.create("network", json!({"tags": ["a"]})).await.unwrap_err().status(), 400);
    member.delete("port", port.id()).await.unwrap();
    assert_eq!(lab.number("SELECT COUNT(*) FROM tags").await, 6, "they go with their port");
}

#[tokio::test]
async fn objects_are_found_by_tags() {
    let lab = lab().await;
    let member = lab.member("p1");
    for (name, tags) in [("n1", vec!["red"]), ("n2", vec!["red", "blue"]), ("n3", vec![])] {
        let id = member.create("network", json!({"name": name})).await.unwrap().id().to_owned();
        member.put(&format!("/networks/{id}/tags"), json!({"tags": tags})).await.unwrap();
    }
    for (query, names) in [
        (vec![("tags", "red")], vec!["n1", "n2"]),
        (vec![("tags", "red,blue")], vec!["n2"]),
        (vec![("tags", "red"), ("tags", "blue")], vec!["n2"]),
        (vec![("tags", "red,red")], vec!["n1", "n2"]),
        (vec![("tags-any", "red,blue")], vec!["n1", "n2"]),
        (vec![("tags-any", "blue,green")], vec!["n2"]),
        (vec![("tags-any", "blue"), ("tags-any", "green")], vec!["n2"]),
        (vec![("not-tags", "red")], vec!["n3"]),
        (vec![("not-tags", "red,blue")], vec!["n1", "n3"]),
        (vec![("not-tags-any", "red,blue")], vec!["n3"]),
        (vec![("not-tags-any", "blue")], vec!["n1", "n3"]),
        (vec![("tags", "")], vec![]),
        (vec![("tags-any", "")], vec![]),
        (vec![("not-tags", "")], vec!["n1", "n2", "n3"]),
        (vec![("tags", "red"), ("not-tags", "blue")], vec!["n1"]),
        (vec![("tags", "nope")], vec![]),
        (vec![("tags", "red"), ("limit", "1"), ("sort_key", "name"), ("sort_dir", "desc")], vec!["n2"]),
    ] {
        assert_eq!(member.names("network", &query).await.unwrap(), names, "{query:?}");
    }
    assert_eq!(member.names("network", &[("tags_any", "red")]).await.unwrap_err().status(), 400);
    let sorted = [("sort_key", "tags"), ("sort_dir", "asc")];
    assert_eq!(member.names("network", &sorted).await.unwrap_err().status(), 400);
    let thousand: String = (0..2000).map(|i| format!("t{i},")).collect();
    assert_eq!(member.names("network", &[("tags", &thousand)]).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn an_older_revision_changes_no_tags() {
    let lab = lab().await;
    let member = lab.member("p1");
    let id = member.network().await;
    let one = format!("/networks/{id}/tags/a");
    let fault = member.send_if(Method::Put, &one, None, Some(7)).await.unwrap_err();
    assert_eq!((fault.status(), fault.kind()), (412, "RevisionNumberConstraintFailed"));
    member.send_if(Method::Put, &one, None, Some(1)).await.unwrap();
    assert_eq!(revision(&member.show("network", &id).await.unwrap()), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tag_is_lost_between_many_writers() {
    let lab = Arc::new(lab().await);
    let id = lab.member("p1").network().await;
    let tasks: Vec<_> = (0..64)
        .map(|i| {
            let (lab, path) = (lab.clone(), format!("/networks/{id}/tags/t{i:02}"));
            tokio::spawn(async move { lab.member("p1").send(Method::Put, &path, None).await.is_ok() })
        })
        .collect();
    let mut added = 0;
    for task in tasks {
        added += usize::from(task.await.unwrap());
    }
    assert_eq!(added, MAX_COUNT);
    let tags = lab.member("p1").get(&format!("/networks/{id}/tags")).await;
    assert_eq!(tags["tags"].as_array().unwrap().len(), MAX_COUNT);
    assert_eq!(revision(&lab.member("p1").show("network", &id).await.unwrap()), 1 + MAX_COUNT as i64);
}

#[tokio::test]
async fn statements_do_not_grow_with_tags() {
    let lab = lab().await;
    let member = lab.member("p1");
    let tags = format!("/networks/{}/tags", member.network().await);
    let (one, _) = lab.statements(member.put(&tags, json!({"tags": ["a"]}))).await;
    let thirty_two = json!({"tags": (0..32).map(|i| i.to_string()).collect::<Vec<_>>()});
    let (many, answer) = lab.statements(member.put(&tags, thirty_two)).await;
    answer.unwrap();
    // One more: the old one goes.
    assert_eq!(many, one + 1);
}
