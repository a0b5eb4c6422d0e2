use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op, Query, System, new_id};
use schema::{Fault, Record, Value};
use serde_json::Map;

use super::{DEFAULT, SHARING, STATEFUL, default};
use crate::{faults, statefulness, template};

pub struct Groups;

const RULES: &str = "security_group_rules";
const RULE_QUOTA: &str = "security_group_rule";

/// The rules that a new group begins with. They are the group's own, so they raise no revision.
async fn first_rules(op: &mut Op<'_>, group: &Record) -> Result<(), Fault> {
    let is_default = group.text("name") == DEFAULT;
    let templates = template::of(op, is_default).await?;
    if let Some(quota) = op.system.quota.clone() {
        // The default group comes by itself, so nobody is refused it.
        match is_default {
            true => quota.note(op, RULE_QUOTA, group.project(), templates.len()).await?,
            false => quota.take(op, RULE_QUOTA, group.project(), templates.len()).await?,
        }
    }
    let (now, shared) = (store::Value::Time(op.txn.now()), op.system.shared);
    let columns = ["id", "project_id", "security_group_id", shared.reference];
    let columns: Vec<&str> = columns.into_iter().chain(template::COLUMNS).collect();
    let mut rows = Vec::with_capacity(templates.len());
    for template in templates {
        let row = [
            (shared.kind, "securitygrouprules".into()),
            (shared.created, now.clone()),
            (shared.updated, now.clone()),
            (shared.revision, 0.into()),
        ];
        let shared_id = op.txn.insert_id(shared.table, &row).await?;
        let own = [new_id().into(), group.project().into(), group.id().into(), shared_id.into()];
        rows.push(own.into_iter().chain(template.values(group.id())).collect());
    }
    op.txn.insert_many("securitygrouprules", &columns, rows).await?;
    Ok(())
}

fn shown(rule: &Record) -> Value {
    let mut object = Map::new();
    for (position, attr) in rule.model().attrs.iter().enumerate().filter(|(_, attr)| attr.visible) {
        if let Some(value) = rule.at(position) {
            object.insert(attr.name.to_owned(), value.clone());
        }
    }
    object.insert("tenant_id".into(), Value::from(rule.project()));
    object.insert("tags".into(), Value::Array(Vec::new()));
    Value::Object(object)
}

/// Removes the rules of a group, and those of others that name it as their remote, with what is counted and shared.
async fn remove_rules(op: &mut Op<'_>, group: &str) -> Result<(), Fault> {
    let sql = "SELECT project_id, security_group_id FROM securitygrouprules WHERE security_group_id = ? OR remote_group_id = ?";
    let args: [store::Value; 2] = [group.into(), group.into()];
    let mut owners: BTreeMap<String, usize> = BTreeMap::new();
    let mut others: Vec<String> = Vec::new();
    for row in op.txn.query(sql, &args).await? {
        *owners.entry(row.opt_text(0).unwrap_or_default()).or_default() += 1;
        others.push(row.text(1));
    }
    others.retain(|other| other != group);
    others.sort_unstable();
    others.dedup();
    // The rules go with their shared rows.
    let sql = "DELETE FROM standardattributes WHERE id IN \
               (SELECT standard_attr_id FROM securitygrouprules WHERE security_group_id = ? OR remote_group_id = ?)";
    op.txn.execute(sql, &args).await?;
    if let Some(quota) = op.system.quota.clone() {
        for (project, count) in owners {
            quota.give_back(op, RULE_QUOTA, &project, count).await?;
        }
    }
    if others.is_empty() {
        return Ok(());
    }
    let condition = Condition::one_of("id", others.iter().map(|id| id.as_str().into()).collect());
    let sql = format!("SELECT standard_attr_id FROM securitygroups WHERE {}", condition.sql);
    for row in op.txn.query(&sql, &condition.args).await? {
        op.touch(row.int(0)).await?;
    }
    Ok(())
}

async fn is_on_a_port(op: &mut Op<'_>, group: &str) -> Result<bool, Fault> {
    let sql = "SELECT 1 FROM securitygroupportbindings WHERE security_group_id = ? LIMIT 1";
    Ok(op.txn.query_one(sql, &[group.into()]).await?.is_some())
}

#[async_trait]
impl Behaviour for Groups {
    async fn listing(&self, system: &System, context: &Context, query: &Query) -> Result<(), Fault> {
        default::ensure_for_list(system, context, query).await
    }

    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let project = given.record.project().to_owned();
        if given.record.text("name") != DEFAULT {
            default::ensure(op, &project).await?;
        }
        if !given.record.has("stateful") {
            let stateful = statefulness::of(op, &project).await?;
            given.record.set("stateful", stateful);
        }
        Ok(())
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        if record.text("name") == DEFAULT {
            let row = [("project_id", record.project().into()), ("security_group_id", record.id().into())];
            if let Err(error) = op.txn.insert("default_security_group", &row).await {
                // Another request was faster: run again and find its group.
                return Err(if error.is_duplicate() { Fault::retry(error) } else { error.into() });
            }
        }
        first_rules(op, record).await
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, given: &Given) -> Result<(), Fault> {
        if given.named("name") && old.text("name") == DEFAULT {
            return Err(faults::default_renamed(old.id()));
        }
        if old.get(STATEFUL) != new.get(STATEFUL) && is_on_a_port(op, old.id()).await? {
            return Err(faults::group_in_use(old.id()));
        }
        Ok(())
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        if is_on_a_port(op, record.id()).await? {
            return Err(faults::group_in_use(record.id()));
        }
        if record.text("name") == DEFAULT && !op.context.is_admin {
            return Err(faults::default_removed(record.id()));
        }
        remove_rules(op, record.id()).await
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        SHARING.load(op, records).await?;
        if !op.wants(RULES) {
            return Ok(());
        }
        let ids = records.iter().map(|record| record.id().into()).collect();
        let mut by_group: HashMap<String, Vec<Value>> = HashMap::new();
        for rule in
            op.find("security_group_rule", Condition::one_of("securitygrouprules.security_group_id", ids)).await?
        {
            by_group.entry(rule.text("security_group_id").to_owned()).or_default().push(shown(&rule));
        }
        for record in records {
            let rules = by_group.remove(record.id()).unwrap_or_default();
            record.set(RULES, rules);
        }
        Ok(())
    }

    fn scope(&self, context: &Context) -> Option<Condition> {
        Some(SHARING.scope(context))
    }

    fn filter(&self, context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        if name == "name" {
            // Also by the name that no request may give.
            let names = values.iter().map(|name| name.as_str().into()).collect();
            return Some(Ok(Condition::one_of("securitygroups.name", names)));
        }
        SHARING.filter(context, name, values)
    }
}
