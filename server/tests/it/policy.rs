//! The default rules against the reference's, by enumeration: rule × who asks × object.

use std::collections::HashMap;

use policy::{Context, Enforce, Files, Options, Service, Target};
use serde_json::{Value, json};
use server::policies;

/// Made from the reference by tools/policy-matrix.
const GOLDEN: &str = include_str!("golden/policy.txt");

struct Attributes(HashMap<String, Value>);

impl Target for Attributes {
    fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }
}

fn object(name: &str) -> Attributes {
    let (own, parent) = match name {
        "own" | "network-device" | "no-device" => ("p1", "p1"),
        "own-on-other" => ("p1", "p2"),
        "other-on-own" => ("p2", "p1"),
        "other" | "shared" | "external" => ("p2", "p2"),
        _ => panic!("{name}"),
    };
    let owner = match name {
        "network-device" => "network:dhcp",
        "no-device" => "",
        _ => "compute:nova",
    };
    let mut given = HashMap::from([
        ("project_id".to_owned(), json!(own)),
        ("shared".to_owned(), json!(name == "shared")),
        ("router:external".to_owned(), json!(name == "external")),
        ("device_owner".to_owned(), json!(owner)),
    ]);
    for of in ["network", "ext_parent", "security_group"] {
        given.insert(format!("{of}:project_id"), json!(parent));
    }
    Attributes(given)
}

fn person(name: &str) -> Context {
    let all = ["admin", "manager", "member", "reader"];
    let roles: &[&str] = match name {
        "admin" | "system" | "domain" => &all,
        "manager" => &all[1..],
        "member" | "member-by-service" => &all[2..],
        "reader" => &all[3..],
        "service" => &["service"],
        "advsvc" => &["advsvc"],
        "nobody" => &[],
        _ => panic!("{name}"),
    };
    let mut context = Context {
        project_id: "p1".into(),
        user_id: "u1".into(),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        ..Context::default()
    };
    match name {
        "member-by-service" => {
            let service = Service { user_id: "nova".into(), roles: vec!["service".into()], ..Service::default() };
            context.service = Some(Box::new(service));
        }
        "system" => (context.project_id, context.system_scope) = (String::new(), Some("all".into())),
        "domain" => (context.project_id, context.domain_id) = (String::new(), Some("d1".into())),
        _ => {}
    }
    context
}

#[test]
fn every_rule_says_what_the_references_says() {
    let header = |key: &str| -> Vec<&str> {
        let line = GOLDEN.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.split_whitespace().collect()
    };
    let (people, objects) = (header("# who:"), header("# object:"));
    let mut differences = Vec::new();
    for (section, enforce_new_defaults) in [("[new defaults]", true), ("[former defaults]", false)] {
        let enforcer = policies::enforcer(&Options { enforce_new_defaults, ..Options::default() }).unwrap();
        let rows: HashMap<&str, Vec<&str>> = GOLDEN
            .lines()
            .skip_while(|line| *line != section)
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .map(|line| {
                let mut words = line.split_whitespace();
                (words.next().unwrap(), words.collect())
            })
            .collect();
        assert!(rows.len() > 300);
        for (name, _) in enforcer.holding() {
            // It is one of another enforcer there.
            if name == "context_can_set_project_id" {
                continue;
            }
            let Some(row) = rows.get(name.as_str()) else {
                differences.push(format!("{name} is no rule of the reference"));
                continue;
            };
            for (person_name, expected) in people.iter().zip(row) {
                let mut context = person(person_name);
                enforcer.settle(&mut context);
                let says = |object_name: &&str| enforcer.allows(&name, &context, &object(object_name));
                let found: String = objects.iter().map(|object| if says(object) { '+' } else { '-' }).collect();
                if found != *expected {
                    differences.push(format!("{section} {name}, {person_name}: {found}, should be {expected}"));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn the_defaults_name_no_rule_that_is_not_there() {
    let doubts = policies::enforcer(&Options::default()).unwrap().doubts();
    assert!(doubts.is_empty(), "{}", doubts.join("\n"));
}

#[test]
fn a_rule_under_its_former_name_counts() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("policy.yaml");
    std::fs::write(&file, "get_networks_tags: '!'\nupdate_networks_tags: 'rule:update_network:tags'\n").unwrap();
    let files = Files::new(vec![file], Vec::new());
    let enforcer = policies::enforcer(&Options { files, ..Options::default() }).unwrap();
    let mut admin = person("admin");
    enforcer.settle(&mut admin);
    assert!(!enforcer.allows("get_network:tags", &admin, &object("own")));
    assert!(enforcer.allows("update_network:tags", &admin, &object("own")));
}
