//! Rules of security groups: what may come in or go out, beside what no rule allows.
//!
//! No two rules of a group say the same ([`check::Likeness`]). That holds also when requests come at the same time: whoever adds a
//! rule raises the revision of its group, and only if it still is the one that was read with the group's rules.
//!
//! Reproduces the rules of neutron/db/securitygroups_db.py.

mod behaviour;
pub mod check;

pub use behaviour::Rules;

use resource::Condition;
use schema::{Attr, Default, Fault, Key, Kind, Resource, Value, Verbs};

use crate::values;
use network::standard::{CREATED, DESCRIPTION, ID, PROJECT, REVISION, UPDATED};

pub const GROUP: Key<&str> = Key::new("security_group_id");
pub const DIRECTION: Key<&str> = Key::new("direction");
pub const ETHERTYPE: Key<&str> = Key::new("ethertype");
pub const PROTOCOL: Key<&str> = Key::new("protocol");
pub const PORT_MIN: Key<i64> = Key::new("port_range_min");
pub const PORT_MAX: Key<i64> = Key::new("port_range_max");
pub const PREFIX: Key<&str> = Key::new("remote_ip_prefix");
pub const REMOTE_GROUP: Key<&str> = Key::new("remote_group_id");
pub const REMOTE_ADDRESSES: Key<&str> = Key::new("remote_address_group_id");

/// What policy rules look at on the group.
pub const GROUP_PROJECT: &str = "security_group:project_id";

/// An id that need not be one: what is none belongs to no object.
const REFERENCE: Kind = Kind::Text { max: 36 };

const fn optional(name: &'static str, kind: Kind) -> Attr {
    Attr::new(name, kind).nullable().post().default(Default::Null)
}

/// Attributes that templates have too.
pub(crate) const FAMILY: Attr =
    Attr::new("ethertype", Kind::Judged(values::ethertype)).post().default(Default::Text("IPv4"));
pub(crate) const WAY: Attr = Attr::new("direction", Kind::OneOf(&["ingress", "egress"])).required();
pub(crate) const PROTO: Attr = optional("protocol", Kind::Judged(values::protocol));
pub(crate) const MIN: Attr = optional("port_range_min", Kind::Judged(values::port));
pub(crate) const MAX: Attr = optional("port_range_max", Kind::Judged(values::port));
pub(crate) const CIDR: Attr = optional("remote_ip_prefix", Kind::Judged(values::prefix));
pub(crate) const ADDRESSES: Attr = optional("remote_address_group_id", REFERENCE);
pub(crate) const REMOTE: Attr = optional("remote_group_id", REFERENCE);
/// Rules do not change.
pub(crate) const WORDS: Attr = Attr { put: false, ..DESCRIPTION };

pub static SECURITY_GROUP_RULE: Resource = Resource {
    name: "security_group_rule",
    plural: "security_group_rules",
    path: "security-group-rules",
    table: "securitygrouprules",
    key: "id",
    shared: Some("securitygrouprules"),
    not_found: "SecurityGroupRuleNotFound",
    owner: Some("project_id"),
    // An update finds nothing that it may set.
    verbs: Verbs::ALL,
    quota: Some("security_group_rule"),
    extension: None,
    attrs: &[
        ID,
        PROJECT,
        Attr::new("security_group_id", REFERENCE).required(),
        FAMILY,
        WAY,
        PROTO,
        MIN,
        MAX,
        CIDR,
        ADDRESSES,
        Attr::new("normalized_cidr", Kind::Cidr).nullable().computed(),
        REMOTE,
        Attr::new("belongs_to_default_sg", Kind::Bool).computed(),
        WORDS,
        // The reference counts from 0 here.
        REVISION.default(Default::Int(0)),
        CREATED,
        UPDATED,
        Attr::new(GROUP_PROJECT, Kind::Text { max: 255 }).computed().hidden().no_filter(),
    ],
};

/// Filters by values that are written in several ways.
pub(crate) fn filter(table: &str, name: &str, texts: &[String]) -> Option<Result<Condition, Fault>> {
    let convert: fn(Value) -> Result<Value, Fault> = match name {
        "protocol" => values::protocol,
        "port_range_min" | "port_range_max" => values::port,
        "ethertype" => values::ethertype,
        "remote_ip_prefix" => values::prefix,
        _ => return None,
    };
    let column = format!("{table}.\"{name}\"");
    let mut alternatives = Vec::new();
    for text in texts {
        alternatives.push(match convert(Value::from(text.as_str())) {
            Ok(Value::Null) => Condition::new(format!("{column} IS NULL"), vec![]),
            Ok(Value::Number(number)) => {
                Condition::new(format!("{column} = ?"), vec![number.as_i64().unwrap_or_default().into()])
            }
            Ok(value) => Condition::new(format!("{column} = ?"), vec![value.as_str().unwrap_or_default().into()]),
            Err(fault) => return Some(Err(fault)),
        });
    }
    Some(Ok(Condition::any(alternatives)))
}
