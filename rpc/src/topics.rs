//! Names of topics, as in neutron_lib/agent/topics.py.

/// Agents ask the server's core plugin: DHCP, L2, metadata, versioned objects.
pub const PLUGIN: &str = "q-plugin";
/// Agents report their state.
pub const REPORTS: &str = "q-reports-plugin";
/// Servers tell each other which versions of objects the agents understand.
pub const SERVER_RESOURCE_VERSIONS: &str = "q-server-resource-versions";
/// The server tells DHCP agents.
pub const DHCP_AGENT: &str = "dhcp_agent";
/// The server tells L3 agents.
pub const L3_AGENT: &str = "l3_agent";

/// The server tells L2 agents; one topic per kind of news, each a fanout. Agents listen to those they care for.
pub const PORT_UPDATE: &str = "q-agent-notifier-port-update";
pub const PORT_DELETE: &str = "q-agent-notifier-port-delete";
pub const NETWORK_UPDATE: &str = "q-agent-notifier-network-update";
pub const NETWORK_DELETE: &str = "q-agent-notifier-network-delete";
pub const PORT_BINDING_ACTIVATE: &str = "q-agent-notifier-binding-activate";
pub const PORT_BINDING_DEACTIVATE: &str = "q-agent-notifier-binding-deactivate";
pub const SECURITY_GROUP_UPDATE: &str = "q-agent-notifier-security_group-update";
pub const TUNNEL_UPDATE: &str = "q-agent-notifier-tunnel-update";
pub const TUNNEL_DELETE: &str = "q-agent-notifier-tunnel-delete";
pub const L2POPULATION_UPDATE: &str = "q-agent-notifier-l2population-update";

/// The topic of pushes of one type of versioned object in one version, e.g. `neutron-vo-Port-1.11`.
#[must_use]
pub fn resource(kind: &str, version: &str) -> String {
    format!("neutron-vo-{kind}-{version}")
}
