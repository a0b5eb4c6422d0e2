//! What a network shows beside its columns, and which networks a project sees.

use std::collections::{HashMap, HashSet};

use policy::Context;
use resource::{Condition, Op, column_value};
use schema::{Fault, Kind, Record, Value};

use super::segments;
use crate::ml2::{NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID, Segment};

/// Rows of `networkrbacs` that let `project` see a network in one of these ways.
fn shared_by(project: &str, actions: &[&str]) -> Condition {
    let actions: Vec<String> = actions.iter().map(|action| format!("'{action}'")).collect();
    Condition::new(
        format!(
            "EXISTS (SELECT 1 FROM networkrbacs WHERE networkrbacs.object_id = networks.id AND networkrbacs.action IN ({}) \
             AND networkrbacs.target_project IN ('*', ?))",
            actions.join(", ")
        ),
        vec![project.into()],
    )
}

/// Own networks, and those shared with the project or offered as external.
pub fn scope(context: &Context) -> Condition {
    Condition::any(vec![
        Condition::new("networks.project_id = ?", vec![context.project_id.as_str().into()]),
        shared_by(&context.project_id, &["access_as_shared", "access_as_external"]),
    ])
}

fn flags(name: &str, values: &[String]) -> Result<(bool, bool), Fault> {
    let (mut yes, mut no) = (false, false);
    for value in values {
        match Kind::Bool.convert(Value::String(value.clone())) {
            Ok(Value::Bool(true)) => yes = true,
            Ok(_) => no = true,
            Err(why) => return Err(Fault::invalid_input(format!("Invalid input for operation: {name}: {why}."))),
        }
    }
    Ok((yes, no))
}

fn by_flag(name: &str, values: &[String], holds: Condition) -> Result<Condition, Fault> {
    Ok(match flags(name, values)? {
        (true, true) => Condition::new("1 = 1", vec![]),
        (true, false) => holds,
        (false, true) => Condition::new(format!("NOT {}", holds.sql), holds.args),
        (false, false) => Condition::never(),
    })
}

/// Filters that are not columns of the network.
pub fn filter(context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
    let segment = |column: &str, kind: Kind| {
        let mut wanted = Vec::new();
        let mut none = false;
        for value in values {
            if value.is_empty() {
                none = true;
                continue;
            }
            match column_value(&kind, value) {
                Ok(value) => wanted.push(value),
                Err(why) => return Err(Fault::invalid_input(format!("Invalid input for operation: {name}: {why}."))),
            }
        }
        let column = format!("networksegments.{column}");
        let mut alternatives = vec![Condition::one_of(&column, wanted)];
        if none {
            alternatives.push(Condition::new(format!("{column} IS NULL"), vec![]));
        }
        let inner = Condition::any(alternatives);
        let sql = format!(
            "EXISTS (SELECT 1 FROM networksegments WHERE networksegments.network_id = networks.id AND {})",
            inner.sql
        );
        Ok(Condition::new(sql, inner.args))
    };
    match name {
        "shared" => Some(by_flag(name, values, shared_by(&context.project_id, &["access_as_shared"]))),
        "router:external" => {
            let sql = "EXISTS (SELECT 1 FROM externalnetworks WHERE externalnetworks.network_id = networks.id)";
            Some(by_flag(name, values, Condition::new(sql, vec![])))
        }
        NETWORK_TYPE => Some(segment("network_type", Kind::Text { max: 32 })),
        PHYSICAL_NETWORK => Some(segment("physical_network", Kind::Text { max: 64 })),
        SEGMENTATION_ID => Some(segment("segmentation_id", Kind::Int { min: 0, max: i64::from(u32::MAX) })),
        _ => None,
    }
}

fn show_segments(record: &mut Record, segments: &[Segment]) {
    match segments {
        [] => {
            for name in [NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID] {
                record.set(name, Value::Null);
            }
        }
        [segment] => {
            record.set(NETWORK_TYPE, segment.network_type.as_str());
            record.set(PHYSICAL_NETWORK, segment.physical_network.clone());
            record.set(SEGMENTATION_ID, segment.segmentation_id);
        }
        several => record.set("segments", several.iter().map(Segment::to_provider).collect::<Vec<_>>()),
    }
}

/// Segments, sharing, external flag and adjacency of a list: four statements at most.
pub async fn load(op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
    let ids = || -> Vec<store::Value> { records.iter().map(|record| record.id().into()).collect() };
    let wants_segments =
        [NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID, "segments"].iter().any(|name| op.wants(name));
    let mut by_network: HashMap<String, Vec<Segment>> = HashMap::new();
    if wants_segments {
        for (network, segment) in segments::of_networks(op, ids()).await? {
            by_network.entry(network).or_default().push(segment);
        }
    }
    let mut shared = HashSet::new();
    if op.wants("shared") {
        let condition = Condition::one_of("object_id", ids());
        let sql = format!(
            "SELECT object_id FROM networkrbacs WHERE action = 'access_as_shared' AND target_project IN ('*', ?) AND {}",
            condition.sql
        );
        let mut args = vec![op.context.project_id.as_str().into()];
        args.extend(condition.args);
        shared.extend(op.txn.query(&sql, &args).await?.iter().map(|row| row.text(0)));
    }
    let mut external = HashSet::new();
    if op.wants("router:external") {
        let condition = Condition::one_of("network_id", ids());
        let sql = format!("SELECT network_id FROM externalnetworks WHERE {}", condition.sql);
        external.extend(op.txn.query(&sql, &condition.args).await?.iter().map(|row| row.text(0)));
    }
    let mut routed = HashSet::new();
    if op.wants("l2_adjacency") {
        let condition = Condition::one_of("network_id", ids());
        let sql = format!("SELECT network_id FROM subnets WHERE segment_id IS NOT NULL AND {}", condition.sql);
        routed.extend(op.txn.query(&sql, &condition.args).await?.iter().map(|row| row.text(0)));
    }
    for record in records {
        let id = record.id().to_owned();
        if wants_segments {
            show_segments(record, by_network.get(&id).map_or(&[], Vec::as_slice));
        }
        record.set("shared", shared.contains(&id));
        record.set("router:external", external.contains(&id));
        record.set("l2_adjacency", !routed.contains(&id));
    }
    Ok(())
}

/// What rules of ports and subnets look at on their network: its project, and whether the context's project shares it.
pub async fn parent_target(op: &mut Op<'_>, network: &str) -> Result<Vec<(String, Value)>, Fault> {
    let sql = "SELECT project_id, EXISTS (SELECT 1 FROM networkrbacs WHERE object_id = networks.id \
               AND action = 'access_as_shared' AND target_project IN ('*', ?)) FROM networks WHERE id = ?";
    let args = [op.context.project_id.as_str().into(), network.into()];
    let Some(row) = op.txn.query_one(sql, &args).await? else { return Ok(Vec::new()) };
    let project = Value::from(row.text(0));
    Ok(vec![
        ("network:tenant_id".into(), project.clone()),
        ("network:project_id".into(), project),
        ("network:shared".into(), Value::Bool(row.bool(1))),
    ])
}
