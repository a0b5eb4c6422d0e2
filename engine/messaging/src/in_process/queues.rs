//! The queues themselves: pure data moved under one lock.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use crate::{Context, Message, RemoteFault, Target, TransportError};

/// A message on its way.
pub(super) struct Delivery {
    /// Grows with every message queued; orders messages across queues.
    seq: u64,
    pub context: Context,
    pub message: Message,
    /// Where the caller waits; `None` for casts.
    pub reply: Option<oneshot::Sender<Result<Value, RemoteFault>>>,
}

impl Delivery {
    pub fn new(
        context: &Context,
        message: Message,
        reply: Option<oneshot::Sender<Result<Value, RemoteFault>>>,
    ) -> Self {
        Self { seq: 0, context: context.clone(), message, reply }
    }

    /// Whether the caller has gone: the work would be for nobody, and it asks again anyway.
    pub fn abandoned(&self) -> bool {
        self.reply.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    fn copy(&self) -> Self {
        Self { seq: self.seq, context: self.context.clone(), message: self.message.clone(), reply: None }
    }
}

/// A message that found no place, and why. Boxed: it is the rare case.
pub(super) type Refused = Box<(Delivery, TransportError)>;

/// Names one listener.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SlotId {
    topic: (String, String),
    number: u64,
}

struct Slot {
    number: u64,
    server: Option<String>,
    fanout: VecDeque<Delivery>,
    wake: Arc<Notify>,
    /// Has found nothing and sleeps until woken.
    waiting: bool,
    /// Takes no more of the shared queue.
    closing: bool,
    limit: usize,
}

impl Slot {
    fn rouse(&mut self) {
        self.waiting = false;
        self.wake.notify_one();
    }
}

#[derive(Default)]
struct Topic {
    shared: VecDeque<Delivery>,
    by_server: HashMap<String, VecDeque<Delivery>>,
    slots: Vec<Slot>,
    /// Whose turn is next for a message of the shared queue.
    turn: usize,
    limit: usize,
}

#[derive(Default)]
pub(super) struct Queues {
    topics: HashMap<(String, String), Topic>,
    seq: u64,
    slots: u64,
}

impl Queues {
    pub fn backlog(&self) -> usize {
        self.topics
            .values()
            .map(|t| {
                t.shared.len()
                    + t.by_server.values().map(VecDeque::len).sum::<usize>()
                    + t.slots.iter().map(|s| s.fanout.len()).sum::<usize>()
            })
            .sum()
    }

    /// Queues a message, or hands it back with the reason.
    pub fn push(&mut self, target: &Target, mut delivery: Delivery) -> Result<(), Refused> {
        let key = (target.exchange.clone(), target.topic.clone());
        let Some(topic) = self.topics.get_mut(&key) else {
            return Err(Box::new((delivery, TransportError::Unroutable(target.to_string()))));
        };
        self.seq += 1;
        delivery.seq = self.seq;
        if target.fanout {
            topic.push_fanout(target, delivery)
        } else if let Some(server) = &target.server {
            topic.push_server(target, server, delivery)
        } else {
            topic.push_shared(target, delivery)
        }
    }

    /// Declares the queues of a listener.
    pub fn attach(&mut self, target: &Target, limit: usize) -> (SlotId, Arc<Notify>) {
        self.slots += 1;
        let key = (target.exchange.clone(), target.topic.clone());
        let topic = self.topics.entry(key.clone()).or_default();
        topic.limit = limit;
        if let Some(server) = &target.server {
            topic.by_server.entry(server.clone()).or_default();
        }
        let wake = Arc::new(Notify::new());
        topic.slots.push(Slot {
            number: self.slots,
            server: target.server.clone(),
            fanout: VecDeque::new(),
            wake: Arc::clone(&wake),
            waiting: false,
            closing: false,
            limit,
        });
        (SlotId { topic: key, number: self.slots }, wake)
    }

    /// Forgets a listener and its copy of the fanout. Topic and server queues stay.
    pub fn detach(&mut self, id: &SlotId) {
        if let Some(topic) = self.topics.get_mut(&id.topic) {
            topic.slots.retain(|slot| slot.number != id.number);
            // It may have been woken for a message that it now never takes.
            topic.wake_for_shared();
        }
    }

    pub fn close_shared(&mut self, id: &SlotId) {
        if let Some(topic) = self.topics.get_mut(&id.topic) {
            if let Some(slot) = topic.slots.iter_mut().find(|slot| slot.number == id.number) {
                slot.closing = true;
            }
            topic.wake_for_shared();
        }
    }

    /// The oldest message this listener may take; marks it as waiting when there is none.
    pub fn take(&mut self, id: &SlotId) -> Option<Delivery> {
        let topic = self.topics.get_mut(&id.topic)?;
        let slot = topic.slots.iter_mut().find(|slot| slot.number == id.number)?;
        let by_server = slot.server.as_ref().and_then(|server| topic.by_server.get_mut(server));
        let shared = (!slot.closing).then_some(&mut topic.shared);
        let oldest = [Some(&mut slot.fanout), by_server, shared]
            .into_iter()
            .flatten()
            .filter(|queue| !queue.is_empty())
            .min_by_key(|queue| queue.front().map_or(u64::MAX, |d| d.seq));
        match oldest {
            Some(queue) => queue.pop_front(),
            None => {
                slot.waiting = true;
                None
            }
        }
    }
}

impl Topic {
    fn push_fanout(&mut self, target: &Target, delivery: Delivery) -> Result<(), Refused> {
        if self.slots.iter().any(|slot| slot.fanout.len() >= slot.limit) {
            return Err(Box::new((delivery, TransportError::Full(target.to_string()))));
        }
        for slot in &mut self.slots {
            slot.fanout.push_back(delivery.copy());
            slot.rouse();
        }
        Ok(())
    }

    fn push_server(&mut self, target: &Target, server: &str, delivery: Delivery) -> Result<(), Refused> {
        let Some(queue) = self.by_server.get_mut(server) else {
            return Err(Box::new((delivery, TransportError::Unroutable(target.to_string()))));
        };
        if queue.len() >= self.limit {
            return Err(Box::new((delivery, TransportError::Full(target.to_string()))));
        }
        queue.push_back(delivery);
        // Two workers of one server share its queue; either may be the one that is free.
        for slot in self.slots.iter_mut().filter(|slot| slot.server.as_deref() == Some(server)) {
            slot.rouse();
        }
        Ok(())
    }

    fn push_shared(&mut self, target: &Target, delivery: Delivery) -> Result<(), Refused> {
        if self.shared.len() >= self.limit {
            return Err(Box::new((delivery, TransportError::Full(target.to_string()))));
        }
        self.shared.push_back(delivery);
        self.wake_for_shared();
        Ok(())
    }

    /// Wakes the next listener in turn that waits, if there is work for it.
    fn wake_for_shared(&mut self) {
        let count = self.slots.len();
        if self.shared.is_empty() || count == 0 {
            return;
        }
        for step in 0..count {
            let at = (self.turn + step) % count;
            let slot = &mut self.slots[at];
            if slot.waiting && !slot.closing {
                slot.rouse();
                self.turn = (at + 1) % count;
                return;
            }
        }
    }
}
