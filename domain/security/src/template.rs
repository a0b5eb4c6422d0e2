//! Default security group rules: the rules that new groups begin with, kept by the administrator.
//!
//! Some are for default groups, some for the others, some for both. `PARENT` as their remote group stands for the group itself.
//! The schema comes with the four that every cloud has had: egress of both families for all, ingress from the group itself for
//! default groups.
//!
//! Reproduces neutron/extensions/security_groups_default_rules.py and its part of neutron/db/securitygroups_db.py.

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Attr, Default, Fault, Kind, Place, Resource, Verbs};

use crate::faults;
use crate::rule::check::{self, Likeness};
use crate::rule::{self, ADDRESSES, CIDR, FAMILY, MAX, MIN, PROTO, REMOTE, WAY, WORDS};
use network::standard::ID;

/// A template's remote group that stands for the group which gets the rule.
const PARENT: &str = "PARENT";

/// Templates belong to nobody; who names a project is not refused, as by the reference.
const fn nobody(name: &'static str) -> Attr {
    Attr::new(name, Kind::Text { max: 255 }).post().at(Place::Computed).hidden().no_filter().no_sort()
}

const fn used_in(name: &'static str) -> Attr {
    Attr::new(name, Kind::Bool).required().no_sort()
}

pub static DEFAULT_SECURITY_GROUP_RULE: Resource = Resource {
    name: "default_security_group_rule",
    plural: "default_security_group_rules",
    path: "default-security-group-rules",
    table: "securitygroupdefaultrules",
    key: "id",
    shared: Some("securitygroupdefaultrules"),
    not_found: "DefaultSecurityGroupRuleNotFound",
    owner: None,
    // An update finds nothing that it may set.
    verbs: Verbs::ALL,
    quota: None,
    extension: None,
    attrs: &[
        ID,
        FAMILY,
        WAY,
        PROTO,
        MIN,
        MAX,
        CIDR,
        ADDRESSES,
        REMOTE,
        WORDS.default(Default::Text("")),
        used_in("used_in_default_sg"),
        used_in("used_in_non_default_sg"),
        nobody("tenant_id"),
        nobody("project_id"),
    ],
};

/// Columns that a rule takes from its template.
pub(crate) const COLUMNS: [&str; 8] = [
    "direction",
    "ethertype",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_address_group_id",
    "remote_group_id",
];

/// What a rule takes from its template, by [`COLUMNS`].
pub(crate) struct Template(Vec<store::Value>);

impl Template {
    /// The values for a rule of that group.
    pub(crate) fn values(self, group: &str) -> impl Iterator<Item = store::Value> {
        let group = group.to_owned();
        self.0.into_iter().map(move |value| match value {
            store::Value::Text(text) if text == PARENT => store::Value::Text(group.clone()),
            value => value,
        })
    }
}

/// The templates for default groups, or for the others.
pub(crate) async fn of(op: &mut Op<'_>, default: bool) -> Result<Vec<Template>, Fault> {
    let used = if default { "used_in_default_sg" } else { "used_in_non_default_sg" };
    let sql = format!("SELECT {} FROM securitygroupdefaultrules WHERE {used} = ? ORDER BY id", COLUMNS.join(", "));
    let rows = op.txn.query(&sql, &[true.into()]).await?;
    Ok(rows.iter().map(|row| Template((0..COLUMNS.len()).map(|i| row.value(i)).collect())).collect())
}

pub struct Templates;

#[async_trait]
impl Behaviour for Templates {
    async fn creating_all(&self, op: &mut Op<'_>, objects: &mut [Given]) -> Result<(), Fault> {
        for given in objects.iter_mut() {
            check::settle(&mut given.record)?;
        }
        for used in ["used_in_default_sg", "used_in_non_default_sg"] {
            let is_used = |record: &schema::Record| record.value(used).and_then(schema::Value::as_bool) == Some(true);
            let mut new = std::collections::HashSet::new();
            for given in objects.iter().filter(|given| is_used(&given.record)) {
                if !new.insert(Likeness::of(&given.record)) {
                    return Err(faults::doubled_template());
                }
            }
            if new.is_empty() {
                continue;
            }
            let condition = Condition::new(format!("securitygroupdefaultrules.{used} = ?"), vec![true.into()]);
            for old in op.find("default_security_group_rule", condition).await? {
                if new.contains(&Likeness::of(&old)) {
                    return Err(faults::template_exists(old.id()));
                }
            }
        }
        Ok(())
    }

    fn filter(&self, _context: &Context, name: &str, texts: &[String]) -> Option<Result<Condition, Fault>> {
        rule::filter("securitygroupdefaultrules", name, texts)
    }
}
