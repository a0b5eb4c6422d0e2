use std::sync::Arc;

use serde_json::json;

use super::*;

static THING: Resource = Resource {
    name: "thing",
    plural: "things",
    path: "things",
    table: "things",
    key: "id",
    shared: Some("things"),
    not_found: "ThingNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: None,
    extension: None,
    attrs: &[
        Attr::new("id", Kind::Uuid),
        Attr::new("project_id", Kind::Text { max: 255 }).post(),
        Attr::new("name", Kind::Text { max: 5 }).post().put().default(Default::Text("")),
        Attr::new("up", Kind::Bool).post().put().default(Default::Bool(true)),
        Attr::new("parent_id", Kind::Uuid).required(),
        Attr::new("macs", Kind::List { of: &Kind::Mac, unique: true }).post().default(Default::EmptyList),
    ],
};

fn model() -> Arc<Model> {
    Arc::new(Model::new(&THING, []).unwrap())
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

const PARENT: &str = "11111111-2222-3333-4444-555555555555";

#[test]
fn create_fills_defaults_and_normalises() {
    let given = body::create(
        &model(),
        object(json!({"parent_id": PARENT, "up": "False", "macs": ["FA-16-3E-00-00-01"], "tenant_id": "p"})),
    )
    .unwrap();
    assert_eq!(given.record.value("name"), Some(&json!("")));
    assert_eq!(given.record.value("up"), Some(&json!(false)));
    assert_eq!(given.record.value("macs"), Some(&json!(["fa:16:3e:00:00:01"])));
    assert_eq!(given.record.project(), "p");
    assert!(given.named("up") && !given.named("name"));
}

#[test]
fn bad_requests_name_the_attribute() {
    for (body, part) in [
        (json!({}), "parent_id"),
        (json!({"parent_id": "x"}), "not a UUID"),
        (json!({"parent_id": PARENT, "name": "toolong"}), "maximum length"),
        (json!({"parent_id": PARENT, "name": null}), "name"),
        (json!({"parent_id": PARENT, "up": "maybe"}), "boolean"),
        (json!({"parent_id": PARENT, "bogus": 1}), "bogus"),
        (json!({"parent_id": PARENT, "id": PARENT}), "not allowed in POST"),
        (json!({"parent_id": PARENT, "macs": ["fa:16:3e:00:00:01", "FA:16:3E:00:00:01"]}), "twice"),
        (json!({"parent_id": PARENT, "project_id": "a", "tenant_id": "b"}), "do not match"),
    ] {
        let fault = body::create(&model(), object(body.clone())).unwrap_err();
        assert_eq!(fault.status(), 400);
        assert!(fault.message().contains(part), "{body}: {fault}");
    }
    let fault = body::update(&model(), object(json!({"parent_id": PARENT}))).unwrap_err();
    assert!(fault.message().contains("read-only"), "{fault}");
}

#[test]
fn a_doubled_attribute_is_refused() {
    static EXTEND: Extend = Extend { to: "thing", extension: None, attrs: &[Attr::new("name", Kind::Bool)] };
    assert_eq!(Model::new(&THING, [&EXTEND]).unwrap_err(), ModelError::Doubled { resource: "thing", name: "name" });
}

#[test]
fn names_print_and_have_no_space_at_their_ends() {
    let name = Kind::Name { max: 5 };
    for good in ["", "a", "a b", "Grü✓", "\u{fffd}"] {
        assert_eq!(name.convert(json!(good)), Ok(json!(good)));
    }
    for bad in [" a", "a ", "a\u{a0}", "a\nb", "a\u{0}b", "\u{200b}", "\u{2028}", "\u{e000}", "😀", "toolong"] {
        assert!(name.convert(json!(bad)).is_err(), "{bad:?}");
    }
    assert!(name.convert(json!(5)).is_err() && name.convert(json!(null)).is_err());
}

#[test]
fn what_cannot_be_converted_is_told_from_what_fails_a_check() {
    let kind = |body: Value| body::create(&model(), object(body)).unwrap_err().kind().to_owned();
    for up in [json!("maybe"), json!(2), json!(""), json!(null), json!([])] {
        assert_eq!(kind(json!({"parent_id": PARENT, "up": up})), "InvalidInput");
    }
    assert_eq!(kind(json!({"parent_id": 7})), "HTTPBadRequest");
    for (value, is) in [("yes", true), ("ON", true), ("t", true), ("No", false), ("off", false), ("f", false)] {
        assert_eq!(Kind::Bool.convert(json!(value)), Ok(json!(is)));
    }
    for value in [json!(1.5), json!(true), json!("x"), json!(null)] {
        assert!(matches!(Kind::Int { min: 0, max: 9 }.judge(value), Err(Refusal::Inconvertible(_))));
    }
    assert!(matches!(Kind::Int { min: 0, max: 9 }.judge(json!(10)), Err(Refusal::Invalid(_))));
    assert_eq!(Kind::OneOfInts(&[4, 6]).convert(json!("6")), Ok(json!(6)));
    assert!(matches!(Kind::OneOfInts(&[4, 6]).judge(json!(5)), Err(Refusal::Invalid(_))));
    fn never(_: Value) -> Result<Value, Fault> {
        Err(Fault::conflict("Never", "never"))
    }
    let nested = Kind::List { of: &Kind::Judged(never), unique: false };
    assert!(matches!(nested.judge(json!([1])), Err(Refusal::Fault(fault)) if fault.kind() == "Never"));
}
