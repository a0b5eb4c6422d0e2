use std::collections::{BTreeMap, HashMap};
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
/// each binding takes the lowest free index, which only one of several writers gets.
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
    ///
    /// A routed network needs its agents on each segment that has a subnet with DHCP, since a request does not leave its segment.
    pub async fn schedule(
        &self,
        op: &mut Op<'_>,
        network: &str,
        hosting: &[DhcpAgent],
    ) -> Result<Vec<DhcpAgent>, Fault> {
        if !self.settings.network_auto_schedule {
            return Ok(Vec::new());
        }
        let wanted = self.settings.dhcp_agents_per_network;
        let mut serving = hosting.to_vec();
        let mut candidates = None;
        for place in places(op, network).await? {
            let here: Vec<DhcpAgent> = serving.iter().filter(|agent| place.reached_from(agent)).cloned().collect();
            if here.len() >= wanted {
                continue;
            }
            if candidates.is_none() {
                candidates = Some(self.candidates(op, network).await?);
            }
            let mut free = candidates.clone().unwrap_or_default();
            free.retain(|agent| place.reached_from(agent) && !serving.iter().any(|other| other.id == agent.id));
            for agent in choose(self.settings.choice, free, &here, wanted - here.len()) {
                self.bind(op, network, &agent.id).await?;
                tracing::info!(network.id = network, host = agent.host, "network scheduled to a DHCP agent");
                serving.push(agent);
            }
        }
        Ok(serving.split_off(hosting.len()))
    }

    /// Agents that may be given the network, wherever they are.
    async fn candidates(&self, op: &mut Op<'_>, network: &str) -> Result<Vec<DhcpAgent>, Fault> {
        let sql = "SELECT availability_zone_hints FROM networks WHERE id = ?";
        let hints = op.txn.query_one(sql, &[network.into()]).await?.and_then(|row| row.opt_text(0));
        let zones = self.zones_of(hints);
        let mut agents = self.agents(op).await?;
        agents.retain(|agent| agent.enabled && agent.alive && in_zones(agent, &zones));
        Ok(agents)
    }

    /// The zones that the hints of a network allow; empty if all are.
    fn zones_of(&self, hints: Option<String>) -> Vec<String> {
        let zones: Vec<String> = hints.and_then(|hints| serde_json::from_str(&hints).ok()).unwrap_or_default();
        if zones.is_empty() { self.settings.default_availability_zones.clone() } else { zones }
    }

    /// Assigns the network to the agent, under the lowest free index. Two that assign one network at once want the same index: the key
    /// lets one of them through, the other looks again and sees what that one did.
    pub async fn bind(&self, op: &mut Op<'_>, network: &str, agent: &str) -> Result<(), Fault> {
        let sql = "SELECT binding_index FROM networkdhcpagentbindings WHERE network_id = ?";
        let rows = op.txn.query(sql, &[network.into()]).await?;
        let taken: Vec<i64> = rows.iter().map(|row| row.int(0)).collect();
        let index = (1..).find(|index| !taken.contains(index)).expect("there are more numbers than rows");
        let row = [("network_id", network.into()), ("dhcp_agent_id", agent.into()), ("binding_index", index.into())];
        if op.txn.insert_if_absent("networkdhcpagentbindings", &row).await? {
            return Ok(());
        }
        Err(Fault::retry(format!("another request schedules network {network}")))
    }

    /// Assigns networks without enough agents to the agent of a host that asks for its networks.
    pub async fn fill(&self, op: &mut Op<'_>, host: &str) -> Result<(), Fault> {
        if !self.settings.network_auto_schedule {
            return Ok(());
        }
        let agents = self.agents(op).await?;
        let Some(agent) = agents.iter().find(|agent| agent.host == host && agent.enabled) else { return Ok(()) };
        let sql = "SELECT networks.id, networks.availability_zone_hints FROM networks \
             WHERE NOT EXISTS (SELECT 1 FROM networkdhcpagentbindings WHERE network_id = networks.id AND dhcp_agent_id = ?) \
             AND (EXISTS (SELECT 1 FROM subnets WHERE subnets.network_id = networks.id AND subnets.enable_dhcp = ? \
             AND subnets.segment_id IS NULL) \
             AND NOT EXISTS (SELECT 1 FROM subnets WHERE subnets.network_id = networks.id AND subnets.enable_dhcp = ? \
             AND subnets.segment_id IS NOT NULL) \
             AND (SELECT COUNT(*) FROM networkdhcpagentbindings WHERE network_id = networks.id) < ? \
             OR EXISTS (SELECT 1 FROM subnets JOIN segmenthostmappings ON segmenthostmappings.segment_id = subnets.segment_id \
             WHERE subnets.network_id = networks.id AND subnets.enable_dhcp = ? AND segmenthostmappings.host = ? \
             AND (SELECT COUNT(*) FROM networkdhcpagentbindings JOIN agents ON agents.id = networkdhcpagentbindings.dhcp_agent_id \
             JOIN segmenthostmappings AS near ON near.host = agents.host \
             WHERE networkdhcpagentbindings.network_id = networks.id AND near.segment_id = subnets.segment_id) < ?))";
        let wanted: store::Value = (self.settings.dhcp_agents_per_network as i64).into();
        let args =
            [agent.id.as_str().into(), true.into(), true.into(), wanted.clone(), true.into(), host.into(), wanted];
        for row in op.txn.query(sql, &args).await? {
            if in_zones(agent, &self.zones_of(row.opt_text(1))) {
                self.bind(op, &row.text(0), &agent.id).await?;
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

/// Where a network needs DHCP agents.
enum Place {
    /// On any host: the network is not routed.
    Anywhere,
    /// On hosts that reach one of its segments.
    Segment(Vec<String>),
}

impl Place {
    fn reached_from(&self, agent: &DhcpAgent) -> bool {
        match self {
            Place::Anywhere => true,
            Place::Segment(hosts) => hosts.contains(&agent.host),
        }
    }
}

/// The places of a network that have a subnet with DHCP.
async fn places(op: &mut Op<'_>, network: &str) -> Result<Vec<Place>, Fault> {
    let sql = "SELECT DISTINCT subnets.segment_id, segmenthostmappings.host FROM subnets \
         LEFT JOIN segmenthostmappings ON segmenthostmappings.segment_id = subnets.segment_id \
         WHERE subnets.network_id = ? AND subnets.enable_dhcp = ? ORDER BY 1, 2";
    let rows = op.txn.query(sql, &[network.into(), true.into()]).await?;
    let mut segments: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in &rows {
        if let Some(segment) = row.opt_text(0) {
            segments.entry(segment).or_default().extend(row.opt_text(1));
        }
    }
    Ok(match segments.is_empty() {
        // Subnets for routed service ports stand beside those of segments and are served nowhere.
        false => segments.into_values().map(Place::Segment).collect(),
        true => rows.first().map(|_| Place::Anywhere).into_iter().collect(),
    })
}

fn in_zones(agent: &DhcpAgent, zones: &[String]) -> bool {
    zones.is_empty() || agent.zone.as_ref().is_some_and(|zone| zones.contains(zone))
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

/// The zones in which a network is served: those of the agents that it is assigned to, dead or alive.
pub async fn zones(op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
    let ids = records.iter().map(|record| record.id().into()).collect();
    let condition = resource::Condition::one_of("networkdhcpagentbindings.network_id", ids);
    let sql = format!(
        "SELECT DISTINCT networkdhcpagentbindings.network_id, agents.availability_zone FROM networkdhcpagentbindings \
         JOIN agents ON agents.id = networkdhcpagentbindings.dhcp_agent_id WHERE {} ORDER BY 2",
        condition.sql
    );
    let mut zones: HashMap<String, Vec<Value>> = HashMap::new();
    for row in op.txn.query(&sql, &condition.args).await? {
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
