//! What the agent asks of the server. Answers are read leniently (see [`crate::model`]): one unreadable port must not
//! take the other networks of the answer with it.
//!
//! Reference: class `DhcpPluginApi` in `neutron/agent/dhcp/agent.py`.

use std::sync::Arc;

use messaging::{Bus, CallError, Client, Context, Target, Timeouts, Version};
use rpc::dhcp::MORE;
use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{Id, Network, Port};

/// Networks of one answer at most.
const NETWORKS_OF_PAGE: u32 = 500;

/// The server, as one host's agent sees it.
#[derive(Clone)]
pub struct Plugin {
    client: Client,
    host: String,
}

/// A subnet of the DHCP port, with the address it already has there or without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WantedIp {
    /// Subnet.
    pub subnet_id: String,
    /// Address; the server chooses when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<String>,
}

impl Plugin {
    /// Asks through `bus`, on behalf of the agent of `host`.
    pub fn new(bus: Bus, host: &str, timeouts: Arc<Timeouts>) -> Plugin {
        let client = Client::new(bus, Target::topic(rpc::topics::PLUGIN)).timeouts(timeouts);
        Plugin { client, host: host.to_owned() }
    }

    async fn call(&self, minor: u16, method: &str, args: Value) -> Result<Value, CallError> {
        self.client.call(&Context::admin(), Version::new(1, minor), method, &args).await
    }

    /// Every network that this agent has to serve.
    pub async fn active_networks(&self) -> Result<Vec<Network>, CallError> {
        // All subnets, as the reference asks; those without DHCP are dropped here, so that this answer and that of
        // `network` look the same.
        // In pages, since messages are limited; the reference answers all at once, without the mark that others follow.
        let mut all = Vec::new();
        let mut marker: Option<String> = None;
        loop {
            let mut args = json!({"host": self.host, "enable_dhcp_filter": false, "limit": NETWORKS_OF_PAGE});
            if let Some(marker) = &marker {
                args["marker"] = json!(marker);
            }
            let answer = self.call(1, "get_active_networks_info", args).await?;
            let networks = answer.as_array().map(Vec::as_slice).unwrap_or_default();
            for network in networks {
                match Network::from_json(network) {
                    Some(network) => all.push(only_dhcp(network)),
                    None => tracing::error!(network = %network["id"], "Passed over a network that could not be read"),
                }
            }
            let last = networks.last().filter(|last| last[MORE] == true);
            let next = last.and_then(|last| last["id"].as_str()).map(str::to_owned);
            // Pages go forward, or they would never end.
            if next.is_none() || next <= marker {
                return Ok(all);
            }
            marker = next;
        }
    }

    /// One network, unless it is gone.
    pub async fn network(&self, network: &Id) -> Result<Option<Network>, CallError> {
        let args = json!({"network_id": &**network, "host": self.host});
        let answer = self.call(0, "get_network_info", args).await?;
        Ok(Network::from_json(&answer).map(only_dhcp))
    }

    /// Makes the agent's port; `None` when the network or a subnet went meanwhile.
    pub async fn create_port(
        &self,
        network: &Network,
        device_id: &str,
        fixed_ips: Vec<WantedIp>,
    ) -> Result<Option<Port>, CallError> {
        let port = json!({"port": {
            "name": "",
            "admin_state_up": true,
            "device_id": device_id,
            "network_id": &*network.id,
            "project_id": network.project_id,
            "fixed_ips": fixed_ips,
        }});
        let answer = self.call(1, "create_dhcp_port", json!({"port": port, "host": self.host})).await?;
        Ok(Port::from_json(&answer))
    }

    /// Changes the agent's port, or takes a reserved one over; `None` when it is another's or gone.
    pub async fn update_port(
        &self,
        network: &Id,
        port: &Id,
        device_id: Option<&str>,
        fixed_ips: Option<Vec<WantedIp>>,
    ) -> Result<Option<Port>, CallError> {
        let mut body = json!({"network_id": &**network});
        if let Some(device_id) = device_id {
            body["device_id"] = json!(device_id);
        }
        if let Some(fixed_ips) = fixed_ips {
            body["fixed_ips"] = json!(fixed_ips);
        }
        let args = json!({"port_id": &**port, "port": {"port": body}, "host": self.host});
        Ok(Port::from_json(&self.call(1, "update_dhcp_port", args).await?))
    }

    /// The port as it is now.
    pub async fn port(&self, port: &Id) -> Result<Option<Port>, CallError> {
        Ok(Port::from_json(&self.call(8, "get_dhcp_port", json!({"port_id": &**port})).await?))
    }

    /// Deletes the agent's port of a network.
    pub async fn release_port(&self, network: &Id, device_id: &str) -> Result<(), CallError> {
        let args = json!({"network_id": &**network, "device_id": device_id, "host": self.host});
        self.call(0, "release_dhcp_port", args).await.map(drop)
    }

    /// Says that DHCP is in place for these ports.
    pub async fn ready(&self, ports: &[Id]) -> Result<(), CallError> {
        let ports: Vec<&str> = ports.iter().map(|port| &**port).collect();
        self.call(5, "dhcp_ready_on_ports", json!({"port_ids": ports})).await.map(drop)
    }
}

fn only_dhcp(mut network: Network) -> Network {
    network.subnets.retain(|subnet| subnet.enable_dhcp);
    network.non_local_subnets.retain(|subnet| subnet.enable_dhcp);
    network
}
