//! Subnet pools: prefixes from which subnets are cut, so that projects need not agree on addresses.
//!
//! A prefix is taken by a compare-and-swap on the pool's `hash` (`pool`), so that no two subnets get the same one; where it lies is
//! computed (`prefixes`, pure). Reproduces the pools of neutron/db/db_base_plugin_v2.py and neutron/ipam/subnet_alloc.py.

mod actions;
mod behaviour;
mod bounds;
mod faults;
mod pool;
mod prefixes;

pub use actions::PoolActions;
pub use behaviour::SubnetPools;
pub use pool::{Pool, default_of};

use schema::{Attr, Default, Extension, Key, Kind, Resource, Value, Verbs};

use crate::network::extension;
use crate::standard::{CREATED, DESCRIPTION, ID, PROJECT, REVISION, UPDATED};

pub const PREFIXES: Key<&[Value]> = Key::new("prefixes");
pub const ADDRESS_SCOPE_ID: Key<&str> = Key::new("address_scope_id");
pub const IS_DEFAULT: Key<bool> = Key::new("is_default");

const LENGTH: Kind = Kind::Int { min: 0, max: i64::MAX };

/// A name that says something.
fn pool_name(value: Value) -> Result<Value, String> {
    Kind::NonBlank { max: 255 }.convert(value).and_then(|value| Kind::Name { max: 255 }.convert(value))
}

pub static SUBNETPOOL: Resource = Resource {
    name: "subnetpool",
    plural: "subnetpools",
    path: "subnetpools",
    table: "subnetpools",
    key: "id",
    shared: Some("subnetpools"),
    not_found: "SubnetPoolNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("subnetpool"),
    extension: None,
    attrs: &[
        ID,
        Attr::new("name", Kind::Custom(pool_name)).required().put(),
        PROJECT,
        Attr::new("default_prefixlen", LENGTH).post().put(),
        Attr::new("min_prefixlen", LENGTH).post().put(),
        Attr::new("max_prefixlen", LENGTH).post().put(),
        Attr::new("is_default", Kind::Bool).post().put().default(Default::Bool(false)).enforce(),
        Attr::new("shared", Kind::Bool).post().default(Default::Bool(false)).computed().enforce(),
        Attr::new("prefixes", Kind::List { of: &Kind::Cidr, unique: true }).required().put().no_filter().child(
            "subnetpoolprefixes",
            "subnetpool_id",
            &[("", "cidr")],
            "",
            true,
        ),
        Attr::new("ip_version", crate::subnet::IP_VERSIONS),
        Attr::new("default_quota", Kind::Int { min: 0, max: 2147483647 }).post().put(),
        Attr::new("address_scope_id", Kind::Uuid).nullable().post().put(),
        DESCRIPTION,
        // The reference counts from 0 here.
        REVISION.default(Default::Int(0)),
        CREATED,
        UPDATED,
    ],
};

extension!(
    ONBOARD,
    "subnet_onboard",
    "Subnet Onboard",
    "Subnets that were made without a pool can be moved into one",
    "2018-12-18T09:00:00-00:00"
);
extension!(
    PREFIX_OPERATIONS,
    "subnetpool-prefix-ops",
    "Subnet Pool Prefix Operations",
    "Prefixes can be added to a pool and removed from it",
    "2019-02-08T10:00:00-00:00"
);

/// Announced with the resource.
pub static EXTENSIONS: &[&Extension] = &[&ONBOARD, &PREFIX_OPERATIONS];

#[cfg(test)]
mod tests;
