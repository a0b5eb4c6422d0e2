//! The transport inside one process: the queues of RabbitMQ without RabbitMQ.
//!
//! All queues sit behind one lock, held only to move messages; handlers run outside it. Each listener is one task that
//! takes the oldest message of the queues it may take from (shared, its server's, its own copy of the fanout), so that order
//! holds across them too. Messages of the shared queue go to listeners that wait, in turn; a busy listener takes none.
//!
//! Differences from RabbitMQ, on purpose: queues are bounded and senders wait for room; a call to a topic where nobody ever
//! listened fails at once instead of after its timeout; a call whose caller gave up while it queued is not run.

mod queues;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::FutureExt;
use serde_json::Value;
use tokio::sync::{Notify, Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use self::queues::{Delivery, Queues, SlotId};
use crate::transport::Transport;
use crate::{CallError, Context, Dispatcher, ListenOptions, Listener, Message, Target, TransportError, meter};

/// How long a sender waits for room in a full queue.
const SEND_PATIENCE: Duration = Duration::from_secs(30);

/// The in-process bus. Clones share the queues.
#[derive(Clone, Default)]
pub struct InProcess {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    /// Told whenever room appears in some queue.
    room: Notify,
}

impl Shared {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message, waiting for room.
    async fn put(&self, target: &Target, mut delivery: Delivery) -> Result<(), TransportError> {
        let deadline = tokio::time::Instant::now() + SEND_PATIENCE;
        loop {
            let room = self.room.notified();
            // Bound first: the lock must not live into the wait.
            let pushed = self.queues().push(target, delivery);
            let Err(refused) = pushed else { return Ok(()) };
            let (back, error) = *refused;
            delivery = back;
            let full = matches!(error, TransportError::Full(_));
            if !full || tokio::time::timeout_at(deadline, room).await.is_err() {
                return Err(error);
            }
        }
    }
}

impl InProcess {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Messages that wait in all queues, for metrics and tests.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.shared.queues().backlog()
    }
}

#[async_trait]
impl Transport for InProcess {
    async fn call(
        &self,
        target: &Target,
        context: &Context,
        message: Message,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let method = message.method.clone();
        let (reply, answer) = oneshot::channel();
        let target = Target { fanout: false, ..target.clone() };
        let delivery = Delivery::new(context, message, Some(reply));
        let done = |outcome| meter::sent("call", &target.topic, &method, outcome);
        let exchange = async {
            self.shared.put(&target, delivery).await?;
            answer.await.map_err(|_| TransportError::Gone)
        };
        match tokio::time::timeout(timeout, exchange).await {
            Ok(Ok(Ok(value))) => {
                done("ok");
                Ok(value)
            }
            Ok(Ok(Err(fault))) => {
                done("fault");
                Err(CallError::from_fault(&method, target.version.unwrap_or_default(), fault))
            }
            Ok(Err(source)) => {
                done("unsent");
                Err(CallError::Transport { method, source })
            }
            Err(_) => {
                done("timeout");
                Err(CallError::Timeout { method, topic: target.to_string(), after: timeout })
            }
        }
    }

    async fn cast(&self, target: &Target, context: &Context, message: Message) -> Result<(), TransportError> {
        let kind = if target.fanout { "fanout" } else { "cast" };
        let method = message.method.clone();
        let outcome = self.shared.put(target, Delivery::new(context, message, None)).await;
        let label = match &outcome {
            Ok(()) => "ok",
            Err(TransportError::Unroutable(_)) => "unroutable",
            Err(_) => "unsent",
        };
        meter::sent(kind, &target.topic, &method, label);
        match outcome {
            // As on RabbitMQ: what nobody listens to is dropped. Fanouts to no one are the rule, not news.
            Err(TransportError::Unroutable(name)) => {
                if !target.fanout {
                    tracing::debug!(rpc.method = method, rpc.topic = name, "cast dropped: nobody listens");
                }
                Ok(())
            }
            other => other,
        }
    }

    async fn listen(
        &self,
        target: &Target,
        dispatcher: Arc<Dispatcher>,
        options: ListenOptions,
    ) -> Result<Listener, TransportError> {
        let (slot, wake) = self.shared.queues().attach(target, options.queue_limit.max(1));
        let (phase, watch_phase) = watch::channel(Phase::Running);
        let consumer = Consumer {
            shared: Arc::clone(&self.shared),
            slot: slot.clone(),
            wake: Arc::clone(&wake),
            topic: target.topic.clone(),
            dispatcher,
            permits: Arc::new(Semaphore::new(options.concurrency.max(1))),
            phase: watch_phase,
        };
        let task = tokio::spawn(consumer.run());
        let guard = Guard { shared: Arc::clone(&self.shared), slot: slot.clone(), abort: task.abort_handle() };
        let shared = Arc::clone(&self.shared);
        let stop = move |patience: Duration| {
            async move {
                shared.queues().close_shared(&slot);
                phase.send_replace(Phase::Draining);
                wake.notify_one();
                let abort = task.abort_handle();
                let finished = matches!(tokio::time::timeout(patience, task).await, Ok(Ok(())));
                abort.abort();
                finished
            }
            .boxed()
        };
        Ok(Listener::new(stop, guard))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Draining,
}

/// Removes the listener's queues when the [`Listener`] goes away.
struct Guard {
    shared: Arc<Shared>,
    slot: SlotId,
    abort: tokio::task::AbortHandle,
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.abort.abort();
        self.shared.queues().detach(&self.slot);
        self.shared.room.notify_waiters();
    }
}

struct Consumer {
    shared: Arc<Shared>,
    slot: SlotId,
    wake: Arc<Notify>,
    topic: String,
    dispatcher: Arc<Dispatcher>,
    permits: Arc<Semaphore>,
    phase: watch::Receiver<Phase>,
}

impl Consumer {
    /// Handlers live in the join set: aborting this task ends them.
    async fn run(mut self) {
        let mut handlers = JoinSet::new();
        loop {
            while handlers.try_join_next().is_some() {}
            let Ok(permit) = Arc::clone(&self.permits).acquire_owned().await else { return };
            let Some(delivery) = self.next().await else { break };
            let (dispatcher, topic) = (Arc::clone(&self.dispatcher), self.topic.clone());
            handlers.spawn(async move {
                handle(&dispatcher, &topic, delivery).await;
                drop(permit);
            });
        }
        while handlers.join_next().await.is_some() {}
    }

    /// The next message that somebody still wants; `None` once draining is done.
    async fn next(&mut self) -> Option<Delivery> {
        loop {
            // Read before taking: whoever asks to stop afterwards wakes us again.
            let phase = *self.phase.borrow_and_update();
            let taken = self.shared.queues().take(&self.slot);
            match taken {
                Some(delivery) => {
                    self.shared.room.notify_waiters();
                    if !delivery.abandoned() {
                        return Some(delivery);
                    }
                }
                None if phase == Phase::Draining => return None,
                None => self.wake.notified().await,
            }
        }
    }
}

async fn handle(dispatcher: &Dispatcher, topic: &str, delivery: Delivery) {
    let Delivery { context, message, reply, .. } = delivery;
    let (method, started) = (message.method.clone(), Instant::now());
    let result = dispatcher.dispatch(&context, message).await;
    let outcome = match &result {
        Ok(_) => "ok",
        Err(_) => "fault",
    };
    meter::handled(topic, &method, outcome, started.elapsed());
    match (reply, result) {
        (Some(reply), result) => drop(reply.send(result)),
        (None, Err(fault)) => crate::log_cast_fault(topic, &method, &context, &fault),
        (None, Ok(_)) => {}
    }
}
