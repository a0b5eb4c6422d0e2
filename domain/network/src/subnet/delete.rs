//! Removal of a subnet: what keeps it, and what goes with it.

use std::collections::BTreeMap;

use resource::{Condition, Op};
use schema::{Fault, Record};
use store::Value;

use super::{SEGMENT_ID, check, faults, ports};
use crate::ipam::{Ipam, owner};

/// So many ports are named in a refusal.
const NAMED: usize = 5;

/// Refuses, or removes the subnet's addresses from the ports that do not keep it.
pub async fn delete(op: &mut Op<'_>, ipam: &Ipam, subnet: &Record) -> Result<(), Fault> {
    let id = subnet.id();
    // First, so that no port gets an address from here on.
    ipam.driver().remove_subnet(op, id).await?;
    let holders = holders(op, id).await?;
    let automatic = check::is_automatic(subnet);
    let keeps = |owner: &str| match automatic {
        // Automatic addresses go as they came.
        true => owner::is_router_interface(owner),
        false => !owner::REMOVED_WITH_SUBNET.contains(&owner),
    };
    let keepers: Vec<&str> = holders.iter().filter(|(_, owner)| keeps(owner)).map(|(id, _)| id.as_str()).collect();
    if !keepers.is_empty() {
        return Err(faults::in_use(id, named("One or more ports have an IP allocation from this subnet", &keepers)));
    }
    if automatic && subnet.get(SEGMENT_ID).is_some() {
        check_last_of_segment(op, id).await?;
    }
    if !holders.is_empty() {
        let set = Value::set(holders.keys().map(String::as_str));
        let before = ports::before(op, Condition::new("ports.id IN (??)", vec![set.clone()])).await?;
        let sql = "DELETE FROM ipallocations WHERE subnet_id = ? AND port_id IN (??)";
        op.txn.execute(sql, &[id.into(), set]).await?;
        before.changed(op, |_| true).await?;
    }
    // A port that took an address after this transaction began, where the database let it: the statement sees it.
    let sql =
        "UPDATE subnets SET name = name WHERE id = ? AND NOT EXISTS (SELECT 1 FROM ipallocations WHERE subnet_id = ?)";
    if op.txn.execute(sql, &[id.into(), id.into()]).await? == 0 {
        return Err(Fault::retry(format!("a port took an address of subnet {id} while it was being removed")));
    }
    Ok(())
}

fn named(why: &str, ports: &[&str]) -> String {
    let more = if ports.len() > NAMED { " and others" } else { "" };
    format!("{why}: {}{more}", ports[..ports.len().min(NAMED)].join(", "))
}

/// Ports with addresses of the subnet, and their owners.
async fn holders(op: &mut Op<'_>, subnet_id: &str) -> Result<BTreeMap<String, String>, Fault> {
    let sql = "SELECT p.id, p.device_owner FROM ipallocations a JOIN ports p ON p.id = a.port_id WHERE a.subnet_id = ?";
    let rows = op.txn.query(sql, &[subnet_id.into()]).await?;
    Ok(rows.iter().map(|row| (row.text(0), row.text(1))).collect())
}

/// Ports of a routed network must not lose their last address, because it ties them to their segment.
async fn check_last_of_segment(op: &mut Op<'_>, subnet_id: &str) -> Result<(), Fault> {
    let sql = "SELECT DISTINCT a.port_id FROM ipallocations a WHERE a.subnet_id = ? AND NOT EXISTS \
               (SELECT 1 FROM ipallocations b WHERE b.port_id = a.port_id AND b.subnet_id <> a.subnet_id) ORDER BY a.port_id";
    let rows = op.txn.query(sql, &[subnet_id.into()]).await?;
    let ports: Vec<&str> = rows.iter().map(|row| row.str(0)).collect();
    if ports.is_empty() {
        return Ok(());
    }
    Err(faults::in_use(subnet_id, named("One or more ports on its segment have no other address", &ports)))
}
