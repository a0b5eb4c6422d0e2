//! Reporting to the server that the agent lives.
//!
//! A report is a call: its answer says whether the server thought the agent dead meanwhile. While the server does not
//! answer, reports go on with growing pauses up to the interval; one line is logged when it goes and one when it is back.
//!
//! Reproduces `_report_state` of neutron/agent/dhcp/agent.py and of the Linux bridge agent
//! (neutron/plugins/ml2/drivers/agent/_common_agent.py in 2024.2), which differ in when the start flag ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use chrono::Utc;
use messaging::{CallError, Context};
use rpc::state::{AgentState, AgentStatus, Report, StateClient};
use serde_json::{Map, Value};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use uuid::Uuid;

use crate::backoff::Backoff;
use crate::log::chain;
use crate::stop::Stop;

/// What an agent is told. Whoever hears `Revived` syncs everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The server has answered for the first time.
    Connected,
    /// The server had thought this agent dead: it stopped sending, and what it sent may be lost.
    Revived,
    /// Reports have begun to fail.
    Lost,
    /// Reports succeed again, and the server had not given the agent up.
    Recovered,
}

/// When the start flag, which makes the server check the clock and resend everything, leaves the reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Started {
    /// After the first report that arrived: DHCP, L3, metadata.
    WithFirstReport,
    /// After the first full sync, told by [`Reporter::synced`]: L2 agents.
    WithFirstSync,
}

#[derive(Clone, Copy, Debug)]
pub struct ReporterOptions {
    /// Between reports, and the timeout of each.
    pub interval: Duration,
    pub started: Started,
}

/// Called with the configurations before each report, to bring counts up to date.
pub type Refresh = Box<dyn Fn(&mut Map<String, Value>) + Send + Sync>;

/// A running reporter. Dropping it ends the reports.
pub struct Reporter {
    shared: Arc<Shared>,
    connected: watch::Receiver<bool>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    synced: AtomicBool,
    now: Notify,
}

impl Reporter {
    /// Starts reporting at once. `state` holds what does not change; its `start_flag` and `resource_versions` are sent as
    /// long as they are to be. `signal` is called from the reporter's task and must not block.
    pub fn spawn(
        client: StateClient,
        state: AgentState,
        options: ReporterOptions,
        refresh: Refresh,
        signal: impl Fn(Signal) + Send + Sync + 'static,
        stop: Stop,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let (connected, watch) = watch::channel(false);
        let worker = Worker {
            client: client.timeout(options.interval),
            state: AgentState { start_flag: true, ..state },
            options,
            refresh,
            signal: Box::new(signal),
            shared: Arc::clone(&shared),
            connected,
            failures: 0,
            answered: false,
        };
        Self { shared, connected: watch, task: tokio::spawn(worker.run(stop)) }
    }

    /// The first full sync is done.
    pub fn synced(&self) {
        if !self.shared.synced.swap(true, Ordering::Relaxed) {
            self.shared.now.notify_one();
        }
    }

    /// Reports now instead of at the next turn, e.g. because the configuration changed.
    pub fn report_now(&self) {
        self.shared.now.notify_one();
    }

    /// Whether the last report was answered.
    #[must_use]
    pub fn connected(&self) -> bool {
        *self.connected.borrow()
    }

    /// Returns once a report has been answered.
    pub async fn wait_connected(&self) {
        let mut connected = self.connected.clone();
        // An error means that the reporter ended; there is nothing to wait for then.
        let _ = connected.wait_for(|connected| *connected).await;
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Worker {
    client: StateClient,
    state: AgentState,
    options: ReporterOptions,
    refresh: Refresh,
    signal: Box<dyn Fn(Signal) + Send + Sync>,
    shared: Arc<Shared>,
    connected: watch::Sender<bool>,
    failures: u32,
    /// At least one report has been answered.
    answered: bool,
}

impl Worker {
    async fn run(mut self, stop: Stop) {
        loop {
            let started = Instant::now();
            if stop.unless(self.report()).await.is_none() {
                return;
            }
            let pause = match self.failures {
                0 => self.options.interval,
                n => Backoff::new(Duration::from_secs(1), self.options.interval).after(n),
            };
            // Reports keep their rhythm; a timeout that took a whole interval is followed by a short pause all the same.
            let next = if self.failures == 0 { started + pause } else { Instant::now() + pause };
            let shared = Arc::clone(&self.shared);
            let wait = async {
                tokio::select! {
                    () = tokio::time::sleep_until(next) => {}
                    () = shared.now.notified() => {}
                }
            };
            if stop.unless(wait).await.is_none() {
                return;
            }
        }
    }

    async fn report(&mut self) {
        if self.options.started == Started::WithFirstSync && self.answered && self.synced() {
            self.state.start_flag = false;
        }
        (self.refresh)(&mut self.state.configurations);
        self.state.uuid = Some(Uuid::new_v4().to_string());
        let time = Utc::now().format("%Y-%m-%dT%H:%M:%S%.6f").to_string();
        let report = Report { agent_state: self.state.clone() };
        match self.client.report_state(&Context::admin(), report, time).await {
            Ok(status) => self.answered(status),
            Err(error) => self.failed(&error),
        }
    }

    fn synced(&self) -> bool {
        self.shared.synced.load(Ordering::Relaxed)
    }

    fn answered(&mut self, status: Option<AgentStatus>) {
        let was_lost = self.failures > 0;
        let first = !self.answered;
        if was_lost {
            tracing::info!(failures = self.failures, "the server answers reports again");
        }
        self.failures = 0;
        self.answered = true;
        self.state.resource_versions = None;
        if self.options.started == Started::WithFirstReport {
            self.state.start_flag = false;
        }
        self.connected.send_replace(true);
        if first {
            (self.signal)(Signal::Connected);
        }
        if status == Some(AgentStatus::Revived) {
            tracing::info!("the server had thought this agent dead; everything is synced again");
            (self.signal)(Signal::Revived);
        } else if was_lost && !first {
            (self.signal)(Signal::Recovered);
        }
    }

    fn failed(&mut self, error: &CallError) {
        self.failures = self.failures.saturating_add(1);
        metrics::counter!("neutrino_agent_reports_failed_total").increment(1);
        if self.failures == 1 {
            tracing::warn!("the server does not answer reports: {}", chain(error));
            self.connected.send_replace(false);
            (self.signal)(Signal::Lost);
        } else {
            tracing::debug!(failures = self.failures, "still no answer to reports: {}", chain(error));
        }
    }
}
