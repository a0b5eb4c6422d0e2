//! Everything in one process: server, DHCP agent and Linux bridge agent on SQLite and an in-process bus. `neutrino up` is
//! this with a terminal around it; the demonstration and tests run it in namespaces of their own.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use config::{Config, Loader};
use linux::Netns;
use messaging::{Bus, InProcess};
use runtime::{Common, Stop, options, transport};
use server::{Roles, Server, Setup};

/// Options of all parts.
pub static OPTIONS: &[config::Options] = &[server::OPTIONS, dhcp::OPTIONS, linuxbridge::OPTIONS, transport::OPTIONS];

/// What holds when no file says anything else: overlay networks with endpoints on this machine, any flat network.
pub const DEFAULTS: &str = "\
[DEFAULT]
interface_driver = linuxbridge
auth_strategy = noauth
[ml2]
type_drivers = flat,vlan,vxlan,gre,geneve,local
tenant_network_types = vxlan
mechanism_drivers = linuxbridge,openvswitch,l2population
[ml2_type_flat]
flat_networks = *
[ml2_type_vxlan]
vni_ranges = 1:10000
[vxlan]
enable_vxlan = true
local_ip = 127.0.0.1
l2_population = true
";

/// A loader with the defaults, and its state in a directory.
pub fn loader(state_path: &Path) -> Loader {
    let state = format!("[DEFAULT]\nstate_path = {}\n", state_path.display().to_string().replace('$', "$$"));
    let loader = OPTIONS.iter().fold(options::loader(), |loader, options| loader.declare(options));
    loader.text("built-in defaults", DEFAULTS).text("the state directory", &state)
}

/// A running whole.
pub struct Embedded {
    pub server: Server,
    stop: Stop,
    agents: Vec<(&'static str, tokio::task::JoinHandle<anyhow::Result<()>>)>,
}

impl Embedded {
    /// Starts the server, and with `agents` the agents on a host: the namespace `host`, mostly the process's own.
    pub async fn start(config: &Config, host: Option<Netns>) -> anyhow::Result<Embedded> {
        let common = Common::read(config)?;
        let setup = Setup::read(config)?;
        let store = server::open_store(&setup, &common.state_path).await?;
        let bus = match transport::bus(config, "neutrino")? {
            Some(bus) => bus,
            None => Arc::new(InProcess::new()) as Bus,
        };
        let roles = Roles { host: common.host.clone(), ..Roles::default() };
        let server = Server::start_as(&roles, &setup, store, bus.clone()).await?;
        let stop = Stop::new();
        let mut embedded = Embedded { server, stop: stop.clone(), agents: Vec::new() };
        if let Some(host) = host {
            let config = Arc::new(config.clone());
            let (own, its_bus, its_host, stopped) = (config.clone(), bus.clone(), host.clone(), stop.clone());
            let bridge = tokio::spawn(async move {
                linuxbridge::run(&own, its_bus, its_host, stopped.wait()).await.context("the Linux bridge agent")
            });
            embedded.agents.push(("Linux bridge agent", bridge));
            let agent =
                tokio::spawn(async move { dhcp::run(&config, bus, host, stop.wait()).await.context("the DHCP agent") });
            embedded.agents.push(("DHCP agent", agent));
        }
        Ok(embedded)
    }

    /// Where the API listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// Ends when an agent ends by itself, which it should not: with its error.
    pub async fn failed(&mut self) -> anyhow::Error {
        if self.agents.is_empty() {
            return std::future::pending().await;
        }
        let (ended, index) = {
            let handles = self.agents.iter_mut().map(|(_, handle)| handle);
            let (ended, index, _) = futures::future::select_all(handles).await;
            (ended, index)
        };
        let (name, _) = self.agents.swap_remove(index);
        match ended {
            Ok(Ok(())) => anyhow::anyhow!("the {name} ended"),
            Ok(Err(error)) => error,
            Err(error) => anyhow::Error::new(error).context(format!("the {name} broke off")),
        }
    }

    /// Stops everything in order. Bridges, namespaces and DHCP servers go on serving.
    pub async fn stop(self) -> anyhow::Result<()> {
        self.stop.ask();
        for (name, handle) in self.agents {
            if let Ok(Err(error)) = handle.await {
                tracing::warn!(error = format!("{error:#}"), "the {name} did not stop cleanly");
            }
        }
        self.server.stop().await
    }
}
