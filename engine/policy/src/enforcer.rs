use std::collections::HashMap;

use schema::Value;

use crate::check::{Check, Left, Matches, ParseError, Right};
use crate::{Context, Enforce, Target};

/// Rules that name each other may not go round; deeper chains than this are taken for a circle and forbid.
const MAX_CHAIN: usize = 32;

/// Decides by a set of named rules.
#[derive(Debug, Default)]
pub struct Enforcer {
    rules: HashMap<String, Check>,
}

impl Enforcer {
    /// Reads rules, later ones replacing earlier ones of the same name.
    pub fn new<'a>(rules: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Enforcer, ParseError> {
        let mut enforcer = Enforcer::default();
        for (name, check) in rules {
            enforcer.rules.insert(name.to_owned(), Check::parse(check)?);
        }
        Ok(enforcer)
    }

    fn rule(&self, name: &str) -> Option<&Check> {
        self.rules.get(name).or_else(|| self.rules.get("default"))
    }

    fn holds(&self, check: &Check, context: &Context, target: &dyn Target, chain: usize) -> bool {
        match check {
            Check::True => true,
            Check::False => false,
            Check::And(checks) => checks.iter().all(|check| self.holds(check, context, target, chain)),
            Check::Or(checks) => checks.iter().any(|check| self.holds(check, context, target, chain)),
            Check::Not(check) => !self.holds(check, context, target, chain),
            Check::Rule(name) => {
                chain < MAX_CHAIN
                    && self.rules.get(name).is_some_and(|check| self.holds(check, context, target, chain + 1))
            }
            Check::Role(role) => {
                // The server's own work is done as an administrator.
                context.has_role(role) || (context.is_admin && role == "admin")
            }
            Check::Field { resource, field, matches } => {
                let parent = format!("{}:{field}", resource.strip_suffix('s').unwrap_or(resource));
                let value = target.value(&parent).or_else(|| target.value(field));
                let Some(text) = value.map(plain) else { return false };
                match matches {
                    Matches::Text(wanted) => text.eq_ignore_ascii_case(wanted),
                    Matches::Pattern(pattern) => pattern.is_match(&text),
                }
            }
            Check::Same { left, right } => {
                let right = match right {
                    Right::Constant(text) => text.clone(),
                    Right::Attribute(name) => match target.value(name) {
                        Some(value) if !value.is_null() => plain(value),
                        _ => return false,
                    },
                };
                match left {
                    Left::Constant(text) => *text == right,
                    Left::Credential(name) => credential(context, name).contains(&right),
                }
            }
        }
    }

    fn looks(&self, check: &Check, chain: usize) -> bool {
        match check {
            Check::True | Check::False | Check::Role(_) => false,
            Check::And(checks) | Check::Or(checks) => checks.iter().any(|check| self.looks(check, chain)),
            Check::Not(check) => self.looks(check, chain),
            Check::Rule(name) => {
                chain < MAX_CHAIN && self.rules.get(name).is_some_and(|check| self.looks(check, chain + 1))
            }
            Check::Field { .. } => true,
            Check::Same { right, .. } => matches!(right, Right::Attribute(_)),
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        other => other.to_string(),
    }
}

fn credential(context: &Context, name: &str) -> Vec<String> {
    match name {
        "project_id" | "tenant_id" | "tenant" => vec![context.project_id.clone()],
        "user_id" | "user" => vec![context.user_id.clone()],
        "is_admin" => vec![plain(&Value::Bool(context.is_admin))],
        "roles" => context.roles.clone(),
        "system_scope" => context.system_scope.clone().into_iter().collect(),
        _ => Vec::new(),
    }
}

impl Enforce for Enforcer {
    fn allows(&self, rule: &str, context: &Context, target: &dyn Target) -> bool {
        self.rule(rule).is_some_and(|check| self.holds(check, context, target, 0))
    }

    fn looks_at_target(&self, rule: &str) -> bool {
        self.rule(rule).is_some_and(|check| self.looks(check, 0))
    }
}
