//! A server of a topic: three queues (the topic's, the server's, its copy of the fanout), consumed over one channel.
//!
//! A message is acknowledged when its handler has ended and the broker has its answer: what a dying process held is given to
//! another. Handlers are idempotent by design, and a message that comes again while this process lives is known by its
//! `_unique_id`. What is held unacknowledged is bounded by the prefetch count, what runs by `concurrency`.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant as StdInstant};

use futures::stream::{SelectAll, select_all};
use futures::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{
    BasicAckOptions, BasicCancelOptions, BasicConsumeOptions, BasicNackOptions, BasicQosOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable};
use lapin::{Channel, Consumer};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;

use super::link::{Link, Live};
use super::replies::consumer_arguments;
use super::sender::{Route, Sender};
use super::settings::Settings;
use super::topology::{self, Exchange, QueueSpec};
use crate::target::DEFAULT_EXCHANGE;
use crate::wire::{self, Reply, Request};
use crate::{Dispatcher, ListenOptions, Listener, RemoteFault, Target, TransportError, meter};

/// Messages of the queues that only we consume, held at once.
const OWN_PREFETCH: u16 = 32;
/// Messages whose repetition is noticed.
const REMEMBERED: usize = 1024;
/// Between two looks at a broker that is there but does not let a queue be declared.
const DECLARE_AGAIN: Duration = Duration::from_millis(200);
/// How long a channel may take to be closed.
const CLOSING: Duration = Duration::from_secs(10);
/// Between two looks whether queues are drained.
const DRAIN_LOOK: Duration = Duration::from_millis(20);

/// Which queue a message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Shared,
    Own,
    Fanout,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    Draining,
}

type Stream = futures::stream::BoxStream<'static, (Source, lapin::Result<Delivery>)>;

/// What survives connections.
struct Server {
    target: Target,
    settings: Arc<Settings>,
    dispatcher: Arc<Dispatcher>,
    options: ListenOptions,
    fanout_queue: String,
    link: Link,
    sender: Sender,
    seen: Mutex<Seen>,
}

/// What listeners share.
pub(super) struct Way {
    pub link: Link,
    pub sender: Sender,
    pub settings: Arc<Settings>,
    /// Counted up whenever a listener is there again.
    pub losses: watch::Sender<u64>,
}

/// The newest `_unique_id`s.
#[derive(Default)]
struct Seen {
    order: VecDeque<String>,
    ids: HashSet<String>,
}

impl Seen {
    /// Whether it is new.
    fn note(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}

/// Begins to serve; returns when the queues are declared and consumed.
pub(super) async fn listen(
    way: Way,
    target: &Target,
    fanout_queue: String,
    dispatcher: Arc<Dispatcher>,
    options: ListenOptions,
) -> Result<Listener, TransportError> {
    let Way { link, sender, settings, losses } = way;
    let server = Arc::new(Server {
        target: target.clone(),
        settings,
        dispatcher,
        options,
        fanout_queue,
        link,
        sender,
        seen: Mutex::default(),
    });
    topology::check_name(&server.own_queue().unwrap_or_default())?;
    topology::check_name(&server.fanout_queue)?;
    let (phase, watched) = watch::channel(Phase::Running);
    let (ready, is_ready) = oneshot::channel();
    let task = tokio::spawn(serve(server, watched, ready, losses));
    let guard = Guard(task.abort_handle());
    if is_ready.await.is_err() {
        return Err(TransportError::Closed(format!("{target} cannot be listened to: the transport is closed")));
    }
    let stop = move |patience: Duration| {
        async move {
            phase.send_replace(Phase::Draining);
            let abort = task.abort_handle();
            let finished = matches!(tokio::time::timeout(patience, task).await, Ok(Ok(())));
            abort.abort();
            finished
        }
        .boxed()
    };
    Ok(Listener::new(stop, guard))
}

/// Ends the consumer with the [`Listener`].
struct Guard(tokio::task::AbortHandle);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn serve(
    server: Arc<Server>,
    mut phase: watch::Receiver<Phase>,
    ready: oneshot::Sender<()>,
    losses: watch::Sender<u64>,
) {
    let mut ready = Some(ready);
    let link = &server.link;
    let mut other_than = None;
    // Handlers outlive a connection: their answers go over the next. Aborting this task ends them.
    let mut handlers = JoinSet::new();
    let permits = Arc::new(Semaphore::new(server.options.concurrency.max(1)));
    loop {
        let live = tokio::select! {
            // What waits in the broker stays there for the next server.
            biased;
            _ = phase.wait_for(|phase| *phase == Phase::Draining) => None,
            live = link.live(other_than, None) => live,
        };
        let Some(live) = live else { break };
        let declared = tokio::select! {
            declared = server.declare(&live) => declared,
            // A peer that vanished answers nothing.
            () = link.gone(live.number) => Err(connection_gone()),
        };
        let ended = match declared {
            Ok(consumers) => {
                match ready.take() {
                    // Nobody waits any more when the listener was dropped meanwhile.
                    Some(ready) => drop(ready.send(())),
                    None => losses.send_modify(|losses| *losses += 1),
                }
                let channel = consumers.channel.clone();
                let consuming = consume(&server, consumers, &mut phase, &mut handlers, &permits);
                let ended = tokio::select! {
                    ended = consuming => ended,
                    () = link.gone(live.number) => Err(connection_gone()),
                };
                // Its other consumers would go on taking messages that nobody handles.
                if channel.status().connected() && live.is_up() {
                    tokio::spawn(async move { tokio::time::timeout(CLOSING, channel.close(200, "".into())).await });
                }
                ended
            }
            Err(error) => Err(error),
        };
        match ended {
            Ok(true) => break,
            Ok(false) => tracing::info!(rpc.topic = %server.target, "queues are declared again"),
            Err(error) if ready.is_some() => {
                tracing::error!(rpc.topic = %server.target, "queues cannot be declared yet: {error}");
            }
            Err(error) => tracing::info!(rpc.topic = %server.target, "queues are declared again: {error}"),
        }
        other_than = if live.is_up() { None } else { Some(live.number) };
        if live.is_up() {
            tokio::time::sleep(DECLARE_AGAIN).await;
        }
    }
    while handlers.join_next().await.is_some() {}
}

fn connection_gone() -> lapin::Error {
    std::io::Error::from(std::io::ErrorKind::ConnectionAborted).into()
}

/// What is consumed over a channel.
struct Consumers {
    /// Of the connection.
    number: u64,
    channel: Channel,
    streams: SelectAll<Stream>,
    shared_tag: String,
}

/// Consumes until the channel is lost (`false`) or everything is drained (`true`).
async fn consume(
    server: &Arc<Server>,
    consumers: Consumers,
    phase: &mut watch::Receiver<Phase>,
    handlers: &mut JoinSet<()>,
    permits: &Arc<Semaphore>,
) -> lapin::Result<bool> {
    let Consumers { number, channel, mut streams, shared_tag } = consumers;
    let mut draining = false;
    loop {
        while handlers.try_join_next().is_some() {}
        if !draining && *phase.borrow_and_update() == Phase::Draining {
            draining = true;
            channel.basic_cancel(shared_tag.as_str().into(), BasicCancelOptions::default()).await?;
        }
        if draining {
            // Everything that was there for us alone, then ours is gone too.
            while let Some(next) = streams.next().now_or_never() {
                let Some((source, delivery)) = next else { return Ok(false) };
                if source == Source::Shared {
                    // Its end is ours.
                    if let Ok(delivery) = delivery {
                        delivery.nack(BasicNackOptions { requeue: true, multiple: false }).await?;
                    }
                    continue;
                }
                let delivery = delivery?;
                let Ok(permit) = Arc::clone(permits).acquire_owned().await else { return Ok(true) };
                server.spawn(number, delivery, permit, handlers);
            }
            while handlers.join_next().await.is_some() {}
            if server.is_drained(&channel).await? {
                if !server.settings.queues.stream_fanout {
                    let options = QueueDeleteOptions::default();
                    channel.queue_delete(server.fanout_queue.as_str().into(), options).await?;
                }
                let _ = channel.close(200, "".into()).await;
                return Ok(true);
            }
            tokio::time::sleep(DRAIN_LOOK).await;
            continue;
        }
        let permit = tokio::select! {
            biased;
            _ = phase.changed() => continue,
            permit = Arc::clone(permits).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { return Ok(true) };
        tokio::select! {
            biased;
            _ = phase.changed() => {}
            next = streams.next() => match next {
                Some((_, delivery)) => server.spawn(number, delivery?, permit, handlers),
                None => return Ok(false),
            },
        }
    }
}

impl Server {
    /// Declares everything and consumes it.
    async fn declare(&self, live: &Live) -> lapin::Result<Consumers> {
        let queues = &self.settings.queues;
        let topic = topic_exchange(&self.settings, &self.target.exchange);
        let fanout = fanout_exchange(&self.settings, &self.target.topic);
        let mut channel = topology::exchange(live, live.channel().await?, &topic).await?;
        channel = topology::exchange(live, channel, &fanout).await?;
        let mut names = vec![(Source::Shared, self.target.topic.clone())];
        names.extend(self.own_queue().map(|name| (Source::Own, name)));
        for (_, name) in &names {
            let spec = QueueSpec {
                name: name.clone(),
                durable: queues.topics_last(),
                auto_delete: queues.auto_delete,
                arguments: queues.topic_arguments(),
            };
            channel = topology::queue(live, channel, &spec).await?;
            topology::bind(&channel, name, &topic.name, name).await?;
        }
        let spec = QueueSpec {
            name: self.fanout_queue.clone(),
            durable: queues.transients_last(),
            auto_delete: false,
            arguments: queues.fanout_arguments(),
        };
        channel = topology::queue(live, channel, &spec).await?;
        topology::bind(&channel, &spec.name, &fanout.name, &self.target.topic).await?;
        names.push((Source::Fanout, self.fanout_queue.clone()));

        let mut streams = Vec::new();
        let mut shared_tag = String::new();
        for (source, name) in names {
            let consumer = self.consumer(live, &channel, source, &name).await?;
            if source == Source::Shared {
                shared_tag = consumer.tag().to_string();
            }
            streams.push(consumer.map(move |delivery| (source, delivery)).chain(end_of(source)).boxed());
        }
        Ok(Consumers { number: live.number, channel, streams: select_all(streams), shared_tag })
    }

    /// The queue of this server alone.
    fn own_queue(&self) -> Option<String> {
        self.target.server.as_ref().map(|host| format!("{}.{host}", self.target.topic))
    }

    async fn consumer(&self, live: &Live, channel: &Channel, source: Source, name: &str) -> lapin::Result<Consumer> {
        let concurrency = u16::try_from(self.options.concurrency.max(1)).unwrap_or(u16::MAX);
        let prefetch = match (self.settings.prefetch, source) {
            (0, Source::Shared) => concurrency,
            (0, _) => concurrency.max(OWN_PREFETCH),
            (set, _) => set,
        };
        // Holds for the consumers that follow, each by itself.
        channel.basic_qos(prefetch, BasicQosOptions::default()).await?;
        let mut arguments = FieldTable::default();
        if source == Source::Fanout && self.settings.queues.stream_fanout {
            arguments.insert("x-stream-offset".into(), AMQPValue::LongString("next".into()));
        } else {
            arguments = consumer_arguments(&self.settings.queues, (source != Source::Shared).then_some(live));
        }
        channel.basic_consume(name.into(), "".into(), BasicConsumeOptions::default(), arguments).await
    }

    /// Whether nothing waits in the queues that are ours.
    async fn is_drained(&self, channel: &Channel) -> lapin::Result<bool> {
        if let Some(own) = self.own_queue() {
            let (messages, consumers) = topology::look(channel, &own).await?;
            // Another worker of this server takes them.
            if messages > 0 && consumers < 2 {
                return Ok(false);
            }
        }
        if self.settings.queues.stream_fanout {
            return Ok(true);
        }
        Ok(topology::look(channel, &self.fanout_queue).await?.0 == 0)
    }

    fn spawn(
        self: &Arc<Self>,
        connection: u64,
        delivery: Delivery,
        permit: tokio::sync::OwnedSemaphorePermit,
        handlers: &mut JoinSet<()>,
    ) {
        let server = Arc::clone(self);
        handlers.spawn(async move {
            server.handle(&delivery.data).await;
            // A connection that is lost meanwhile brings it again, and it is known by its id. The library may never answer then.
            tokio::select! {
                _ = delivery.ack(BasicAckOptions::default()) => {}
                () = server.link.gone(connection) => {}
            }
            drop(permit);
        });
    }

    async fn handle(&self, body: &[u8]) {
        let request = match wire::open(body).and_then(Request::from_flat) {
            Ok(request) => request,
            Err(error) => {
                tracing::warn!(rpc.topic = %self.target, "a message cannot be understood and is dropped: {error}");
                return;
            }
        };
        if !self.seen.lock().unwrap_or_else(PoisonError::into_inner).note(&request.unique_id) {
            tracing::debug!(rpc.topic = %self.target, rpc.method = request.message.method, "a repeated message");
            return;
        }
        let Request { message, context, reply_to, monitor, .. } = request;
        let (method, started) = (message.method.clone(), StdInstant::now());
        let work = self.dispatcher.dispatch(&context, message);
        let result = match (&reply_to, monitor) {
            (Some((id, queue)), Some(every)) => self.with_signs_of_life(work, id, queue, every).await,
            _ => work.await,
        };
        let outcome = if result.is_ok() { "ok" } else { "fault" };
        meter::handled(&self.target.topic, &method, outcome, started.elapsed());
        match (reply_to, result) {
            (Some((id, queue)), result) => self.answer(&method, Reply::new(id, result), queue).await,
            (None, Err(fault)) => crate::log_cast_fault(&self.target.topic, &method, &context, &fault),
            (None, Ok(_)) => {}
        }
    }

    /// A caller that asked for it hears that its call is worked on.
    async fn with_signs_of_life<T>(&self, work: impl Future<Output = T>, id: &str, queue: &str, every: Duration) -> T {
        tokio::pin!(work);
        let pause = (every / 2).max(Duration::from_millis(500));
        loop {
            match tokio::time::timeout(pause, &mut work).await {
                Ok(done) => return done,
                // Its own task: a broker that is slow must not hold up the work.
                Err(_) => {
                    let (route, sender) = (answers(queue), self.sender.clone());
                    if let Ok(body) = wire::seal(&Reply::alive(id.to_owned()).to_flat()) {
                        tokio::spawn(async move { sender.send(route, body.into(), pause).await });
                    }
                }
            }
        }
    }

    /// Sends an answer, which is offered for a while when its queue is missing: a caller may be about to declare it again. Returns
    /// when the broker has it, unless that is slow. What it refuses becomes a fault, so that the caller does not wait in vain.
    async fn answer(&self, method: &str, reply: Reply, queue: String) {
        let id = reply.message_id.clone();
        let patience = self.settings.reply_patience;
        let sent = match wire::seal(&reply.to_flat()) {
            Ok(body) => {
                let size = body.len();
                let sent = self.sender.send(answers(&queue), body.into(), patience).await;
                sent.map_err(|error| format!("the answer to {method}, of {size} bytes, cannot be sent: {error}"))
            }
            Err(error) => Err(format!("the answer to {method} cannot be written: {error}")),
        };
        let Err(why) = sent else { return };
        tracing::error!(rpc.topic = %self.target, rpc.method = method, "{why}");
        let fault = Reply::new(id, Err(RemoteFault::internal(why)));
        if let Ok(body) = wire::seal(&fault.to_flat()) {
            let _ = self.sender.send(answers(&queue), body.into(), patience).await;
        }
    }
}

/// The way to a caller.
fn answers(queue: &str) -> Route {
    Route { exchange: None, key: queue.to_owned(), mandatory: true }
}

/// A consumer that ends by itself was cancelled by the broker: its queue is gone.
fn end_of(source: Source) -> impl futures::Stream<Item = (Source, lapin::Result<Delivery>)> {
    let gone = std::io::Error::other("the broker has ended a consumer");
    futures::stream::iter([(source, Err(gone.into()))])
}

/// The exchange of a control exchange's topics.
pub(super) fn topic_exchange(settings: &Settings, name: &str) -> Exchange {
    let name = if name == DEFAULT_EXCHANGE { &settings.control_exchange } else { name };
    Exchange {
        name: name.to_owned(),
        fanout: false,
        durable: settings.queues.topics_last(),
        auto_delete: settings.queues.auto_delete,
    }
}

/// The exchange of a topic's fanout.
pub(super) fn fanout_exchange(settings: &Settings, topic: &str) -> Exchange {
    Exchange {
        name: format!("{topic}_fanout"),
        fanout: true,
        durable: settings.queues.transients_last(),
        auto_delete: true,
    }
}
