//! Effects of committed transactions: one worker runs them in the order of the commits.
//!
//! An effect that fails or panics does not stop the next one; an effect that never ends does, so effects bound their own
//! waits. Effects are hints: a process that dies between the commit and the effect loses it, and the reconcilers of
//! agents and server come to the same state without it.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};

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
}

impl Outbox {
    /// Starts the worker on the current runtime; it ends when the outbox is dropped and empty.
    pub fn start() -> Self {
        let (queue, effects) = mpsc::unbounded_channel();
        let (progress, done) = watch::channel(0);
        tokio::spawn(work(effects, progress));
        Outbox { queue, queued: AtomicU64::new(0), done }
    }

    /// Called while the writer is held, so the order is that of the commits.
    pub fn push(&self, effects: Vec<Effect>) {
        for effect in effects {
            self.queued.fetch_add(1, Ordering::SeqCst);
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
