//! The loop: something happened, so look at the host, plan, apply, look again; talk to the server beside it.
//!
//! Kernel events, messages and timers only wake the loop. Calls to the server run in tasks of their own, one question and
//! one report at a time, so that a slow or dead server holds up nothing: the data plane is kept as last known, and
//! questions that wait are asked in larger batches.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use linux::{
    Monitor, Netns,
    monitor::{Event, Topic},
};
use messaging::{Bus, CallError, TransportError};
use rpc::state::{AgentState, L2_AGENT_TOPIC, StateClient, agent_type, binary};
use runtime::{Common, Reporter, ReporterOptions, Signal, Started, Stop, log::chain};
use serde_json::{Map, Value, json};
use tokio::{
    sync::mpsc::{self, UnboundedReceiver},
    task::JoinSet,
};

use crate::{
    kernel::Kernel,
    model::Host,
    news,
    plan::plan,
    server::Server,
    settings::{self, Behaviour, Settings, SettingsError},
    state::{Answer, Notice, Reports, State},
};

/// How often the whole host is read without anything having happened.
const SLOW_POLL: Duration = Duration::from_secs(20);
/// Pause after a reading of the host failed, or after a turn that found no rest.
const SHORT: Duration = Duration::from_secs(1);
/// The longest pause after a turn, however long that took.
const LONGEST_REST: Duration = Duration::from_millis(200);
/// Looks at the host in one turn; more are needed only while somebody else changes it at the same time.
const ROUNDS: usize = 4;

/// Why the agent cannot start.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("the options of the agent cannot be used")]
    Config(#[from] config::ConfigError),
    #[error("the host's network cannot be read")]
    Host(#[from] linux::Error),
    #[error("the message bus cannot be listened to")]
    Bus(#[from] TransportError),
    #[error("physical_interface_mappings: interface {interface} of physical network {physical} does not exist")]
    NoInterface { physical: String, interface: String },
    #[error("bridge_mappings: bridge {bridge} of physical network {physical} does not exist")]
    NoBridge { physical: String, bridge: String },
    #[error("local_ip {0} is on no interface; tunnels need one that has it")]
    NoLocalIp(std::net::IpAddr),
}

/// Runs the agent for one host until `shutdown` ends. What it has built stays.
///
/// `host` is the network namespace that it works in, mostly the process's own.
pub async fn run(
    config: &config::Config,
    bus: Bus,
    host: Netns,
    shutdown: impl Future<Output = ()>,
) -> Result<(), AgentError> {
    let common = Common::read(config)?;
    let (settings, behaviour) = settings::read(config)?;
    // Subscribe first, look then.
    let monitor = subscribe(&host)?;
    let mut kernel = Kernel::open(&host)?;
    let first = kernel.observe(&settings)?;
    check(&settings, &first)?;
    let agent_id = agent_id(&settings, &first, &common.host);
    tracing::info!(agent.id = agent_id, agent.host = common.host, "the Linux bridge agent starts");

    let (notices, inbox) = mpsc::unbounded_channel();
    let l2_population = settings.vxlan.as_ref().filter(|vxlan| vxlan.l2_population).map(|vxlan| vxlan.local_ip);
    let listeners = news::listen(&bus, &common.host, l2_population.is_some(), notices.clone()).await?;
    let stop = Stop::new();
    let missed = notices.clone();
    let _reconnects = runtime::transport::on_reconnect(&bus, move || {
        _ = missed.send(Notice::Resync);
    });
    let devices = Arc::new(AtomicUsize::new(0));
    let reporter = reporter(&common, &bus, &settings, &devices, stop.clone(), move |signal| {
        if signal == Signal::Revived {
            _ = notices.send(Notice::Resync);
        }
    });
    let client = rpc::l2::PluginClient::new(bus).timeouts(Arc::clone(&common.timeouts));
    let mut agent = Agent {
        server: Server::new(client, agent_id, common.host),
        state: State::new(l2_population, behaviour.polling_interval),
        behaviour,
        settings,
        netns: host,
        kernel,
        host: first,
        monitor,
        inbox,
        calls: JoinSet::new(),
        retry: None,
        read_tables: Instant::now(),
        devices,
        reporter,
    };
    tokio::pin!(shutdown);
    while !agent.step(&mut shutdown).await {}
    stop.ask();
    // What the server was just told it may still take.
    let last_words = async { while agent.calls.join_next().await.is_some() {} };
    _ = tokio::time::timeout(agent.behaviour.quitting_timeout, last_words).await;
    for listener in listeners {
        listener.stop(Duration::ZERO).await;
    }
    tracing::info!("the Linux bridge agent ends; bridges and tunnels stay");
    Ok(())
}

/// Removes everything that the agent has made on a host, and gives addresses back to their interfaces. What could not
/// be removed is told, and does not hold up the rest.
pub fn cleanup(config: &config::Config, host: &Netns) -> Result<Vec<String>, AgentError> {
    let settings = settings::read_mappings(config)?;
    let mut kernel = Kernel::open(host)?;
    let seen = kernel.observe(&settings)?;
    let plan = crate::plan::plan_cleanup(&settings, &seen);
    let failures = kernel.apply(&plan.steps, &seen);
    Ok(failures.into_values().chain(plan.problems.into_values()).collect())
}

/// What the server has done.
enum Done {
    Answered(Vec<String>, Result<Vec<(String, Answer)>, CallError>),
    Reported(Reports, Result<Vec<String>, CallError>),
    Checked(String, Result<bool, CallError>),
}

struct Agent {
    server: Server,
    state: State,
    settings: Settings,
    behaviour: Behaviour,
    netns: Netns,
    kernel: Kernel,
    /// The host as last seen.
    host: Host,
    monitor: Monitor,
    inbox: UnboundedReceiver<Notice>,
    calls: JoinSet<Done>,
    /// A turn is wanted then, since the last one did not get through.
    retry: Option<Instant>,
    /// When forwarding tables were last read whole.
    read_tables: Instant,
    devices: Arc<AtomicUsize>,
    reporter: Option<Reporter>,
}

impl Agent {
    /// One turn, and the wait for the next. Says whether the end has come.
    async fn step(&mut self, shutdown: &mut (impl Future<Output = ()> + Unpin)) -> bool {
        let begun = Instant::now();
        self.turn();
        let now = Instant::now();
        // On a host where something changes all the time, at most half of the time is spent looking at it.
        let rested = now + (now - begun).min(LONGEST_REST);
        self.call();
        let wakes = [self.state.next_wake(now), self.retry, Some(now + SLOW_POLL)];
        let wake = wakes.into_iter().flatten().min().unwrap_or(now + SLOW_POLL);
        tokio::select! {
            () = shutdown => return true,
            event = self.monitor.next() => self.changed(event).await,
            Some(notice) = self.inbox.recv() => self.hear(notice),
            Some(done) = self.calls.join_next() => self.done(done),
            () = tokio::time::sleep_until(wake.into()) => {}
        }
        tokio::time::sleep_until(rested.into()).await;
        self.drain().await;
        false
    }

    /// Takes in all that has come meanwhile: many changes make one turn.
    async fn drain(&mut self) {
        while let Ok(event) = tokio::time::timeout(Duration::ZERO, self.monitor.next()).await {
            self.changed(event).await;
        }
        while let Ok(notice) = self.inbox.try_recv() {
            self.hear(notice);
        }
        while let Some(done) = self.calls.try_join_next() {
            self.done(done);
        }
    }

    async fn changed(&mut self, event: linux::Result<Event>) {
        match event {
            Ok(Event::Resync) => self.kernel.distrust(),
            Ok(_) => {}
            Err(error) => {
                tracing::warn!("changes of the host cannot be watched, subscribing again: {error}");
                self.kernel.distrust();
                match subscribe(&self.netns) {
                    Ok(monitor) => self.monitor = monitor,
                    // Polling goes on meanwhile.
                    Err(_) => tokio::time::sleep(SHORT).await,
                }
            }
        }
    }

    fn hear(&mut self, notice: Notice) {
        self.state.notice(notice);
    }

    fn done(&mut self, done: Result<Done, tokio::task::JoinError>) {
        let now = Instant::now();
        match done {
            Ok(Done::Answered(asked, Ok(answers))) => self.state.answered(asked, answers, &self.host, now),
            Ok(Done::Answered(asked, Err(error))) => {
                let error = chain(&error);
                tracing::warn!(devices = asked.len(), "the server gave no details, asking again: {error}");
                self.state.unanswered(asked, now);
            }
            Ok(Done::Reported(reports, Ok(failed))) => self.state.reported(&reports, Some(&failed), now),
            Ok(Done::Reported(reports, Err(error))) => {
                tracing::warn!("the server took no report, reporting again: {}", chain(&error));
                self.state.reported(&reports, None, now);
            }
            Ok(Done::Checked(network, Ok(gone))) => self.state.checked(network, Some(gone), now),
            Ok(Done::Checked(network, Err(error))) => {
                tracing::debug!(network.id = network, "the server did not say whether it exists: {}", chain(&error));
                self.state.checked(network, None, now);
            }
            Err(error) => tracing::error!("a call to the server broke: {error}"),
        }
    }

    fn turn(&mut self) {
        self.retry = None;
        if self.read_tables.elapsed() >= SLOW_POLL {
            self.kernel.distrust();
            self.read_tables = Instant::now();
        }
        for _ in 0..ROUNDS {
            let now = Instant::now();
            match self.kernel.observe(&self.settings) {
                Ok(host) => self.host = host,
                Err(error) => {
                    tracing::warn!("the host cannot be read, trying again: {error}");
                    self.retry = Some(now + SHORT);
                    return;
                }
            }
            self.state.observe(&self.host, now);
            self.state.grow_impatient(now);
            self.devices.store(self.state.devices(), Ordering::Relaxed);
            let mut plan = plan(&self.settings, &self.state.desired, &self.host);
            self.state.hold(&mut plan, now);
            if plan.is_empty() {
                self.state.conclude(&plan);
                return;
            }
            let failures = self.kernel.apply(&plan.steps, &self.host);
            self.state.refused(failures, now);
        }
        tracing::warn!("the host does not come to rest: somebody else changes what this agent sets");
        self.retry = Some(Instant::now() + SHORT);
    }

    /// Starts the calls that are due.
    fn call(&mut self) {
        let now = Instant::now();
        let questions = self.state.take_questions(now);
        if !questions.is_empty() {
            let server = self.server.clone();
            self.calls.spawn(async move {
                let answers = server.details(&questions).await;
                Done::Answered(questions, answers)
            });
        }
        if let Some(reports) = self.state.take_reports(now) {
            let server = self.server.clone();
            self.calls.spawn(async move {
                let failed = server.report(&reports).await;
                Done::Reported(reports, failed)
            });
        }
        if let Some(network) = self.state.take_check(&self.host, now) {
            let server = self.server.clone();
            self.calls.spawn(async move {
                let gone = server.is_gone(&network).await;
                Done::Checked(network, gone)
            });
        }
        if let Some(reporter) = self.reporter.as_ref().filter(|_| self.state.is_settled()) {
            reporter.synced();
        }
    }
}

fn subscribe(host: &Netns) -> linux::Result<Monitor> {
    Monitor::in_netns(host, &[Topic::Links, Topic::Addresses, Topic::Routes])
}

/// What must be there from the start, so that a mistake in the configuration is seen at once.
fn check(settings: &Settings, host: &Host) -> Result<(), AgentError> {
    for (physical, interface) in &settings.interface_mappings {
        let Some(link) = host.link(interface) else {
            return Err(AgentError::NoInterface { physical: physical.clone(), interface: interface.clone() });
        };
        if link.kind.is_bridge() {
            tracing::error!(
                "physical_interface_mappings maps {physical} to {interface}, which is a bridge: \
                 its networks will not work; name it in bridge_mappings instead"
            );
        }
    }
    for (physical, bridge) in &settings.bridge_mappings {
        if host.link(bridge).is_none() {
            return Err(AgentError::NoBridge { physical: physical.clone(), bridge: bridge.clone() });
        }
    }
    match &settings.vxlan {
        Some(vxlan) if host.holder_of(vxlan.local_ip).is_none() => Err(AgentError::NoLocalIp(vxlan.local_ip)),
        _ => Ok(()),
    }
}

/// `lb` and the MAC of the first mapped bridge, else of the first interface that has one; else the host's name.
fn agent_id(settings: &Settings, host: &Host, name: &str) -> String {
    let bridge = settings.bridge_mappings.values().next().and_then(|name| host.link(name));
    let mut links: Vec<_> = host.links.values().collect();
    links.sort_by_key(|link| link.index);
    let mac = bridge.into_iter().chain(links).find_map(|link| link.mac);
    mac.map_or_else(|| format!("lb-{name}"), |mac| format!("lb{}", mac.to_string().replace(':', "")))
}

fn reporter(
    common: &Common,
    bus: &Bus,
    settings: &Settings,
    devices: &Arc<AtomicUsize>,
    stop: Stop,
    signal: impl Fn(Signal) + Send + Sync + 'static,
) -> Option<Reporter> {
    let interval = common.report_interval?;
    let state = AgentState {
        agent_type: agent_type::LINUXBRIDGE.to_owned(),
        binary: binary::LINUXBRIDGE.to_owned(),
        host: common.host.clone(),
        topic: L2_AGENT_TOPIC.to_owned(),
        availability_zone: None,
        configurations: configurations(settings),
        start_flag: true,
        // It listens to no objects, so none are sent for it.
        resource_versions: None,
        uuid: None,
        extra: Map::new(),
    };
    let devices = Arc::clone(devices);
    let refresh = Box::new(move |configurations: &mut Map<String, Value>| {
        configurations.insert("devices".to_owned(), devices.load(Ordering::Relaxed).into());
    });
    let options = ReporterOptions { interval, started: Started::WithFirstSync };
    let client = StateClient::new(Bus::clone(bus));
    Some(Reporter::spawn(client, state, options, refresh, signal, stop))
}

/// What the server's drivers bind and tunnel by.
fn configurations(settings: &Settings) -> Map<String, Value> {
    let mut configurations = Map::new();
    configurations.insert("extensions".to_owned(), json!([]));
    configurations.insert("bridge_mappings".to_owned(), json!(settings.bridge_mappings));
    configurations.insert("interface_mappings".to_owned(), json!(settings.interface_mappings));
    configurations.insert("devices".to_owned(), json!(0));
    if let Some(vxlan) = &settings.vxlan {
        configurations.insert("tunneling_ip".to_owned(), json!(vxlan.local_ip));
        configurations.insert("tunnel_types".to_owned(), json!(["vxlan"]));
        configurations.insert("l2_population".to_owned(), json!(vxlan.l2_population));
    }
    configurations
}

#[cfg(test)]
mod tests;
