//! The driver that keeps addresses in the server's own database, in the tables of the reference's internal driver.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use resource::{Op, new_id};
use schema::Fault;
use store::Value;
use types::{IpRange, from_number, number};

use super::hint::Hints;
use super::{IpamDriver, Place, faults};

const ALLOCATED: &str = "ALLOCATED";
/// So many refused choices in a row say that the hint is old.
const REFUSALS: usize = 8;

/// See the module. Subnets made here have the same id in `ipamsubnets`; those made by the reference have one of their own.
#[derive(Default)]
pub struct Internal {
    hints: Hints,
    /// Keys in `ipamsubnets` by subnet, where they differ.
    keys: Arc<Mutex<HashMap<String, String>>>,
}

impl Internal {
    fn keys(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of a subnet; its own id if it is unknown, so that a write for it fails by its reference.
    async fn key(&self, op: &mut Op<'_>, subnet_id: &str) -> Result<String, Fault> {
        if let Some(key) = self.keys().get(subnet_id) {
            return Ok(key.clone());
        }
        let args = [subnet_id.into()];
        // Two look-ups, because only the first has an index on every database.
        for sql in ["SELECT id FROM ipamsubnets WHERE id = ?", "SELECT id FROM ipamsubnets WHERE neutron_subnet_id = ?"]
        {
            if let Some(row) = op.txn.query_one(sql, &args).await? {
                // Not worth undoing when the transaction is: ids are never used again.
                self.keys().insert(subnet_id.to_owned(), row.text(0));
                return Ok(row.text(0));
            }
        }
        Ok(subnet_id.to_owned())
    }

    async fn insert_pools(&self, op: &mut Op<'_>, key: &str, pools: &[IpRange]) -> Result<(), Fault> {
        let rows = pools
            .iter()
            .map(|pool| vec![new_id().into(), key.into(), pool.first.to_string().into(), pool.last.to_string().into()])
            .collect();
        op.txn.insert_many("ipamallocationpools", &["id", "ipam_subnet_id", "first_ip", "last_ip"], rows).await?;
        Ok(())
    }

    /// Reads pools and addresses; both tables of addresses, in case another program lost a row of one.
    async fn fill(&self, op: &mut Op<'_>, place: &Place<'_>, key: &str) -> Result<(), Fault> {
        let sql = "SELECT first_ip, last_ip FROM ipamallocationpools WHERE ipam_subnet_id = ?";
        let pools = op.txn.query(sql, &[key.into()]).await?;
        let pools =
            pools.iter().filter_map(|row| IpRange::new(row.str(0).parse().ok()?, row.str(1).parse().ok()?)).collect();
        let sql = "SELECT ip_address FROM ipamallocations WHERE ipam_subnet_id = ? \
                   UNION ALL SELECT ip_address FROM ipallocations WHERE subnet_id = ?";
        let rows = op.txn.query(sql, &[key.into(), place.subnet_id.into()]).await?;
        let taken = rows.iter().filter_map(|row| row.str(0).parse().ok()).map(number);
        self.hints.fill(place.subnet_id, place.revision, pools, taken);
        Ok(())
    }

    /// True if the address was free.
    async fn insert(&self, op: &mut Op<'_>, place: &Place<'_>, key: &str, ip: IpAddr) -> Result<bool, Fault> {
        let row =
            [("ip_address", Value::from(ip.to_string())), ("status", ALLOCATED.into()), ("ipam_subnet_id", key.into())];
        match op.txn.insert_if_absent("ipamallocations", &row).await {
            Ok(inserted) => Ok(inserted),
            Err(error) if error.is_foreign_key() => Err(faults::gone(place.subnet_id).with_source(error)),
            Err(error) => Err(error.into()),
        }
    }
}

#[async_trait]
impl IpamDriver for Internal {
    async fn add_subnet(&self, op: &mut Op<'_>, subnet_id: &str, pools: &[IpRange]) -> Result<(), Fault> {
        op.txn.insert("ipamsubnets", &[("id", subnet_id.into()), ("neutron_subnet_id", subnet_id.into())]).await?;
        self.insert_pools(op, subnet_id, pools).await
    }

    async fn set_pools(&self, op: &mut Op<'_>, subnet_id: &str, pools: &[IpRange]) -> Result<(), Fault> {
        let key = self.key(op, subnet_id).await?;
        op.txn.execute("DELETE FROM ipamallocationpools WHERE ipam_subnet_id = ?", &[key.as_str().into()]).await?;
        self.insert_pools(op, &key, pools).await?;
        // Other servers notice by the subnet's revision, and so does this one.
        Ok(())
    }

    async fn remove_subnet(&self, op: &mut Op<'_>, subnet_id: &str) -> Result<(), Fault> {
        let key = self.key(op, subnet_id).await?;
        // Waits for transactions that take an address, which hold the row by their reference; later ones find it gone.
        op.txn.execute("DELETE FROM ipamsubnets WHERE id = ?", &[key.into()]).await?;
        let (hints, keys, subnet_id) = (self.hints.clone(), self.keys.clone(), subnet_id.to_owned());
        op.txn.after_commit("ipam: forget a subnet", async move {
            hints.forget(&subnet_id);
            keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&subnet_id);
        });
        Ok(())
    }

    async fn take(&self, op: &mut Op<'_>, place: &Place<'_>, ip: IpAddr) -> Result<(), Fault> {
        let key = self.key(op, place.subnet_id).await?;
        if !self.insert(op, place, &key, ip).await? {
            return Err(faults::already_allocated(ip, place.subnet_id));
        }
        if let Some(chosen) = self.hints.choose_exactly(place.subnet_id, number(ip)) {
            op.txn.after_commit("ipam: keep an address", async move { chosen.keep() });
        }
        Ok(())
    }

    async fn take_any(&self, op: &mut Op<'_>, place: &Place<'_>, lowest: bool) -> Result<Option<IpAddr>, Fault> {
        let key = self.key(op, place.subnet_id).await?;
        let mut fresh = false;
        let mut refusals = 0;
        loop {
            let Some(chosen) = self.hints.choose(place.subnet_id, place.revision, lowest) else {
                if fresh {
                    return Ok(None);
                }
                self.fill(op, place, &key).await?;
                fresh = true;
                continue;
            };
            let ip = from_number(chosen.number, place.cidr.addr());
            if self.insert(op, place, &key, ip).await? {
                op.txn.after_commit("ipam: keep an address", async move { chosen.keep() });
                return Ok(Some(ip));
            }
            chosen.keep();
            refusals += 1;
            if refusals % REFUSALS == 0 {
                self.fill(op, place, &key).await?;
                fresh = true;
            }
        }
    }

    async fn take_many(&self, op: &mut Op<'_>, place: &Place<'_>, ips: &[IpAddr]) -> Result<Vec<IpAddr>, Fault> {
        let key = self.key(op, place.subnet_id).await?;
        let sql = "SELECT ip_address FROM ipamallocations WHERE ipam_subnet_id = ? AND ip_address IN (??)";
        let set = Value::set(ips.iter().map(IpAddr::to_string));
        let rows = op.txn.query(sql, &[key.as_str().into(), set]).await?;
        let known: std::collections::HashSet<IpAddr> = rows.iter().filter_map(|row| row.str(0).parse().ok()).collect();
        let free: Vec<IpAddr> = ips.iter().copied().filter(|ip| !known.contains(ip)).collect();
        let rows = free.iter().map(|ip| vec![ip.to_string().into(), ALLOCATED.into(), key.as_str().into()]).collect();
        op.txn.insert_many("ipamallocations", &["ip_address", "status", "ipam_subnet_id"], rows).await?;
        for ip in &free {
            if let Some(chosen) = self.hints.choose_exactly(place.subnet_id, number(*ip)) {
                op.txn.after_commit("ipam: keep an address", async move { chosen.keep() });
            }
        }
        Ok(free)
    }

    async fn give_back(&self, op: &mut Op<'_>, subnet_id: &str, ip: IpAddr) -> Result<(), Fault> {
        let key = self.key(op, subnet_id).await?;
        op.txn
            .execute(
                "DELETE FROM ipamallocations WHERE ip_address = ? AND ipam_subnet_id = ?",
                &[ip.to_string().into(), key.into()],
            )
            .await?;
        let (hints, subnet_id) = (self.hints.clone(), subnet_id.to_owned());
        op.txn.after_commit("ipam: release an address", async move { hints.release(&subnet_id, number(ip)) });
        Ok(())
    }

    fn doubt(&self, subnet_id: &str) {
        self.hints.forget(subnet_id);
    }
}
