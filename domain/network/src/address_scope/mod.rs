//! Address scopes: subnet pools whose prefixes do not overlap, so that routers may pass their addresses on unchanged.
//!
//! Reproduces neutron/db/address_scope_db.py. Sharing is kept in `addressscoperbacs`, as for networks.

mod behaviour;

pub use behaviour::{AddressScopes, NetworkScopes};

use resource::{Condition, Op};
use schema::{Attr, Default, Extend, Extension, Fault, Kind, Resource, Verbs};

use crate::network::extension;
use crate::standard::{ID, NAME, PROJECT};

pub static ADDRESS_SCOPE: Resource = Resource {
    name: "address_scope",
    plural: "address_scopes",
    path: "address-scopes",
    table: "address_scopes",
    key: "id",
    shared: None,
    not_found: "AddressScopeNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: None,
    extension: Some(&ADDRESS_SCOPE_EXT),
    attrs: &[
        ID,
        PROJECT,
        NAME,
        Attr::new("shared", Kind::Bool).post().put().default(Default::Bool(false)).computed().enforce(),
        Attr::new("ip_version", crate::subnet::IP_VERSIONS).required(),
    ],
};

extension!(
    ADDRESS_SCOPE_EXT,
    "address-scope",
    "Address scope",
    "Groups of subnet pools with distinct addresses",
    "2015-07-26T10:00:00-00:00"
);

/// The scopes of a network's subnets, by family.
pub static ON_NETWORK: Extend = Extend {
    to: "network",
    extension: None,
    attrs: &[
        Attr::new("ipv4_address_scope", Kind::Uuid).computed().no_filter(),
        Attr::new("ipv6_address_scope", Kind::Uuid).computed().no_filter(),
    ],
};

/// What a pool needs to know of its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    pub ip_version: i64,
    pub project_id: String,
}

/// The scope of that id if the context may use it, or `AddressScopeNotFound`.
pub async fn visible(op: &mut Op<'_>, id: &str) -> Result<Scope, Fault> {
    let mut condition = Condition::new("address_scopes.id = ?", vec![id.into()]);
    if !op.context.is_admin {
        condition = Condition::all(vec![condition, behaviour::scope(op.context)]);
    }
    let sql = format!("SELECT ip_version, project_id FROM address_scopes WHERE {}", condition.sql);
    match op.txn.query_one(&sql, &condition.args).await? {
        Some(row) => Ok(Scope { ip_version: row.int(0), project_id: row.text(1) }),
        None => Err(Fault::not_found("AddressScopeNotFound", format!("Address scope {id} could not be found."))),
    }
}

/// The turn of those who change which pools the scope has.
pub(crate) fn turn(id: &str) -> String {
    format!("address_scope.{id}")
}

/// Whether all projects may use the scope.
pub async fn is_shared(op: &mut Op<'_>, id: &str) -> Result<bool, Fault> {
    let sql =
        "SELECT 1 FROM addressscoperbacs WHERE object_id = ? AND action = 'access_as_shared' AND target_project = '*'";
    Ok(op.txn.query_one(sql, &[id.into()]).await?.is_some())
}

#[cfg(test)]
mod tests;
