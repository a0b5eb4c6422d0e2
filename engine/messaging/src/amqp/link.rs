//! One supervised connection to the broker: made, watched, and made again on the next host when it breaks.
//!
//! A connection is a [`Live`] with a number; whoever finds that it no longer serves waits for one with another number.
//! A connection that does not answer a round trip in time counts as broken: a peer that vanished sends no error. A broker that
//! is short of memory or disk takes nothing until it has room again; that is told to who sends ([`Link::stalled`]), and is no
//! break.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use lapin::options::BasicQosOptions;
use lapin::protocol::{AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo, SASLMechanism};
use lapin::{Channel, Connection, ConnectionProperties, ErrorKind, Event};
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::settings::{Failover, Login, Settings};
use super::tls;
use super::url::Host;

/// How long a host may take to answer, until the next is tried.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// The longest silence between two looks at a connection.
const MAX_LOOK: Duration = Duration::from_secs(10);
/// A connection that is lost sooner is treated as one that was never made, so that it is not made again at full speed.
const SHORT_LIFE: Duration = Duration::from_secs(1);

/// A connection that was up when it was handed out.
pub(super) struct Live {
    pub number: u64,
    connection: Connection,
}

/// What a link is at the moment.
#[derive(Clone, Default)]
struct State {
    live: Option<Arc<Live>>,
    /// The broker takes no messages.
    blocked: bool,
}

impl Live {
    pub async fn channel(&self) -> lapin::Result<Channel> {
        self.connection.create_channel().await
    }

    pub fn is_up(&self) -> bool {
        self.connection.status().connected()
    }
}

/// The handle of a supervised connection. The supervisor ends when the last handle goes.
#[derive(Clone)]
pub(super) struct Link {
    state: watch::Receiver<State>,
    _owner: Arc<Owner>,
}

struct Owner(tokio::task::AbortHandle);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Link {
    /// Begins to connect. `purpose` is shown by the broker's tools.
    pub fn start(settings: Arc<Settings>, purpose: &'static str) -> Self {
        let (tx, state) = watch::channel(State::default());
        let supervisor = Supervisor { settings, purpose, made: 0, tx };
        let task = tokio::spawn(supervisor.run());
        Self { state, _owner: Arc::new(Owner(task.abort_handle())) }
    }

    /// The connection, as soon as one is up that is not `other_than`; `None` after the deadline.
    pub async fn live(&self, other_than: Option<u64>, deadline: Option<Instant>) -> Option<Arc<Live>> {
        let mut watch = self.state.clone();
        let fits = |state: &State| state.live.as_ref().is_some_and(|live| Some(live.number) != other_than);
        let waiting = watch.wait_for(fits);
        let found = match deadline {
            Some(deadline) => timeout_at(deadline, waiting).await.ok()?,
            None => waiting.await,
        };
        found.ok()?.live.clone()
    }

    pub fn is_up(&self) -> bool {
        self.state.borrow().live.is_some()
    }

    /// Whether there is a connection whose broker takes nothing.
    pub fn is_blocked(&self) -> bool {
        self.state.borrow().blocked
    }

    /// Ends as soon as that is over.
    pub async fn changed_from_blocked(&self) {
        let _ = self.state.clone().wait_for(|state| !state.blocked).await;
    }

    /// Ends as soon as the broker takes no messages: there is no connection, or it has no room.
    pub async fn stalled(&self) {
        // An error means that the supervisor is gone: down as well.
        let _ = self.state.clone().wait_for(|state| state.live.is_none() || state.blocked).await;
    }

    /// Ends as soon as this connection is no longer the link's.
    pub async fn gone(&self, number: u64) {
        let other = |state: &State| state.live.as_ref().is_none_or(|live| live.number != number);
        let _ = self.state.clone().wait_for(other).await;
    }
}

struct Supervisor {
    settings: Arc<Settings>,
    purpose: &'static str,
    /// How often a connection was made.
    made: u64,
    tx: watch::Sender<State>,
}

impl Supervisor {
    async fn run(mut self) {
        let mut hosts = self.settings.url.hosts.clone();
        if hosts.len() > 1 {
            shuffle(&mut hosts);
        }
        let (first, step, most) = self.settings.retry;
        let mut next = 0;
        let mut failed = 0u32;
        loop {
            let host = &hosts[next % hosts.len()];
            match connect(&self.settings, host, self.purpose).await {
                Ok(connection) => {
                    if failed > 0 || self.made > 0 {
                        tracing::info!(broker = %host, purpose = self.purpose, "connected to the broker again");
                    }
                    self.made += 1;
                    let since = Instant::now();
                    let live = Arc::new(Live { number: self.made, connection });
                    self.tx.send_replace(State { live: Some(Arc::clone(&live)), blocked: false });
                    let why = self.watch(&live).await;
                    self.tx.send_replace(State::default());
                    tracing::warn!(broker = %host, purpose = self.purpose, "the connection to the broker is lost: {why}");
                    // Others may hold it for a moment; this frees the socket on a peer that is only slow.
                    tokio::spawn(async move {
                        let closing = live.connection.close(200, "".into());
                        let _ = timeout(CONNECT_PATIENCE, closing).await;
                    });
                    failed = if since.elapsed() < SHORT_LIFE { failed + 1 } else { 0 };
                }
                Err(why) => {
                    // One line for each round.
                    if next % hosts.len() == 0 || failed == 0 {
                        tracing::error!(broker = %host, purpose = self.purpose, "the broker cannot be reached: {why}");
                    }
                    failed += 1;
                }
            }
            next += 1;
            if failed > 0 && (failed as usize).is_multiple_of(hosts.len()) {
                let rounds = failed / u32::try_from(hosts.len()).unwrap_or(1);
                tokio::time::sleep((first + step * (rounds - 1)).min(most)).await;
                if self.settings.failover == Failover::Shuffle {
                    shuffle(&mut hosts);
                }
            }
        }
    }

    fn set_blocked(&self, blocked: bool) {
        self.tx.send_modify(|state| state.blocked = blocked);
    }

    fn is_blocked(&self) -> bool {
        self.tx.borrow().blocked
    }

    /// Ends when the connection no longer serves, with the reason.
    async fn watch(&self, live: &Live) -> String {
        let mut events = Box::pin(live.connection.events_listener());
        let listening = async {
            // What happened before anybody listened.
            self.set_blocked(live.connection.status().blocked());
            if !live.is_up() {
                return "closed".to_owned();
            }
            while let Some(event) = events.next().await {
                match event {
                    Event::Error(error) if !live.is_up() => return explain(&error),
                    Event::ConnectionBlocked(why) => {
                        tracing::warn!(purpose = self.purpose, "the broker takes no messages: {why}");
                        self.set_blocked(true);
                    }
                    Event::ConnectionUnblocked => {
                        tracing::info!(purpose = self.purpose, "the broker takes messages again");
                        self.set_blocked(false);
                    }
                    _ => {}
                }
            }
            "closed".to_owned()
        };
        let looking = async {
            let mut probe: Option<Channel> = None;
            loop {
                let rate = self.settings.heartbeat_rate.max(1) * 2;
                let pause = match self.settings.heartbeat / rate {
                    Duration::ZERO => MAX_LOOK,
                    pause => pause.min(MAX_LOOK),
                };
                tokio::time::sleep(pause).await;
                if !live.is_up() {
                    return "closed".to_owned();
                }
                // A broker out of memory reads nothing from those who publish; it lives all the same.
                if self.is_blocked() || self.settings.heartbeat.is_zero() {
                    continue;
                }
                let round_trip = async {
                    let channel = match probe.take().filter(|channel| channel.status().connected()) {
                        Some(channel) => channel,
                        None => live.channel().await?,
                    };
                    channel.basic_qos(1, BasicQosOptions::default()).await?;
                    Ok::<_, lapin::Error>(channel)
                };
                match timeout(pause.max(Duration::from_secs(5)), round_trip).await {
                    Ok(Ok(channel)) => probe = Some(channel),
                    Ok(Err(error)) => return explain(&error),
                    Err(_) if self.is_blocked() => {}
                    Err(_) => return "it does not answer".to_owned(),
                }
            }
        };
        tokio::select! {
            why = listening => why,
            why = looking => why,
        }
    }
}

/// Connects to one host; else why not, for the operator.
pub(super) async fn connect(settings: &Settings, host: &Host, purpose: &str) -> Result<Connection, String> {
    let heartbeat = u16::try_from(settings.heartbeat.as_secs()).unwrap_or(u16::MAX);
    let uri = AMQPUri {
        scheme: if settings.tls.is_some() { AMQPScheme::AMQPS } else { AMQPScheme::AMQP },
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo { username: host.user.clone(), password: host.password.clone() },
            host: host.name.clone(),
            port: host.port,
        },
        vhost: settings.url.virtual_host.clone(),
        query: AMQPQueryString {
            heartbeat: Some(heartbeat),
            auth_mechanism: Some(match settings.login {
                Login::Plain => SASLMechanism::Plain,
                Login::AmqPlain => SASLMechanism::AMQPlain,
                Login::External => SASLMechanism::External,
                Login::RabbitCrDemo => SASLMechanism::RabbitCrDemo,
            }),
            ..AMQPQueryString::default()
        },
    };
    let name = format!("{}:{}:{}", settings.program, std::process::id(), purpose);
    let properties = ConnectionProperties::default().with_connection_name(name.into());
    match timeout(CONNECT_PATIENCE, tls::connect(uri, settings.tls.as_ref(), properties)).await {
        Ok(done) => done,
        Err(_) => Err(format!("no answer within {CONNECT_PATIENCE:?}")),
    }
}

/// What an operator has to look at.
pub(super) fn explain(error: &lapin::Error) -> String {
    let ErrorKind::ProtocolError(said) = error.kind() else { return error.to_string() };
    let text = said.get_message();
    match said.kind() {
        AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED) => {
            format!("[DEFAULT] transport_url, its user and password: the broker refuses them: {text}")
        }
        AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED) => {
            format!("[DEFAULT] transport_url, its user and the virtual host after the last /: the broker says: {text}")
        }
        _ => error.to_string(),
    }
}

/// Another order each time, so that not all processes go to the same host.
fn shuffle(hosts: &mut [Host]) {
    for at in (1..hosts.len()).rev() {
        let random = uuid::Uuid::new_v4().as_u128() % (at as u128 + 1);
        hosts.swap(at, usize::try_from(random).unwrap_or(0));
    }
}
