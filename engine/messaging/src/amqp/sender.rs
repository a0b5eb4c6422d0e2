//! Everything that this process sends, over one connection.
//!
//! Each message is confirmed by the broker. What was not confirmed when a channel or the connection breaks is sent again, in
//! order; receivers know a repeated message by its `_unique_id`. While the broker is away or takes nothing, messages wait here,
//! up to [`ROOM`] bytes of them.
//!
//! Messages go over [`LANES`] channels, those of one queue always over the same, so that their order holds ([`lane`]).

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::lane::Lane;
use super::link::Link;
use super::topology::{self, Exchange};
use crate::TransportError;

/// Channels.
const LANES: usize = 8;
/// Bytes of messages that may wait for the broker, in units of [`UNIT`].
const ROOM: usize = 64 * 1024 * 1024 / UNIT;
const UNIT: usize = 1024;
/// What a small message takes of it, so that their number is bounded too, to some 10,000.
const LEAST: usize = 6;
/// How long a sender waits to hear that the broker has its message; later it is kept here all the same.
const CONFIRMED_SOON: Duration = Duration::from_secs(5);

/// Where a message goes.
#[derive(Clone, Debug)]
pub(super) struct Route {
    /// Declared before the first message to it; `None`: the default exchange, whose keys are names of queues.
    pub exchange: Option<Exchange>,
    pub key: String,
    /// Whether the sender hears that there is no queue.
    pub mandatory: bool,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The broker has it.
    Taken,
    /// No queue is there for it; it may be kept for one.
    Unroutable,
    /// The broker refuses it, for this reason.
    Refused(String),
}

/// A message on its way.
pub(super) struct Outgoing {
    pub route: Route,
    pub body: Arc<[u8]>,
    /// Sending later is of no use; also the message's time to live.
    pub until: Option<Instant>,
    /// How long it is offered when its queue is missing; `None`: its sender sees to that.
    pub patience: Option<Duration>,
    /// And until when, once it is missing.
    pub offered_until: Option<Instant>,
    /// How often its channel broke.
    pub breaks: u32,
    done: Option<oneshot::Sender<Sent>>,
    _place: Place,
}

impl Outgoing {
    /// Nobody waits for what becomes of it, though somebody did.
    pub fn pointless(&self) -> bool {
        let given_up = || self.done.as_ref().is_some_and(oneshot::Sender::is_closed);
        self.until.is_some_and(|until| until <= Instant::now() || given_up())
    }

    /// Tells the sender, who may not care.
    pub fn tell(&mut self, sent: Sent) {
        if let Some(done) = self.done.take() {
            let _ = done.send(sent);
        }
    }
}

/// The room that a message takes until it is confirmed.
struct Place {
    _permit: OwnedSemaphorePermit,
    count: Arc<AtomicUsize>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The sending side of the transport.
#[derive(Clone)]
pub(super) struct Sender {
    lanes: Arc<[mpsc::UnboundedSender<Outgoing>]>,
    room: Arc<Semaphore>,
    count: Arc<AtomicUsize>,
    link: Link,
}

impl Sender {
    pub fn start(link: Link) -> Self {
        let lane = |_| {
            // Bounded by the room.
            let (lane, queue) = mpsc::unbounded_channel();
            tokio::spawn(Lane::new(link.clone()).run(queue));
            lane
        };
        let lanes = (0..LANES).map(lane).collect();
        Self { lanes, room: Arc::new(Semaphore::new(ROOM)), count: Arc::default(), link }
    }

    /// Messages that wait here or are not confirmed.
    pub fn backlog(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Queues a message that is of no use after `until`, or when the receiver is dropped, which tells what became of it.
    pub async fn put(
        &self,
        route: Route,
        body: Arc<[u8]>,
        until: Instant,
    ) -> Result<oneshot::Receiver<Sent>, TransportError> {
        let patience = until.saturating_duration_since(Instant::now());
        self.queue(route, body, Some(until), None, patience).await
    }

    /// Sends a message; if it is mandatory and its queue is missing, it is offered for as long as `patience`, and those that come
    /// after it for the same queue stand behind it. Returns when the broker has it, or when it is kept here because the broker is
    /// away or slow. An error: the broker refuses it, or too much is kept already.
    pub async fn send(&self, route: Route, body: Arc<[u8]>, patience: Duration) -> Result<(), TransportError> {
        let queue = |wait| self.queue(route.clone(), Arc::clone(&body), None, Some(patience), wait);
        let mut outcome = tokio::select! {
            biased;
            () = self.link.stalled() => queue(Duration::ZERO).await?,
            outcome = queue(patience) => outcome?,
        };
        let sent = tokio::select! {
            biased;
            sent = &mut outcome => sent,
            () = self.link.stalled() => return Ok(()),
            () = tokio::time::sleep(CONFIRMED_SOON) => return Ok(()),
        };
        match sent {
            Ok(Sent::Refused(why)) => Err(TransportError::Closed(format!("the broker refuses it: {why}"))),
            _ => Ok(()),
        }
    }

    async fn queue(
        &self,
        route: Route,
        body: Arc<[u8]>,
        until: Option<Instant>,
        patience: Option<Duration>,
        wait: Duration,
    ) -> Result<oneshot::Receiver<Sent>, TransportError> {
        topology::check_name(&route.key)?;
        let size = body.len().div_ceil(UNIT).clamp(LEAST, ROOM);
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        let permit = match Arc::clone(&self.room).try_acquire_many_owned(size) {
            Ok(permit) => permit,
            Err(_) if wait.is_zero() => return Err(TransportError::Full(route.key)),
            Err(_) => match timeout(wait, Arc::clone(&self.room).acquire_many_owned(size)).await {
                Ok(Ok(permit)) => permit,
                _ => return Err(TransportError::Full(route.key)),
            },
        };
        self.count.fetch_add(1, Ordering::Relaxed);
        let place = Place { _permit: permit, count: Arc::clone(&self.count) };
        let (done, outcome) = oneshot::channel();
        let lane = self.lane(&route);
        let outgoing =
            Outgoing { route, body, until, patience, offered_until: None, breaks: 0, done: Some(done), _place: place };
        let closed = |_| TransportError::Closed("the transport is closed".to_owned());
        self.lanes[lane].send(outgoing).map_err(closed)?;
        Ok(outcome)
    }

    fn lane(&self, route: &Route) -> usize {
        let mut hasher = DefaultHasher::new();
        route.exchange.as_ref().map(|exchange| exchange.name.as_str()).hash(&mut hasher);
        route.key.hash(&mut hasher);
        usize::try_from(hasher.finish() % self.lanes.len() as u64).unwrap_or(0)
    }
}
