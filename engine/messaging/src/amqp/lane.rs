//! One channel after the other, over which messages are sent in order.
//!
//! A mandatory message is alone on its lane until it is confirmed: the library gives a returned message to whichever confirmation
//! comes next, which says nothing about who it belongs to when several are under way.
//!
//! A message whose queue is missing is offered again and again for a while: after a restart of the broker its owner is about to
//! declare it again. The queue of a caller that stayed missing to the end is remembered for some time: further answers are
//! dropped at once.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::protocol::{AMQPErrorKind, AMQPSoftError};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation, ErrorKind};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::link::{Link, Live};
use super::sender::{Outgoing, Route, Sent};
use super::topology;

/// Messages under way on a lane that are not confirmed yet.
const WINDOW: usize = 256;
/// How often a message that breaks its channel or connection is sent.
const MAX_BREAKS: u32 = 5;
/// Between a channel that broke and the next.
const BREATH: Duration = Duration::from_millis(50);
/// Between two offers to a queue that is missing.
const OFFER_EVERY: Duration = Duration::from_millis(250);
/// Messages that wait for one missing queue. What comes then is dropped.
const MOST: usize = 1000;

/// A channel in confirm mode, and what was declared over it.
struct Desk {
    live: Arc<Live>,
    channel: Channel,
    declared: HashSet<String>,
}

impl Desk {
    async fn open(live: Arc<Live>) -> lapin::Result<Self> {
        let channel = live.channel().await?;
        channel.confirm_select(ConfirmSelectOptions::default()).await?;
        Ok(Self { live, channel, declared: HashSet::new() })
    }

    async fn publish(&mut self, outgoing: &Outgoing) -> lapin::Result<lapin::PublisherConfirm> {
        if let Some(exchange) = &outgoing.route.exchange
            && !self.declared.contains(&exchange.name)
        {
            // A refusal costs the channel with what is under way on it, so declarations have their own.
            let own = self.live.channel().await?;
            let own = topology::exchange(&self.live, own, exchange).await?;
            let _ = own.close(200, "".into()).await;
            self.declared.insert(exchange.name.clone());
        }
        // As kombu sends them.
        let mut properties = BasicProperties::default()
            .with_content_type("application/json".into())
            .with_content_encoding("utf-8".into())
            .with_headers(FieldTable::default())
            .with_delivery_mode(2)
            .with_priority(0);
        if let Some(until) = outgoing.until {
            let left = until.saturating_duration_since(Instant::now()).as_millis().max(1);
            properties = properties.with_expiration(left.to_string().into());
        }
        let exchange = outgoing.route.exchange.as_ref().map_or("", |exchange| exchange.name.as_str());
        let options = BasicPublishOptions { mandatory: outgoing.route.mandatory, ..BasicPublishOptions::default() };
        let key = outgoing.route.key.as_str();
        self.channel.basic_publish(exchange.into(), key.into(), options, &outgoing.body, properties).await
    }
}

/// A message under way.
struct Flight {
    outgoing: Outgoing,
    confirm: BoxFuture<'static, lapin::Result<Confirmation>>,
    alone: bool,
}

/// Messages for a queue that is missing. It is here for as long as one of them is offered or waits.
#[derive(Default)]
struct Missing {
    waiting: VecDeque<Outgoing>,
    /// The first of them is offered then; `None`: it is under way.
    next: Option<Instant>,
}

/// Sends over one channel at a time.
pub(super) struct Lane {
    link: Link,
    desk: Option<Desk>,
    /// In the order in which they were sent.
    flights: VecDeque<Flight>,
    /// What goes before anything new, in order.
    pending: VecDeque<Outgoing>,
    /// After a break, one at a time, until it is known whose fault it was.
    careful: bool,
    /// By exchange and key.
    missing: HashMap<String, Missing>,
    /// Queues of callers that were given up, and until when.
    given_up: HashMap<String, Instant>,
}

fn name_of(route: &Route) -> String {
    format!("{}/{}", route.exchange.as_ref().map_or("", |exchange| &exchange.name), route.key)
}

impl Lane {
    pub fn new(link: Link) -> Self {
        Self {
            link,
            desk: None,
            flights: VecDeque::new(),
            pending: VecDeque::new(),
            careful: false,
            missing: HashMap::new(),
            given_up: HashMap::new(),
        }
    }

    /// Sends until all senders are gone and everything is sent.
    pub async fn run(mut self, mut queue: mpsc::UnboundedReceiver<Outgoing>) {
        let mut open = true;
        loop {
            self.offer_what_is_due();
            let Some(next) = self.pending.front() else {
                self.careful = false;
                let due = self.missing.values().filter_map(|missing| missing.next).min();
                tokio::select! {
                    biased;
                    () = self.land(), if !self.flights.is_empty() => {}
                    () = sleep_until(due), if due.is_some() => {}
                    received = queue.recv(), if open => match received {
                        Some(outgoing) => self.pending.push_back(outgoing),
                        None => open = false,
                    },
                    else => return,
                }
                continue;
            };
            if next.pointless() {
                self.pending.pop_front();
                continue;
            }
            let alone = next.route.mandatory || self.careful;
            let busy = self.flights.front().is_some_and(|flight| alone || flight.alone);
            if busy || self.flights.len() >= WINDOW {
                self.land().await;
            } else if self.is_held_back() {
                // It goes out in its turn.
            } else if self.desk_is_stale() {
                if self.flights.is_empty() { self.open().await } else { self.land().await }
            } else if self.link.is_blocked() {
                // What is pointless by then is not sent.
                self.link.changed_from_blocked().await;
            } else {
                self.send(alone).await;
            }
        }
    }

    /// Whether the next message has been put behind those that wait for the same queue, or dropped.
    fn is_held_back(&mut self) -> bool {
        let Some(next) = self.pending.front() else { return false };
        let Some(patience) = next.patience else { return false };
        let is_offer = next.offered_until.is_some();
        if is_offer || !next.route.mandatory || (self.missing.is_empty() && self.given_up.is_empty()) {
            return false;
        }
        let (name, now) = (name_of(&next.route), Instant::now());
        let given_up = self.given_up.get(&name).is_some_and(|until| now < *until);
        let missing = self.missing.get_mut(&name);
        if !given_up && missing.is_none() {
            return false;
        }
        let Some(mut next) = self.pending.pop_front() else { return false };
        match missing {
            _ if given_up => {
                tracing::debug!(queue = next.route.key, "the caller is gone; its answer is dropped");
                next.tell(Sent::Unroutable);
            }
            Some(missing) if missing.waiting.len() < MOST => {
                next.tell(Sent::Unroutable);
                next.offered_until = Some(now + patience);
                missing.waiting.push_back(next);
            }
            _ => next.tell(Sent::Refused(format!("{MOST} messages wait for its queue already"))),
        }
        true
    }

    fn offer_what_is_due(&mut self) {
        if self.missing.is_empty() {
            return;
        }
        let now = Instant::now();
        for missing in self.missing.values_mut() {
            if missing.next.is_some_and(|next| next <= now)
                && let Some(outgoing) = missing.waiting.pop_front()
            {
                missing.next = None;
                self.pending.push_back(outgoing);
            }
        }
    }

    /// No queue is there for it.
    fn unroutable(&mut self, mut outgoing: Outgoing) {
        outgoing.tell(Sent::Unroutable);
        let Some(patience) = outgoing.patience.filter(|_| outgoing.route.mandatory) else { return };
        let (name, now) = (name_of(&outgoing.route), Instant::now());
        let until = *outgoing.offered_until.get_or_insert(now + patience);
        let missing = self.missing.entry(name.clone()).or_default();
        if now + OFFER_EVERY < until {
            missing.waiting.push_front(outgoing);
            missing.next = Some(now + OFFER_EVERY);
        } else if outgoing.route.exchange.is_some() {
            tracing::debug!(queue = outgoing.route.key, "nobody listens; what was meant for it is dropped");
            self.settled(&outgoing.route);
        } else {
            let dropped = 1 + missing.waiting.len();
            tracing::warn!(
                queue = outgoing.route.key,
                dropped,
                "the caller's queue is missing; its answers are dropped"
            );
            self.missing.remove(&name);
            self.given_up.retain(|_, until| now < *until);
            self.given_up.insert(name, now + patience);
        }
    }

    /// It is sent, or will never be: the next of those that wait for the same queue.
    fn settled(&mut self, route: &Route) {
        if self.missing.is_empty() {
            return;
        }
        let name = name_of(route);
        let Some(missing) = self.missing.get_mut(&name) else { return };
        if missing.waiting.is_empty() {
            self.missing.remove(&name);
        } else if missing.next.is_none() {
            missing.next = Some(Instant::now());
        }
    }

    fn desk_is_stale(&self) -> bool {
        self.desk.as_ref().is_none_or(|desk| !desk.live.is_up() || !desk.channel.status().connected())
    }

    async fn open(&mut self) {
        let other_than = self.desk.take().filter(|desk| !desk.live.is_up()).map(|desk| desk.live.number);
        // Without a deadline: whoever waits has its own, and what is pointless by then is dropped.
        let Some(live) = self.link.live(other_than, None).await else { return };
        let number = live.number;
        let opened = tokio::select! {
            opened = Desk::open(live) => opened,
            () = self.link.gone(number) => return,
        };
        match opened {
            Ok(opened) => self.desk = Some(opened),
            Err(error) => {
                tracing::debug!("no channel to send on: {error}");
                tokio::time::sleep(BREATH * 4).await;
            }
        }
    }

    async fn send(&mut self, alone: bool) {
        let (Some(desk), Some(outgoing)) = (self.desk.as_mut(), self.pending.pop_front()) else { return };
        let number = desk.live.number;
        let published = tokio::select! {
            published = desk.publish(&outgoing) => published,
            () = self.link.gone(number) => Err(gone()),
        };
        let confirm = match published {
            Ok(confirm) => confirm.boxed(),
            Err(error) => futures::future::ready(Err(error)).boxed(),
        };
        self.flights.push_back(Flight { outgoing, confirm, alone });
    }

    /// Waits for the oldest flight. Cancelling it loses nothing.
    async fn land(&mut self) {
        let Some(flight) = self.flights.front_mut() else { return };
        let number = self.desk.as_ref().map(|desk| desk.live.number);
        let confirmed = tokio::select! {
            biased;
            confirmed = &mut flight.confirm => confirmed,
            // A peer that vanished answers nothing, for as long as the library believes in it.
            () = async { if let Some(number) = number { self.link.gone(number).await } } => Err(gone()),
        };
        match confirmed {
            Ok(confirmation) => {
                if let Some(flight) = self.flights.pop_front() {
                    self.finish(flight.outgoing, &confirmation);
                }
            }
            Err(error) => self.broke(&error),
        }
        if self.desk.is_none() && self.link.is_up() {
            tokio::time::sleep(BREATH).await;
        }
    }

    /// The channel is lost: what was not confirmed is sent again, before anything else.
    fn broke(&mut self, error: &lapin::Error) {
        let desk = self.desk.take();
        // Not on the same connection again, before that is seen to be gone.
        self.desk = desk.filter(|desk| !desk.live.is_up());
        self.careful = true;
        let mut again = VecDeque::new();
        for (n, Flight { mut outgoing, confirm, alone }) in std::mem::take(&mut self.flights).into_iter().enumerate() {
            match confirm.now_or_never().filter(|_| n > 0) {
                Some(Ok(confirmation)) => self.finish(outgoing, &confirmation),
                _ if n == 0 && alone => {
                    outgoing.breaks += 1;
                    if is_refusal(error) || outgoing.breaks >= MAX_BREAKS {
                        let key = &outgoing.route.key;
                        tracing::error!(rpc.key = key, "a message cannot be sent and is dropped: {error}");
                        self.settled(&outgoing.route);
                        outgoing.tell(Sent::Refused(error.to_string()));
                    } else {
                        tracing::debug!(rpc.key = outgoing.route.key, "sent again: {error}");
                        again.push_back(outgoing);
                    }
                }
                _ => again.push_back(outgoing),
            }
        }
        again.append(&mut self.pending);
        self.pending = again;
    }

    fn finish(&mut self, mut outgoing: Outgoing, confirmation: &Confirmation) {
        match confirmation {
            Confirmation::Ack(None) | Confirmation::NotRequested => {
                self.settled(&outgoing.route);
                outgoing.tell(Sent::Taken);
            }
            Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => self.unroutable(outgoing),
            // A queue with a maximal length, or one whose node went.
            Confirmation::Nack(None) => {
                tracing::warn!(rpc.key = outgoing.route.key, "the broker does not confirm a message");
                self.settled(&outgoing.route);
                outgoing.tell(Sent::Refused("it is not confirmed".to_owned()));
            }
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

fn gone() -> lapin::Error {
    std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into()
}

/// Whether the broker will never take this message: it is too large, or not for this user.
fn is_refusal(error: &lapin::Error) -> bool {
    let ErrorKind::ProtocolError(error) = error.kind() else { return false };
    let refusals = [AMQPSoftError::PRECONDITIONFAILED, AMQPSoftError::CONTENTTOOLARGE, AMQPSoftError::ACCESSREFUSED];
    matches!(error.kind(), AMQPErrorKind::Soft(soft) if refusals.contains(soft))
}
