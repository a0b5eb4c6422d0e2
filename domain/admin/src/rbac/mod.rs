//! RBAC policies: an object that one project, or every project, may use besides its owner.
//!
//! The policies of each type of object are a table of their own; the API shows them as one collection. A policy stays as long as
//! whoever it is for uses the object and has no other way to it.
//!
//! Reproduces neutron/db/rbac_db_mixin.py, neutron/objects/rbac_db.py, and for networks the checks of
//! neutron/db/db_base_plugin_v2.py and neutron/db/external_net_db.py.

mod behaviour;
mod faults;
mod shareable;

pub use behaviour::RbacPolicies;

use schema::{Attr, Extension, Fault, Key, Kind, Resource, Value, Verbs};

pub(crate) const OBJECT_TYPE: Key<&str> = Key::new("object_type");
pub(crate) const OBJECT: Key<&str> = Key::new("object_id");
pub(crate) const TARGET: Key<&str> = Key::new("target_tenant");
pub(crate) const ACTION: Key<&str> = Key::new("action");

/// Every project.
const EVERYBODY: &str = "*";

/// A type that can be shared, in any case.
fn object_type(value: Value) -> Result<Value, Fault> {
    let name = value.as_str().unwrap_or_default().trim().to_ascii_lowercase();
    match shareable::of(&name) {
        Some(_) => Ok(Value::from(name)),
        None => Err(faults::object_type(&value)),
    }
}

/// A project's id, or `*`.
fn target(value: Value) -> Result<Value, Fault> {
    match value.as_str() {
        Some(EVERYBODY) => Ok(value),
        Some(_) if Kind::Uuid.convert(value.clone()).is_ok() => Ok(value),
        _ => Err(faults::target(&value)),
    }
}

pub static RBAC_POLICY: Resource = Resource {
    name: "rbac_policy",
    plural: "rbac_policies",
    path: "rbac-policies",
    // Of several tables; see `shareable`.
    table: "rbac_policies",
    key: "id",
    shared: None,
    not_found: "RbacPolicyNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("rbac_policy"),
    extension: None,
    attrs: &[
        Attr::new("id", Kind::Uuid).no_sort(),
        Attr::new("project_id", Kind::Text { max: 255 }).post().no_sort(),
        Attr::new("action", Kind::Text { max: 255 }).required().enforce().no_sort(),
        Attr::new("object_id", Kind::Uuid).required().enforce().no_sort(),
        Attr::new("target_tenant", Kind::Judged(target)).own("target_project").required().put().enforce().no_sort(),
        Attr::new("object_type", Kind::Judged(object_type)).required().computed().enforce(),
    ],
};

macro_rules! extensions {
    ($($alias:literal, $title:literal, $description:literal, $updated:literal;)+) => {
        &[$(&Extension { alias: $alias, name: $title, description: $description, updated: $updated }),+]
    };
}

/// Announced by the composition root.
pub static EXTENSIONS: &[&Extension] = extensions![
    "rbac-policies", "RBAC Policies", "Objects that single projects share", "2015-06-17T12:15:12-00:00";
    "rbac-security-groups", "Add security_group type to network RBAC", "Shared security groups",
        "2019-02-14T00:00:00-00:00";
    "rbac-address-group", "Add address_group type to RBAC", "Shared address groups", "2021-01-20T00:00:00-00:00";
    "rbac-address-scope", "Add address_scope type to RBAC", "Shared address scopes", "2020-02-12T00:00:00-00:00";
    "rbac-subnetpool", "Add subnetpool type to RBAC", "Shared subnet pools", "2020-02-05T00:00:00-00:00";
];
