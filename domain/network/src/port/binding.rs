//! Binding: which driver realises a port on its host, over which segment. Rows of `ml2_port_bindings` and `ml2_port_binding_levels`.
//!
//! Decided inside the transaction that gives the port a host, from the host's agents and the network's segments. A port that no
//! driver can bind has the vif type `binding_failed` and is tried again when it is changed and when an agent of the host revives.

use resource::Op;
use schema::{Fault, Record, Value};
use serde_json::json;

use super::{HOST, VNIC_TYPE};
use crate::ml2::{AgentView, BindingRequest, Bound, Ml2};
use crate::network::segments;
use crate::settings::Settings;

pub const UNBOUND: &str = "unbound";
pub const FAILED: &str = "binding_failed";

/// The agents that reported from a host.
pub async fn agents_on(op: &mut Op<'_>, settings: &Settings, host: &str) -> Result<Vec<AgentView>, Fault> {
    let sql =
        "SELECT agent_type, host, heartbeat_timestamp, configurations FROM agents WHERE host = ? ORDER BY agent_type";
    let rows = op.txn.query(sql, &[host.into()]).await?;
    let oldest = op.txn.now() - chrono::TimeDelta::seconds(settings.agent_down_time);
    Ok(rows
        .iter()
        .map(|row| AgentView {
            agent_type: row.text(0),
            host: row.text(1),
            alive: row.time(2) >= oldest,
            configurations: serde_json::from_str(&row.text(3)).unwrap_or(Value::Null),
        })
        .collect())
}

/// What a port looks like once bound, or not.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub vif_type: String,
    pub vif_details: Value,
    /// Driver and segment of level 0.
    pub level: Option<(String, String)>,
}

impl Outcome {
    fn none(vif_type: &str) -> Outcome {
        Outcome { vif_type: vif_type.into(), vif_details: json!({}), level: None }
    }

    pub fn is_bound(&self) -> bool {
        self.level.is_some()
    }
}

/// Asks the drivers in order; the first that offers a binding has it.
pub async fn decide(op: &mut Op<'_>, ml2: &Ml2, port: &Record, host: &str) -> Result<Outcome, Fault> {
    if host.is_empty() {
        return Ok(Outcome::none(UNBOUND));
    }
    let network = port.text("network_id").to_owned();
    let agents = agents_on(op, &ml2.settings, host).await?;
    let segments = segments::of_network(op, &network).await?;
    let vnic_type = port.get(VNIC_TYPE).unwrap_or("normal");
    let request = BindingRequest { port, host, vnic_type, segments: &segments, agents: &agents };
    for driver in ml2.mechanisms.iter().filter(|driver| driver.supports_vnic(vnic_type)) {
        if let Some(Bound { segment, vif_type, mut vif_details }) = driver.bind(&request) {
            vif_details["bound_drivers"] = json!({"0": driver.name()});
            return Ok(Outcome {
                vif_type: vif_type.into(),
                vif_details,
                level: Some((driver.name().to_owned(), segment.id)),
            });
        }
    }
    tracing::warn!(
        port.id = port.id(),
        network.id = network,
        host,
        "no mechanism driver can bind the port: is an agent alive on the host, and does it serve one of the network's segments?"
    );
    Ok(Outcome::none(FAILED))
}

/// Stores the active binding in place of the one that was there.
pub async fn store(op: &mut Op<'_>, port: &Record, outcome: &Outcome, replace: bool) -> Result<(), Fault> {
    let id: store::Value = port.id().into();
    if replace {
        op.txn.execute("DELETE FROM ml2_port_binding_levels WHERE port_id = ? AND host IN (SELECT host FROM ml2_port_bindings WHERE port_id = ? AND status = 'ACTIVE')", &[id.clone(), id.clone()]).await?;
        op.txn
            .execute("DELETE FROM ml2_port_bindings WHERE port_id = ? AND status = 'ACTIVE'", std::slice::from_ref(&id))
            .await?;
    }
    insert(op, port, outcome, "ACTIVE").await
}

/// Removes the binding to a host with its levels; how many there were.
pub async fn remove(op: &mut Op<'_>, port: &str, host: &str) -> Result<u64, Fault> {
    let args = [port.into(), host.into()];
    op.txn.execute("DELETE FROM ml2_port_binding_levels WHERE port_id = ? AND host = ?", &args).await?;
    Ok(op.txn.execute("DELETE FROM ml2_port_bindings WHERE port_id = ? AND host = ?", &args).await?)
}

/// Stores a binding to the record's host beside those that are there.
pub async fn insert(op: &mut Op<'_>, port: &Record, outcome: &Outcome, status: &str) -> Result<(), Fault> {
    let id: store::Value = port.id().into();
    let host = port.get(HOST).unwrap_or_default();
    let profile = match port.value("binding:profile") {
        Some(Value::Object(profile)) if !profile.is_empty() => Value::Object(profile.clone()).to_string(),
        _ => String::new(),
    };
    let details = match &outcome.vif_details {
        Value::Object(details) if !details.is_empty() => outcome.vif_details.to_string(),
        _ => String::new(),
    };
    let row = [
        ("port_id", id.clone()),
        ("host", host.into()),
        ("vif_type", outcome.vif_type.as_str().into()),
        ("vnic_type", port.get(VNIC_TYPE).unwrap_or("normal").into()),
        ("profile", profile.into()),
        ("vif_details", details.into()),
        ("status", status.into()),
    ];
    op.txn.insert("ml2_port_bindings", &row).await?;
    if let Some((driver, segment)) = &outcome.level {
        let row = [
            ("port_id", id),
            ("host", host.into()),
            ("level", 0.into()),
            ("driver", driver.as_str().into()),
            ("segment_id", segment.as_str().into()),
        ];
        op.txn.insert("ml2_port_binding_levels", &row).await?;
    }
    Ok(())
}
