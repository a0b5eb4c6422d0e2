//! Versioned objects: what agents pull and hear of ports, networks, subnets, security groups.
//!
//! [`load`] makes objects of what the API knows, in the newest version; [`pin`] makes one of an older version out of it.
//! [`Plugin`] answers agents that ask; [`Pushes`] notes what changed and [`Pusher`] tells those agents that said which versions
//! they understand ([`Versions`]), after the commit and many at once.
//!
//! Reproduces neutron/plugins/ml2/ovo_rpc.py, neutron/api/rpc/handlers/resources_rpc.py, neutron/api/rpc/callbacks/version_manager.py
//! and neutron/objects/*.py.

mod build;
mod plugin;
mod push;
mod rows;
#[cfg(test)]
mod tests;
mod versions;

pub use plugin::Plugin;
pub use push::{Pusher, Pushes};
pub use versions::Versions;

use resource::{Condition, Op};
use rpc::objects::Object;
use schema::Fault;
use serde_json::{Map, Value};

/// Types that hold something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    Network,
    Subnet,
    Port,
    SecurityGroup,
    SecurityGroupRule,
    AddressGroup,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Network, Kind::Subnet, Kind::Port, Kind::SecurityGroup, Kind::SecurityGroupRule, Kind::AddressGroup];

    /// Its name on the wire.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Network => "Network",
            Kind::Subnet => "Subnet",
            Kind::Port => "Port",
            Kind::SecurityGroup => "SecurityGroup",
            Kind::SecurityGroupRule => "SecurityGroupRule",
            Kind::AddressGroup => "AddressGroup",
        }
    }

    #[must_use]
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The newest version, which [`load`] gives.
    #[must_use]
    pub fn version(self) -> &'static str {
        let known = rpc::resources::VERSIONS.iter().find(|(name, _)| *name == self.name());
        known.map_or("1.0", |(_, version)| version)
    }

    fn resource(self) -> &'static str {
        match self {
            Kind::Network => "network",
            Kind::Subnet => "subnet",
            Kind::Port => "port",
            Kind::SecurityGroup => "security_group",
            Kind::SecurityGroupRule => "security_group_rule",
            Kind::AddressGroup => "address_group",
        }
    }

    /// Its table, and the fields by which it can be asked for with their columns.
    fn columns(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Kind::Network => ("networks", &["id", "project_id", "name"]),
            Kind::Subnet => ("subnets", &["id", "project_id", "network_id", "name"]),
            Kind::Port => (
                "ports",
                &["id", "project_id", "network_id", "device_id", "device_owner", "mac_address", "status", "name"],
            ),
            Kind::SecurityGroup => ("securitygroups", &["id", "project_id", "name"]),
            Kind::SecurityGroupRule => (
                "securitygrouprules",
                &["id", "project_id", "security_group_id", "remote_group_id", "remote_address_group_id"],
            ),
            Kind::AddressGroup => ("address_groups", &["id", "project_id", "name"]),
        }
    }

    /// The condition of a filter as agents write it: fields with a value or a list of accepted values. The error names a
    /// field by which these objects are not found.
    pub fn condition(self, filters: &Map<String, Value>) -> Result<Condition, String> {
        let (table, columns) = self.columns();
        let mut conditions = Vec::with_capacity(filters.len());
        for (field, wanted) in filters {
            let wanted: Vec<store::Value> = match wanted {
                Value::Array(list) => list.iter().map(text).collect(),
                one => vec![text(one)],
            };
            conditions.push(if columns.contains(&field.as_str()) {
                Condition::one_of(&format!("{table}.{field}"), wanted)
            } else if self == Kind::Port && field == "security_group_ids" {
                let of = Condition::one_of("security_group_id", wanted);
                let sql = format!("ports.id IN (SELECT port_id FROM securitygroupportbindings WHERE {})", of.sql);
                Condition::new(sql, of.args)
            } else {
                return Err(field.clone());
            });
        }
        Ok(Condition::all(conditions))
    }
}

fn text(value: &Value) -> store::Value {
    match value {
        Value::String(text) => text.as_str().into(),
        Value::Null => store::Value::Null,
        other => other.to_string().into(),
    }
}

/// The objects that match, in the newest version. The number of statements does not grow with them.
pub async fn load(op: &mut Op<'_>, kind: Kind, condition: Condition) -> Result<Vec<Object>, Fault> {
    let found = op.find(kind.resource(), condition).await?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let views: Vec<Value> = found.iter().map(crate::view::to_json).collect();
    build::objects(op, kind, &views).await
}

/// Objects by id.
pub async fn by_ids(op: &mut Op<'_>, kind: Kind, ids: &[String]) -> Result<Vec<Object>, Fault> {
    let (table, _) = kind.columns();
    let ids = ids.iter().map(|id| id.as_str().into()).collect();
    load(op, kind, Condition::one_of(&format!("{table}.id"), ids)).await
}

fn minor(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The object in an older version: without the fields that it did not have yet. `None` when that is no older version of it.
#[must_use]
pub fn pin(mut object: Object, version: &str) -> Option<Object> {
    if object.version == version {
        return Some(object);
    }
    let (wanted, own) = (minor(version)?, minor(&object.version)?);
    if wanted.0 != own.0 || wanted.1 > own.1 {
        return None;
    }
    // The first version of a field, by type.
    const FIELDS: &[(&str, u32, &[&str])] = &[
        ("Port", 5, &["qos_network_policy_id"]),
        ("Port", 6, &["numa_affinity_policy"]),
        ("Port", 7, &["device_profile"]),
        ("Port", 8, &["hints"]),
        ("Port", 9, &["hardware_offload_type"]),
        ("Port", 10, &["trusted"]),
        ("Port", 11, &["pvlan_type", "pvlan_community"]),
        ("Network", 2, &["qinq"]),
        ("Network", 3, &["pvlan"]),
        ("Subnet", 1, &["dns_publish_fixed_ip"]),
        ("Subnet", 2, &["external"]),
        ("SecurityGroup", 2, &["stateful"]),
        ("SecurityGroupRule", 1, &["remote_address_group_id"]),
        ("SecurityGroupRule", 2, &["normalized_cidr"]),
        ("SecurityGroupRule", 3, &["belongs_to_default_sg"]),
        ("AddressGroup", 2, &["shared"]),
    ];
    for (_, _, fields) in FIELDS.iter().filter(|(name, since, _)| *name == object.name && *since > wanted.1) {
        for field in *fields {
            object.data.remove(*field);
        }
    }
    if object.name == "SecurityGroup" {
        // Rules went through versions of their own meanwhile.
        let of_rules = match wanted.1 {
            0..3 => "1.0",
            3 => "1.1",
            4..6 => "1.2",
            _ => "1.3",
        };
        if let Some(Value::Array(rules)) = object.data.get_mut("rules") {
            for rule in rules.iter_mut() {
                let read = serde_json::from_value::<Object>(rule.take()).ok().and_then(|rule| pin(rule, of_rules));
                *rule = read.and_then(|rule| serde_json::to_value(rule).ok()).unwrap_or(Value::Null);
            }
            rules.retain(|rule| !rule.is_null());
        }
    }
    version.clone_into(&mut object.version);
    Some(object)
}
