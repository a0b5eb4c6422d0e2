//! The queue in which this process gets its answers: one, `reply_<name>`, declared with the first call.
//!
//! A queue that is lost (deleted, or gone with the node that held it) is declared again under its name, on a cancel from the
//! broker at once, else by a look every few seconds while somebody waits. Servers offer an answer again for a while, so it
//! arrives late rather than never.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use lapin::options::{BasicAckOptions, BasicConsumeOptions};
use lapin::types::{AMQPValue, FieldTable};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::link::{Link, Live};
use super::settings::Queues;
use super::topology::{self, QueueSpec};
use crate::RemoteFault;
use crate::wire::{self, Reply};

/// Between two looks at the queue while calls wait.
const LOOK_EVERY: Duration = Duration::from_secs(3);

type Answer = Result<serde_json::Value, RemoteFault>;

/// The waiting side of calls. The queue is no longer consumed when it goes away.
pub(super) struct Replies {
    /// Name of the queue.
    pub queue: String,
    calls: Arc<Calls>,
    ready: watch::Receiver<bool>,
    task: tokio::task::AbortHandle,
}

/// Who waits.
#[derive(Default)]
struct Calls {
    waiting: Mutex<HashMap<String, Waiter>>,
    /// Told when the first of several begins to wait.
    awaited: Notify,
}

struct Waiter {
    done: oneshot::Sender<Answer>,
    /// Older servers send the result first and `ending` in a message of its own.
    early: Option<serde_json::Value>,
}

impl Drop for Replies {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Stops waiting when it goes away.
pub(super) struct Waiting<'a> {
    calls: &'a Calls,
    pub id: String,
    pub answer: oneshot::Receiver<Answer>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.calls.waiting().remove(&self.id);
    }
}

impl Replies {
    /// Begins to consume.
    pub fn start(link: Link, queues: Queues, queue: String) -> Arc<Self> {
        let (tx, ready) = watch::channel(false);
        let calls = Arc::new(Calls::default());
        let task = tokio::spawn(consume_for_ever(Arc::clone(&calls), link, queues, queue.clone(), tx));
        Arc::new(Self { queue, calls, ready, task: task.abort_handle() })
    }

    /// Registers a call; whether the queue is consumed in time.
    pub async fn expect(&self, deadline: Instant) -> Option<Waiting<'_>> {
        let mut ready = self.ready.clone();
        tokio::time::timeout_at(deadline, ready.wait_for(|ready| *ready)).await.ok()?.ok()?;
        let id = Uuid::new_v4().simple().to_string();
        let (done, answer) = oneshot::channel();
        self.calls.waiting().insert(id.clone(), Waiter { done, early: None });
        self.calls.awaited.notify_one();
        Some(Waiting { calls: &self.calls, id, answer })
    }

    /// Calls that wait for their answer.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.calls.waiting().len()
    }
}

impl Calls {
    fn waiting(&self) -> MutexGuard<'_, HashMap<String, Waiter>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, body: &[u8]) {
        let reply = match wire::open(body).and_then(Reply::from_flat) {
            Ok(reply) => reply,
            Err(error) => {
                tracing::warn!("an answer cannot be understood: {error}");
                return;
            }
        };
        let mut waiting = self.waiting();
        if !reply.ending {
            if let (Some(waiter), Ok(value)) = (waiting.get_mut(&reply.message_id), &reply.result)
                && !value.is_null()
            {
                waiter.early = Some(value.clone());
            }
            return;
        }
        let Some(waiter) = waiting.remove(&reply.message_id) else {
            tracing::debug!(rpc.message = reply.message_id, "an answer that nobody waits for any more");
            return;
        };
        let answer = match (reply.result, waiter.early) {
            (Ok(value), Some(early)) if value.is_null() => Ok(early),
            (answer, _) => answer,
        };
        // The caller may have given up this moment.
        let _ = waiter.done.send(answer);
    }
}

async fn consume_for_ever(calls: Arc<Calls>, link: Link, queues: Queues, name: String, ready: watch::Sender<bool>) {
    let mut other_than = None;
    loop {
        let Some(live) = link.live(other_than, None).await else { return };
        let ended = tokio::select! {
            ended = consume(&calls, &live, &queues, &name, &ready) => ended,
            // A peer that vanished answers nothing.
            () = link.gone(live.number) => Ok(()),
        };
        ready.send_replace(false);
        if let Err(error) = ended {
            tracing::info!(queue = name, "the reply queue is declared again: {error}");
        }
        other_than = if live.is_up() { None } else { Some(live.number) };
        if live.is_up() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Consumes until the queue or the connection is lost.
async fn consume(
    calls: &Calls,
    live: &Live,
    queues: &Queues,
    name: &str,
    ready: &watch::Sender<bool>,
) -> lapin::Result<()> {
    let spec = QueueSpec {
        name: name.to_owned(),
        durable: queues.transient_quorum,
        auto_delete: false,
        arguments: queues.reply_arguments(),
    };
    let channel = topology::queue(live, live.channel().await?, &spec).await?;
    let arguments = consumer_arguments(queues, Some(live));
    let mut consumer = channel.basic_consume(name.into(), "".into(), BasicConsumeOptions::default(), arguments).await?;
    ready.send_replace(true);
    loop {
        let idle = calls.waiting().is_empty();
        tokio::select! {
            delivery = consumer.next() => {
                let Some(delivery) = delivery.transpose()? else { return Ok(()) };
                delivery.ack(BasicAckOptions::default()).await?;
                calls.deliver(&delivery.data);
            }
            () = calls.awaited.notified(), if idle => {}
            () = tokio::time::sleep(LOOK_EVERY), if !idle => {
                // On a channel of its own: to ask for a queue that is not there closes the channel.
                let look = async {
                    let probe = live.channel().await?;
                    let found = topology::look(&probe, name).await;
                    let _ = probe.close(200, "".into()).await;
                    found
                };
                // Slowness is the link's business.
                match timeout(LOOK_EVERY, look).await {
                    Ok(Ok((_, consumers))) if consumers > 0 => {}
                    Err(_) => {}
                    Ok(Ok(_)) => {
                        tracing::warn!(queue = name, "the reply queue has lost its consumer");
                        let _ = channel.close(200, "".into()).await;
                        return Ok(());
                    }
                    Ok(Err(error)) => {
                        let _ = channel.close(200, "".into()).await;
                        return Err(error);
                    }
                }
            }
        }
    }
}

/// What consumers ask of queues.
///
/// A consumer of a queue of our own is preferred to those of our earlier connections: the broker may believe in them for a while
/// when they froze.
pub(super) fn consumer_arguments(queues: &Queues, own: Option<&Live>) -> FieldTable {
    let mut arguments = FieldTable::default();
    if let Some(live) = own.filter(|live| live.number > 1) {
        arguments.insert("x-priority".into(), AMQPValue::LongInt(i32::try_from(live.number).unwrap_or(i32::MAX)));
    }
    if queues.cancel_on_failover {
        arguments.insert("x-cancel-on-ha-failover".into(), AMQPValue::Boolean(true));
    }
    arguments
}
