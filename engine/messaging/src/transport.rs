//! What a transport does. [`crate::InProcess`] is one, [`crate::Amqp`] another.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use crate::{CallError, Context, Dispatcher, Message, Target, TransportError};

/// A shared transport. Cheap to clone; everything that sends or listens holds one.
pub type Bus = Arc<dyn Transport>;

/// Sends messages and serves them. Object safe on purpose: which one runs is decided at start.
#[async_trait]
pub trait Transport: Send + Sync + 'static {
    /// Sends and waits for the answer of one listener, at most `timeout`. `target.fanout` is ignored: a call has one answer.
    async fn call(
        &self,
        target: &Target,
        context: &Context,
        message: Message,
        timeout: Duration,
    ) -> Result<Value, CallError>;

    /// Sends and forgets. With `target.fanout` to every listener of the topic. `Ok` says that it was queued, not handled;
    /// a message to a topic where nobody listens is dropped (and counted), as on RabbitMQ.
    async fn cast(&self, target: &Target, context: &Context, message: Message) -> Result<(), TransportError>;

    /// Serves `target.topic`, `target.topic` + `target.server`, and the topic's fanout, until the listener is stopped or dropped.
    /// Messages sent after this returns are seen.
    async fn listen(
        &self,
        target: &Target,
        dispatcher: Arc<Dispatcher>,
        options: ListenOptions,
    ) -> Result<Listener, TransportError>;

    /// Counts how often a listener was there again after it had lost its queues: news of before may be lost, so that who lives by
    /// news looks at everything again. `None`: nothing is ever lost on the way.
    fn losses(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}

/// How a listener takes messages.
#[derive(Clone, Copy, Debug)]
pub struct ListenOptions {
    /// Messages handled at once; at least 1. With 1 they are handled strictly in order.
    pub concurrency: usize,
    /// Messages that may wait in each queue before senders are made to wait; at least 1.
    pub queue_limit: usize,
}

impl ListenOptions {
    /// One message at a time, in order: right for an agent that only notes what to look at again.
    #[must_use]
    pub const fn in_order() -> Self {
        Self { concurrency: 1, queue_limit: 10_000 }
    }

    /// `concurrency` messages at a time: right for a server. oslo.messaging's own default is 64.
    #[must_use]
    pub const fn concurrent(concurrency: usize) -> Self {
        Self { concurrency, queue_limit: 10_000 }
    }
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self::concurrent(64)
    }
}

/// A running consumer. Dropping it ends it at once; [`Listener::stop`] ends it after its work.
#[must_use = "a dropped listener no longer listens"]
pub struct Listener {
    stop: Option<StopFn>,
    /// Ends the consumer when the listener goes away.
    _guard: Box<dyn Send + Sync>,
}

type StopFn = Box<dyn FnOnce(Duration) -> BoxFuture<'static, bool> + Send + Sync>;

impl Listener {
    /// For transports: `stop` drains and says whether all work ended in time; dropping `guard` ends the consumer.
    pub fn new(
        stop: impl FnOnce(Duration) -> BoxFuture<'static, bool> + Send + Sync + 'static,
        guard: impl Send + Sync + 'static,
    ) -> Self {
        Self { stop: Some(Box::new(stop)), _guard: Box::new(guard) }
    }

    /// Takes nothing more from the shared queue, handles what was already delivered to this listener alone, waits for
    /// handlers that run, at most `patience`; then ends. Returns whether everything was finished.
    pub async fn stop(mut self, patience: Duration) -> bool {
        match self.stop.take() {
            Some(stop) => stop(patience).await,
            None => true,
        }
    }
}

/// Stops several listeners at once, together at most `patience`. Returns whether all finished.
pub async fn stop_all(listeners: impl IntoIterator<Item = Listener>, patience: Duration) -> bool {
    let stops = listeners.into_iter().map(|listener| listener.stop(patience));
    futures::future::join_all(stops).await.into_iter().all(|finished| finished)
}
