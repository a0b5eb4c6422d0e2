//! From the names of devices to ports, and to what an agent needs to wire them. The number of statements does not grow with the devices
//! but by one for every 64 of them.

use std::collections::HashMap;

use network::port::{ADMIN_STATE_UP, DEVICE_OWNER, HOST};
use resource::{Condition, Op};
use rpc::l2::{BoundPort, Device, DeviceDetails, DeviceState};
use schema::{Fault, Record, Value};
use serde_json::json;

/// Prefixes of device names; what follows is the start of the port's id.
const PREFIXES: [&str; 5] = ["tap", "qvo", "qr-", "qg-", "vhu"];

/// How a device names its port.
#[derive(Debug, PartialEq, Eq)]
enum Name<'a> {
    Id(&'a str),
    Start(&'a str),
    Mac(String),
}

fn read(name: &str) -> Name<'_> {
    if let Some(start) = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
        return Name::Start(start);
    }
    match name.parse::<types::Mac>() {
        Ok(mac) => Name::Mac(mac.to_string()),
        Err(_) => Name::Id(name),
    }
}

/// How many devices one statement looks up; shorter lists are padded, so that there is one prepared statement.
const CHUNK: usize = 64;

async fn ids_by_start(op: &mut Op<'_>, starts: &[&str]) -> Result<HashMap<String, String>, Fault> {
    let mut found = HashMap::new();
    for chunk in starts.chunks(CHUNK) {
        let size = if chunk.len() == 1 { 1 } else { CHUNK };
        let ranges = vec!["(id >= ? AND id < ?)"; size].join(" OR ");
        let sql = format!("SELECT id FROM ports WHERE {ranges}");
        let mut args: Vec<store::Value> = Vec::with_capacity(2 * size);
        for i in 0..size {
            let start = chunk.get(i).or(chunk.last()).copied().unwrap_or_default();
            // Every character of an id sorts before this one.
            args.extend([start.into(), format!("{start}~").into()]);
        }
        for row in op.txn.query(&sql, &args).await? {
            let id = row.text(0);
            for start in chunk.iter().filter(|start| !start.is_empty() && id.starts_with(**start)) {
                found.insert((*start).to_owned(), id.clone());
            }
        }
    }
    Ok(found)
}

/// The ports of devices, by the name of the device; devices without one are left out.
pub async fn ports(op: &mut Op<'_>, devices: &[Device]) -> Result<HashMap<String, Record>, Fault> {
    let starts: Vec<&str> = devices
        .iter()
        .filter_map(|device| match read(device.name()) {
            Name::Start(start) if !start.is_empty() => Some(start),
            _ => None,
        })
        .collect();
    let by_start = ids_by_start(op, &starts).await?;
    let mut ids: Vec<store::Value> = Vec::new();
    let mut macs: Vec<store::Value> = Vec::new();
    for device in devices {
        match read(device.name()) {
            Name::Start(start) => ids.extend(by_start.get(start).map(|id| id.as_str().into())),
            Name::Id(id) => ids.push(id.into()),
            Name::Mac(mac) => macs.push(mac.into()),
        }
    }
    let mut conditions = Vec::new();
    if !ids.is_empty() {
        conditions.push(Condition::one_of("ports.id", ids));
    }
    if !macs.is_empty() {
        conditions.push(Condition::one_of("ports.mac_address", macs));
    }
    if conditions.is_empty() {
        return Ok(HashMap::new());
    }
    let found = op.find("port", Condition::any(conditions)).await?;
    let by_id: HashMap<&str, &Record> = found.iter().map(|port| (port.id(), port)).collect();
    let mut ports = HashMap::new();
    for device in devices {
        let name = device.name();
        let port = match read(name) {
            Name::Start(start) => by_start.get(start).and_then(|id| by_id.get(id.as_str()).copied()),
            Name::Id(id) => by_id.get(id).copied(),
            Name::Mac(mac) => found.iter().find(|port| port.text("mac_address") == mac),
        };
        if let Some(port) = port {
            ports.insert(name.to_owned(), port.clone());
        }
    }
    Ok(ports)
}

/// The segment that a port is bound to on a host.
struct Level {
    network_type: String,
    physical_network: Option<String>,
    segmentation_id: Option<i64>,
}

/// What an agent on `host` needs to know of each device, in the order asked.
pub async fn details(
    op: &mut Op<'_>,
    devices: &[Device],
    ports: &HashMap<String, Record>,
    host: Option<&str>,
) -> Result<Vec<DeviceDetails>, Fault> {
    let ids: Vec<store::Value> = ports.values().map(|port| port.id().into()).collect();
    let networks: Vec<store::Value> = ports.values().map(|port| port.text("network_id").into()).collect();
    let of_ports = Condition::one_of("ml2_port_binding_levels.port_id", ids);
    let sql = format!(
        "SELECT ml2_port_binding_levels.port_id, ml2_port_binding_levels.host, networksegments.network_type, \
         networksegments.physical_network, networksegments.segmentation_id FROM ml2_port_binding_levels \
         JOIN networksegments ON networksegments.id = ml2_port_binding_levels.segment_id WHERE {} \
         ORDER BY ml2_port_binding_levels.level",
        of_ports.sql
    );
    let mut levels: HashMap<(String, String), Level> = HashMap::new();
    for row in op.txn.query(&sql, &of_ports.args).await? {
        let level =
            Level { network_type: row.text(2), physical_network: row.opt_text(3), segmentation_id: row.opt_int(4) };
        levels.insert((row.text(0), row.text(1)), level);
    }
    let of_networks = Condition::one_of("id", networks);
    let sql = format!("SELECT id, mtu FROM networks WHERE {}", of_networks.sql);
    let mtus: HashMap<String, i64> =
        op.txn.query(&sql, &of_networks.args).await?.iter().map(|row| (row.text(0), row.int(1))).collect();
    let mut list = Vec::with_capacity(devices.len());
    for device in devices {
        let name = device.name().to_owned();
        let state = match ports.get(&name) {
            Some(port) => state(port, host, &levels, &mtus)?,
            None => DeviceState::Unknown,
        };
        list.push(DeviceDetails { device: name, state });
    }
    Ok(list)
}

fn state(
    port: &Record,
    host: Option<&str>,
    levels: &HashMap<(String, String), Level>,
    mtus: &HashMap<String, i64>,
) -> Result<DeviceState, Fault> {
    let active = port.get(HOST).unwrap_or_default();
    let host = host.unwrap_or(active);
    let level = levels.get(&(port.id().to_owned(), host.to_owned()));
    if port.get(DEVICE_OWNER).is_some_and(|owner| owner.starts_with("compute:")) && active != host {
        // Also when it is bound elsewhere only: the agent keeps its hands off it.
        return Ok(if level.is_some() { DeviceState::NoActiveBinding } else { DeviceState::Unknown });
    }
    let Some(level) = level else { return Ok(DeviceState::Unknown) };
    let bound = json!({
        "port_id": port.id(),
        "network_id": port.text("network_id"),
        "mac_address": port.text("mac_address"),
        "admin_state_up": port.get(ADMIN_STATE_UP).unwrap_or(true),
        "network_type": level.network_type,
        "segmentation_id": level.segmentation_id,
        "physical_network": level.physical_network,
        "mtu": mtus.get(port.text("network_id")),
        "fixed_ips": port.value("fixed_ips"),
        "device_owner": port.text("device_owner"),
        "allowed_address_pairs": port.value("allowed_address_pairs"),
        "port_security_enabled": port.value("port_security_enabled"),
        "qos_policy_id": Value::Null,
        "qos_network_policy_id": Value::Null,
        "profile": port.value("binding:profile"),
        "propagate_uplink_status": false,
    });
    let bound: BoundPort = serde_json::from_value(bound).map_err(Fault::internal)?;
    Ok(DeviceState::Bound(Box::new(bound)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        assert_eq!(read("tap0123abcd-ef"), Name::Start("0123abcd-ef"));
        assert_eq!(read("FA:16:3E:00:00:01"), Name::Mac("fa:16:3e:00:00:01".into()));
        let id = "0123abcd-ef01-4000-8000-000000000000";
        assert_eq!(read(id), Name::Id(id));
    }
}
