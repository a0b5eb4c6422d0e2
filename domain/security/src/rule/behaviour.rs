use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op, Query, System};
use schema::{Fault, Record, Value};

use super::check::{self, Likeness};
use super::{GROUP, GROUP_PROJECT, PREFIX, REMOTE_ADDRESSES, REMOTE_GROUP};
use crate::{address_group, faults, group, values};

pub struct Rules;

/// Of the group that gets rules.
struct Group {
    shared_id: i64,
    revision: i64,
}

/// The groups of these ids that the project may use.
async fn groups(op: &mut Op<'_>, ids: Vec<store::Value>, project: &str) -> Result<HashMap<String, Group>, Fault> {
    let mut condition = Condition::one_of("securitygroups.id", ids);
    if !op.context.is_admin {
        condition = Condition::all(vec![condition, group::usable_by(project)]);
    }
    let sql = format!(
        "SELECT securitygroups.id, standardattributes.id, standardattributes.revision_number FROM securitygroups \
         JOIN standardattributes ON standardattributes.id = securitygroups.standard_attr_id WHERE {}",
        condition.sql
    );
    let rows = op.txn.query(&sql, &condition.args).await?;
    Ok(rows.iter().map(|row| (row.text(0), Group { shared_id: row.int(1), revision: row.int(2) })).collect())
}

fn texts(objects: &[Given], key: schema::Key<&'static str>) -> Vec<store::Value> {
    let mut found: Vec<&str> =
        objects.iter().filter_map(|given| given.record.get(key)).filter(|id| !id.is_empty()).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(store::Value::from).collect()
}

/// Those of one request are of one group and one project.
fn together(objects: &[Given]) -> Result<(), Fault> {
    let Some(first) = objects.first() else { return Ok(()) };
    if objects.iter().any(|given| given.record.get(GROUP) != first.record.get(GROUP)) {
        return Err(faults::several_groups());
    }
    if objects.iter().any(|given| given.record.project() != first.record.project()) {
        return Err(faults::several_projects());
    }
    Ok(())
}

#[async_trait]
impl Behaviour for Rules {
    async fn listing(&self, system: &System, context: &Context, query: &Query) -> Result<(), Fault> {
        group::ensure_for_list(system, context, query).await
    }

    async fn creating_all(&self, op: &mut Op<'_>, objects: &mut [Given]) -> Result<(), Fault> {
        together(objects)?;
        for given in objects.iter_mut() {
            check::settle(&mut given.record)?;
        }
        let Some(first) = objects.first() else { return Ok(()) };
        let project = first.record.project().to_owned();
        let id = first.record.get::<&str>(GROUP).unwrap_or_default().to_owned();
        let remotes = texts(objects, REMOTE_GROUP);
        let wanted = remotes.iter().cloned().chain([id.as_str().into()]).collect();
        let found = groups(op, wanted, &project).await?;
        for remote in objects.iter().filter_map(|given| given.record.get(REMOTE_GROUP)).filter(|id| !id.is_empty()) {
            if !found.contains_key(remote) {
                return Err(faults::group_not_found(remote));
            }
        }
        address_group::check_usable(op, texts(objects, REMOTE_ADDRESSES), &project).await?;
        let Some(group) = found.get(&id) else { return Err(faults::group_not_found(&id)) };
        let mut new = HashSet::new();
        for given in objects.iter() {
            if !new.insert(Likeness::of(&given.record)) {
                return Err(faults::doubled_rule());
            }
        }
        let condition = Condition::new("securitygrouprules.security_group_id = ?", vec![id.as_str().into()]);
        for old in op.find("security_group_rule", condition).await? {
            if new.contains(&Likeness::of(&old)) {
                return Err(faults::rule_exists(old.id()));
            }
        }
        // Whoever added a rule since we looked has raised it: look again.
        if !op.touch_unchanged(group.shared_id, group.revision).await? {
            return Err(Fault::retry(format!("the rules of group {id} were changed by another request")));
        }
        Ok(())
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let sql = "SELECT standard_attr_id FROM securitygroups WHERE id = ?";
        match op.txn.query_one(sql, &[record.text("security_group_id").into()]).await? {
            Some(row) => op.touch(row.int(0)).await,
            None => Ok(()),
        }
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        for record in records.iter_mut() {
            let cidr = record.get(PREFIX).and_then(values::address_and_length).map(|net| net.trunc().to_string());
            record.set("normalized_cidr", cidr);
        }
        let mut ids: Vec<&str> = records.iter().map(|record| record.text("security_group_id")).collect();
        ids.sort_unstable();
        ids.dedup();
        let condition = Condition::one_of("securitygroups.id", ids.into_iter().map(store::Value::from).collect());
        let sql = format!(
            "SELECT securitygroups.id, securitygroups.project_id, default_security_group.project_id FROM securitygroups \
             LEFT JOIN default_security_group ON default_security_group.security_group_id = securitygroups.id WHERE {}",
            condition.sql
        );
        let mut groups: HashMap<String, (String, bool)> = HashMap::new();
        for row in op.txn.query(&sql, &condition.args).await? {
            groups.insert(row.text(0), (row.opt_text(1).unwrap_or_default(), row.opt_text(2).is_some()));
        }
        for record in records {
            let Some((project, is_default)) = groups.get(record.text("security_group_id")) else { continue };
            record.set(GROUP_PROJECT, project.as_str());
            record.set("belongs_to_default_sg", *is_default);
        }
        Ok(())
    }

    /// Own rules, and all rules of own groups.
    fn scope(&self, context: &Context) -> Option<Condition> {
        let project: store::Value = context.project_id.as_str().into();
        let of_own_group = "EXISTS (SELECT 1 FROM securitygroups WHERE securitygroups.id = securitygrouprules.security_group_id \
             AND securitygroups.project_id = ?)";
        Some(Condition::any(vec![
            Condition::new("securitygrouprules.project_id = ?", vec![project.clone()]),
            Condition::new(of_own_group, vec![project]),
        ]))
    }

    fn filter(&self, _context: &Context, name: &str, texts: &[String]) -> Option<Result<Condition, Fault>> {
        match name {
            "belongs_to_default_sg" => Some(group::by_flag(
                name,
                texts,
                "EXISTS (SELECT 1 FROM default_security_group \
                 WHERE default_security_group.security_group_id = securitygrouprules.security_group_id)",
            )),
            // Rules whose prefix is written without host bits; those with are found by their prefix.
            "normalized_cidr" => super::filter("securitygrouprules", "remote_ip_prefix", texts),
            _ => super::filter("securitygrouprules", name, texts),
        }
    }

    async fn target(&self, op: &mut Op<'_>, record: &Record) -> Result<Vec<(String, Value)>, Fault> {
        if let Some(project) = record.value(GROUP_PROJECT) {
            return Ok(vec![("security_group:tenant_id".into(), project.clone())]);
        }
        // A rule that is not stored yet.
        let id = record.text("security_group_id");
        let sql = "SELECT project_id FROM securitygroups WHERE id = ?";
        match op.txn.query_one(sql, &[id.into()]).await? {
            Some(row) => {
                let project = Value::from(row.opt_text(0).unwrap_or_default());
                Ok(vec![("security_group:tenant_id".into(), project.clone()), (GROUP_PROJECT.into(), project)])
            }
            None => Err(faults::group_not_found(id)),
        }
    }
}
