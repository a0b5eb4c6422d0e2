//! The agent against a server and a host that are not there: order, news, failures.

mod board;
mod follow;
pub(crate) mod server;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use messaging::Listener;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::server::{FakeServer, HOST};
use super::{Agent, Tuning};
use crate::host::Host;
use crate::host::fake::FakeHost;
use crate::model::Id;
use crate::plugin::Plugin;
use crate::settings::Settings;

/// A server, an agent, and a host between them.
pub(crate) struct Site<H> {
    pub server: FakeServer,
    pub host: H,
    pub agent: Arc<Agent>,
    tuning: Tuning,
    stop: Option<oneshot::Sender<()>>,
    running: Option<JoinHandle<()>>,
    _listener: Listener,
}

impl<H: Host + Clone> Site<H> {
    /// Starts an agent on `host` for a server that `prepare` has set up.
    pub async fn start<T>(host: H, settings: Settings, prepare: impl FnOnce(&FakeServer) -> T) -> (Site<H>, T) {
        let (server, listener) = FakeServer::start().await;
        let prepared = prepare(&server);
        let agent = Agent::new(settings.clone(), tuning(), plugin(&server), Arc::new(host.clone()));
        let mut site = Site { server, host, agent, tuning: tuning(), stop: None, running: None, _listener: listener };
        site.run().await;
        (site, prepared)
    }

    async fn run(&mut self) {
        // An agent that has asked listens already.
        let synced = self.server.bus.sent_as("get_active_networks_info").len();
        let (stop, stopped) = oneshot::channel::<()>();
        let (agent, bus) = (Arc::clone(&self.agent), self.server.bus());
        let running = tokio::spawn(async move {
            let shutdown = async {
                let _ = stopped.await;
            };
            agent.run(&bus, shutdown).await.unwrap();
        });
        (self.stop, self.running) = (Some(stop), Some(running));
        let asked = |sent: &[messaging::Recorded]| {
            sent.iter().filter(|sent| sent.method() == "get_active_networks_info").count() > synced
        };
        self.server.bus.until("the first sync", asked).await;
    }

    /// For the next agents.
    pub fn with_tuning(mut self, tuning: Tuning) -> Site<H> {
        self.tuning = tuning;
        self
    }

    /// Ends the agent, as a service manager does.
    pub async fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(running) = self.running.take() {
            running.await.unwrap();
        }
    }

    /// Ends the agent and starts another one.
    pub async fn restart(&mut self, settings: Settings) {
        self.stop().await;
        self.agent = Agent::new(settings, self.tuning, plugin(&self.server), Arc::new(self.host.clone()));
        self.run().await;
    }
}

fn plugin(server: &FakeServer) -> Plugin {
    Plugin::new(server.bus(), HOST, Arc::default())
}

fn tuning() -> Tuning {
    Tuning { sync_pause: Duration::from_millis(10), ..Tuning::default() }
}

pub(crate) fn settings() -> Settings {
    Settings::new(HOST, std::path::Path::new("/var/lib/neutron"))
}

/// One network with a subnet and a guest's port, in place.
async fn one_network() -> (Site<FakeHost>, Id, serde_json::Value) {
    let (site, (network, port)) = Site::start(FakeHost::default(), settings(), |server| {
        let network = server.network();
        server.subnet(&network, "192.0.2.0/24", json!({}));
        let port = server.port(&network, json!({}));
        (network, port)
    })
    .await;
    site.server.until_ready(&[&port]).await;
    (site, network, port)
}
