use std::collections::HashMap;

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Fault, Record, Value};

use crate::sharing::Sharing;
use crate::turn;

const SHARING: Sharing = Sharing { table: "address_scopes", rbac: "addressscoperbacs" };

/// Own scopes and shared ones.
pub(super) fn scope(context: &Context) -> Condition {
    SHARING.scope(context)
}

pub struct AddressScopes;

fn is_shared(record: &Record) -> bool {
    record.value("shared").and_then(Value::as_bool) == Some(true)
}

#[async_trait]
impl Behaviour for AddressScopes {
    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        if is_shared(record) {
            SHARING.share(op, record.id(), record.project()).await?;
        }
        Ok(())
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, _given: &Given) -> Result<(), Fault> {
        match (is_shared(old), is_shared(new)) {
            (false, true) => SHARING.share(op, old.id(), old.project()).await,
            (true, false) => Err(Fault::new(
                400,
                "AddressScopeUpdateError",
                format!("Unable to update address scope {} : a shared address scope can't be unshared.", old.id()),
            )),
            _ => Ok(()),
        }
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        // No reference holds pools to their scope.
        turn::take(op, &super::turn(record.id())).await?;
        let sql = "SELECT id FROM subnetpools WHERE address_scope_id = ? ORDER BY id";
        match op.txn.query_one(sql, &[record.id().into()]).await? {
            None => turn::forget(op, &super::turn(record.id())).await,
            Some(row) => Err(Fault::conflict(
                "AddressScopeInUse",
                format!(
                    "Unable to complete operation on address scope {}. Subnet pools use it, such as {}.",
                    record.id(),
                    row.str(0)
                ),
            )),
        }
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        SHARING.load(op, records).await
    }

    fn scope(&self, context: &Context) -> Option<Condition> {
        Some(scope(context))
    }

    fn filter(&self, context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        SHARING.filter(context, name, values)
    }
}

/// Shows on networks which scopes their subnets are in.
pub struct NetworkScopes;

const SHOWN: [(&str, i64); 2] = [("ipv4_address_scope", 4), ("ipv6_address_scope", 6)];

#[async_trait]
impl Behaviour for NetworkScopes {
    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        if !SHOWN.iter().any(|(name, _)| op.wants(name)) {
            return Ok(());
        }
        let ids = records.iter().map(|record| record.id().into()).collect();
        let condition = Condition::one_of("s.network_id", ids);
        let sql = format!(
            "SELECT DISTINCT s.network_id, s.ip_version, p.address_scope_id FROM subnets s \
             JOIN subnetpools p ON p.id = s.subnetpool_id WHERE p.address_scope_id IS NOT NULL AND {}",
            condition.sql
        );
        let mut found: HashMap<(String, i64), String> = HashMap::new();
        for row in op.txn.query(&sql, &condition.args).await? {
            found.insert((row.text(0), row.int(1)), row.text(2));
        }
        for record in records {
            for (name, version) in SHOWN {
                let scope = found.get(&(record.id().to_owned(), version)).cloned();
                record.set(name, scope);
            }
        }
        Ok(())
    }
}
