use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::dhcp::Failover;
use anyhow::Context as _;
use axum::routing::get;
use messaging::{Bus, Dispatcher, ListenOptions, Listener as RpcListener, Target};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rest::{Listener, Rest};
use rpc::{dhcp, l2, security_groups, state, topics};
use store::Store;
use tokio::sync::oneshot;

use crate::Setup;
use crate::wiring::{self, Wired};

/// Messages of one topic that are handled at once.
const RPC_CONCURRENCY: usize = 16;
/// How long a stop waits for what is under way.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running server.
pub struct Server {
    pub wired: Arc<Wired>,
    /// Where the API listens.
    pub address: SocketAddr,
    listeners: Vec<RpcListener>,
    failover: tokio::task::JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
    api: tokio::task::JoinHandle<std::io::Result<()>>,
    rest: Rest,
}

/// The database of the setup, or a file under the state path.
pub fn store_options(setup: &Setup, state_path: &Path) -> anyhow::Result<store::Options> {
    let mut options = setup.database.clone();
    if options.url.is_empty() {
        std::fs::create_dir_all(state_path).with_context(|| format!("state_path {}", state_path.display()))?;
        let path = std::path::absolute(state_path.join("neutrino.sqlite"))?;
        options.url = format!("sqlite:///{}", path.display());
    }
    Ok(options)
}

/// Opens the database of the setup, and brings it to the current schema.
pub async fn open_store(setup: &Setup, state_path: &Path) -> anyhow::Result<Store> {
    let store = Store::open(store_options(setup, state_path)?).await.context("[database] connection")?;
    store::migrate::upgrade(&store, migrations::ALL).await.context("the database cannot be brought to this schema")?;
    Ok(store)
}

fn recorder() -> Option<PrometheusHandle> {
    // One per process; a second server of the process (in tests) has none.
    PrometheusBuilder::new().install_recorder().ok()
}

impl Server {
    /// Starts to serve the API on the setup's address and RPC on the bus.
    pub async fn start(setup: &Setup, store: Store, bus: Bus) -> anyhow::Result<Server> {
        let metrics = recorder();
        let wired = Arc::new(wiring::wire(setup, store, &bus).await?);
        let listeners = serve_rpc(&wired, &bus).await?;
        let failover = Failover { system: wired.system.clone(), news: wired.dhcp_news.clone() };
        let failover = tokio::spawn(failover.run());

        let rest = Rest::new(wired.system.clone(), setup.auth.authenticator(&setup.bind)?, setup.rest.clone())?;
        let limits = setup.limits.clone();
        let mut router = rest.router();
        if let Some(metrics) = metrics {
            router = router.route("/metrics", get(move || std::future::ready(metrics.render())));
        }
        let listener =
            Listener::bind(&setup.bind).await.with_context(|| format!("the API cannot listen on {}", setup.bind))?;
        let address = listener.local_addr().context("the API listens on no address")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let api = tokio::spawn(async move {
            rest::serve(listener, router, &limits, async {
                let _ = stopped.await;
            })
            .await
        });
        Ok(Server { wired, address, listeners, failover, stop: Some(stop), api, rest })
    }

    /// Answers what is under way, then stops. The database is in order at any time; this only spares clients a cut connection.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        self.api.await??;
        let _ = tokio::time::timeout(PATIENCE, self.rest.idle()).await;
        self.failover.abort();
        for listener in self.listeners {
            listener.stop(PATIENCE).await;
        }
        self.wired.system.store.settled().await;
        self.wired.system.store.close().await?;
        Ok(())
    }

    /// Runs until `shutdown`, then stops.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
        shutdown.await;
        self.stop().await
    }
}

async fn serve_rpc(wired: &Wired, bus: &Bus) -> anyhow::Result<Vec<RpcListener>> {
    let plugin = Dispatcher::new()
        .with(Arc::new(dhcp::DhcpPluginEndpoint(wired.dhcp.clone())))
        .with(Arc::new(l2::L2PluginEndpoint(wired.l2.clone())))
        .with(Arc::new(security_groups::SecurityGroupPluginEndpoint(wired.filters.clone())));
    let reports = Dispatcher::new().with(Arc::new(state::StatePluginEndpoint(wired.reports.clone())));
    let host = "server";
    let mut listeners = Vec::new();
    for (topic, dispatcher) in [(topics::PLUGIN, plugin), (topics::REPORTS, reports)] {
        let target = Target::topic(topic).server(host);
        let listener = bus.listen(&target, Arc::new(dispatcher), ListenOptions::concurrent(RPC_CONCURRENCY)).await?;
        listeners.push(listener);
    }
    Ok(listeners)
}
