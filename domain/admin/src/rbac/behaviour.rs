use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Fault, Record, Value};

use super::shareable::{self, ALL, EXTERNAL, GATEWAY_USERS, Shareable};
use super::{ACTION, EVERYBODY, OBJECT, OBJECT_TYPE, TARGET, faults};

pub struct RbacPolicies;

fn kind_of(policy: &Record) -> Result<&'static Shareable, Fault> {
    let name = policy.get(OBJECT_TYPE).unwrap_or_default();
    shareable::of(name).ok_or_else(|| faults::object_type(&Value::from(name)))
}

/// The object of a policy, as far as policies need it.
struct Object {
    id: String,
    owner: String,
}

async fn object(op: &mut Op<'_>, kind: &Shareable, policy: &Record) -> Result<Object, Fault> {
    let id = policy.get(OBJECT).unwrap_or_default();
    let sql = format!("SELECT project_id FROM {} WHERE id = ?", kind.table);
    match op.txn.query_one(&sql, &[id.into()]).await? {
        Some(row) => Ok(Object { id: id.to_owned(), owner: row.opt_text(0).unwrap_or_default() }),
        None => Err(faults::no_object(kind.name, id)),
    }
}

/// The object, if the context may say who uses it.
async fn own_object(op: &mut Op<'_>, kind: &Shareable, policy: &Record) -> Result<Object, Fault> {
    let object = object(op, kind, policy).await?;
    if !op.context.is_admin && object.owner != op.context.project_id {
        return Err(faults::not_yours(kind.name, &object.id));
    }
    Ok(object)
}

/// Who else may use the object, by policies of the same action.
async fn other_targets(op: &mut Op<'_>, kind: &Shareable, policy: &Record) -> Result<HashSet<String>, Fault> {
    let sql = format!("SELECT target_project FROM {} WHERE object_id = ? AND action = ? AND id <> ?", kind.policies);
    let args = [
        policy.get(OBJECT).unwrap_or_default().into(),
        policy.get(ACTION).unwrap_or_default().into(),
        policy.id().into(),
    ];
    Ok(op.txn.query(&sql, &args).await?.iter().map(|row| row.text(0)).collect())
}

/// Fails if whom the policy is for would lose an object in use. `becomes` is for whom it will be.
async fn check_withdrawal(op: &mut Op<'_>, policy: &Record, becomes: Option<&str>) -> Result<(), Fault> {
    let kind = kind_of(policy)?;
    let object = object(op, kind, policy).await?;
    let target = policy.get(TARGET).unwrap_or_default();
    if target == object.owner {
        return Ok(());
    }
    let mut others = other_targets(op, kind, policy).await?;
    others.extend(becomes.map(str::to_owned));
    let external = policy.get(ACTION) == Some(EXTERNAL);
    if external && target == EVERYBODY && !others.contains(EVERYBODY) {
        let sql = "SELECT 1 FROM externalnetworks WHERE network_id = ? AND is_default = ?";
        if op.txn.query_one(sql, &[object.id.as_str().into(), true.into()]).await?.is_some() {
            return Err(faults::in_use(&object.id, "Default external networks must be shared to everyone."));
        }
    }
    if others.contains(EVERYBODY) {
        return Ok(());
    }
    let users = if external { GATEWAY_USERS } else { kind.users };
    let rows = op.txn.query(users, &[object.id.as_str().into()]).await?;
    // What belongs to nobody is the server's own.
    let mut losers = rows.iter().map(|row| row.opt_text(0).unwrap_or_default()).filter(|user| {
        !user.is_empty() && *user != object.owner && !others.contains(user) && (target == EVERYBODY || user == target)
    });
    match losers.next() {
        Some(user) => Err(faults::in_use(&object.id, &format!("project {user} uses it"))),
        None => Ok(()),
    }
}

/// The projects that a pool is shared with need its scope too.
async fn check_scope(op: &mut Op<'_>, pool: &str, target: &str) -> Result<(), Fault> {
    let sql = "SELECT address_scope_id FROM subnetpools WHERE id = ? AND address_scope_id IS NOT NULL";
    let Some(row) = op.txn.query_one(sql, &[pool.into()]).await? else { return Ok(()) };
    let scope = row.text(0);
    let sql = "SELECT 1 FROM addressscoperbacs WHERE object_id = ? AND action = 'access_as_shared' \
               AND target_project IN ('*', ?)";
    match op.txn.query_one(sql, &[scope.as_str().into(), target.into()]).await? {
        Some(_) => Ok(()),
        None => Err(faults::scope_not_shared(pool, &scope, target)),
    }
}

/// A policy of a network is a change of the network.
async fn touch_network(op: &mut Op<'_>, policy: &Record) -> Result<(), Fault> {
    if policy.get(OBJECT_TYPE) != Some("network") {
        return Ok(());
    }
    let sql = "SELECT standard_attr_id FROM networks WHERE id = ?";
    match op.txn.query_one(sql, &[policy.get(OBJECT).unwrap_or_default().into()]).await? {
        Some(row) => op.touch(row.int(0)).await,
        None => Ok(()),
    }
}

#[async_trait]
impl Behaviour for RbacPolicies {
    fn source(&self) -> Option<&'static str> {
        Some(ALL)
    }

    fn table(&self, record: &Record) -> Option<&'static str> {
        kind_of(record).ok().map(|kind| kind.policies)
    }

    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let policy = &given.record;
        let kind = kind_of(policy)?;
        let action = policy.get(ACTION).unwrap_or_default();
        if !kind.actions.contains(&action) {
            return Err(faults::action(action, kind.name, kind.actions));
        }
        let object = own_object(op, kind, policy).await?;
        if kind.name == "subnetpool" {
            check_scope(op, &object.id, policy.get(TARGET).unwrap_or_default()).await?;
        }
        Ok(())
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        if record.get(ACTION) == Some(EXTERNAL) {
            // A network that somebody may use as external is one.
            let row = [("network_id", record.get(OBJECT).unwrap_or_default().into()), ("is_default", false.into())];
            op.txn.insert_if_absent("externalnetworks", &row).await?;
        }
        touch_network(op, record).await
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, _given: &Given) -> Result<(), Fault> {
        let kind = kind_of(old)?;
        own_object(op, kind, old).await?;
        let target = new.get::<&str>(TARGET).unwrap_or_default().to_owned();
        if old.get(TARGET) == Some(target.as_str()) {
            return Ok(());
        }
        check_withdrawal(op, old, Some(&target)).await?;
        if kind.name == "subnetpool" {
            check_scope(op, old.get(OBJECT).unwrap_or_default(), &target).await?;
        }
        touch_network(op, old).await
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        check_withdrawal(op, record, None).await
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        if record.get(ACTION) == Some(EXTERNAL) {
            // Without any policy left, the network is external for nobody.
            let sql = "DELETE FROM externalnetworks WHERE network_id = ? AND NOT EXISTS \
                       (SELECT 1 FROM networkrbacs WHERE object_id = ? AND action = 'access_as_external')";
            let network = store::Value::from(record.get(OBJECT).unwrap_or_default());
            op.txn.execute(sql, &[network.clone(), network]).await?;
        }
        touch_network(op, record).await
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        let ids = records.iter().map(|record| record.id().into()).collect();
        let condition = Condition::one_of("rbac_policies.id", ids);
        let sql = format!("SELECT id, object_type FROM ({ALL}) AS rbac_policies WHERE {}", condition.sql);
        let types: HashMap<String, String> =
            op.txn.query(&sql, &condition.args).await?.iter().map(|row| (row.text(0), row.text(1))).collect();
        for record in records {
            let kind = types.get(record.id()).cloned();
            record.set("object_type", kind);
        }
        Ok(())
    }

    fn filter(&self, _context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        if name != "object_type" {
            return None;
        }
        let wanted: Result<Vec<store::Value>, Fault> = values
            .iter()
            .map(|value| {
                let kind = super::object_type(Value::from(value.as_str()))?;
                Ok(kind.as_str().unwrap_or_default().into())
            })
            .collect();
        Some(wanted.map(|wanted| Condition::one_of("rbac_policies.object_type", wanted)))
    }

    fn duplicate(&self, _record: &Record, _error: &store::Error) -> Option<Fault> {
        Some(faults::doubled())
    }
}
