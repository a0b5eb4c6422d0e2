//! Versioned objects pulled by agents and pushed to them.
//!
//! Facts: neutron/api/rpc/handlers/resources_rpc.py, neutron/api/rpc/callbacks/resources.py.

use std::collections::BTreeMap;

use messaging::{Context, TransportError};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::api::api;
use crate::objects::Object;
use crate::topics;

/// Types and the versions in which we know them.
pub const VERSIONS: &[(&str, &str)] = &[
    ("QosPolicy", "1.10"),
    ("Trunk", "1.1"),
    ("SubPort", "1.0"),
    ("Port", "1.11"),
    ("Subnet", "1.2"),
    ("Network", "1.3"),
    ("SecurityGroup", "1.6"),
    ("SecurityGroupRule", "1.3"),
    ("Log", "1.0"),
    ("PortForwarding", "1.3"),
    ("ConntrackHelper", "1.0"),
    ("AddressGroup", "1.2"),
    ("LocalIPAssociation", "1.0"),
    ("NDPProxy", "1.0"),
    ("Agent", "1.1"),
];

/// [`VERSIONS`] as an agent reports them.
#[must_use]
pub fn versions() -> BTreeMap<String, String> {
    VERSIONS.iter().map(|(kind, version)| ((*kind).to_owned(), (*version).to_owned())).collect()
}

/// What happened to the objects of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Event {
    Created,
    Updated,
    Deleted,
}

api! {
    /// What agents ask of the server: objects by id or by filter, in a version that they understand.
    trait ResourcesPlugin, client ResourcesClient, endpoint ResourcesPluginEndpoint, table RESOURCES_PLUGIN,
    topic topics::PLUGIN, version (1, 1);

    /// One object; `None` if there is none. Raises `CallbackNotFound` for an unknown type.
    query (1, 0) fn pull(resource_type: String, version: String, resource_id: String) -> Option<Object>;

    /// All objects that match: each field with a value or a list of accepted values.
    query (1, 1) fn bulk_pull(
        resource_type: String,
        version: String,
        #[serde(default)]
        filter_kwargs: Option<Map<String, Value>>,
    ) -> Vec<Object>;
}

api! {
    /// What the server tells agents: objects of one type that changed, on the topic of type and version. Use [`push`].
    trait ResourcesAgent, client ResourcesNotifier, endpoint ResourcesAgentEndpoint, table RESOURCES_AGENT,
    topic "neutron-vo", version (1, 1);

    fanout (1, 1) fn push(resource_list: Vec<Object>, event_type: Event);
}

api! {
    /// What a server tells the other servers.
    trait ResourceVersionsPeer, client ResourceVersionsNotifier, endpoint ResourceVersionsPeerEndpoint,
    table RESOURCE_VERSIONS_PEER,
    topic topics::SERVER_RESOURCE_VERSIONS, version (1, 0);

    /// An agent started and understands these versions.
    fanout (1, 0) fn report_agent_resource_versions(
        agent_type: String,
        agent_host: String,
        version_map: BTreeMap<String, String>,
    );
}

/// Pushes objects, which must be of one type and version, to whoever listens for them.
pub async fn push(
    notifier: &ResourcesNotifier,
    context: &Context,
    objects: Vec<Object>,
    event: Event,
) -> Result<(), TransportError> {
    let Some(first) = objects.first() else { return Ok(()) };
    let topic = topics::resource(&first.name, &first.version);
    notifier.on_topic(&topic).push(context, objects, event).await
}
