//! Agents report that they live.
//!
//! Facts: neutron/agent/rpc.py `PluginReportStateAPI`, neutron/db/agents_db.py `AgentExtRpcCallback` (served version 1.4).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::api;
use crate::topics;
use crate::view::Extra;

/// Agent types as they stand in the database and the API.
pub mod agent_type {
    pub const DHCP: &str = "DHCP agent";
    pub const L3: &str = "L3 agent";
    pub const LINUXBRIDGE: &str = "Linux bridge agent";
    pub const OPENVSWITCH: &str = "Open vSwitch agent";
    pub const METADATA: &str = "Metadata agent";
    pub const SRIOV: &str = "NIC Switch agent";
    pub const MACVTAP: &str = "Macvtap agent";
}

/// Names of the programs, as agents report them in `binary`.
pub mod binary {
    pub const DHCP: &str = "neutron-dhcp-agent";
    pub const L3: &str = "neutron-l3-agent";
    pub const LINUXBRIDGE: &str = "neutron-linuxbridge-agent";
    pub const OPENVSWITCH: &str = "neutron-openvswitch-agent";
    pub const METADATA: &str = "neutron-metadata-agent";
}

/// The topic that L2 agents report; nothing is sent there.
pub const L2_AGENT_TOPIC: &str = "N/A";

/// What an agent says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentState {
    pub agent_type: String,
    pub binary: String,
    pub host: String,
    /// Where the server reaches it.
    pub topic: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability_zone: Option<String>,
    /// Shown in the API; some of it steers scheduling and binding (`bridge_mappings`, `interface_mappings`, `tunnel_types`,
    /// `tunneling_ip`, `l2_population`, `dhcp_lease_duration`…).
    #[serde(default)]
    pub configurations: Map<String, Value>,
    /// Set until the first report that reached the server (L2 agents: until their first sync is done).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start_flag: bool,
    /// Versions of objects that it understands, at start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_versions: Option<BTreeMap<String, String>>,
    /// New with every report, to find it in both logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// The state, nested as on the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub agent_state: AgentState,
}

/// What the server makes of an agent that reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// First seen.
    New,
    Alive,
    /// Was thought dead: what it missed meanwhile it must ask for, so it resyncs.
    Revived,
}

api! {
    /// What every agent tells the server.
    trait StatePlugin, client StateClient, endpoint StatePluginEndpoint, table STATE_PLUGIN,
    topic topics::REPORTS, version (1, 4);

    /// `time` is the agent's clock in UTC, as `2026-11-30T12:35:31.811539`. `None`: sent before the server started, ignored.
    call (1, 1) fn report_state(agent_state: Report, time: String) -> Option<AgentStatus>;

    /// Whether a server answers and reaches its database.
    call (1, 2) fn has_alive_neutron_server() -> bool;
}
