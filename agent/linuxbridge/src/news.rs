//! Messages from the server, turned into notices for the agent's loop. Nothing is done here: a message that takes long
//! to act upon must not hold up the next.

use std::sync::Arc;

use async_trait::async_trait;
use messaging::{Bus, Context, Dispatcher, ListenOptions, Listener, RemoteFault, TransportError};
use rpc::{
    l2::{L2Agent, L2AgentEndpoint, NetworkNews, PortNews},
    l2pop::{ChangedIps, FdbEntries, L2popAgent, L2popAgentEndpoint, PortInfo},
    topics,
};
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    forwarding::Entry,
    state::{Agents, Notice},
};

/// The agent's ear. Only messages for this host, or for all, are passed on.
pub struct News {
    host: String,
    notices: UnboundedSender<Notice>,
}

/// Listens to everything that concerns a Linux bridge agent.
pub async fn listen(
    bus: &Bus,
    host: &str,
    l2_population: bool,
    notices: UnboundedSender<Notice>,
) -> Result<Vec<Listener>, TransportError> {
    let news = Arc::new(News { host: host.to_owned(), notices });
    let mut heard = vec![
        topics::PORT_UPDATE,
        topics::PORT_DELETE,
        topics::NETWORK_UPDATE,
        topics::NETWORK_DELETE,
        topics::PORT_BINDING_ACTIVATE,
        topics::PORT_BINDING_DEACTIVATE,
    ];
    let mut dispatcher = Dispatcher::new().with(Arc::new(L2AgentEndpoint(Arc::clone(&news))));
    if l2_population {
        heard.push(topics::L2POPULATION_UPDATE);
        dispatcher = dispatcher.with(Arc::new(L2popAgentEndpoint(news)));
    }
    rpc::listen(bus, host, &heard, dispatcher, ListenOptions::in_order()).await
}

impl News {
    fn tell(&self, notice: Notice) -> Result<(), RemoteFault> {
        tracing::debug!(?notice, "news from the server");
        // Without a loop the agent is ending; the next one reads everything anew.
        _ = self.notices.send(notice);
        Ok(())
    }

    fn is_for_us(&self, host: Option<&str>) -> bool {
        host.is_none_or(|host| host == self.host)
    }
}

#[async_trait]
impl L2Agent for News {
    async fn port_update(
        &self,
        _: &Context,
        port: PortNews,
        _: Option<String>,
        _: Option<u32>,
        _: Option<String>,
    ) -> Result<(), RemoteFault> {
        self.tell(Notice::Port(port.id))
    }

    async fn port_delete(&self, _: &Context, port_id: String) -> Result<(), RemoteFault> {
        self.tell(Notice::Unplug(port_id))
    }

    async fn network_update(&self, _: &Context, network: NetworkNews) -> Result<(), RemoteFault> {
        self.tell(Notice::Network(network.id))
    }

    async fn network_delete(&self, _: &Context, network_id: String) -> Result<(), RemoteFault> {
        self.tell(Notice::NetworkGone(network_id))
    }

    async fn binding_activate(&self, _: &Context, port_id: String, host: String) -> Result<(), RemoteFault> {
        if self.is_for_us(Some(&host)) { self.tell(Notice::Port(port_id)) } else { Ok(()) }
    }

    async fn binding_deactivate(
        &self,
        _: &Context,
        port_id: String,
        host: String,
        _: Option<String>,
    ) -> Result<(), RemoteFault> {
        if self.is_for_us(Some(&host)) { self.tell(Notice::Unplug(port_id)) } else { Ok(()) }
    }
}

#[async_trait]
impl L2popAgent for News {
    async fn add_fdb_entries(&self, _: &Context, entries: FdbEntries, host: Option<String>) -> Result<(), RemoteFault> {
        if self.is_for_us(host.as_deref()) { self.tell(Notice::AddForwarding(by_network(entries))) } else { Ok(()) }
    }

    async fn remove_fdb_entries(
        &self,
        _: &Context,
        entries: FdbEntries,
        host: Option<String>,
    ) -> Result<(), RemoteFault> {
        if self.is_for_us(host.as_deref()) { self.tell(Notice::RemoveForwarding(by_network(entries))) } else { Ok(()) }
    }

    async fn update_fdb_entries(
        &self,
        _: &Context,
        changes: ChangedIps,
        host: Option<String>,
    ) -> Result<(), RemoteFault> {
        if !self.is_for_us(host.as_deref()) {
            return Ok(());
        }
        let of_agents = changes.chg_ip.into_iter().flat_map(|(network, agents)| {
            agents.into_values().map(move |change| (network.clone(), pairs(&change.before), pairs(&change.after)))
        });
        self.tell(Notice::ChangeAddresses(of_agents.collect()))
    }
}

fn pairs(ports: &[PortInfo]) -> Vec<Entry> {
    ports.iter().map(|PortInfo(mac, ip)| (*mac, *ip)).collect()
}

fn by_network(entries: FdbEntries) -> Vec<(String, Agents)> {
    let agents = |ports: std::collections::BTreeMap<std::net::IpAddr, Vec<PortInfo>>| {
        ports.into_iter().map(|(agent, ports)| (agent, pairs(&ports))).collect()
    };
    entries.into_iter().map(|(network, entries)| (network, agents(entries.ports))).collect()
}
