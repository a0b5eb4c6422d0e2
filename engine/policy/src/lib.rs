//! Who asks, and whether they may.
//!
//! - [`Context`]: the identity a request or message runs under;
//! - [`Enforce`]: the question that engines ask; [`Target`]: what is looked at;
//! - [`Enforcer`]: rules in the oslo.policy language ([`check`]), from a table and from operators' files ([`files`]).

pub mod check;
mod context;
mod enforcer;
pub mod files;

pub use context::{Context, Service};
pub use enforcer::{Enforcer, Holding, Options, Origin, PolicyError, Rule};
pub use files::Files;

use schema::{Record, Value};

/// What a rule looks at besides the context: the attributes of an object.
pub trait Target: Sync {
    /// The attribute of that name, also in the form `parent:attribute`.
    fn value(&self, name: &str) -> Option<&Value>;
}

impl Target for Record {
    fn value(&self, name: &str) -> Option<&Value> {
        // Both names of the owner are the same thing in rules.
        if name == "tenant_id" { Record::value(self, "project_id") } else { Record::value(self, name) }
    }
}

/// A target without attributes.
pub struct Nothing;

impl Target for Nothing {
    fn value(&self, _name: &str) -> Option<&Value> {
        None
    }
}

/// Decides by rule name, for example `create_thing:attribute`.
pub trait Enforce: Send + Sync {
    /// True if the rule, or the default rule when there is none of that name, allows it.
    fn allows(&self, rule: &str, context: &Context, target: &dyn Target) -> bool;

    /// False if the answer is the same for every target, so that it may be asked once for a list.
    fn looks_at_target(&self, rule: &str) -> bool;

    /// Finds out what the rules say of the context itself, once for each request: whether it is an administrator's or a service's.
    fn settle(&self, context: &mut Context) {
        context.is_admin = context.has_role("admin");
        context.is_service_role = context.has_role("service") || context.has_role("advsvc");
    }
}

#[cfg(test)]
mod tests;
