//! What must be done before a port is ACTIVE: rows of `provisioningblocks`, one for each part of the cloud that has yet to report.
//!
//! Reproduces neutron/db/provisioning_blocks.py. A block is removed by the part that put it, and whoever removes the last one sets
//! the port ACTIVE in the same transaction, so no report is lost between the two.

use resource::{Given, Op};
use schema::{Fault, Record, Value};

use super::{ADMIN_STATE_UP, HOST, STATUS, VIF_TYPE};

/// The layer-2 agent of the port's host has yet to wire it.
pub const L2: &str = "L2";
/// The DHCP agents of its network have yet to serve it.
pub const DHCP: &str = "DHCP";

/// Puts a block; one that is there stays.
pub async fn add(op: &mut Op<'_>, shared_id: i64, entity: &str) -> Result<(), Fault> {
    let row = [("standard_attr_id", shared_id.into()), ("entity", entity.into())];
    op.txn.insert_if_absent("provisioningblocks", &row).await?;
    Ok(())
}

/// Removes a block without any further consequence.
pub async fn remove(op: &mut Op<'_>, shared_id: i64, entity: &str) -> Result<(), Fault> {
    let sql = "DELETE FROM provisioningblocks WHERE standard_attr_id = ? AND entity = ?";
    op.txn.execute(sql, &[shared_id.into(), entity.into()]).await?;
    Ok(())
}

/// Which parts have yet to report.
pub async fn left(op: &mut Op<'_>, shared_id: i64) -> Result<Vec<String>, Fault> {
    let sql = "SELECT entity FROM provisioningblocks WHERE standard_attr_id = ? ORDER BY entity";
    Ok(op.txn.query(sql, &[shared_id.into()]).await?.iter().map(|row| row.text(0)).collect())
}

/// A part reports that it is done: removes its block; if none is left and the port is bound, it becomes ACTIVE. True if it did.
pub async fn complete(op: &mut Op<'_>, port: &Record, entity: &str) -> Result<bool, Fault> {
    remove(op, port.shared_id, entity).await?;
    if !left(op, port.shared_id).await?.is_empty() {
        return Ok(false);
    }
    let bound = !matches!(port.get(VIF_TYPE), None | Some("unbound" | "binding_failed"))
        && port.get(HOST).is_some_and(|host| !host.is_empty());
    if !bound || port.get(ADMIN_STATE_UP) != Some(true) || port.get(STATUS) == Some("ACTIVE") {
        return Ok(false);
    }
    set_status(op, port, "ACTIVE").await?;
    Ok(true)
}

/// Changes the status of a port, as an update that everybody hears of. The record after the change.
pub async fn set_status(op: &mut Op<'_>, port: &Record, status: &str) -> Result<Record, Fault> {
    if port.get(STATUS) == Some(status) {
        return Ok(port.clone());
    }
    let mut change = Record::new(port.model());
    change.set("status", Value::from(status));
    let explicit = port.model().position("status").into_iter().collect();
    op.update("port", port.id(), &Given { record: change, explicit }).await
}
