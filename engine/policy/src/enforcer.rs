use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use schema::Value;

use crate::check::{Check, Left, Matches, ParseError, Piece, Template};
use crate::files::{Files, PolicyFileError};
use crate::{Context, Enforce, Nothing, Target};

/// Rules that name each other may not go round; deeper chains than this are taken for a circle and forbid.
const MAX_CHAIN: usize = 32;
/// How often files are looked at for changes, at most.
const LOOK: Duration = Duration::from_secs(1);

/// A rule that holds unless a file says otherwise.
#[derive(Clone, Debug)]
pub struct Rule {
    pub name: Cow<'static, str>,
    pub check: Cow<'static, str>,
    /// What it was called, and its check, before the new defaults.
    pub former: Option<(Cow<'static, str>, Cow<'static, str>)>,
    /// About requests of users, not a part of other rules: tokens of system or domain scope do not get past it with `enforce_scope`.
    pub of_project: bool,
}

/// `[oslo_policy]`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only tokens of the scope that a rule is for.
    pub enforce_scope: bool,
    /// If false, a rule also holds when its former check does, and administrators may do everything.
    pub enforce_new_defaults: bool,
    /// Stands for rules that are not there.
    pub default_rule: String,
    pub files: Files,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            enforce_scope: true,
            enforce_new_defaults: true,
            default_rule: "default".to_owned(),
            files: Files::default(),
        }
    }
}

/// Where a rule's check is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    /// The default or its former check.
    Former,
    File(std::path::PathBuf),
}

/// A rule that holds now.
#[derive(Clone, Debug)]
pub struct Holding {
    pub text: String,
    pub origin: Origin,
    check: Check,
    of_project: bool,
}

#[derive(Debug, Default)]
struct Rules {
    by_name: HashMap<String, Holding>,
    /// Names of the files that are no rule of ours: nobody asks for them.
    unknown: Vec<String>,
}

/// Decides by a set of named rules: defaults, and files that replace some of them and are read again when they change.
#[derive(Debug)]
pub struct Enforcer {
    defaults: Vec<Rule>,
    options: Options,
    rules: RwLock<Arc<Rules>>,
    looked: Mutex<Option<Instant>>,
    files: Mutex<Files>,
}

/// Why there are no rules.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error(transparent)]
    File(#[from] PolicyFileError),
    #[error("the rule {name}{}", path.as_ref().map(|path| format!(" of {}", path.display())).unwrap_or_default())]
    Rule {
        name: String,
        path: Option<std::path::PathBuf>,
        #[source]
        source: ParseError,
    },
}

impl Enforcer {
    /// Rules without files, later ones replacing earlier ones of the same name.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Enforcer, PolicyError> {
        let defaults = rules.into_iter().map(|(name, check)| Rule {
            name: Cow::Owned(name.to_owned()),
            check: Cow::Owned(check.to_owned()),
            former: None,
            of_project: false,
        });
        Enforcer::with(defaults.collect(), Options::default())
    }

    /// Defaults, and the files of the options. Fails if a file cannot be read or a check not be understood.
    pub fn with(defaults: Vec<Rule>, options: Options) -> Result<Enforcer, PolicyError> {
        let mut files = options.files.clone();
        let rules = build(&defaults, &options, &mut files)?;
        for name in &rules.unknown {
            tracing::warn!("the policy files have a rule {name}, which nothing asks for");
        }
        Ok(Enforcer {
            defaults,
            options,
            rules: RwLock::new(Arc::new(rules)),
            looked: Mutex::new(Some(Instant::now())),
            files: Mutex::new(files),
        })
    }

    /// Reads the files again if they changed. Rules that cannot be understood leave those of before in place.
    pub fn refresh(&self) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        if !files.changed() {
            return;
        }
        match build(&self.defaults, &self.options, &mut files) {
            Ok(rules) => {
                tracing::info!("the policy files changed; their rules hold from now on");
                *self.rules.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(rules);
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
                tracing::error!("the policy files changed, but the rules of before stay: {error}{cause}");
            }
        }
    }

    fn current(&self) -> Arc<Rules> {
        self.rules.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All rules that hold, by name.
    pub fn holding(&self) -> Vec<(String, Holding)> {
        let rules = self.current();
        let mut all: Vec<_> = rules.by_name.iter().map(|(name, rule)| (name.clone(), rule.clone())).collect();
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    /// What looks like a mistake: names that nothing asks for, rules that name rules which are not there or go round.
    pub fn doubts(&self) -> Vec<String> {
        let rules = self.current();
        let mut doubts: Vec<String> =
            rules.unknown.iter().map(|name| format!("nothing asks for the rule {name}")).collect();
        for (name, rule) in &rules.by_name {
            let mut named = Vec::new();
            rule.check.rules(&mut named);
            for other in named.iter().filter(|other| !rules.by_name.contains_key(**other)) {
                doubts.push(format!("the rule {name} names the rule {other}, which is not there"));
            }
            if goes_round(&rules, name, name, &mut HashSet::new()) {
                doubts.push(format!("the rule {name} comes back to itself"));
            }
        }
        doubts.sort();
        doubts
    }
}

fn goes_round<'a>(rules: &'a Rules, start: &str, at: &'a str, seen: &mut HashSet<&'a str>) -> bool {
    let Some(rule) = rules.by_name.get(at) else { return false };
    let mut named = Vec::new();
    rule.check.rules(&mut named);
    named.into_iter().any(|next| next == start || (seen.insert(next) && goes_round(rules, start, next, seen)))
}

fn parse(name: &str, text: &str) -> Result<Check, PolicyError> {
    Check::parse(text).map_err(|source| PolicyError::Rule { name: name.to_owned(), path: None, source })
}

fn build(defaults: &[Rule], options: &Options, files: &mut Files) -> Result<Rules, PolicyError> {
    let given = files.read()?;
    let mut rules = Rules::default();
    let mut known: HashSet<&str> = HashSet::new();
    for default in defaults {
        let name = default.name.as_ref();
        known.insert(name);
        let mut text = default.check.to_string();
        let mut check = parse(name, &text)?;
        let mut origin = Origin::Default;
        if let Some((former_name, former_text)) = &default.former {
            known.insert(former_name);
            let renamed = given.get(former_name.as_ref()).filter(|_| former_name != name);
            match renamed {
                // An operator who had changed the rule under its former name means this one.
                Some(file) if file.text != *former_text && file.text != format!("rule:{name}") => {
                    (text, check, origin) = (file.text.clone(), file.check.clone(), Origin::File(file.path.clone()));
                }
                _ if !options.enforce_new_defaults && *former_text != default.check => {
                    check = Check::Or(vec![check, parse(name, former_text)?]);
                    text = format!("({text}) or ({former_text})");
                    origin = Origin::Former;
                }
                _ => {}
            }
        }
        let holding = Holding { text, origin, check, of_project: default.of_project };
        rules.by_name.insert(name.to_owned(), holding);
    }
    for (name, file) in &given {
        let of_project = rules.by_name.get(name).is_some_and(|rule| rule.of_project);
        let origin = Origin::File(file.path.clone());
        let holding = Holding { text: file.text.clone(), origin, check: file.check.clone(), of_project };
        rules.by_name.insert(name.clone(), holding);
    }
    // A rule that another one names is a part of it, whatever its name.
    let mut named = HashSet::new();
    for rule in rules.by_name.values() {
        let mut of_one = Vec::new();
        rule.check.rules(&mut of_one);
        named.extend(of_one.into_iter().map(str::to_owned));
    }
    rules.unknown =
        given.keys().filter(|name| !known.contains(name.as_str()) && !named.contains(*name)).cloned().collect();
    rules.unknown.sort();
    Ok(rules)
}

/// A question, with the rules that hold while it is answered.
struct Question<'a> {
    rules: &'a Rules,
    default_rule: &'a str,
    context: &'a Context,
}

impl Question<'_> {
    fn rule(&self, name: &str) -> Option<&Holding> {
        self.rules.by_name.get(name).or_else(|| self.rules.by_name.get(self.default_rule))
    }

    fn holds(&self, check: &Check, target: &dyn Target, chain: usize) -> bool {
        match check {
            Check::True => true,
            Check::False => false,
            Check::And(checks) => checks.iter().all(|check| self.holds(check, target, chain)),
            Check::Or(checks) => checks.iter().any(|check| self.holds(check, target, chain)),
            Check::Not(check) => !self.holds(check, target, chain),
            Check::Rule(name) => {
                chain < MAX_CHAIN && self.rule(name).is_some_and(|rule| self.holds(&rule.check, target, chain + 1))
            }
            Check::Role(role) => rendered(role, target).is_some_and(|role| self.context.has_role(&role)),
            Check::Field { resource, field, matches } => {
                let parent = format!("{}:{field}", resource.strip_suffix('s').unwrap_or(resource));
                let value = target.value(&parent).or_else(|| target.value(field));
                let Some(text) = value.filter(|value| !value.is_null()).map(plain) else { return false };
                match matches {
                    Matches::Text(wanted) => text.eq_ignore_ascii_case(wanted),
                    Matches::Pattern(pattern) => pattern.is_match(&text),
                }
            }
            Check::Owner(name) => {
                // Nobody's objects are not those of a token without a project.
                !self.context.project_id.is_empty()
                    && target.value(name).and_then(Value::as_str) == Some(self.context.project_id.as_str())
            }
            Check::Same { left, right } => {
                let Some(right) = rendered(right, target) else { return false };
                match left {
                    Left::Constant(text) => *text == right,
                    Left::Credential(name) => is_credential(self.context, name, &right),
                }
            }
        }
    }

    fn looks(&self, check: &Check, chain: usize) -> bool {
        match check {
            Check::True | Check::False => false,
            Check::And(checks) | Check::Or(checks) => checks.iter().any(|check| self.looks(check, chain)),
            Check::Not(check) => self.looks(check, chain),
            Check::Rule(name) => {
                chain < MAX_CHAIN && self.rule(name).is_some_and(|rule| self.looks(&rule.check, chain + 1))
            }
            Check::Field { .. } | Check::Owner(_) => true,
            Check::Role(template) | Check::Same { right: template, .. } => !template.is_constant(),
        }
    }
}

/// None if the target does not have one of the attributes.
fn rendered<'t>(template: &'t Template, target: &dyn Target) -> Option<Cow<'t, str>> {
    if let [Piece::Text(text)] = template.0.as_slice() {
        return Some(Cow::Borrowed(text));
    }
    let mut text = String::new();
    for piece in &template.0 {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Attribute(name) => text.push_str(&plain(target.value(name)?)),
        }
    }
    Some(Cow::Owned(text))
}

/// As Python prints it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        other => other.to_string(),
    }
}

/// Whether the context has that under a name of `to_policy_values`.
fn is_credential(context: &Context, name: &str, wanted: &str) -> bool {
    let flag = |value: bool| (if value { "True" } else { "False" }) == wanted;
    let given = |value: Option<&str>| value == Some(wanted);
    let text = |value: &str| !value.is_empty() && value == wanted;
    let service = context.service.as_deref();
    match name {
        "tenant" | "project_id" | "tenant_id" => text(&context.project_id),
        "project_name" => text(&context.project_name),
        "user_id" | "user" => text(&context.user_id),
        "user_name" => text(&context.user_name),
        "is_admin" => flag(context.is_admin),
        "is_admin_project" => flag(context.is_admin_project.unwrap_or(true)),
        "has_global_access" => flag(context.is_admin || context.has_global_access),
        "can_set_project_id" => flag(context.may_name_owner()),
        "roles" => context.roles.iter().any(|role| role == wanted),
        "system_scope" | "system" => given(context.system_scope.as_deref()),
        "domain_id" | "domain" => given(context.domain_id.as_deref()),
        "user_domain_id" | "user_domain" => given(context.user_domain_id.as_deref()),
        "project_domain_id" | "project_domain" => given(context.project_domain_id.as_deref()),
        "service_user_id" => service.is_some_and(|service| text(&service.user_id)),
        "service_user_domain_id" => given(service.and_then(|service| service.user_domain_id.as_deref())),
        "service_project_id" => given(service.and_then(|service| service.project_id.as_deref())),
        "service_project_domain_id" => given(service.and_then(|service| service.project_domain_id.as_deref())),
        "service_roles" => service.is_some_and(|service| service.roles.iter().any(|role| role == wanted)),
        _ => false,
    }
}

impl Enforce for Enforcer {
    fn allows(&self, rule: &str, context: &Context, target: &dyn Target) -> bool {
        if context.is_admin && !self.options.enforce_new_defaults {
            return true;
        }
        let rules = self.current();
        let question = Question { rules: &rules, default_rule: &self.options.default_rule, context };
        let Some(rule) = question.rule(rule) else { return false };
        if rule.of_project
            && self.options.enforce_scope
            && (context.system_scope.is_some() || context.domain_id.is_some())
        {
            return false;
        }
        question.holds(&rule.check, target, 0)
    }

    fn looks_at_target(&self, rule: &str) -> bool {
        let rules = self.current();
        let question =
            Question { rules: &rules, default_rule: &self.options.default_rule, context: &Context::default() };
        question.rule(rule).is_some_and(|rule| question.looks(&rule.check, 0))
    }

    fn settle(&self, context: &mut Context) {
        {
            let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
            if looked.is_none_or(|at| at.elapsed() >= LOOK) {
                *looked = Some(Instant::now());
                drop(looked);
                self.refresh();
            }
        }
        let rules = self.current();
        let says = |context: &Context, name: &str| {
            let question = Question { rules: &rules, default_rule: &self.options.default_rule, context };
            rules.by_name.get(name).is_some_and(|rule| question.holds(&rule.check, &Nothing, 0))
        };
        context.is_admin = says(context, "context_is_admin");
        context.is_service_role = says(context, "service_api") || says(context, "context_is_advsvc");
        context.has_global_access = says(context, "context_with_global_access");
        context.can_set_project = says(context, "context_can_set_project_id");
    }
}
