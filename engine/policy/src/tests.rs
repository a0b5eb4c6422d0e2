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
    let own = target([
        ("project_id", json!("p1")),
        ("device_owner", json!("network:dhcp")),
        ("shared", json!(true)),
        ("nothing", json!(null)),
        ("kind", json!("Member")),
        ("tenant_id", json!("p1")),
    ]);
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
        ("\"p1\":%(project_id)s", true),
        ("True:%(shared)s", true),
        ("None:%(nothing)s", true),
        ("1:1", true),
        ("user_id:%(user_id)s", false),
        ("user_id:", false),
        ("tenant_id:%(tenant_id)s", true),
        ("project_id:%(project_id)s and tenant_id:%(project_id)s", true),
        ("role:%(kind)s", true),
        ("role:%(kind)sx", false),
        ("roles:member", true),
        ("is_admin_project:True", true),
        ("system_scope:all", false),
        ("service_roles:service", false),
        ("rule:nowhere or role:member and not role:admin", true),
        ("field:port:nothing=None", false),
        ("project_id:%(network:project_id)s", false),
        ("is_admin:False", true),
    ] {
        assert_eq!(holds(check, &member("p1"), &own), expected, "{check}");
    }
    let other = target([("project_id", json!("p2")), ("network:project_id", json!("p1"))]);
    assert!(!holds("rule:owner", &member("p1"), &other));
    for parent in ["network:project_id", "network:tenant_id", "network_tenant_id"] {
        assert!(holds(&format!("tenant_id:%({parent})s"), &member("p1"), &other), "{parent}");
    }
    // A token without a project owns nothing, also not what has no project.
    assert!(!holds("rule:owner", &member(""), &target([("project_id", json!(""))])));
}

#[test]
fn what_cannot_be_read_is_refused() {
    for text in [
        "https://policy.example/",
        "http:x",
        "project_id:p1",
        "x:%(y",
        "role",
        "(role:a",
        "role:a)",
        "role:a and",
        "or role:a",
        "field:x",
        "field:x:y",
        "not",
        "field:a:b=~(",
    ] {
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

/// Rules of a directory with the given files; `policy.yaml` and `policy.d/…`.
struct Lab(tempfile::TempDir);

impl Lab {
    fn new() -> Lab {
        Lab(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn try_enforcer(&self, options: Options) -> Result<Enforcer, PolicyError> {
        let rule = |name: &'static str, check: &'static str| Rule {
            name: name.into(),
            check: check.into(),
            former: None,
            of_project: true,
        };
        let mut list = rule("list", "role:reader");
        list.former = Some(("old_list".into(), "role:observer".into()));
        let mut admin = rule("context_is_admin", "role:admin");
        admin.of_project = false;
        let files = Files::new(
            vec![self.0.path().join("absent.yaml"), self.0.path().join("policy.yaml")],
            vec![vec![self.0.path().join("policy.d")]],
        );
        Enforcer::with(vec![list, rule("make", "role:member"), admin], Options { files, ..options })
    }

    fn enforcer(&self) -> Enforcer {
        self.try_enforcer(Options::default()).unwrap()
    }
}

fn allows(enforcer: &Enforcer, rule: &str, roles: &[&str]) -> bool {
    let roles = roles.iter().map(|role| (*role).to_owned()).collect();
    let mut context = Context { project_id: "p1".into(), user_id: "u".into(), roles, ..Context::default() };
    enforcer.settle(&mut context);
    enforcer.allows(rule, &context, &Nothing)
}

#[test]
fn files_replace_rules_and_later_ones_win() {
    let lab = Lab::new();
    lab.write("policy.yaml", "# ours\n\"make\": \"role:maker\"\nlist: role:a\n");
    lab.write("policy.d/20.yaml", "list: [[\"role:b\", \"role:c\"], \"role:d\"]\n");
    lab.write("policy.d/10.json", "{\"list\": \"role:e\"}");
    lab.write("policy.d/.hidden", "make: '!'");
    let enforcer = lab.enforcer();
    assert!(allows(&enforcer, "make", &["maker"]) && !allows(&enforcer, "make", &["member"]));
    for (roles, expected) in
        [(&["b", "c"][..], true), (&["b"], false), (&["d"], true), (&["e"], false), (&["a"], false)]
    {
        assert_eq!(allows(&enforcer, "list", roles), expected, "{roles:?}");
    }
}

#[test]
fn a_file_that_changes_is_read_again_and_a_broken_one_changes_nothing() {
    let lab = Lab::new();
    let enforcer = lab.enforcer();
    assert!(allows(&enforcer, "make", &["member"]));
    lab.write("policy.yaml", "make: role:maker");
    enforcer.refresh();
    assert!(allows(&enforcer, "make", &["maker"]) && !allows(&enforcer, "make", &["member"]));
    for broken in ["make: role:a and", "make: [", "- a", "make: 5", "make: http://x/"] {
        lab.write("policy.yaml", broken);
        enforcer.refresh();
        assert!(allows(&enforcer, "make", &["maker"]), "{broken}");
        assert!(lab.try_enforcer(Options::default()).is_err(), "{broken}");
    }
    std::fs::remove_file(lab.0.path().join("policy.yaml")).unwrap();
    enforcer.refresh();
    assert!(allows(&enforcer, "make", &["member"]));
}

#[test]
fn former_checks_hold_until_the_new_defaults_are_enforced() {
    let lab = Lab::new();
    let lenient = || Options { enforce_new_defaults: false, ..Options::default() };
    assert!(!allows(&lab.enforcer(), "list", &["observer"]));
    let former = lab.try_enforcer(lenient()).unwrap();
    assert!(allows(&former, "list", &["observer"]) && allows(&former, "list", &["reader"]));
    assert!(allows(&former, "make", &["admin"]) && !allows(&lab.enforcer(), "make", &["admin"]));
    lab.write("policy.yaml", "list: role:only");
    assert!(!allows(&lab.try_enforcer(lenient()).unwrap(), "list", &["observer"]));
}

#[test]
fn tokens_of_another_scope_do_not_get_past() {
    let lab = Lab::new();
    let context = Context { roles: vec!["member".into()], system_scope: Some("all".into()), ..Context::default() };
    assert!(!lab.enforcer().allows("make", &context, &Nothing));
    let lenient = lab.try_enforcer(Options { enforce_scope: false, ..Options::default() }).unwrap();
    assert!(lenient.allows("make", &context, &Nothing));
    let domain = Context { domain_id: Some("d".into()), system_scope: None, ..context };
    assert!(!lab.enforcer().allows("make", &domain, &Nothing) && lenient.allows("make", &domain, &Nothing));
}

#[test]
fn the_rules_say_who_is_an_administrator() {
    let lab = Lab::new();
    lab.write(
        "policy.yaml",
        "context_is_admin: role:boss\nservice_api: role:robot\ncontext_can_set_project_id: role:agent",
    );
    let enforcer = lab.enforcer();
    let settled = |role: &str| {
        let mut context = Context { roles: vec![role.into()], ..Context::default() };
        enforcer.settle(&mut context);
        (context.is_admin, context.is_service_role, context.has_global_view(), context.may_name_owner())
    };
    assert_eq!(settled("boss"), (true, false, true, true));
    assert_eq!(settled("admin"), (false, false, false, false));
    assert_eq!(settled("robot"), (false, true, true, true));
    assert_eq!(settled("agent"), (false, false, false, true));
}

#[test]
fn mistakes_are_named() {
    let lab = Lab::new();
    lab.write("policy.yaml", "mkae: '@'\nmake: rule:here or rule:there\nhere: rule:make");
    let doubts = lab.enforcer().doubts();
    assert_eq!(
        doubts,
        [
            "nothing asks for the rule mkae",
            "the rule here comes back to itself",
            "the rule make comes back to itself",
            "the rule make names the rule there, which is not there",
        ]
    );
}
