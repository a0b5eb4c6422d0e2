use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::NaiveDateTime;
use policy::Context;
use resource::{Op, System};
use schema::Fault;

use super::{DhcpAgent, News};
use crate::Turns;
use crate::settings::Settings;

/// Moves networks from dead DHCP agents to live ones, and reminds agents of what they may not have heard.
///
/// An agent is given up after twice `agent_down_time`; one that started lately gets two seconds more for each of its networks. When this
/// server was itself held up (suspended, or its clock jumped), the agents get a whole period to report first.
pub struct Failover {
    pub system: Arc<System>,
    pub news: Arc<News>,
}

/// Seconds that a starting agent needs for one network at most.
const PER_NETWORK: i64 = 2;

fn given_up(agent: &DhcpAgent, beat: NaiveDateTime, started: NaiveDateTime, now: NaiveDateTime, limit: i64) -> bool {
    let seconds = |n: i64| chrono::TimeDelta::seconds(n);
    beat < now - seconds(limit) && started + seconds(limit + PER_NETWORK * agent.networks) <= now
}

impl Failover {
    /// How often it looks.
    pub fn period(settings: &Settings) -> Duration {
        Duration::from_secs((settings.agent_down_time / 2).max(1) as u64)
    }

    /// Runs until it is dropped; looks when it is this process's turn.
    pub async fn run(self, turns: Arc<Turns>) {
        // News of an earlier life of this server may be lost.
        if let Err(fault) = self.news.remind(&self.system).await {
            tracing::error!(
                error = &fault as &dyn std::error::Error,
                "DHCP agents could not be reminded of ports that wait"
            );
        }
        let settings = self.news.scheduler.settings.clone();
        if !settings.allow_automatic_dhcp_failover {
            return;
        }
        let period = Self::period(&settings);
        // The agents of a cloud that comes up as a whole report first.
        tokio::time::sleep(period * 2).await;
        let mut last = (Instant::now(), std::time::SystemTime::now());
        loop {
            tokio::time::sleep(period).await;
            let wall = last.1.elapsed().unwrap_or_default();
            let held_up = last.0.elapsed().max(wall) > period * 2;
            last = (Instant::now(), std::time::SystemTime::now());
            if held_up {
                tracing::warn!(
                    "this server was held up; DHCP agents get time to report before any of them is given up"
                );
                continue;
            }
            let outcome = match turns.is_mine().await {
                // The second is for servers that died and do not come back.
                Ok(true) => match self.pass().await {
                    Ok(()) => self.news.remind(&self.system).await,
                    error => error,
                },
                Ok(false) => Ok(()),
                Err(error) => Err(error.into()),
            };
            if let Err(fault) = outcome {
                tracing::error!(
                    error = &fault as &dyn std::error::Error,
                    "could not look for dead DHCP agents; trying again later"
                );
            }
        }
    }

    /// Looks once, and moves what has to be moved.
    pub async fn pass(&self) -> Result<(), Fault> {
        let context = Context::internal();
        let scheduler = &self.news.scheduler;
        let limit = scheduler.settings.agent_down_time * 2;
        let mut dead = Vec::new();
        {
            let mut txn = self.system.store.read().await?;
            let mut op = Op::new(&mut txn, &context, &self.system);
            let agents = scheduler.agents(&mut op).await?;
            if !agents.iter().any(|agent| agent.alive && agent.enabled) {
                return Ok(());
            }
            let now = op.txn.now();
            let sql = "SELECT id, heartbeat_timestamp, started_at FROM agents WHERE agent_type = 'DHCP agent'";
            let times = op.txn.query(sql, &[]).await?;
            for agent in agents.into_iter().filter(|agent| !agent.alive && agent.enabled && agent.networks > 0) {
                let Some(row) = times.iter().find(|row| row.text(0) == agent.id) else { continue };
                if given_up(&agent, row.time(1), row.time(2), now, limit) {
                    let sql = "SELECT network_id FROM networkdhcpagentbindings WHERE dhcp_agent_id = ?";
                    let networks = op.txn.query(sql, &[agent.id.as_str().into()]).await?;
                    dead.push((agent, networks.iter().map(|row| row.text(0)).collect::<Vec<_>>()));
                }
            }
        }
        for (agent, networks) in dead {
            for network in networks {
                if let Err(fault) = self.move_on(&context, &network, &agent).await {
                    tracing::error!(
                        error = &fault as &dyn std::error::Error,
                        network.id = network,
                        "could not move a network from a dead DHCP agent"
                    );
                }
            }
        }
        Ok(())
    }

    async fn move_on(&self, context: &Context, network: &str, agent: &DhcpAgent) -> Result<(), Fault> {
        let mut txn = self.system.store.write().await?;
        let mut op = Op::new(&mut txn, context, &self.system);
        // The dead agent is not told: its queue would hold the news until it is back, and it asks for everything then.
        if !self.news.scheduler.unbind(&mut op, network, agent).await? {
            return Ok(());
        }
        let hosting = self.news.scheduler.hosting(&mut op, network).await?;
        let mut new = self.news.scheduler.schedule(&mut op, network, &hosting).await?;
        new.retain(|other| other.id != agent.id);
        for other in &new {
            self.news.moved(&mut op, network, &other.host, true);
        }
        let hosts: Vec<&str> = new.iter().map(|other| other.host.as_str()).collect();
        tracing::warn!(network.id = network, from = agent.host, to = ?hosts, "network moved from a DHCP agent that does not report");
        txn.commit().await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starting_agent_gets_time_for_its_networks() {
        let now = chrono::DateTime::from_timestamp(1_000_000, 0).unwrap().naive_utc();
        let ago = |seconds| now - chrono::TimeDelta::seconds(seconds);
        let agent = |networks| DhcpAgent {
            id: "a".into(),
            host: "h".into(),
            zone: None,
            enabled: true,
            alive: false,
            networks,
        };
        assert!(given_up(&agent(1), ago(151), ago(9000), now, 150));
        assert!(!given_up(&agent(1), ago(149), ago(9000), now, 150));
        assert!(!given_up(&agent(100), ago(151), ago(160), now, 150));
        assert!(given_up(&agent(1), ago(151), ago(160), now, 150));
    }
}
