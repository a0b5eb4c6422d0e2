//! Ports whose addresses change because a subnet comes or goes: their revision grows, and those who react to ports are told.

use resource::{Condition, Op};
use schema::{Fault, Record};
use store::Value;

/// Ports before the change. Empty where no ports are composed in.
pub struct Before {
    records: Vec<Record>,
    shared_ids: Vec<i64>,
}

/// Loads the ports that are going to change.
pub async fn before(op: &mut Op<'_>, condition: Condition) -> Result<Before, Fault> {
    if op.system.entity("port").is_ok() {
        let records = op.find("port", condition).await?;
        let shared_ids = records.iter().map(|record| record.shared_id).collect();
        return Ok(Before { records, shared_ids });
    }
    let sql = format!("SELECT standard_attr_id FROM ports WHERE {}", condition.sql);
    let rows = op.txn.query(&sql, &condition.args).await?;
    Ok(Before { records: Vec::new(), shared_ids: rows.iter().map(|row| row.int(0)).collect() })
}

impl Before {
    /// Raises the revisions of those that changed, and tells the others of the port's list.
    pub async fn changed(self, op: &mut Op<'_>, has_changed: impl Fn(i64) -> bool) -> Result<(), Fault> {
        let ids: Vec<i64> = self.shared_ids.into_iter().filter(|id| has_changed(*id)).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let shared = op.system.shared;
        let sql = format!(
            "UPDATE {} SET {revision} = {revision} + 1, {} = ? WHERE {} IN (??)",
            shared.table,
            shared.updated,
            shared.key,
            revision = shared.revision
        );
        let now = Value::Time(op.txn.now());
        op.txn.execute(&sql, &[now, Value::set(ids.iter().copied())]).await?;
        if self.records.is_empty() {
            return Ok(());
        }
        let entity = op.system.entity("port")?;
        let condition = Condition::new("ports.standard_attr_id IN (??)", vec![Value::set(ids)]);
        for new in op.find("port", condition).await? {
            let Some(old) = self.records.iter().find(|old| old.shared_id == new.shared_id) else { continue };
            for behaviour in &entity.behaviours {
                behaviour.updated(op, old, &new).await?;
            }
        }
        Ok(())
    }
}
