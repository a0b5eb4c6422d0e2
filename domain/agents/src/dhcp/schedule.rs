use std::collections::HashMap;
use std::sync::Arc;

use resource::Op;
use schema::{Fault, Record, Value};

use crate::settings::{Choice, Settings};

/// A DHCP agent as scheduling sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DhcpAgent {
    pub id: String,
    pub host: String,
    pub zone: Option<String>,
    pub enabled: bool,
    pub alive: bool,
    /// Networks that it serves.
    pub networks: i64,
}

/// Assigns networks to DHCP agents. The keys of `networkdhcpagentbindings` see to it that no more than the wanted number serve one:
/// each binding takes one of the indices 1 to that number.
pub struct Scheduler {
    pub settings: Arc<Settings>,
}

const AGENT: &str = "agents.id, agents.host, agents.availability_zone, agents.admin_state_up, agents.heartbeat_timestamp, \
    (SELECT COUNT(*) FROM networkdhcpagentbindings AS held WHERE held.dhcp_agent_id = agents.id)";

impl Scheduler {
    fn read(&self, rows: &[store::Row], now: chrono::NaiveDateTime) -> Vec<DhcpAgent> {
        let oldest = now - chrono::TimeDelta::seconds(self.settings.agent_down_time);
        rows.iter()
            .map(|row| DhcpAgent {
                id: row.text(0),
                host: row.text(1),
                zone: row.opt_text(2),
                enabled: row.bool(3),
                alive: row.time(4) >= oldest,
                networks: row.int(5),
            })
            .collect()
    }

    /// All DHCP agents.
    pub async fn agents(&self, op: &mut Op<'_>) -> Result<Vec<DhcpAgent>, Fault> {
        let sql = format!("SELECT {AGENT} FROM agents WHERE agents.agent_type = 'DHCP agent' ORDER BY agents.id");
        let rows = op.txn.query(&sql, &[]).await?;
        Ok(self.read(&rows, op.txn.now()))
    }

    /// Agents that a network is assigned to, in the order of their index.
    pub async fn hosting(&self, op: &mut Op<'_>, network: &str) -> Result<Vec<DhcpAgent>, Fault> {
        let sql = format!(
            "SELECT {AGENT} FROM networkdhcpagentbindings JOIN agents ON agents.id = networkdhcpagentbindings.dhcp_agent_id \
             WHERE networkdhcpagentbindings.network_id = ? ORDER BY networkdhcpagentbindings.binding_index"
        );
        let rows = op.txn.query(&sql, &[network.into()]).await?;
        Ok(self.read(&rows, op.txn.now()))
    }

    /// Assigns the network to as many more agents as it lacks; those newly assigned. Nothing if none of its subnets has DHCP.
    pub async fn schedule(
        &self,
        op: &mut Op<'_>,
        network: &str,
        hosting: &[DhcpAgent],
    ) -> Result<Vec<DhcpAgent>, Fault> {
        let wanted = self.settings.dhcp_agents_per_network;
        if !self.settings.network_auto_schedule || hosting.len() >= wanted {
            return Ok(Vec::new());
        }
        let sql = "SELECT segment_id FROM subnets WHERE network_id = ? AND enable_dhcp = ?";
        let subnets = op.txn.query(sql, &[network.into(), true.into()]).await?;
        if subnets.is_empty() {
            return Ok(Vec::new());
        }
        let segments: Vec<String> = subnets.iter().filter_map(|row| row.opt_text(0)).collect();
        let hosts = self.hosts_of(op, &segments).await?;
        let sql = "SELECT availability_zone_hints FROM networks WHERE id = ?";
        let hints = op.txn.query_one(sql, &[network.into()]).await?.and_then(|row| row.opt_text(0)).unwrap_or_default();
        let mut zones: Vec<String> = serde_json::from_str(&hints).unwrap_or_default();
        if zones.is_empty() {
            zones = self.settings.default_availability_zones.clone();
        }
        let mut candidates = self.agents(op).await?;
        candidates.retain(|agent| {
            agent.enabled
                && agent.alive
                && !hosting.iter().any(|other| other.id == agent.id)
                && (zones.is_empty() || agent.zone.as_ref().is_some_and(|zone| zones.contains(zone)))
                && hosts.as_ref().is_none_or(|hosts| hosts.contains(&agent.host))
        });
        let mut assigned = Vec::new();
        for agent in choose(self.settings.choice, candidates, hosting, wanted - hosting.len()) {
            if self.bind(op, network, &agent.id, wanted).await? {
                tracing::info!(network.id = network, host = agent.host, "network scheduled to a DHCP agent");
                assigned.push(agent);
            }
        }
        Ok(assigned)
    }

    /// Hosts that reach one of the segments; None if the network is not routed and any host will do.
    async fn hosts_of(&self, op: &mut Op<'_>, segments: &[String]) -> Result<Option<Vec<String>>, Fault> {
        if segments.is_empty() {
            return Ok(None);
        }
        let ids = segments.iter().map(|id| id.as_str().into()).collect();
        let condition = resource::Condition::one_of("segment_id", ids);
        let sql = format!("SELECT DISTINCT host FROM segmenthostmappings WHERE {}", condition.sql);
        let rows = op.txn.query(&sql, &condition.args).await?;
        Ok(Some(rows.iter().map(|row| row.text(0)).collect()))
    }

    /// Takes a free index up to `limit` for the agent. False if there is none, or it is assigned already.
    pub async fn bind(&self, op: &mut Op<'_>, network: &str, agent: &str, limit: usize) -> Result<bool, Fault> {
        let sql = "SELECT binding_index, dhcp_agent_id FROM networkdhcpagentbindings WHERE network_id = ?";
        let rows = op.txn.query(sql, &[network.into()]).await?;
        if rows.iter().any(|row| row.text(1) == agent) {
            return Ok(false);
        }
        let taken: Vec<i64> = rows.iter().map(|row| row.int(0)).collect();
        for index in (1..=limit as i64).filter(|index| !taken.contains(index)) {
            let row =
                [("network_id", network.into()), ("dhcp_agent_id", agent.into()), ("binding_index", index.into())];
            if op.txn.insert_if_absent("networkdhcpagentbindings", &row).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Assigns networks without enough agents to the agent of a host that asks for its networks.
    pub async fn fill(&self, op: &mut Op<'_>, host: &str) -> Result<(), Fault> {
        if !self.settings.network_auto_schedule {
            return Ok(());
        }
        let wanted = self.settings.dhcp_agents_per_network;
        let agents = self.agents(op).await?;
        let Some(agent) = agents.iter().find(|agent| agent.host == host && agent.enabled) else { return Ok(()) };
        let sql = "SELECT networks.id, networks.availability_zone_hints FROM networks \
             WHERE (SELECT COUNT(*) FROM networkdhcpagentbindings WHERE network_id = networks.id) < ? \
             AND NOT EXISTS (SELECT 1 FROM networkdhcpagentbindings WHERE network_id = networks.id AND dhcp_agent_id = ?) \
             AND EXISTS (SELECT 1 FROM subnets WHERE subnets.network_id = networks.id AND subnets.enable_dhcp = ? \
             AND (subnets.segment_id IS NULL OR EXISTS (SELECT 1 FROM segmenthostmappings \
             WHERE segmenthostmappings.segment_id = subnets.segment_id AND segmenthostmappings.host = ?)))";
        let args = [(wanted as i64).into(), agent.id.as_str().into(), true.into(), host.into()];
        for row in op.txn.query(sql, &args).await? {
            let mut zones: Vec<String> =
                row.opt_text(1).and_then(|hints| serde_json::from_str(&hints).ok()).unwrap_or_default();
            if zones.is_empty() {
                zones = self.settings.default_availability_zones.clone();
            }
            if zones.is_empty() || agent.zone.as_ref().is_some_and(|zone| zones.contains(zone)) {
                self.bind(op, &row.text(0), &agent.id, wanted).await?;
            }
        }
        Ok(())
    }

    /// Takes a network from an agent; its DHCP port waits for the next one. False if it did not have it.
    pub async fn unbind(&self, op: &mut Op<'_>, network: &str, agent: &DhcpAgent) -> Result<bool, Fault> {
        let sql = "DELETE FROM networkdhcpagentbindings WHERE network_id = ? AND dhcp_agent_id = ?";
        if op.txn.execute(sql, &[network.into(), agent.id.as_str().into()]).await? == 0 {
            return Ok(false);
        }
        let device = super::device_id(network, &agent.host);
        let condition = resource::Condition::new(
            "ports.network_id = ? AND ports.device_id = ?",
            vec![network.into(), device.into()],
        );
        for port in op.find("port", condition).await? {
            let given = op.given_update("port", serde_json::json!({"device_id": super::RESERVED_PORT}))?;
            op.update("port", port.id(), &given).await?;
        }
        Ok(true)
    }
}

/// Up to `count` of the candidates, by the configured rule.
fn choose(choice: Choice, mut candidates: Vec<DhcpAgent>, hosting: &[DhcpAgent], count: usize) -> Vec<DhcpAgent> {
    // Among equals chance decides, so that bursts on several servers spread.
    for i in (1..candidates.len()).rev() {
        candidates.swap(i, rand::random_range(0..=i));
    }
    match choice {
        Choice::Chance => candidates.truncate(count),
        Choice::Weight => {
            candidates.sort_by_key(|agent| agent.networks);
            candidates.truncate(count);
        }
        Choice::ZoneAware => {
            candidates.sort_by_key(|agent| agent.networks);
            let mut per_zone: HashMap<Option<String>, usize> = HashMap::new();
            for agent in hosting {
                *per_zone.entry(agent.zone.clone()).or_default() += 1;
            }
            let mut chosen = Vec::new();
            while chosen.len() < count && !candidates.is_empty() {
                // The candidates are in order of load, so the first of the emptiest zone is the least loaded there.
                let index = (0..candidates.len())
                    .min_by_key(|index| (per_zone.get(&candidates[*index].zone).copied().unwrap_or(0), *index))
                    .unwrap_or(0);
                let agent = candidates.remove(index);
                *per_zone.entry(agent.zone.clone()).or_default() += 1;
                chosen.push(agent);
            }
            return chosen;
        }
    }
    candidates
}

/// The zones in which a network is served: those of the live agents that it is assigned to.
pub async fn zones(op: &mut Op<'_>, settings: &Settings, records: &mut [Record]) -> Result<(), Fault> {
    let ids = records.iter().map(|record| record.id().into()).collect();
    let condition = resource::Condition::one_of("networkdhcpagentbindings.network_id", ids);
    let oldest = op.txn.now() - chrono::TimeDelta::seconds(settings.agent_down_time);
    let sql = format!(
        "SELECT DISTINCT networkdhcpagentbindings.network_id, agents.availability_zone FROM networkdhcpagentbindings \
         JOIN agents ON agents.id = networkdhcpagentbindings.dhcp_agent_id WHERE agents.heartbeat_timestamp >= ? \
         AND agents.admin_state_up = ? AND {} ORDER BY 2",
        condition.sql
    );
    let mut args = vec![store::Value::Time(oldest), true.into()];
    args.extend(condition.args);
    let mut zones: HashMap<String, Vec<Value>> = HashMap::new();
    for row in op.txn.query(&sql, &args).await? {
        if let Some(zone) = row.opt_text(1) {
            zones.entry(row.text(0)).or_default().push(zone.into());
        }
    }
    for record in records {
        let of_this = zones.remove(record.id()).unwrap_or_default();
        record.set("availability_zones", of_this);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(id: &str, zone: &str, networks: i64) -> DhcpAgent {
        DhcpAgent { id: id.into(), host: id.into(), zone: Some(zone.into()), enabled: true, alive: true, networks }
    }

    fn ids(agents: &[DhcpAgent]) -> Vec<&str> {
        agents.iter().map(|agent| agent.id.as_str()).collect()
    }

    #[test]
    fn the_least_loaded_serves() {
        let candidates = vec![agent("a", "z1", 3), agent("b", "z1", 1), agent("c", "z2", 2)];
        assert_eq!(ids(&choose(Choice::Weight, candidates, &[], 2)), ["b", "c"]);
    }

    #[test]
    fn zones_are_filled_evenly() {
        let candidates = vec![agent("a", "z1", 0), agent("b", "z1", 1), agent("c", "z2", 9)];
        assert_eq!(ids(&choose(Choice::ZoneAware, candidates.clone(), &[], 2)), ["a", "c"]);
        let hosting = [agent("d", "z2", 0)];
        assert_eq!(ids(&choose(Choice::ZoneAware, candidates, &hosting, 2)), ["a", "b"]);
    }

    #[test]
    fn chance_never_takes_more_than_there_are() {
        assert_eq!(choose(Choice::Chance, vec![agent("a", "z", 0)], &[], 5).len(), 1);
    }
}
