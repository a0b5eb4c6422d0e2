//! The running agent: events and syncs in, networks worked on, ready ports and state reports out.
//!
//! | part | does |
//! |---|---|
//! | [`board`] | remembers networks and what changed about them |
//! | [`events`] | writes messages of the server on the board |
//! | [`work`] | one round for one network |
//! | [`port`] | the agent's own port |
//! | [`leases`] | leases without an owner |
//! | [`pace`] | how often dnsmasq is told to read its files |
//! | [`ready`] | tells the server which ports are served |
//!
//! Ending the agent leaves namespaces and dnsmasq as they are; the next one, or the Python one, takes them over.
//!
//! Reference: class `DhcpAgent` in `neutron/agent/dhcp/agent.py`.

mod board;
mod events;
mod leases;
mod pace;
mod port;
mod ready;
#[cfg(test)]
pub(crate) mod tests;
mod work;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use messaging::{Bus, Dispatcher, ListenOptions, Target, TransportError};
use runtime::Stop;
use runtime::log::chain;
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};

use self::board::{Board, Lane};
use self::events::Events;
use self::pace::Pace;
use self::ready::Ready;
use crate::host::Host;
use crate::model::Id;
use crate::plugin::Plugin;
use crate::settings::Settings;

pub use self::board::Counts;

/// Networks worked on at once for news. More than processors, since rounds mostly wait for the server and for dnsmasq.
const EVENT_WORKERS: usize = 16;
/// Wait after a first failed sync; it doubles with each further one, up to the maximum.
const SYNC_RETRY: Duration = Duration::from_secs(1);
const SYNC_RETRY_MAX: Duration = Duration::from_secs(10);
/// The longest pause between syncs that follow each other because something fails in them.
const SYNC_PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long rounds under way may take to end when the agent does.
const CLOSING: Duration = Duration::from_secs(10);

/// Why the agent could not start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// It cannot be reached by the server.
    #[error("the agent cannot listen to topic {}", rpc::topics::DHCP_AGENT)]
    Listen(#[from] TransportError),
}

/// How the agent works, beyond what shapes networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// `num_sync_threads`: networks worked on at once in a sync; at least 1.
    pub sync_workers: usize,
    /// `resync_throttle`: no two syncs begin closer than this.
    pub sync_pause: Duration,
    /// `bulk_reload_interval`: no two reloads of a dnsmasq closer than this.
    pub reload_pause: Duration,
    /// Clients do not wait longer than this for dnsmasq to read its files.
    pub client_wait: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            sync_workers: 4,
            sync_pause: Duration::from_secs(1),
            reload_pause: Duration::ZERO,
            client_wait: pace::RELIEF_FROM,
        }
    }
}

/// One host's DHCP agent.
pub struct Agent {
    settings: Settings,
    tuning: Tuning,
    host: Arc<dyn Host>,
    plugin: Plugin,
    board: Board,
    ready: Ready,
    pace: Pace,
    closing: Stop,
    sync_wanted: Notify,
    watched: Mutex<HashMap<Id, (i32, JoinHandle<()>)>>,
    failures: Mutex<HashMap<Id, u32>>,
    releasing: Mutex<HashSet<Id>>,
}

impl Agent {
    /// An agent that asks `plugin` and works on `host`. It does nothing before [`Agent::run`].
    pub fn new(settings: Settings, tuning: Tuning, plugin: Plugin, host: Arc<dyn Host>) -> Arc<Agent> {
        let pace = Pace::new(tuning.reload_pause, tuning.client_wait);
        Arc::new(Agent {
            settings,
            tuning,
            host,
            plugin,
            board: Board::default(),
            ready: Ready::default(),
            pace,
            closing: Stop::new(),
            sync_wanted: Notify::new(),
            watched: Mutex::default(),
            failures: Mutex::default(),
            releasing: Mutex::default(),
        })
    }

    /// Sizes of what is served, for the state report.
    pub fn counts(&self) -> Counts {
        self.board.counts()
    }

    /// Asks the server for everything again, soon: it has been away, or thinks that we were.
    pub fn request_sync(&self) {
        self.sync_wanted.notify_one();
    }

    fn device_id(&self, network: &str) -> String {
        port::device_id(&self.settings.host, network)
    }

    /// Serves until `shutdown` ends.
    pub async fn run(self: &Arc<Self>, bus: &Bus, shutdown: impl Future<Output = ()> + Send) -> Result<(), AgentError> {
        // What is on this host from before must be known before the first event about it.
        self.expect_traces().await;
        let target = Target::topic(rpc::topics::DHCP_AGENT).server(self.settings.host.clone());
        let dispatcher = Arc::new(Dispatcher::new().with(Arc::new(Events(Arc::clone(self)))));
        let listener = bus.listen(&target, dispatcher, ListenOptions::in_order()).await?;

        let mut workers = JoinSet::new();
        for _ in 0..EVENT_WORKERS {
            workers.spawn(Arc::clone(self).run_worker(Lane::Events));
        }
        for _ in 0..self.tuning.sync_workers.max(1) {
            workers.spawn(Arc::clone(self).run_worker(Lane::Sync));
        }
        let mut loops = JoinSet::new();
        let agent = Arc::clone(self);
        loops.spawn(async move { agent.run_syncs().await });
        let agent = Arc::clone(self);
        loops.spawn(async move { agent.board.run_timers().await });
        let agent = Arc::clone(self);
        loops.spawn(async move { agent.ready.run(&agent.plugin).await });

        shutdown.await;
        listener.stop(CLOSING).await;
        self.closing.ask();
        let ended = tokio::time::timeout(CLOSING, async { while workers.join_next().await.is_some() {} }).await;
        if ended.is_err() {
            tracing::warn!("Some networks were still being worked on when the agent ended; the next start goes on");
        }
        loops.shutdown().await;
        for (_, (_, watch)) in self.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner).drain() {
            watch.abort();
        }
        Ok(())
    }

    async fn expect_traces(self: &Arc<Self>) {
        let agent = Arc::clone(self);
        match tokio::task::spawn_blocking(move || agent.host.traces()).await {
            Ok(Ok(traces)) => traces.into_iter().for_each(|network| self.board.expect(network)),
            Ok(Err(error)) => tracing::warn!(error = %chain(&error), "Could not look for networks of before"),
            Err(error) => tracing::error!(%error, "Could not look for networks of before"),
        }
    }

    async fn run_syncs(self: &Arc<Self>) {
        let mut retry = SYNC_RETRY;
        let mut pause = self.tuning.sync_pause;
        // One at a time: the next sync's takes over.
        let mut progress = JoinSet::new();
        loop {
            let start = Instant::now();
            let seen = self.board.begin_sync();
            match self.plugin.active_networks().await {
                Ok(networks) => {
                    tracing::info!(networks = networks.len(), "Synchronising with the server");
                    // Also what a crash, or somebody by hand, has left since.
                    self.expect_traces().await;
                    self.board.synced(networks, seen);
                    metrics::counter!("dhcp_syncs_total").increment(1);
                    metrics::histogram!("dhcp_sync_fetch_seconds").record(start.elapsed().as_secs_f64());
                    retry = SYNC_RETRY;
                    progress.abort_all();
                    let agent = Arc::clone(self);
                    progress.spawn(async move { agent.sync_progress().await });
                    tokio::time::sleep_until((start + pause).into()).await;
                    let quiet = Instant::now();
                    self.sync_wanted.notified().await;
                    // A server that fails in the middle of each sync is not asked at full speed.
                    let hurried = quiet.elapsed() < pause;
                    pause = if hurried { (pause * 2).min(SYNC_PAUSE_MAX) } else { self.tuning.sync_pause };
                }
                Err(error) => {
                    self.board.abandon_sync();
                    metrics::counter!("dhcp_sync_failures_total").increment(1);
                    tracing::warn!(error = %chain(&error), again_in = ?retry, "The server did not tell what to serve");
                    tokio::time::sleep(retry).await;
                    retry = (retry * 2).min(SYNC_RETRY_MAX);
                }
            }
        }
    }

    /// Says now and then how far a sync is, until it is done.
    async fn sync_progress(&self) {
        const LOOK: Duration = Duration::from_millis(100);
        const TELL: Duration = Duration::from_secs(10);
        let start = Instant::now();
        let mut told = start;
        loop {
            let left = self.board.backlog();
            if left == 0 {
                break;
            }
            if told.elapsed() >= TELL {
                tracing::info!(left, "Still synchronising");
                told = Instant::now();
            }
            tokio::time::sleep(LOOK).await;
        }
        let Counts { networks, subnets, ports } = self.counts();
        metrics::histogram!("dhcp_sync_seconds").record(start.elapsed().as_secs_f64());
        tracing::info!(networks, subnets, ports, elapsed = ?start.elapsed(), "Synchronised");
    }
}
