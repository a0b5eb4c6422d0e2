use std::sync::Arc;

use async_trait::async_trait;
use policy::{Context, Nothing};
use resource::{Action, Answer, Condition, Method, Op, Request, Route, System, is_last_attempt};
use schema::{Extension, Fault, Value};
use serde_json::json;

use super::News;
use crate::faults;
use crate::view::to_json;

/// `/agents/{id}/dhcp-networks` and `/networks/{id}/dhcp-agents`: who serves what, and moving it by hand.
pub struct HostedNetworks {
    pub news: Arc<News>,
}

pub static EXTENSION: Extension = Extension {
    alias: "dhcp_agent_scheduler",
    name: "DHCP Agent Scheduler",
    description: "Which DHCP agents serve which networks",
    updated: "2013-02-07T10:00:00-00:00",
};

const NETWORKS: &str = "/agents/{agent_id}/dhcp-networks";
const ROUTES: &[Route] = &[
    Route { method: Method::Get, path: NETWORKS },
    Route { method: Method::Post, path: NETWORKS },
    Route { method: Method::Delete, path: "/agents/{agent_id}/dhcp-networks/{network_id}" },
    Route { method: Method::Get, path: "/networks/{network_id}/dhcp-agents" },
];

fn permit(system: &System, context: &Context, rule: &str) -> Result<(), Fault> {
    if system.policy.allows(rule, context, &Nothing) { Ok(()) } else { Err(Fault::forbidden(rule)) }
}

impl HostedNetworks {
    async fn networks(&self, system: &System, context: &Context, agent: &str) -> Result<Answer, Fault> {
        permit(system, context, "get_dhcp-networks")?;
        let mut txn = system.store.read().await?;
        let mut op = Op::new(&mut txn, context, system);
        op.get("agent", agent).await?;
        let held = "networks.id IN (SELECT network_id FROM networkdhcpagentbindings WHERE dhcp_agent_id = ?)";
        let networks = op.find("network", Condition::new(held, vec![agent.into()])).await?;
        Ok(Answer::ok(json!({"networks": networks.iter().map(to_json).collect::<Vec<_>>()})))
    }

    async fn agents(&self, system: &System, context: &Context, network: &str) -> Result<Answer, Fault> {
        permit(system, context, "get_dhcp-agents")?;
        let mut txn = system.store.read().await?;
        let mut op = Op::new(&mut txn, context, system);
        let serving = "agents.id IN (SELECT dhcp_agent_id FROM networkdhcpagentbindings WHERE network_id = ?)";
        let agents = op.find("agent", Condition::new(serving, vec![network.into()])).await?;
        Ok(Answer::ok(json!({"agents": agents.iter().map(to_json).collect::<Vec<_>>()})))
    }

    async fn add(&self, op: &mut Op<'_>, agent: &str, network: &str) -> Result<(), Fault> {
        op.get("network", network).await?;
        op.get("agent", agent).await?;
        let agent = self.news.eligible(op, agent).await?;
        let hosting = self.news.scheduler.hosting(op, network).await?;
        if hosting.iter().any(|other| other.id == agent.id) {
            return Err(faults::already_hosted(network, &agent.id));
        }
        // By hand there may be more of them than the configured number.
        self.news.scheduler.bind(op, network, &agent.id).await?;
        self.news.moved(op, network, &agent.host, true);
        Ok(())
    }

    async fn remove(&self, op: &mut Op<'_>, agent: &str, network: &str) -> Result<(), Fault> {
        op.get("agent", agent).await?;
        let agents = self.news.scheduler.agents(op).await?;
        let held = agents.into_iter().find(|other| other.id == agent);
        let Some(held) = held else { return Err(faults::not_hosted(network, agent)) };
        if !self.news.scheduler.unbind(op, network, &held).await? {
            return Err(faults::not_hosted(network, agent));
        }
        self.news.moved(op, network, &held.host, false);
        Ok(())
    }
}

#[async_trait]
impl Action for HostedNetworks {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        let agent = request.param("agent_id").to_owned();
        let network = request.param("network_id").to_owned();
        match (request.route.method, request.route.path) {
            (Method::Get, NETWORKS) => return self.networks(system, context, &agent).await,
            (Method::Get, _) => return self.agents(system, context, &network).await,
            _ => {}
        }
        let adds = request.route.method == Method::Post;
        permit(system, context, if adds { "create_dhcp-network" } else { "delete_dhcp-network" })?;
        let network = if adds {
            let named = request.body.as_ref().and_then(|body| body.get("network_id")).and_then(Value::as_str);
            let Some(named) = named else {
                return Err(Fault::bad_request(
                    "Invalid input for network_id. Reason: the body has no network_id to schedule.",
                ));
            };
            named.to_owned()
        } else {
            network
        };
        let mut attempt = 0;
        loop {
            let result: Result<(), Fault> = async {
                let mut txn = system.store.write().await?;
                let mut op = Op::new(&mut txn, context, system);
                if adds {
                    self.add(&mut op, &agent, &network).await?;
                } else {
                    self.remove(&mut op, &agent, &network).await?;
                }
                txn.commit().await?;
                Ok(())
            }
            .await;
            match result {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                Err(fault) => return Err(fault),
                Ok(()) if adds => return Ok(Answer { status: 201, body: Some(Value::Null) }),
                Ok(()) => return Ok(Answer::no_content()),
            }
        }
    }
}
