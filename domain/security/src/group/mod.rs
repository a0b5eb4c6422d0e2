//! Security groups, and the default group that every project has.
//!
//! A project's default group is made when it is first needed: by a network, a port, a list or a group of the project. The key of
//! `default_security_group` lets one request make it; another that was at it at the same time runs again and finds it.
//!
//! Reproduces the groups of neutron/db/securitygroups_db.py. Sharing is kept in `securitygrouprbacs`.

mod behaviour;
mod default;

pub use behaviour::Groups;
pub use default::{DefaultGroups, ensure, ensure_for_list};

use network::sharing::Sharing;
use network::standard::{CREATED, DESCRIPTION, ID, PROJECT, REVISION, UPDATED};
use policy::Context;
use resource::Condition;
use schema::{Attr, Default, Fault, Key, Kind, Resource, Value, Verbs};

use crate::faults;

pub const STATEFUL: Key<bool> = Key::new("stateful");

/// The name of a project's default group, and of no other.
pub const DEFAULT: &str = "default";

pub(crate) const SHARING: Sharing = Sharing { table: "securitygroups", rbac: "securitygrouprbacs" };

/// Any text but that of the default group, in any case.
fn name(value: Value) -> Result<Value, Fault> {
    let value = Kind::Text { max: 255 }
        .convert(value)
        .map_err(|why| Fault::bad_request(format!("Invalid input for name. Reason: {why}.")))?;
    match value.as_str() {
        Some(text) if text.eq_ignore_ascii_case(DEFAULT) => Err(faults::default_exists()),
        _ => Ok(value),
    }
}

pub static SECURITY_GROUP: Resource = Resource {
    name: "security_group",
    plural: "security_groups",
    path: "security-groups",
    table: "securitygroups",
    key: "id",
    shared: Some("securitygroups"),
    not_found: "SecurityGroupNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("security_group"),
    extension: None,
    attrs: &[
        ID,
        Attr::new("name", Kind::Judged(name)).post().put().default(Default::Text("")),
        Attr::new("stateful", Kind::Bool).post().put().no_sort(),
        PROJECT,
        DESCRIPTION,
        Attr::new("shared", Kind::Bool).computed(),
        Attr::new("security_group_rules", Kind::List { of: &Kind::Dict, unique: false }).computed().no_filter(),
        REVISION,
        CREATED,
        UPDATED,
    ],
};

/// Groups that a project may use: its own and those shared with it.
pub(crate) fn usable_by(project: &str) -> Condition {
    SHARING.scope(&Context { project_id: project.to_owned(), ..Context::default() })
}

/// A filter by a truth that SQL tells.
pub(crate) fn by_flag(name: &str, texts: &[String], holds: &str) -> Result<Condition, Fault> {
    let mut alternatives = Vec::new();
    for text in texts {
        match Kind::Bool.convert(Value::from(text.as_str())) {
            Ok(Value::Bool(true)) => alternatives.push(Condition::new(holds, vec![])),
            Ok(_) => alternatives.push(Condition::new(format!("NOT {holds}"), vec![])),
            Err(why) => return Err(Fault::invalid_input(format!("Invalid input for operation: {name}: {why}."))),
        }
    }
    Ok(Condition::any(alternatives))
}
