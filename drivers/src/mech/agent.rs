//! What drivers with an agent on each host share: a segment fits if a live agent of the right type on the host says that it serves it.

use network::ml2::{AgentView, BindingRequest, Segment};
use schema::Value;

fn named<'a>(agent: &'a AgentView, key: &str) -> Option<&'a Value> {
    agent.configurations.get(key)
}

/// Whether the agent's reported mappings and tunnel types serve the segment. `mappings` names the keys that it reports its
/// physical networks under.
fn serves(agent: &AgentView, segment: &Segment, mappings: &[&str]) -> bool {
    match segment.network_type.as_str() {
        "local" => true,
        "flat" | "vlan" => segment.physical_network.as_deref().is_some_and(|physical| {
            mappings.iter().any(|key| named(agent, key).is_some_and(|mapping| mapping.get(physical).is_some()))
        }),
        tunnel => named(agent, "tunnel_types")
            .and_then(Value::as_array)
            .is_some_and(|types| types.iter().any(|served| served.as_str() == Some(tunnel))),
    }
}

/// The first segment that a live agent of the type on the host serves.
pub fn first_served<'a>(
    request: &'a BindingRequest<'_>,
    agent_type: &str,
    mappings: &[&str],
) -> Option<(&'a AgentView, &'a Segment)> {
    request
        .agents
        .iter()
        .filter(|agent| agent.agent_type == agent_type && agent.alive && agent.host == request.host)
        .find_map(|agent| {
            request.segments.iter().find(|segment| serves(agent, segment, mappings)).map(|segment| (agent, segment))
        })
}
