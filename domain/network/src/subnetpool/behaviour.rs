use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op, new_id};
use schema::{Fault, Record, Value};
use types::{IpNet, cidr};

use super::bounds::Bounds;
use super::pool::Pool;
use super::prefixes::{Space, merge};
use super::{ADDRESS_SCOPE_ID, IS_DEFAULT, PREFIXES, faults};
use crate::address_scope;
use crate::sharing::Sharing;
use crate::turn;

pub(super) const SHARING: Sharing = Sharing { table: "subnetpools", rbac: "subnetpoolrbacs" };

/// Shown as text by the reference.
const LENGTHS: [&str; 3] = ["min_prefixlen", "max_prefixlen", "default_prefixlen"];

pub struct SubnetPools;

fn length(record: &Record, name: &str) -> Option<i64> {
    match record.value(name)? {
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    }
}

pub(super) fn prefixes_of(record: &Record) -> Vec<IpNet> {
    let texts = record.get(PREFIXES).unwrap_or_default().iter().filter_map(Value::as_str);
    texts.filter_map(cidr::parse).collect()
}

fn as_value(nets: &[IpNet]) -> Value {
    nets.iter().map(IpNet::to_string).collect()
}

fn version_of(nets: &[IpNet]) -> Result<i64, Fault> {
    let first = nets.first().map(cidr::version).ok_or_else(faults::no_prefixes)?;
    if nets.iter().any(|net| cidr::version(net) != first) {
        return Err(faults::mixed_versions());
    }
    Ok(first)
}

fn settle_bounds(record: &mut Record, version: i64) -> Result<(), Fault> {
    let [min, max, default] = LENGTHS.map(|name| length(record, name));
    let bounds = Bounds::settle(version, min, max, default)?;
    for (name, length) in LENGTHS.into_iter().zip([bounds.min, bounds.max, bounds.default]) {
        record.set(name, length);
    }
    Ok(())
}

/// Only one default per family.
async fn check_default(op: &mut Op<'_>, version: i64, except: &str) -> Result<(), Fault> {
    turn::take(op, "default_subnetpool").await?;
    let sql = "SELECT 1 FROM subnetpools WHERE is_default = ? AND ip_version = ? AND id <> ?";
    match op.txn.query_one(sql, &[true.into(), version.into(), except.into()]).await? {
        Some(_) => Err(faults::two_defaults(version)),
        None => Ok(()),
    }
}

/// Pools of a scope are of its family and have no address in common; and no network may end up in two scopes.
async fn check_scope(
    op: &mut Op<'_>,
    pool_id: &str,
    scope_id: Option<&str>,
    version: i64,
    nets: &[IpNet],
) -> Result<(), Fault> {
    let Some(scope_id) = scope_id else { return Ok(()) };
    turn::take(op, &address_scope::turn(scope_id)).await?;
    let scope = address_scope::visible(op, scope_id).await?;
    if scope.ip_version != version {
        return Err(faults::scope_version(pool_id, scope_id, scope.ip_version));
    }
    let sql = "SELECT 1 FROM subnets s WHERE s.ip_version = ? AND (s.subnetpool_id IS NULL OR s.subnetpool_id <> ?) \
               AND s.network_id IN (SELECT network_id FROM subnets WHERE subnetpool_id = ?)";
    let args = [version.into(), pool_id.into(), pool_id.into()];
    if op.txn.query_one(sql, &args).await?.is_some() {
        return Err(Fault::new(
            400,
            "NetworkAddressScopeAffinityError",
            "Subnets of the same address family hosted on the same network must all participate in the same address scope.",
        ));
    }
    let sql = "SELECT x.cidr FROM subnetpoolprefixes x JOIN subnetpools p ON p.id = x.subnetpool_id \
               WHERE p.address_scope_id = ? AND p.id <> ?";
    let rows = op.txn.query(sql, &[scope_id.into(), pool_id.into()]).await?;
    let others: Vec<IpNet> = rows.iter().filter_map(|row| cidr::parse(row.str(0))).collect();
    if Space::new(&others).meets(&Space::new(nets)) {
        return Err(faults::scope_conflict());
    }
    Ok(())
}

#[async_trait]
impl Behaviour for SubnetPools {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let record = &mut given.record;
        let nets = prefixes_of(record);
        let version = version_of(&nets)?;
        let nets = merge(&nets);
        settle_bounds(record, version)?;
        if record.get(IS_DEFAULT) == Some(true) {
            check_default(op, version, record.id()).await?;
        }
        let scope = record.get(ADDRESS_SCOPE_ID);
        check_scope(op, record.id(), scope, version, &nets).await?;
        if record.value("shared").and_then(Value::as_bool) == Some(true)
            && let Some(scope) = scope
            && !address_scope::is_shared(op, scope).await?
        {
            return Err(faults::scope_not_shared(record.id(), scope));
        }
        record.set("ip_version", version);
        record.set("prefixes", as_value(&nets));
        Ok(())
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        // The reference's models give every pool a hash to compare.
        let sql = "UPDATE subnetpools SET hash = ? WHERE id = ?";
        op.txn.execute(sql, &[new_id().into(), record.id().into()]).await?;
        if record.value("shared").and_then(Value::as_bool) == Some(true) {
            SHARING.share(op, record.id(), record.project()).await?;
        }
        Ok(())
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, given: &Given) -> Result<(), Fault> {
        let id = old.id().to_owned();
        let before = prefixes_of(old);
        let nets = prefixes_of(new);
        let version = version_of(&before)?;
        if given.named("prefixes")
            && (version_of(&nets)? != version || !Space::new(&nets).includes(&Space::new(&before)))
        {
            return Err(faults::prefix_update("Existing prefixes must be a subset of the new prefixes"));
        }
        let nets = merge(&nets);
        new.set("prefixes", as_value(&nets));
        settle_bounds(new, version)?;
        if new.get(IS_DEFAULT) == Some(true) && old.get(IS_DEFAULT) != Some(true) {
            check_default(op, version, &id).await?;
        }
        if let Some(scope_id) = old.get(ADDRESS_SCOPE_ID)
            && !op.context.is_admin
            && address_scope::visible(op, scope_id).await?.project_id != op.context.project_id
        {
            let why = format!(
                "subnetpool {id} cannot be updated when associated with shared address scope {scope_id} of another project"
            );
            return Err(faults::update(why));
        }
        check_scope(op, &id, new.get(ADDRESS_SCOPE_ID), version, &nets).await?;
        // The same number is no change.
        for name in LENGTHS {
            if length(old, name) == length(new, name)
                && let Some(value) = old.value(name).cloned()
            {
                new.set(name, value);
            }
        }
        Ok(())
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let pool = Pool::visible(op, record.id()).await?;
        pool.claim(op).await?;
        if pool.taken(op).await?.is_empty() { Ok(()) } else { Err(faults::in_use(record.id())) }
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        for record in records.iter_mut() {
            for name in LENGTHS {
                if let Some(length) = length(record, name) {
                    record.set(name, length.to_string());
                }
            }
            if record.value("prefixes").is_some() {
                let mut nets = prefixes_of(record);
                nets.sort();
                record.set("prefixes", as_value(&nets));
            }
        }
        SHARING.load(op, records).await
    }

    fn scope(&self, context: &Context) -> Option<Condition> {
        Some(SHARING.scope(context))
    }

    fn filter(&self, context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        SHARING.filter(context, name, values)
    }
}
