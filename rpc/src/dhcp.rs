//! DHCP agent and server, both ways.
//!
//! Facts: neutron/api/rpc/handlers/dhcp_rpc.py (served version 1.10), neutron/agent/dhcp/agent.py (what agents ask),
//! neutron/api/rpc/agentnotifiers/dhcp_rpc_agent_api.py (what the server tells, and the priorities).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::{Nothing, api};
use crate::topics;
use crate::view::{Extra, FixedIp, FixedIpRequest, NetworkView, PortView, SubnetView};

/// All that a DHCP agent needs to know of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkInfo {
    pub id: String,
    #[serde(default)]
    pub project_id: String,
    #[serde(default = "yes")]
    pub admin_state_up: bool,
    /// Ordered by id; the agent's option tags count them.
    #[serde(default)]
    pub subnets: Vec<SubnetView>,
    /// Of a routed network: subnets of segments that this host does not reach.
    #[serde(default)]
    pub non_local_subnets: Vec<SubnetView>,
    #[serde(default)]
    pub ports: Vec<PortView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Of a routed network: its segments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Value>,
    #[serde(flatten)]
    pub extra: Extra,
}

fn yes() -> bool {
    true
}

/// Attribute of the last network of a page: true when there are others.
pub const MORE: &str = "more";

/// The port that an agent asks for itself; a nested `port` on the wire, as in a REST body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortBody {
    pub port: PortRequest,
}

/// Attributes of a port to create or change. Absent ones keep their default or value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PortRequest {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_state_up: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_ips: Option<Vec<FixedIpRequest>>,
    #[serde(flatten)]
    pub extra: Extra,
}

api! {
    /// What DHCP agents ask of the server.
    trait DhcpPlugin, client DhcpClient, endpoint DhcpPluginEndpoint, table DHCP_PLUGIN,
    topic topics::PLUGIN, version (1, 10);

    /// Every network that this host's agent is to serve. Schedules networks to it first, if so configured.
    ///
    /// With `limit`, which is ours: at most so many, in the order of their ids, and fewer when they have very many ports; those
    /// after `marker`. The last one has [`MORE`] when others follow. The reference takes no notice of these arguments and answers
    /// all, without that mark.
    query (1, 1) fn get_active_networks_info(
        host: String,
        /// Only subnets with DHCP. Agents of today ask for all.
        #[serde(default = "yes")]
        enable_dhcp_filter: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        marker: Option<String>,
    ) -> Vec<NetworkInfo>;

    /// One network with its subnets that have DHCP; `None` if it is gone.
    query (1, 0) fn get_network_info(network_id: String, host: String) -> Option<NetworkInfo>;

    /// Makes the agent's port, bound to its host and owned by `network:dhcp`. `None` if the network or subnet went meanwhile.
    /// Raises `IpAddressGenerationFailure` when no address is free.
    query (1, 1) fn create_dhcp_port(port: PortBody, host: String) -> Option<PortView>;

    /// Changes the agent's port, which must be its own or reserved. `None` if it went meanwhile.
    /// Raises `NetworkNotFound` when this host's agent no longer serves the network.
    query (1, 1) fn update_dhcp_port(port_id: String, port: PortBody, host: String) -> Option<PortView>;

    /// Deletes the agent's port of a network.
    call (1, 0) fn release_dhcp_port(network_id: String, device_id: String, host: String) -> Nothing;

    /// Raises `PortNotFound`.
    query (1, 8) fn get_dhcp_port(port_id: String) -> Option<PortView>;

    /// DHCP serves these ports: their provisioning block is lifted. Unknown ports are skipped.
    call (1, 5) fn dhcp_ready_on_ports(port_ids: Vec<String>) -> Nothing;

    /// Networks by filter, each attribute with a list of accepted values.
    query (1, 7) fn get_networks(
        #[serde(default)]
        filters: Option<Map<String, Value>>,
        #[serde(default)]
        fields: Option<Vec<String>>,
    ) -> Vec<NetworkView>;
}

api! {
    /// What the metadata agent, and for its isolated networks the DHCP agent, asks of the server.
    trait MetadataPlugin, client MetadataClient, endpoint MetadataPluginEndpoint, table METADATA_PLUGIN,
    topic topics::PLUGIN, version (1, 0);

    /// Ports by filter, each attribute with a list of accepted values.
    query (1, 0) fn get_ports(filters: Map<String, Value>) -> Vec<PortView>;
}

/// Lower is more urgent. The server sends it with each message and the agent orders its queue by it.
pub mod priority {
    pub const NETWORK_CREATE: u8 = 0;
    pub const NETWORK_UPDATE: u8 = 1;
    pub const NETWORK_DELETE: u8 = 2;
    pub const SUBNET_UPDATE: u8 = 3;
    pub const SUBNET_DELETE: u8 = 4;
    /// To the one agent that is to be quick about a new port.
    pub const PORT_CREATE_HIGH: u8 = 5;
    /// To the other agents of its network.
    pub const PORT_CREATE_LOW: u8 = 6;
    pub const PORT_UPDATE: u8 = 6;
    pub const PORT_DELETE: u8 = 6;
}

/// News of a network that stays. After creation the server sends its id only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkEvent {
    pub network: NetworkHint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkHint {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_state_up: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkGone {
    pub network_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubnetEvent {
    pub subnet: SubnetView,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubnetGone {
    pub subnet_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortEvent {
    pub port: PortView,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortGone {
    pub port_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_id: Option<String>,
    #[serde(default)]
    pub fixed_ips: Vec<FixedIp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentUpdated {
    pub admin_state_up: bool,
}

api! {
    /// What the server tells DHCP agents: to those that host the network, except `network_delete_end`, which goes to all.
    trait DhcpAgent, client DhcpNotifier, endpoint DhcpAgentEndpoint, table DHCP_AGENT,
    topic topics::DHCP_AGENT, version (1, 0);

    /// A network was scheduled to this agent.
    cast (1, 0) fn network_create_end(payload: NetworkEvent);
    cast (1, 0) fn network_update_end(payload: NetworkEvent);
    /// A network was deleted, or taken from this agent.
    cast (1, 0) fn network_delete_end(payload: NetworkGone);
    cast (1, 0) fn subnet_create_end(payload: SubnetEvent);
    cast (1, 0) fn subnet_update_end(payload: SubnetEvent);
    cast (1, 0) fn subnet_delete_end(payload: SubnetGone);
    cast (1, 0) fn port_create_end(payload: PortEvent);
    cast (1, 0) fn port_update_end(payload: PortEvent);
    cast (1, 0) fn port_delete_end(payload: PortGone);
    /// An operator changed the agent's admin state.
    cast (1, 0) fn agent_updated(payload: AgentUpdated);
}
