//! The agent's RPC endpoint: each message becomes a note on the board, at once.
//!
//! Payloads are read leniently; one that names nothing usable is dropped with a warning, since a full sync repairs what
//! it would have said.
//!
//! Reference: `neutron/agent/dhcp/agent.py` (handlers), `neutron/api/rpc/agentnotifiers/dhcp_rpc_agent_api.py` (sender).

use std::sync::Arc;

use async_trait::async_trait;
use messaging::{Context, Endpoint, RemoteFault, Version};
use serde_json::{Map, Value};

use super::Agent;
use super::board::is_own;
use crate::model::{Port, id};

/// Priority of a message that says none.
const LOWEST: u8 = u8::MAX;

const METHODS: [&str; 10] = [
    "network_create_end",
    "network_update_end",
    "network_delete_end",
    "subnet_create_end",
    "subnet_update_end",
    "subnet_delete_end",
    "port_create_end",
    "port_update_end",
    "port_delete_end",
    "agent_updated",
];

/// Serves topic `dhcp_agent`.
pub struct Events(pub Arc<Agent>);

#[async_trait]
impl Endpoint for Events {
    fn version(&self) -> Version {
        Version::new(1, 0)
    }

    fn methods(&self) -> &[&'static str] {
        &METHODS
    }

    async fn handle(&self, _: &Context, method: &str, args: Map<String, Value>) -> Result<Value, RemoteFault> {
        metrics::counter!("dhcp_events_total", "method" => method.to_owned()).increment(1);
        let payload = args.get("payload").unwrap_or(&Value::Null);
        if self.note(method, payload).is_none() {
            tracing::warn!(rpc.method = method, %payload, "Passed over a message that could not be read");
        }
        Ok(Value::Null)
    }
}

impl Events {
    fn note(&self, method: &str, payload: &Value) -> Option<()> {
        let agent = &self.0;
        let board = &agent.board;
        let priority = payload["priority"].as_u64().map_or(LOWEST, |p| u8::try_from(p).unwrap_or(LOWEST));
        let named = |value: &Value| value.as_str().and_then(id);
        match method {
            "network_create_end" => board.refresh(named(&payload["network"]["id"])?, priority),
            "network_update_end" => board.refresh(named(&payload["network"]["id"])?, priority),
            "network_delete_end" => board.removed(&named(&payload["network_id"])?, priority),
            "subnet_create_end" | "subnet_update_end" => {
                board.refresh(named(&payload["subnet"]["network_id"])?, priority);
            }
            "subnet_delete_end" => {
                let subnet = payload["subnet_id"].as_str()?;
                // Only a network that is here can lose a subnet here.
                if let Some(network) = named(&payload["network_id"]).or_else(|| board.network_of_subnet(subnet)) {
                    board.refresh_known(network, priority);
                }
            }
            "port_create_end" | "port_update_end" => {
                let port = Port::from_json(&payload["port"])?;
                let ours = is_own(&port, &agent.device_id(&port.network_id));
                board.port(port, ours, priority);
            }
            "port_delete_end" => {
                let network = named(&payload["network_id"]);
                let ours = |port: &Port| is_own(port, &agent.device_id(&port.network_id));
                board.port_removed(named(&payload["port_id"])?, network.as_ref(), ours, priority);
            }
            "agent_updated" => {
                tracing::info!(%payload, "The server changed this agent");
                agent.request_sync();
            }
            _ => return None,
        }
        Some(())
    }
}
