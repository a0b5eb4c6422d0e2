//! Effects of committed transactions: one worker runs them in the order of the commits.
//!
//! An effect that fails or panics does not stop the next one; an effect that never ends does, so effects bound their own
//! waits. Effects are hints: a process that dies between the commit and the effect loses it, and the reconcilers of
//! agents and server come to the same state without it.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{mpsc, watch};

use crate::crash_point;

pub(crate) struct Effect {
    pub name: &'static str,
    pub run: Pin<Box<dyn Future<Output = ()> + Send>>,
}

pub(crate) struct Outbox {
    queue: mpsc::UnboundedSender<Effect>,
    queued: AtomicU64,
    done: watch::Receiver<u64>,
    commits: Mutex<Commits>,
}

/// Commits on several connections at once. A transaction that has seen the rows of another began to commit after it, so the
/// order in which COMMITs are sent keeps cause before effect, whichever answer comes first.
#[derive(Default)]
struct Commits {
    next: u64,
    /// What was committed and what is under way (`None`), by number.
    waiting: BTreeMap<u64, Option<Vec<Effect>>>,
}

/// A place in the order of commits, taken before COMMIT is sent. Dropped, it has no effects: the commit failed.
pub(crate) struct Ticket {
    number: u64,
    outbox: Arc<Outbox>,
    redeemed: bool,
}

impl Ticket {
    /// The commit succeeded: its effects run when those of the commits before it are queued.
    pub fn redeem(mut self, effects: Vec<Effect>) {
        self.redeemed = true;
        self.outbox.resolve(self.number, effects);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.redeemed {
            self.outbox.resolve(self.number, Vec::new());
        }
    }
}

impl Outbox {
    /// Starts the worker on the current runtime; it ends when the outbox is dropped and empty.
    pub fn start() -> Self {
        let (queue, effects) = mpsc::unbounded_channel();
        let (progress, done) = watch::channel(0);
        tokio::spawn(work(effects, progress));
        Outbox { queue, queued: AtomicU64::new(0), done, commits: Mutex::default() }
    }

    /// The next place in the order of commits.
    pub fn ticket(self: &Arc<Self>) -> Ticket {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        let number = commits.next;
        commits.next += 1;
        commits.waiting.insert(number, None);
        Ticket { number, outbox: self.clone(), redeemed: false }
    }

    /// A commit ended: queues its effects as soon as all before it have ended.
    fn resolve(&self, number: u64, effects: Vec<Effect>) {
        let mut commits = self.commits.lock().unwrap_or_else(PoisonError::into_inner);
        // Counted now, so that `settled` waits for those that are held back too.
        self.queued.fetch_add(effects.len() as u64, Ordering::SeqCst);
        commits.waiting.insert(number, Some(effects));
        while let Some(entry) = commits.waiting.first_entry()
            && entry.get().is_some()
        {
            self.send(entry.remove().unwrap_or_default());
        }
    }

    /// Called while the writer is held, so the order is that of the commits.
    pub fn push(&self, effects: Vec<Effect>) {
        self.queued.fetch_add(effects.len() as u64, Ordering::SeqCst);
        self.send(effects);
    }

    fn send(&self, effects: Vec<Effect>) {
        for effect in effects {
            if self.queue.send(effect).is_err() {
                // The runtime is going down and took the worker with it.
                self.queued.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Effects that wait or run.
    pub fn pending(&self) -> u64 {
        self.queued.load(Ordering::SeqCst).saturating_sub(*self.done.borrow())
    }

    /// Waits until every effect queued so far has run.
    pub async fn settled(&self) {
        let target = self.queued.load(Ordering::SeqCst);
        let mut done = self.done.clone();
        // An error means that the worker is gone, and nothing will run any more.
        let _ = done.wait_for(|count| *count >= target).await;
    }
}

async fn work(mut effects: mpsc::UnboundedReceiver<Effect>, progress: watch::Sender<u64>) {
    while let Some(effect) = effects.recv().await {
        let Effect { name, mut run } = effect;
        crash_point!("outbox.before");
        let ended = std::future::poll_fn(|context| {
            match std::panic::catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(context))) {
                Ok(poll) => poll.map(Ok),
                Err(panic) => std::task::Poll::Ready(Err(panic)),
            }
        })
        .await;
        if ended.is_err() {
            tracing::error!(effect = name, "an effect panicked; the next one runs");
            metrics::counter!("store_effects_panicked_total").increment(1);
        }
        crash_point!("outbox.after");
        progress.send_modify(|count| *count += 1);
    }
}
