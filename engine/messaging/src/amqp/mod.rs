//! The transport over RabbitMQ (AMQP 0-9-1), as oslo.messaging's `rabbit` driver speaks it, so that either side of a call may
//! be Python.
//!
//! | what | is |
//! |---|---|
//! | a topic | queue `topic`, bound to the topic exchange `control_exchange` under its name; one of its servers takes a message |
//! | one server of a topic | queue `topic.server`, the same |
//! | a fanout | exchange `topic_fanout`, with a queue `topic_fanout_<name>` for each server |
//! | a call | `_msg_id` and `_reply_q` in the message; the answer goes to that queue over the default exchange, mandatory |
//!
//! Two connections: what is sent goes over one ([`sender`], [`lane`]), what is received over the other ([`listener`],
//! [`replies`]), so that a broker that stops taking messages does not stop giving them. Each is made again when it breaks
//! ([`link`]), and everything is declared again on it.
//!
//! Differences from oslo.messaging, on purpose: a call to a topic without queue is sent again until its timeout, not lost; a
//! request is acknowledged after its handler, not before, so it survives the server that took it; fanout queues are deleted on
//! a graceful stop.
//!
//! Reproduces: oslo_messaging/_drivers/{impl_rabbit,amqpdriver,amqp,common}.py.

mod lane;
mod link;
mod listener;
mod replies;
mod sender;
pub mod settings;
#[cfg(test)]
pub(crate) mod tests;
mod tls;
mod topology;
pub mod url;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use uuid::Uuid;

use self::link::Link;
use self::replies::Replies;
use self::sender::{Route, Sender, Sent};
use self::settings::Settings;
use crate::transport::Transport;
use crate::wire::{self, Request};
use crate::{CallError, Context, Dispatcher, ListenOptions, Listener, Message, Target, TransportError, meter};

/// How long a cast waits for room while messages pile up.
const SEND_PATIENCE: Duration = Duration::from_secs(30);
/// Between two offers of a call to a topic that has no queue.
const OFFER_EVERY: Duration = Duration::from_millis(250);

/// RabbitMQ. Clones share the connections.
#[derive(Clone)]
pub struct Amqp {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Arc<Settings>,
    sender: Sender,
    /// For what is received; made with the first listener or call.
    receiving: Mutex<Option<Link>>,
    replies: Mutex<Option<Arc<Replies>>>,
    /// How many listeners each topic has had.
    listeners: Mutex<HashMap<String, u32>>,
    /// How often a listener was there again after its queues were lost.
    losses: watch::Sender<u64>,
}

impl Amqp {
    /// Begins to connect, and goes on until it succeeds. Needs a tokio runtime.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let settings = Arc::new(settings);
        let sender = Sender::start(Link::start(Arc::clone(&settings), "send"));
        let inner = Inner {
            settings,
            sender,
            receiving: Mutex::default(),
            replies: Mutex::default(),
            listeners: Mutex::default(),
            losses: watch::Sender::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Messages that wait in this process for the broker.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.inner.sender.backlog()
    }

    /// Whether messages can be sent at the moment.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.inner.sender.link().is_up()
    }
}

impl Inner {
    fn receiving(&self) -> Link {
        let mut receiving = self.receiving.lock().unwrap_or_else(PoisonError::into_inner);
        receiving.get_or_insert_with(|| Link::start(Arc::clone(&self.settings), "listen")).clone()
    }

    fn replies(&self) -> Arc<Replies> {
        let link = self.receiving();
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || Replies::start(link, self.settings.queues.clone(), format!("reply_{}", self.queue_name()));
        Arc::clone(replies.get_or_insert_with(start))
    }

    /// The end of the names of queues of this process: stable where that is wanted.
    fn queue_name(&self) -> String {
        self.settings.queue_names.clone().unwrap_or_else(|| Uuid::new_v4().simple().to_string())
    }

    fn fanout_queue(&self, topic: &str) -> String {
        if self.settings.queues.stream_fanout {
            return format!("{topic}_fanout");
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let count = listeners.entry(topic.to_owned()).or_default();
        *count += 1;
        match count {
            1 => format!("{topic}_fanout_{}", self.queue_name()),
            // A fanout is for each of them.
            more => format!("{topic}_fanout_{}:{more}", self.queue_name()),
        }
    }

    fn route(&self, target: &Target, mandatory: bool) -> Route {
        if target.fanout {
            let exchange = listener::fanout_exchange(&self.settings, &target.topic);
            return Route { exchange: Some(exchange), key: String::new(), mandatory };
        }
        let exchange = listener::topic_exchange(&self.settings, &target.exchange);
        let key = match &target.server {
            Some(server) => format!("{}.{server}", target.topic),
            None => target.topic.clone(),
        };
        Route { exchange: Some(exchange), key, mandatory }
    }

    /// The answer, or the reason for none; `None` after the deadline.
    async fn exchange(
        &self,
        target: &Target,
        context: &Context,
        message: Message,
        deadline: Instant,
    ) -> Result<Option<Result<Value, crate::RemoteFault>>, TransportError> {
        let replies = self.replies();
        let Some(mut waiting) = replies.expect(deadline).await else { return Ok(None) };
        let request = Request::new(message, context.clone()).reply_to(&waiting.id, &replies.queue);
        let body: Arc<[u8]> =
            wire::seal(&request.to_flat()).map_err(|error| TransportError::Closed(error.to_string()))?.into();
        loop {
            let route = self.route(target, true);
            let outcome = self.sender.put(route, Arc::clone(&body), deadline).await?;
            match tokio::time::timeout_at(deadline, outcome).await {
                // A queue that is declared meanwhile gets it.
                Ok(Ok(Sent::Unroutable)) if Instant::now() + OFFER_EVERY < deadline => {
                    tokio::time::sleep(OFFER_EVERY).await;
                }
                Ok(Ok(Sent::Refused(why))) => {
                    return Err(TransportError::Closed(format!("the broker refuses the message to {target}: {why}")));
                }
                _ => break,
            }
        }
        match tokio::time::timeout_at(deadline, &mut waiting.answer).await {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(_)) => Err(TransportError::Gone),
            Err(_) => Ok(None),
        }
    }
}

#[async_trait]
impl Transport for Amqp {
    async fn call(
        &self,
        target: &Target,
        context: &Context,
        message: Message,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let method = message.method.clone();
        let target = Target { fanout: false, ..target.clone() };
        let deadline = Instant::now() + timeout;
        let done = |outcome| meter::sent("call", &target.topic, &method, outcome);
        match self.inner.exchange(&target, context, message, deadline).await {
            Ok(Some(Ok(value))) => {
                done("ok");
                Ok(value)
            }
            Ok(Some(Err(fault))) => {
                done("fault");
                Err(CallError::from_fault(&method, target.version.unwrap_or_default(), fault))
            }
            Ok(None) | Err(TransportError::Full(_)) => {
                done("timeout");
                Err(CallError::Timeout { method, topic: target.to_string(), after: timeout })
            }
            Err(source) => {
                done("unsent");
                Err(CallError::Transport { method, source })
            }
        }
    }

    async fn cast(&self, target: &Target, context: &Context, message: Message) -> Result<(), TransportError> {
        let kind = if target.fanout { "fanout" } else { "cast" };
        let method = message.method.clone();
        let request = Request::new(message, context.clone());
        let body: Arc<[u8]> =
            wire::seal(&request.to_flat()).map_err(|error| TransportError::Closed(error.to_string()))?.into();
        // What is for one server is kept a while when its queue is missing: after a restart of the broker, it is about to come.
        let route = self.inner.route(target, target.server.is_some() && !target.fanout);
        let outcome = self.inner.sender.send(route, body, SEND_PATIENCE).await;
        meter::sent(kind, &target.topic, &method, if outcome.is_ok() { "ok" } else { "unsent" });
        outcome
    }

    async fn listen(
        &self,
        target: &Target,
        dispatcher: Arc<Dispatcher>,
        options: ListenOptions,
    ) -> Result<Listener, TransportError> {
        let inner = &self.inner;
        let way = listener::Way {
            link: inner.receiving(),
            sender: inner.sender.clone(),
            settings: Arc::clone(&inner.settings),
            losses: inner.losses.clone(),
        };
        listener::listen(way, target, inner.fanout_queue(&target.topic), dispatcher, options).await
    }

    fn losses(&self) -> Option<watch::Receiver<u64>> {
        Some(self.inner.losses.subscribe())
    }
}
