//! What a port shows beside its columns, and how ports are found.

use std::collections::HashMap;

use policy::Context;
use resource::{Condition, Op, column_value};
use schema::{Fault, Kind, Record};
use serde_json::{Map, Value};

use crate::subnet::{NETWORK_PROJECT, NETWORK_SHARED};

const VIF_DETAILS: &str = "binding:vif_details";
/// Of the details: driver by level.
const BOUND_DRIVERS: &str = "bound_drivers";

/// The name of the device that realises a port: `tap` and the first 11 characters of its id.
pub fn device_name(port: &str) -> String {
    format!("tap{}", port.get(..11).unwrap_or(port))
}

/// Own ports, and all ports of own networks.
pub fn scope(context: &Context) -> Condition {
    let project: store::Value = context.project_id.as_str().into();
    Condition::any(vec![
        Condition::new("ports.project_id = ?", vec![project.clone()]),
        Condition::new(
            "EXISTS (SELECT 1 FROM networks WHERE networks.id = ports.network_id AND networks.project_id = ?)",
            vec![project],
        ),
    ])
}

/// What rules about ports look at on their networks, in one statement. Administrators need none of it.
pub async fn networks(op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
    if op.context.is_admin {
        return Ok(());
    }
    let mut ids: Vec<&str> = records.iter().map(|record| record.text("network_id")).collect();
    ids.sort_unstable();
    ids.dedup();
    let condition = Condition::one_of("networks.id", ids.into_iter().map(store::Value::from).collect());
    let sql = format!(
        "SELECT id, project_id, EXISTS (SELECT 1 FROM networkrbacs WHERE object_id = networks.id \
         AND action = 'access_as_shared' AND target_project IN ('*', ?)) FROM networks WHERE {}",
        condition.sql
    );
    let mut args = vec![op.context.project_id.as_str().into()];
    args.extend(condition.args);
    let mut networks: HashMap<String, (String, bool)> = HashMap::new();
    for row in op.txn.query(&sql, &args).await? {
        networks.insert(row.text(0), (row.text(1), row.bool(2)));
    }
    for record in records {
        let Some((project, shared)) = networks.get(record.text("network_id")) else { continue };
        let (project, shared) = (project.clone(), *shared);
        record.set(NETWORK_PROJECT, project);
        record.set(NETWORK_SHARED, shared);
    }
    Ok(())
}

/// What the reference leaves out of the rows that it writes, and shows: the kind of allocation when it is the usual one, and the drivers of a
/// binding, which stand in the levels. Costs a statement only where there are such rows.
pub async fn as_the_reference_wrote(op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
    if op.wants("ip_allocation") {
        for record in records.iter_mut().filter(|record| !record.has("ip_allocation")) {
            record.set("ip_allocation", "immediate");
        }
    }
    if !op.wants(VIF_DETAILS) {
        return Ok(());
    }
    let incomplete = |record: &Record| {
        let details = record.value(VIF_DETAILS).and_then(Value::as_object);
        details.is_some_and(|details| !details.is_empty() && !details.contains_key(BOUND_DRIVERS))
    };
    let ids: Vec<store::Value> =
        records.iter().filter(|record| incomplete(record)).map(|record| record.id().into()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let condition = Condition::one_of("ml2_port_bindings.port_id", ids);
    let sql = format!(
        "SELECT levels.port_id, levels.level, levels.driver FROM ml2_port_bindings JOIN ml2_port_binding_levels levels \
         ON levels.port_id = ml2_port_bindings.port_id AND levels.host = ml2_port_bindings.host \
         WHERE ml2_port_bindings.status = 'ACTIVE' AND {}",
        condition.sql
    );
    let mut drivers: HashMap<String, Map<String, Value>> = HashMap::new();
    for row in op.txn.query(&sql, &condition.args).await? {
        drivers.entry(row.text(0)).or_default().insert(row.int(1).to_string(), row.text(2).into());
    }
    for record in records {
        let Some(drivers) = drivers.remove(record.id()) else { continue };
        if let Some(Value::Object(mut details)) = record.value(VIF_DETAILS).cloned() {
            details.insert(BOUND_DRIVERS.to_owned(), drivers.into());
            record.set(VIF_DETAILS, Value::Object(details));
        }
    }
    Ok(())
}

/// `fixed_ips=ip_address=…`, `subnet_id=…`, `ip_address_substr=…`: values of one key are alternatives, keys narrow each other down.
fn by_address(values: &[String]) -> Result<Condition, Fault> {
    let (mut ips, mut subnets, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for value in values {
        match value.split_once('=') {
            Some(("ip_address", ip)) => {
                // As it is stored; what is no address matches nothing.
                ips.push(column_value(&Kind::Ip, ip).unwrap_or_else(|_| ip.into()));
            }
            Some(("subnet_id", subnet)) => subnets.push(subnet.into()),
            Some(("ip_address_substr", part)) => {
                let escaped = part.replace('!', "!!").replace('%', "!%").replace('_', "!_");
                parts.push(Condition::new(
                    "ipallocations.ip_address LIKE ? ESCAPE '!'",
                    vec![format!("%{escaped}%").into()],
                ));
            }
            _ => {
                let message = format!(
                    "Invalid input for operation: '{value}' is no filter for fixed_ips; use ip_address=…, subnet_id=… or ip_address_substr=…."
                );
                return Err(Fault::invalid_input(message));
            }
        }
    }
    let mut conditions = vec![Condition::new("ipallocations.port_id = ports.id", vec![])];
    if !ips.is_empty() {
        conditions.push(Condition::one_of("ipallocations.ip_address", ips));
    }
    if !subnets.is_empty() {
        conditions.push(Condition::one_of("ipallocations.subnet_id", subnets));
    }
    if !parts.is_empty() {
        conditions.push(Condition::any(parts));
    }
    let inner = Condition::all(conditions);
    Ok(Condition::new(format!("EXISTS (SELECT 1 FROM ipallocations WHERE {})", inner.sql), inner.args))
}

pub fn filter(name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
    match name {
        "fixed_ips" => Some(by_address(values)),
        "mac_address" => {
            let values = values
                .iter()
                .map(|value| column_value(&Kind::Mac, value).unwrap_or_else(|_| value.as_str().into()))
                .collect();
            Some(Ok(Condition::one_of("ports.mac_address", values)))
        }
        _ => None,
    }
}
