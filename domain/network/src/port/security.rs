//! `port_security_enabled` of ports and networks: off means no filtering and no spoofing protection.

use resource::Op;
use schema::{Attr, Default, Extend, Fault, Kind, Record};

use super::{DEVICE_OWNER, PAIRS, PORT_SECURITY, PORT_SECURITY_EXT, faults};

pub const ATTR: Attr = Attr::new("port_security_enabled", Kind::Bool)
    .post()
    .put()
    .side("portsecuritybindings", "port_id", "port_security_enabled", Default::Bool(true))
    .no_filter()
    .no_sort()
    .enforce();

/// The network's value is the default of its ports. A network made before the extension was on has none, which means on.
pub static OF_NETWORK: Extend = Extend {
    to: "network",
    extension: Some(&PORT_SECURITY_EXT),
    attrs: &[Attr::new("port_security_enabled", Kind::Bool)
        .post()
        .put()
        .default(Default::Bool(true))
        .at(schema::Place::Side {
            table: "networksecuritybindings",
            key: "network_id",
            column: "port_security_enabled",
            only: "",
            // No row stands for no value, so that the engine always writes one.
            absent: Default::Null,
            write: true,
        })
        .no_filter()
        .no_sort()
        .enforce()],
};

/// Settles the value of a new port: off for the cloud's own ports, whatever was asked for, or its own, or the network's.
pub fn settle(record: &mut Record, network: Option<bool>) {
    if record.get(DEVICE_OWNER).is_some_and(|owner| owner.starts_with("network:")) {
        record.set("port_security_enabled", false);
    } else if !record.has("port_security_enabled") {
        record.set("port_security_enabled", network.unwrap_or(true));
    }
}

/// Address pairs mean nothing on a port that may send from any address.
pub fn check(record: &Record) -> Result<(), Fault> {
    let pairs = record.get(PAIRS).unwrap_or_default();
    if record.get(PORT_SECURITY) == Some(false) && !pairs.is_empty() {
        return Err(faults::pair_without_security());
    }
    Ok(())
}

pub async fn store(op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
    let enabled = record.get(PORT_SECURITY).unwrap_or(true);
    let sql = "UPDATE portsecuritybindings SET port_security_enabled = ? WHERE port_id = ?";
    if op.txn.execute(sql, &[enabled.into(), record.id().into()]).await? == 0 {
        insert(op, record).await?;
    }
    Ok(())
}

pub async fn insert(op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
    let enabled = record.get(PORT_SECURITY).unwrap_or(true);
    let row = [("port_id", record.id().into()), ("port_security_enabled", enabled.into())];
    op.txn.insert("portsecuritybindings", &row).await?;
    Ok(())
}
