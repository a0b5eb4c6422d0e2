//! Networks and their segments.
//!
//! A network has one or more segments, taken from the type drivers when it is made and given back when it goes. It is
//! visible to its project, and through `networkrbacs` to others (`access_as_shared`, `access_as_external`).
//!
//! Reproduces neutron/db/db_base_plugin_v2.py, neutron/plugins/ml2/plugin.py (networks), neutron/db/external_net_db.py.

mod behaviour;
mod faults;
mod load;
pub mod segment_resource;
pub mod segments;

pub use behaviour::Networks;
pub use load::parent_target;

use schema::{Attr, Default, Extension, Fault, Field, Key, Kind, Resource, Value, Verbs};

use crate::ml2::{NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID};
use crate::standard::{ADMIN_STATE, CREATED, DESCRIPTION, ID, NAME, PROJECT, REVISION, UPDATED};

pub const MTU: Key<i64> = Key::new("mtu");
pub const SHARED: Key<bool> = Key::new("shared");
pub const EXTERNAL: Key<bool> = Key::new("router:external");
pub const IS_DEFAULT: Key<bool> = Key::new("is_default");

/// A fully qualified DNS domain: labels of letters, digits and hyphens and a final dot, at most 255 characters; empty
/// for none.
pub fn dns_domain(value: Value) -> Result<Value, Fault> {
    let Value::String(text) = value else {
        let message = format!("Invalid input for operation: dns_domain: {value} is not a string.");
        return Err(Fault::invalid_input(message));
    };
    let lower = text.to_ascii_lowercase();
    if lower.is_empty() {
        return Ok(Value::from(""));
    }
    let why = if lower.len() > 255 {
        "exceeds the maximum length of 255 characters of a domain name"
    } else {
        match lower.strip_suffix('.') {
            None => "is not a FQDN: end it with a dot",
            Some(name) if !name.split('.').all(is_label) => {
                "is not a domain name: labels have letters, digits and inner hyphens, 1 to 63 of them"
            }
            Some(_) => return Ok(Value::from(lower)),
        }
    };
    Err(Fault::bad_request(format!("Invalid input for dns_domain. Reason: '{lower}' {why}.")))
}

/// One label of a host or domain name (RFC 1123, 2.1).
pub fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// The type driver knows the range.
const NUMBER: Kind = Kind::Int { min: i64::MIN, max: i64::MAX };

const SEGMENT: &[Field] = &[
    Field::new(NETWORK_TYPE, Kind::Text { max: 32 }).nullable(),
    Field::new(PHYSICAL_NETWORK, Kind::Text { max: 64 }).nullable(),
    Field::new(SEGMENTATION_ID, NUMBER).nullable(),
];

const fn provider(name: &'static str, kind: Kind) -> Attr {
    Attr::new(name, kind).post().put().computed().enforce().enforce_get()
}

pub static NETWORK: Resource = Resource {
    name: "network",
    plural: "networks",
    path: "networks",
    table: "networks",
    key: "id",
    shared: Some("networks"),
    not_found: "NetworkNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("network"),
    extension: None,
    attrs: &[
        ID,
        NAME,
        PROJECT,
        ADMIN_STATE,
        Attr::new("mtu", Kind::Int { min: 0, max: 2147483647 }).post().put().default(Default::Int(0)).enforce(),
        Attr::new("status", Kind::Text { max: 16 }),
        Attr::new("subnets", Kind::List { of: &Kind::Uuid, unique: false }).no_filter().child(
            "subnets",
            "network_id",
            &[("", "id")],
            "id",
            false,
        ),
        Attr::new("shared", Kind::Bool).post().put().default(Default::Bool(false)).computed().enforce(),
        Attr::new("router:external", Kind::Bool).post().put().default(Default::Bool(false)).computed().enforce(),
        Attr::new("is_default", Kind::Bool)
            .post()
            .put()
            .default(Default::Bool(false))
            .side("externalnetworks", "network_id", "is_default", Default::Bool(false))
            .no_sort()
            .enforce(),
        provider(NETWORK_TYPE, Kind::Text { max: 32 }),
        provider(PHYSICAL_NETWORK, Kind::Text { max: 64 }),
        provider(SEGMENTATION_ID, NUMBER),
        Attr::new("segments", Kind::List { of: &Kind::Object(SEGMENT), unique: false })
            .post()
            .put()
            .computed()
            .no_filter()
            .enforce()
            .enforce_get(),
        Attr::new("l2_adjacency", Kind::Bool).computed().no_filter(),
        DESCRIPTION,
        REVISION,
        CREATED,
        UPDATED,
    ],
};

macro_rules! extension {
    ($name:ident, $alias:literal, $title:literal, $description:literal, $updated:literal) => {
        pub static $name: Extension =
            Extension { alias: $alias, name: $title, description: $description, updated: $updated };
    };
}
#[allow(unused_imports, reason = "rooms of this crate announce extensions with it")]
pub(crate) use extension;

extension!(
    PROVIDER,
    "provider",
    "Provider Network",
    "The physical realisation of a network",
    "2012-09-07T10:00:00-00:00"
);
extension!(
    MULTI_PROVIDER,
    "multi-provider",
    "Multi Provider Network",
    "Networks that are realised by several segments",
    "2013-06-27T10:00:00-00:00"
);
extension!(
    EXTERNAL_NET,
    "external-net",
    "Neutron external network",
    "Networks that lead out of the cloud",
    "2013-01-14T10:00:00-00:00"
);
extension!(
    L2_ADJACENCY,
    "l2_adjacency",
    "L2 Adjacency",
    "Whether all ports of a network share one link layer",
    "2016-04-12T16:00:00-00:00"
);
extension!(NET_MTU, "net-mtu", "Network MTU", "The MTU of a network", "2015-03-25T10:00:00-00:00");
extension!(
    NET_MTU_WRITABLE,
    "net-mtu-writable",
    "Network MTU (writable)",
    "The MTU of a network may be set",
    "2017-07-12T00:00:00-00:00"
);

/// Announced with the resource.
pub static EXTENSIONS: &[&Extension] =
    &[&PROVIDER, &MULTI_PROVIDER, &EXTERNAL_NET, &NET_MTU, &NET_MTU_WRITABLE, &L2_ADJACENCY];
