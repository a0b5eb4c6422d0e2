use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use chrono::NaiveDateTime;
use messaging::RemoteFault;
use network::port::Ports;
use policy::Context;
use resource::{Condition, Op, System, is_last_attempt, new_id};
use rpc::state::{AgentState, AgentStatus, Report, StatePlugin, agent_type};
use schema::{Fault, Value};
use serde_json::Map;

use super::clock::{Clocks, Verdict};
use super::parse_time;
use crate::dhcp::News;
use crate::objects::Versions;
use crate::settings::Settings;
use crate::view::remote;

/// Takes the agents' reports.
pub struct Reports {
    pub system: Arc<System>,
    pub settings: Arc<Settings>,
    pub ports: Arc<Ports>,
    /// Schedules the networks of segments that a host reaches now.
    pub news: Arc<News>,
    /// Told of what agents understand.
    pub versions: Arc<Versions>,
    pub clocks: Clocks,
}

/// Keys of `configurations` under which layer-2 agents report their physical networks.
const MAPPINGS: [&str; 3] = ["bridge_mappings", "interface_mappings", "device_mappings"];

fn physical_networks(configurations: &Map<String, Value>) -> Vec<String> {
    let mut names: Vec<String> = MAPPINGS
        .iter()
        .filter_map(|key| configurations.get(*key)?.as_object())
        .flat_map(|mapping| mapping.keys().cloned())
        .collect();
    names.sort();
    names.dedup();
    names
}

impl Reports {
    /// What the agent is now, and whether it reports other physical networks than before.
    async fn store(&self, op: &mut Op<'_>, state: &AgentState) -> Result<(AgentStatus, bool), Fault> {
        let now = op.txn.now();
        let key: [store::Value; 2] = [state.agent_type.as_str().into(), state.host.as_str().into()];
        let sql = "SELECT heartbeat_timestamp, configurations FROM agents WHERE agent_type = ? AND host = ?";
        let before = op.txn.query_one(sql, &key).await?;
        let configurations = Value::Object(state.configurations.clone()).to_string();
        if configurations.len() > 4095 {
            return Err(Fault::bad_request(format!(
                "The configurations of the {} on {} are too long.",
                state.agent_type, state.host
            )));
        }
        let load = match state.agent_type.as_str() {
            agent_type::DHCP => state.configurations.get("networks").and_then(Value::as_i64).unwrap_or(0),
            _ => 0,
        };
        let mut row: Vec<(&str, store::Value)> = vec![
            ("binary", state.binary.as_str().into()),
            ("topic", state.topic.as_str().into()),
            ("heartbeat_timestamp", store::Value::Time(now)),
            ("configurations", configurations.as_str().into()),
            ("load", load.into()),
        ];
        if let Some(zone) = &state.availability_zone {
            row.push(("availability_zone", zone.as_str().into()));
        }
        if let Some(versions) = &state.resource_versions {
            let versions = serde_json::to_string(versions).map_err(Fault::internal)?;
            row.push(("resource_versions", versions.into()));
        }
        if state.start_flag || before.is_none() {
            row.push(("started_at", store::Value::Time(now)));
        }
        let Some(before) = before else {
            row.extend([
                ("id", new_id().into()),
                ("agent_type", state.agent_type.as_str().into()),
                ("host", state.host.as_str().into()),
                ("admin_state_up", true.into()),
                ("created_at", store::Value::Time(now)),
            ]);
            if op.txn.insert_if_absent("agents", &row).await? {
                return Ok((AgentStatus::New, true));
            }
            // Another report of the same agent came first.
            return Err(Fault::retry(format!("two reports of the {} on {}", state.agent_type, state.host)));
        };
        let set: Vec<String> = row.iter().map(|(column, _)| format!("\"{column}\" = ?")).collect();
        let sql = format!("UPDATE agents SET {} WHERE agent_type = ? AND host = ?", set.join(", "));
        let mut args: Vec<store::Value> = row.into_iter().map(|(_, value)| value).collect();
        args.extend(key);
        op.txn.execute(&sql, &args).await?;
        let oldest = now - chrono::TimeDelta::seconds(self.settings.agent_down_time);
        let alive = parse_time(&before.text(0)).is_some_and(|beat| beat >= oldest);
        let known: Map<String, Value> = serde_json::from_str(&before.text(1)).unwrap_or_default();
        let moved = physical_networks(&known) != physical_networks(&state.configurations);
        Ok((if alive { AgentStatus::Alive } else { AgentStatus::Revived }, moved))
    }

    /// Which segments the host reaches, for networks whose subnets belong to segments.
    async fn map_segments(&self, op: &mut Op<'_>, state: &AgentState) -> Result<(), Fault> {
        let names: Vec<store::Value> = physical_networks(&state.configurations).into_iter().map(Into::into).collect();
        let host: store::Value = state.host.as_str().into();
        let reached = Condition::one_of("physical_network", names);
        let sql = format!("SELECT id FROM networksegments WHERE network_type IN ('flat', 'vlan') AND {}", reached.sql);
        let wanted: Vec<String> = op.txn.query(&sql, &reached.args).await?.iter().map(|row| row.text(0)).collect();
        let sql = "SELECT segment_id FROM segmenthostmappings WHERE host = ?";
        let known: Vec<String> =
            op.txn.query(sql, std::slice::from_ref(&host)).await?.iter().map(|row| row.text(0)).collect();
        let new: Vec<String> = wanted.iter().filter(|id| !known.contains(id)).cloned().collect();
        for id in &new {
            op.txn
                .insert_if_absent("segmenthostmappings", &[("segment_id", id.as_str().into()), ("host", host.clone())])
                .await?;
        }
        for id in known.iter().filter(|id| !wanted.contains(id)) {
            let sql = "DELETE FROM segmenthostmappings WHERE segment_id = ? AND host = ?";
            op.txn.execute(sql, &[id.as_str().into(), host.clone()]).await?;
        }
        self.news.reached(op, &new).await
    }

    /// Ports that nobody could bind while the host's agent was away.
    async fn rebind(&self, op: &mut Op<'_>, host: &str) -> Result<(), Fault> {
        let condition = Condition::new(
            "ml2_port_bindings.host = ? AND ml2_port_bindings.vif_type = 'binding_failed'",
            vec![host.into()],
        );
        for port in op.find("port", condition).await? {
            if self.ports.rebind(op, &port).await? {
                tracing::info!(port.id = port.id(), host, "the port is bound now that an agent of its host reports");
            }
        }
        Ok(())
    }

    /// Each type of agent, with how many of it are alive and dead.
    pub async fn alive_by_type(&self) -> Result<Vec<(String, u32, u32)>, store::Error> {
        let mut txn = self.system.store.read().await?;
        let oldest = txn.now() - chrono::TimeDelta::seconds(self.settings.agent_down_time);
        let mut counts: BTreeMap<String, (u32, u32)> = BTreeMap::new();
        for row in txn.query("SELECT agent_type, heartbeat_timestamp FROM agents", &[]).await? {
            let (alive, dead) = counts.entry(row.text(0)).or_default();
            *(if row.time(1) >= oldest { alive } else { dead }) += 1;
        }
        Ok(counts.into_iter().map(|(kind, (alive, dead))| (kind, alive, dead)).collect())
    }

    async fn report(&self, state: &AgentState) -> Result<AgentStatus, Fault> {
        let context = Context::internal();
        let mut attempt = 0;
        loop {
            let result = async {
                let mut txn = self.system.store.write().await?;
                let mut op = Op::new(&mut txn, &context, &self.system);
                let (status, moved) = self.store(&mut op, state).await?;
                let is_l2 = MAPPINGS.iter().any(|key| state.configurations.contains_key(*key));
                if is_l2 && (state.start_flag || moved || status != AgentStatus::Alive) {
                    self.map_segments(&mut op, state).await?;
                    self.rebind(&mut op, &state.host).await?;
                }
                txn.commit().await?;
                Ok(status)
            };
            match result.await {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                result => return result,
            }
        }
    }
}

#[async_trait]
impl StatePlugin for Reports {
    async fn report_state(
        &self,
        _context: &messaging::Context,
        agent_state: Report,
        time: String,
    ) -> Result<Option<AgentStatus>, RemoteFault> {
        let state = agent_state.agent_state;
        let sent = NaiveDateTime::parse_from_str(&time, "%Y-%m-%dT%H:%M:%S%.f").ok();
        let limit = chrono::TimeDelta::seconds(self.settings.agent_down_time);
        let (kind, host) = (state.agent_type.as_str(), state.host.as_str());
        let now = chrono::Utc::now().naive_utc();
        match sent.map(|sent| self.clocks.judge((kind, host), state.start_flag, sent, now, limit)) {
            Some(Verdict::Late) => {
                tracing::warn!(host, agent_type = kind, time, "a report that waited too long on its way is ignored");
                return Ok(None);
            }
            Some(Verdict::Skewed(skew)) => tracing::error!(
                host,
                agent_type = kind,
                "the clocks of this server and of the agent's host differ by {} s; set them by NTP",
                skew.num_seconds()
            ),
            Some(Verdict::Fresh) | None => {}
        }
        match self.report(&state).await {
            Ok(status) => {
                if let Some(versions) = &state.resource_versions {
                    self.versions.reported(&state.agent_type, &state.host, versions).await;
                }
                if status != AgentStatus::Alive {
                    tracing::info!(host = state.host, agent_type = state.agent_type, ?status, "an agent reports");
                }
                Ok(Some(status))
            }
            Err(fault) => Err(remote(&fault)),
        }
    }

    async fn has_alive_neutron_server(&self, _context: &messaging::Context) -> Result<bool, RemoteFault> {
        let mut txn = self.system.store.read().await.map_err(|error| remote(&error.into()))?;
        txn.query("SELECT 1", &[]).await.map_err(|error| remote(&error.into()))?;
        Ok(true)
    }
}
