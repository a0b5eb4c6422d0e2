//! The contract between server and agents, said once: methods, versions, arguments, results, versioned objects.
//!
//! Knows no transport and no behaviour. Every API is declared with the `api!` macro, which gives:
//!
//! | you are… | you take | from |
//! |---|---|---|
//! | an agent asking the server | a client: [`dhcp::DhcpClient`], [`l2::PluginClient`], [`state::StateClient`], … | `XClient::new(bus)` |
//! | the server telling agents | a notifier: [`dhcp::DhcpNotifier`], [`l2::L2Notifier`], [`l2pop::L2popNotifier`], … | `.server(host)`, `.everyone()` |
//! | whoever answers | the trait of that API, served by its endpoint | [`messaging::Dispatcher`] |
//!
//! | API | server side (topic) | agent side (topic) |
//! |---|---|---|
//! | [`dhcp`] | `DhcpPlugin`, `MetadataPlugin` (`q-plugin`) | `DhcpAgent` (`dhcp_agent`) |
//! | [`l2`] | `L2Plugin` (`q-plugin`) | `L2Agent`, `TunnelAgent` (`q-agent-notifier-…`) |
//! | [`l2pop`] | | `L2popAgent` (`q-agent-notifier-l2population-update`) |
//! | [`security_groups`] | `SecurityGroupPlugin` (`q-plugin`) | `SecurityGroupAgent` (`q-agent-notifier-security_group-update`) |
//! | [`state`] | `StatePlugin` (`q-reports-plugin`) | |
//! | [`resources`] | `ResourcesPlugin` (`q-plugin`), `ResourceVersionsPeer` | `ResourcesAgent` (`neutron-vo-<type>-<version>`) |
//!
//! An agent listens with [`listen`], one listener a topic. [`APIS`] lists every table, for tests and documentation.
//!
//! Rules: a method never changes meaning; an argument is added with a default and a higher minor version; unknown fields are
//! kept or ignored, never refused. Recorded messages of the reference (tests/golden) must survive decoding and encoding.

pub mod api;
pub mod dhcp;
pub mod l2;
pub mod l2pop;
pub mod objects;
pub mod resources;
pub mod security_groups;
pub mod state;
pub mod topics;
pub mod view;

use std::sync::Arc;

use messaging::{Bus, Dispatcher, ListenOptions, Listener, Target, TransportError};

use crate::api::Api;

/// Every API.
pub static APIS: &[&Api] = &[
    &dhcp::DHCP_PLUGIN,
    &dhcp::METADATA_PLUGIN,
    &dhcp::DHCP_AGENT,
    &l2::L2_PLUGIN,
    &l2::L2_AGENT,
    &l2::TUNNEL_AGENT,
    &l2pop::L2POP_AGENT,
    &security_groups::SECURITY_GROUP_PLUGIN,
    &security_groups::SECURITY_GROUP_AGENT,
    &state::STATE_PLUGIN,
    &resources::RESOURCES_PLUGIN,
    &resources::RESOURCES_AGENT,
    &resources::RESOURCE_VERSIONS_PEER,
];

/// Listens on several topics as one host, e.g. an L2 agent on those of its news.
pub async fn listen(
    bus: &Bus,
    host: &str,
    topics: &[&str],
    dispatcher: Dispatcher,
    options: ListenOptions,
) -> Result<Vec<Listener>, TransportError> {
    let dispatcher = Arc::new(dispatcher);
    let mut listeners = Vec::with_capacity(topics.len());
    for topic in topics {
        let target = Target::topic(*topic).server(host);
        listeners.push(bus.listen(&target, Arc::clone(&dispatcher), options).await?);
    }
    Ok(listeners)
}
