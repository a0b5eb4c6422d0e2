use std::collections::HashMap;

use schema::Value;
use serde_json::json;

use super::*;

struct Attributes(HashMap<&'static str, Value>);

impl Target for Attributes {
    fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

fn target<const N: usize>(attributes: [(&'static str, Value); N]) -> Attributes {
    Attributes(attributes.into())
}

fn member(project: &str) -> Context {
    Context { project_id: project.into(), roles: vec!["member".into(), "reader".into()], ..Context::default() }
}

fn holds(check: &str, context: &Context, target: &dyn Target) -> bool {
    let rules = [
        ("admin_only", "role:admin"),
        ("owner", "project_id:%(project_id)s"),
        ("shared", "field:networks:shared=True"),
        ("circle", "rule:circle"),
        ("it", check),
    ];
    Enforcer::new(rules).unwrap().allows("it", context, target)
}

#[test]
fn checks_combine() {
    let own = target([("project_id", json!("p1")), ("device_owner", json!("network:dhcp")), ("shared", json!(true))]);
    for (check, expected) in [
        ("", true),
        ("@", true),
        ("!", false),
        ("rule:owner", true),
        ("rule:admin_only", false),
        ("rule:nowhere", false),
        ("rule:circle", false),
        ("(rule:admin_only) or (role:member and project_id:%(project_id)s)", true),
        ("not rule:admin_only and rule:owner", true),
        ("not (rule:owner or rule:admin_only)", false),
        ("((rule:owner))", true),
        ("role:MEMBER", true),
        ("rule:shared", true),
        ("field:port:device_owner=~^network:", true),
        ("field:port:device_owner=~^compute:", false),
        ("'p1':%(project_id)s", true),
        ("project_id:%(network:project_id)s", false),
        ("is_admin:False", true),
    ] {
        assert_eq!(holds(check, &member("p1"), &own), expected, "{check}");
    }
    let other = target([("project_id", json!("p2")), ("network:project_id", json!("p1"))]);
    assert!(!holds("rule:owner", &member("p1"), &other));
    assert!(holds("project_id:%(network:project_id)s", &member("p1"), &other));
}

#[test]
fn what_cannot_be_read_is_refused() {
    for text in ["role", "(role:a", "role:a)", "role:a and", "or role:a", "field:x", "field:x:y", "not", "field:a:b=~("]
    {
        assert!(check::Check::parse(text).is_err(), "{text}");
    }
    let deep = format!("{}role:a{}", "( ".repeat(5000), " )".repeat(5000));
    assert!(check::Check::parse(&deep).is_err());
}

#[test]
fn rules_that_look_at_the_target_are_known() {
    let enforcer =
        Enforcer::new([("admin_only", "role:admin"), ("own", "rule:admin_only or project_id:%(project_id)s")]).unwrap();
    assert!(!enforcer.looks_at_target("admin_only"));
    assert!(enforcer.looks_at_target("own"));
}
