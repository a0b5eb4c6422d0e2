//! What a subnet shows beside its columns, and which subnets a project sees.

use std::collections::HashMap;

use policy::Context;
use resource::{Condition, Op};
use schema::{Fault, Kind, Record, Value};

use super::faults;

/// The project of the subnet's network, for policy rules.
pub const NETWORK_PROJECT: &str = "network:project_id";
/// Whether the network is shared with the context's project, for policy rules.
pub const NETWORK_SHARED: &str = "network:shared";

fn networks(actions: &str, project: &str) -> Condition {
    Condition::new(
        format!(
            "subnets.network_id IN (SELECT object_id FROM networkrbacs WHERE action IN ({actions}) AND target_project IN ('*', ?))"
        ),
        vec![project.into()],
    )
}

/// Own subnets, those of own networks, and those of networks that are shared with the project or external to it.
pub fn scope(context: &Context) -> Condition {
    let project = context.project_id.as_str();
    Condition::any(vec![
        Condition::new("subnets.project_id = ?", vec![project.into()]),
        Condition::new("subnets.network_id IN (SELECT id FROM networks WHERE project_id = ?)", vec![project.into()]),
        networks("'access_as_shared', 'access_as_external'", project),
    ])
}

/// Filters that are not columns of the subnet.
pub fn filter(context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
    let holds = match name {
        "shared" => networks("'access_as_shared'", &context.project_id),
        "router:external" => {
            Condition::new("subnets.network_id IN (SELECT network_id FROM externalnetworks)", Vec::new())
        }
        _ => return None,
    };
    let mut alternatives = Vec::new();
    for value in values {
        match Kind::Bool.convert(Value::String(value.clone())) {
            Ok(Value::Bool(true)) => alternatives.push(holds.clone()),
            Ok(_) => alternatives.push(Condition::new(format!("NOT ({})", holds.sql), holds.args.clone())),
            Err(why) => return Some(Err(faults::invalid(format!("{name}: {why}")))),
        }
    }
    Some(Ok(Condition::any(alternatives)))
}

struct Network {
    project: String,
    external: bool,
    shared: bool,
}

/// What the networks of a list say about its subnets, in one statement; pools in numeric order.
pub async fn load(op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
    for record in records.iter_mut() {
        sort_pools(record);
    }
    if !["router:external", "shared", NETWORK_PROJECT, NETWORK_SHARED].iter().any(|name| op.wants(name)) {
        return Ok(());
    }
    let mut ids: Vec<&str> = records.iter().map(|record| record.text("network_id")).collect();
    ids.sort_unstable();
    ids.dedup();
    let condition = Condition::one_of("n.id", ids.into_iter().map(store::Value::from).collect());
    let sql = format!(
        "SELECT n.id, n.project_id, e.network_id, EXISTS (SELECT 1 FROM networkrbacs r WHERE r.object_id = n.id \
         AND r.action = 'access_as_shared' AND r.target_project IN ('*', ?)) FROM networks n \
         LEFT JOIN externalnetworks e ON e.network_id = n.id WHERE {}",
        condition.sql
    );
    let mut args = vec![op.context.project_id.as_str().into()];
    args.extend(condition.args);
    let mut networks: HashMap<String, Network> = HashMap::new();
    for row in op.txn.query(&sql, &args).await? {
        let network = Network { project: row.text(1), external: !row.is_null(2), shared: row.bool(3) };
        networks.insert(row.text(0), network);
    }
    for record in records {
        let Some(network) = networks.get(record.text("network_id")) else { continue };
        record.set("router:external", network.external);
        record.set("shared", network.shared);
        record.set(NETWORK_PROJECT, network.project.as_str());
        record.set(NETWORK_SHARED, network.shared);
    }
    Ok(())
}

fn sort_pools(record: &mut Record) {
    let Some(Value::Array(mut pools)) = record.take("allocation_pools") else { return };
    pools.sort_by_key(|pool| {
        pool.get("start").and_then(Value::as_str).and_then(|text| text.parse::<std::net::IpAddr>().ok())
    });
    record.set("allocation_pools", pools);
}
