//! The security groups of ports.
//!
//! A filtered port whose request names none gets the default group of its project. The cloud's own ports (`network:…`) and those
//! without port security have none. Groups of one port are all stateful or all stateless.
//!
//! Reproduces the port's part of neutron/db/securitygroups_db.py and the checks of neutron/plugins/ml2/plugin.py.

use std::collections::BTreeSet;

use async_trait::async_trait;
use network::port::{DEVICE_OWNER, PORT_SECURITY};
use resource::{Behaviour, Condition, Given, Op};
use schema::{Attr, Default, Extend, Fault, Key, Kind, Record, Value};

use crate::{faults, group};

pub const GROUPS: Key<&[Value]> = Key::new("security_groups");

pub static ON_PORT: Extend = Extend {
    to: "port",
    extension: None,
    attrs: &[Attr::new("security_groups", Kind::List { of: &Kind::Uuid, unique: true })
        .nullable()
        .post()
        .put()
        .default(Default::Unset)
        .child("securitygroupportbindings", "port_id", &[("", "security_group_id")], "security_group_id", true)],
};

/// The groups of a port, or of a request; null is none.
fn of(record: &Record) -> BTreeSet<String> {
    let list = record.get(GROUPS).unwrap_or_default();
    list.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

fn is_trusted(record: &Record) -> bool {
    record.get(DEVICE_OWNER).is_some_and(|owner| owner.starts_with("network:"))
}

/// Fails unless all of them are there for whom `usable` says, and of one kind.
async fn check(op: &mut Op<'_>, ids: &BTreeSet<String>, usable: Option<Condition>) -> Result<(), Fault> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut condition = Condition::one_of("securitygroups.id", ids.iter().map(|id| id.as_str().into()).collect());
    if let Some(usable) = usable {
        condition = Condition::all(vec![condition, usable]);
    }
    let sql = format!("SELECT id, stateful FROM securitygroups WHERE {}", condition.sql);
    let mut missing = ids.clone();
    let (mut stateful, mut stateless) = (false, false);
    for row in op.txn.query(&sql, &condition.args).await? {
        missing.remove(&row.text(0));
        if row.bool(1) { stateful = true } else { stateless = true }
    }
    if !missing.is_empty() {
        return Err(faults::group_not_found(&missing.into_iter().collect::<Vec<_>>().join(", ")));
    }
    if stateful && stateless { Err(faults::mixed()) } else { Ok(()) }
}

pub struct PortGroups;

#[async_trait]
impl Behaviour for PortGroups {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let record = &mut given.record;
        // The cloud's own ports are never filtered.
        let filtered = record.get(PORT_SECURITY) != Some(false) && !is_trusted(record);
        let mut groups = of(record);
        if record.value("security_groups").is_none() && filtered {
            let project = record.project().to_owned();
            groups.extend(group::ensure(op, &project).await?);
        } else if !groups.is_empty() {
            if !filtered {
                return Err(faults::groups_need_security());
            }
            let usable = (!op.context.is_admin).then(|| group::usable_by(given.record.project()));
            check(op, &groups, usable).await?;
        }
        given.record.set("security_groups", groups.into_iter().collect::<Vec<_>>());
        Ok(())
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, given: &Given) -> Result<(), Fault> {
        let (before, after) = (of(old), of(new));
        let named = given.named("security_groups");
        if named {
            // In the order in which they are read, so that another order is no change.
            new.set("security_groups", after.iter().cloned().collect::<Vec<_>>());
        }
        if new.get(PORT_SECURITY) == Some(false) && !after.is_empty() {
            return Err(if named {
                faults::groups_need_security()
            } else {
                faults::security_needed_by_groups(old.id())
            });
        }
        if before == after {
            return Ok(());
        }
        if is_trusted(new) && !after.is_empty() {
            return Err(faults::groups_need_security());
        }
        let usable = op.system.entity("security_group")?.scope(op.context);
        check(op, &after, usable).await
    }
}
