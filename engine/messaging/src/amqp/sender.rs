//! Everything that this process sends, in one order, over one connection.
//!
//! Each message is confirmed by the broker. What was not confirmed when a channel or the connection breaks is sent again, in
//! order; receivers know a repeated message by its `_unique_id`. While the broker is away, messages wait here, up to
//! [`BACKLOG`] of them.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use lapin::options::{BasicPublishOptions, ConfirmSelectOptions};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Confirmation};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::link::{Link, Live};
use super::topology::{self, Exchange};
use crate::TransportError;

/// Messages that may wait for the broker.
const BACKLOG: usize = 10_000;
/// Messages under way that are not confirmed yet.
const WINDOW: usize = 256;
/// How often a message that breaks its channel is sent.
const MAX_BREAKS: u32 = 5;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The broker has it.
    Taken,
    /// No queue is there for it.
    Unroutable,
    /// The broker refuses it.
    Refused,
}

struct Outgoing {
    route: Route,
    body: Arc<[u8]>,
    /// Sending later is of no use; also the message's time to live.
    until: Option<Instant>,
    expires: bool,
    breaks: u32,
    done: oneshot::Sender<Sent>,
}

impl Outgoing {
    /// Nobody waits for what becomes of it, though somebody did.
    fn pointless(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }
}

/// The sending side of the transport.
#[derive(Clone)]
pub(super) struct Sender {
    queue: mpsc::Sender<Outgoing>,
    link: Link,
}

impl Sender {
    pub fn start(link: Link) -> Self {
        let (queue, rx) = mpsc::channel(BACKLOG);
        tokio::spawn(run(link.clone(), rx));
        Self { queue, link }
    }

    /// Messages that wait here.
    pub fn backlog(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Queues a message; the receiver tells what became of it. `expires`: the broker drops it after `until`.
    pub async fn put(
        &self,
        route: Route,
        body: Arc<[u8]>,
        until: Option<Instant>,
        expires: bool,
        patience: Duration,
    ) -> Result<oneshot::Receiver<Sent>, TransportError> {
        let (done, outcome) = oneshot::channel();
        let key = route.key.clone();
        let outgoing = Outgoing { route, body, until, expires, breaks: 0, done };
        match self.queue.send_timeout(outgoing, patience).await {
            Ok(()) => Ok(outcome),
            Err(mpsc::error::SendTimeoutError::Timeout(_)) => Err(TransportError::Full(key)),
            Err(mpsc::error::SendTimeoutError::Closed(_)) => {
                Err(TransportError::Closed("the transport is closed".to_owned()))
            }
        }
    }
}

type Flight = BoxFuture<'static, (Outgoing, lapin::Result<Confirmation>)>;

/// A channel in confirm mode, and what was declared over it.
struct Desk {
    live: Arc<Live>,
    channel: Channel,
    declared: HashSet<String>,
}

impl Desk {
    async fn open(live: Arc<Live>) -> lapin::Result<Self> {
        let channel = confirming(&live).await?;
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
        if let Some(until) = outgoing.until.filter(|_| outgoing.expires) {
            let left = until.saturating_duration_since(Instant::now()).as_millis().max(1);
            properties = properties.with_expiration(left.to_string().into());
        }
        let exchange = outgoing.route.exchange.as_ref().map_or("", |exchange| exchange.name.as_str());
        let options = BasicPublishOptions { mandatory: outgoing.route.mandatory, ..BasicPublishOptions::default() };
        let key = outgoing.route.key.as_str();
        self.channel.basic_publish(exchange.into(), key.into(), options, &outgoing.body, properties).await
    }
}

async fn confirming(live: &Live) -> lapin::Result<Channel> {
    let channel = live.channel().await?;
    channel.confirm_select(ConfirmSelectOptions::default()).await?;
    Ok(channel)
}

/// Sends until all [`Sender`]s are gone and everything is sent.
async fn run(link: Link, mut queue: mpsc::Receiver<Outgoing>) {
    let mut again: VecDeque<Outgoing> = VecDeque::new();
    let mut desk: Option<Desk> = None;
    let mut flights: FuturesOrdered<Flight> = FuturesOrdered::new();
    let mut open = true;
    loop {
        // After a channel broke, one at a time, until it is known whose fault it was.
        let window = if again.is_empty() { WINDOW } else { 1 };
        let next = if flights.len() >= window {
            None
        } else if let Some(outgoing) = again.pop_front() {
            Some(outgoing)
        } else {
            tokio::select! {
                biased;
                Some((outgoing, result)) = flights.next(), if !flights.is_empty() => {
                    land(outgoing, result, &mut desk, &mut flights, &mut again).await;
                    continue;
                }
                received = queue.recv(), if open => {
                    open = received.is_some();
                    received
                }
                else => return,
            }
        };
        let Some(outgoing) = next else {
            if let Some((outgoing, result)) = flights.next().await {
                land(outgoing, result, &mut desk, &mut flights, &mut again).await;
            }
            continue;
        };
        if outgoing.pointless() {
            continue;
        }
        if desk.as_ref().is_none_or(|desk| !desk.live.is_up() || !desk.channel.status().connected()) {
            // What is under way on the old channel comes first.
            if !flights.is_empty() {
                let mut failed = settle(&mut flights).await;
                failed.push_back(outgoing);
                failed.append(&mut again);
                again = failed;
                desk = None;
                continue;
            }
            let other_than = desk.take().filter(|desk| !desk.live.is_up()).map(|desk| desk.live.number);
            // Without a deadline: whoever waits has its own, and what is pointless by then is dropped above.
            let Some(live) = link.live(other_than, None).await else { return };
            match Desk::open(live).await {
                Ok(opened) => desk = Some(opened),
                Err(error) => {
                    tracing::debug!("no channel to send on: {error}");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
            }
            again.push_front(outgoing);
            continue;
        }
        let Some(at) = desk.as_mut() else { continue };
        match at.publish(&outgoing).await {
            Ok(confirm) => flights.push_back(Box::pin(async move { (outgoing, confirm.await) })),
            Err(error) => {
                let mut failed = settle(&mut flights).await;
                failed.extend(once_more(outgoing, &error, at.live.is_up()));
                failed.append(&mut again);
                again = failed;
                desk = None;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

/// Takes note of a confirmation; after an error everything under way is to be sent again.
async fn land(
    outgoing: Outgoing,
    result: lapin::Result<Confirmation>,
    desk: &mut Option<Desk>,
    flights: &mut FuturesOrdered<Flight>,
    again: &mut VecDeque<Outgoing>,
) {
    match result {
        Ok(confirmation) => finish(outgoing, confirmation),
        Err(error) => {
            let up = desk.as_ref().is_some_and(|desk| desk.live.is_up());
            let mut failed: VecDeque<Outgoing> = once_more(outgoing, &error, up).into_iter().collect();
            failed.append(&mut settle(flights).await);
            failed.append(again);
            *again = failed;
            *desk = None;
        }
    }
}

/// Waits for everything under way on a channel that broke; gives what has to be sent again.
async fn settle(flights: &mut FuturesOrdered<Flight>) -> VecDeque<Outgoing> {
    let mut failed = VecDeque::new();
    while let Some((outgoing, result)) = flights.next().await {
        match result {
            Ok(confirmation) => finish(outgoing, confirmation),
            Err(_) => failed.push_back(outgoing),
        }
    }
    failed
}

fn finish(outgoing: Outgoing, confirmation: Confirmation) {
    let sent = match confirmation {
        Confirmation::Ack(None) | Confirmation::NotRequested => Sent::Taken,
        Confirmation::Ack(Some(_)) | Confirmation::Nack(Some(_)) => Sent::Unroutable,
        Confirmation::Nack(None) => Sent::Refused,
    };
    if sent == Sent::Refused {
        tracing::warn!(rpc.key = outgoing.route.key, "the broker refuses a message");
    }
    // Casts are not waited for.
    let _ = outgoing.done.send(sent);
}

/// The message, unless it broke its channel too often while the connection was up.
fn once_more(mut outgoing: Outgoing, error: &lapin::Error, connected: bool) -> Option<Outgoing> {
    if connected {
        outgoing.breaks += 1;
    }
    if outgoing.breaks < MAX_BREAKS {
        tracing::debug!(rpc.key = outgoing.route.key, "sent again: {error}");
        return Some(outgoing);
    }
    tracing::error!(rpc.key = outgoing.route.key, "a message cannot be sent and is dropped: {error}");
    let _ = outgoing.done.send(Sent::Refused);
    None
}
