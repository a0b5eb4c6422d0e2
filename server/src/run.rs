use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agents::Turns;
use agents::dhcp::Failover;
use anyhow::Context as _;
use axum::routing::get;
use messaging::{Bus, Dispatcher, ListenOptions, Listener as RpcListener, Target};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use rest::{Listener, Rest};
use rpc::{dhcp, l2, resources, security_groups, state, topics};
use store::Store;
use tokio::sync::oneshot;

use crate::Setup;
use crate::wiring::{self, Wired};

/// Messages of one topic that are handled at once.
const RPC_CONCURRENCY: usize = 16;
/// How long a stop waits for what is under way.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a stop waits for Nova to take what it has to hear.
const NOVA_PATIENCE: Duration = Duration::from_secs(5);

/// How often the accounts of quotas are doubted where other programs may work on the database.
const DOUBT: Duration = Duration::from_secs(5);

/// What a process serves. Several may serve the same, over one database and one broker.
#[derive(Clone, Debug)]
pub struct Roles {
    pub api: bool,
    pub rpc: bool,
    /// The name under which agents reach this very process, unlike the others of its kind.
    pub host: String,
}

impl Default for Roles {
    fn default() -> Self {
        Self { api: true, rpc: true, host: "server".to_owned() }
    }
}

/// A running server.
pub struct Server {
    pub wired: Arc<Wired>,
    /// Where the API listens; the unspecified address with port 0 when this process serves none.
    pub address: SocketAddr,
    listeners: Vec<RpcListener>,
    failover: Option<(tokio::task::JoinHandle<()>, Arc<Turns>)>,
    doubt: Option<tokio::task::JoinHandle<()>>,
    stop: Option<oneshot::Sender<()>>,
    api: Option<(tokio::task::JoinHandle<std::io::Result<()>>, Rest)>,
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
        Self::start_as(&Roles::default(), setup, store, bus).await
    }

    /// The same for a part of it. Who serves RPC also looks after networks of agents that died.
    pub async fn start_as(roles: &Roles, setup: &Setup, store: Store, bus: Bus) -> anyhow::Result<Server> {
        let metrics = recorder();
        let wired = Arc::new(wiring::wire(setup, store, &bus).await?);
        let mut server = Server {
            wired: wired.clone(),
            address: SocketAddr::from(([0, 0, 0, 0], 0)),
            listeners: Vec::new(),
            failover: None,
            doubt: None,
            stop: None,
            api: None,
        };
        // First: it needs no broker, and agents are answered once there is one.
        if roles.api && wired.system.store.is_shared() {
            server.doubt = Some(tokio::spawn(doubt(wired.system.store.clone())));
        }
        if roles.api {
            server.serve_api(roles, setup, metrics).await?;
        }
        if roles.rpc {
            server.listeners = serve_rpc(&wired, &bus, &roles.host).await?;
            let failover = Failover { system: wired.system.clone(), news: wired.dhcp_news.clone() };
            let period = Failover::period(&wired.dhcp_news.scheduler.settings);
            let turns = Arc::new(Turns::new(wired.system.store.clone(), "dhcp_failover", &roles.host, period));
            server.failover = Some((tokio::spawn(failover.run(turns.clone())), turns));
        }
        Ok(server)
    }

    async fn serve_api(
        &mut self,
        roles: &Roles,
        setup: &Setup,
        metrics: Option<PrometheusHandle>,
    ) -> anyhow::Result<()> {
        let mut options = setup.rest.clone();
        options.roles = [(roles.api, "api"), (roles.rpc, "rpc")]
            .into_iter()
            .filter(|(does, _)| *does)
            .map(|(_, role)| role)
            .collect();
        let rest = Rest::new(self.wired.system.clone(), setup.auth.authenticator(&setup.bind)?, options)?;
        let limits = setup.limits.clone();
        let mut router = rest.router();
        if let Some(metrics) = metrics {
            let wired = self.wired.clone();
            router = router.route(
                "/metrics",
                get(async move || {
                    observe(&wired).await;
                    metrics.render()
                }),
            );
        }
        let listener =
            Listener::bind(&setup.bind).await.with_context(|| format!("the API cannot listen on {}", setup.bind))?;
        self.address = listener.local_addr().context("the API listens on no address")?;
        let (stop, stopped) = oneshot::channel::<()>();
        let api = tokio::spawn(async move {
            rest::serve(listener, router, &limits, async {
                let _ = stopped.await;
            })
            .await
        });
        self.stop = Some(stop);
        self.api = Some((api, rest));
        Ok(())
    }

    /// Answers what is under way, then stops. The database is in order at any time; this only spares clients a cut connection.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some((api, rest)) = self.api.take() {
            api.await??;
            let _ = tokio::time::timeout(PATIENCE, rest.idle()).await;
        }
        if let Some((failover, turns)) = self.failover.take() {
            failover.abort();
            // Without it the next one waits a little.
            if let Err(error) = turns.leave().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "the other servers were not told of the stop");
            }
        }
        if let Some(doubt) = self.doubt.take() {
            doubt.abort();
        }
        messaging::stop_all(self.listeners, PATIENCE).await;
        self.wired.system.store.settled().await;
        if let Some(nova) = &self.wired.nova {
            let left = nova.drain(NOVA_PATIENCE).await;
            if left > 0 {
                tracing::warn!("{left} events for Nova are lost: it did not take them before the end");
            }
        }
        self.wired.system.store.close().await?;
        Ok(())
    }

    /// Runs until `shutdown`, then stops.
    pub async fn run(self, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
        shutdown.await;
        self.stop().await
    }
}

/// Brings figures up to date that nothing else counts.
async fn observe(wired: &Wired) {
    let store = &wired.system.store;
    metrics::counter!("store_statements_total").absolute(store.statements());
    metrics::gauge!("store_effects_waiting").set(store.pending_effects() as f64);
    match wired.reports.alive_by_type().await {
        Ok(counts) => {
            for (agent_type, alive, dead) in counts {
                metrics::gauge!("agents_alive", "type" => agent_type.clone()).set(f64::from(alive));
                metrics::gauge!("agents_dead", "type" => agent_type).set(f64::from(dead));
            }
        }
        Err(error) => tracing::warn!(error = &error as &dyn std::error::Error, "agents cannot be counted"),
    }
}

/// What the reference makes is not in the accounts; they are counted anew often enough.
async fn doubt(store: Store) {
    loop {
        tokio::time::sleep(DOUBT).await;
        let done = async {
            let mut txn = store.write().await?;
            admin::quota::Quotas::doubt(&mut txn).await?;
            Ok::<_, schema::Fault>(txn.commit().await?)
        };
        if let Err(fault) = done.await {
            tracing::debug!(error = &fault as &dyn std::error::Error, "accounts of quotas are not doubted this time");
        }
    }
}

/// Answers agents on a bus. `host` is the name under which they reach this very process.
pub async fn serve_rpc(wired: &Wired, bus: &Bus, host: &str) -> anyhow::Result<Vec<RpcListener>> {
    let plugin = Dispatcher::new()
        .with(Arc::new(dhcp::DhcpPluginEndpoint(wired.dhcp.clone())))
        .with(Arc::new(dhcp::MetadataPluginEndpoint(wired.dhcp.clone())))
        .with(Arc::new(l2::L2PluginEndpoint(wired.l2.clone())))
        .with(Arc::new(resources::ResourcesPluginEndpoint(wired.objects.clone())))
        .with(Arc::new(security_groups::SecurityGroupPluginEndpoint(wired.filters.clone())));
    let reports = Dispatcher::new().with(Arc::new(state::StatePluginEndpoint(wired.reports.clone())));
    let peers = Dispatcher::new().with(Arc::new(resources::ResourceVersionsPeerEndpoint(wired.versions.clone())));
    let mut listeners = Vec::new();
    let served = [(topics::PLUGIN, plugin), (topics::REPORTS, reports), (topics::SERVER_RESOURCE_VERSIONS, peers)];
    for (topic, dispatcher) in served {
        let target = Target::topic(topic).server(host);
        let listener = bus.listen(&target, Arc::new(dispatcher), ListenOptions::concurrent(RPC_CONCURRENCY)).await?;
        listeners.push(listener);
    }
    Ok(listeners)
}
