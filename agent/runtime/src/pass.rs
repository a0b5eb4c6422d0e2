//! One pass over everything, run whenever something happened and by time: for agents whose unit of work is the host.
//!
//! Wake-ups that come while a pass runs, or within the shortest gap, become one further pass. A pass that fails is run again
//! after a growing pause; a wake-up does not wait that pause out, so that news that mends the failure helps at once, but
//! never sooner than the shortest gap.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::stop::Stop;

/// Asks for a pass, from anywhere, without waiting. Cheap to clone.
#[derive(Clone, Default)]
pub struct Wake {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    reasons: Mutex<Reasons>,
    notify: Notify,
}

impl Wake {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// `reason` is for the pass and its logs; equal ones count once.
    pub fn wake(&self, reason: &'static str) {
        self.inner.reasons.lock().unwrap_or_else(PoisonError::into_inner).insert(reason);
        self.inner.notify.notify_one();
    }

    fn take(&self) -> Reasons {
        std::mem::take(&mut *self.inner.reasons.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn pending(&self) -> bool {
        !self.inner.reasons.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    async fn wait(&self) {
        while !self.pending() {
            self.inner.notify.notified().await;
        }
    }
}

/// Why a pass runs: what [`Wake::wake`] was given since the last one, or `start`, `interval`, `retry`.
pub type Reasons = BTreeSet<&'static str>;

/// What makes the host be as it should.
#[async_trait]
pub trait Reconcile: Send {
    /// One pass over everything. Says whether it succeeded; it has logged its failure.
    async fn pass(&mut self, reasons: Reasons) -> bool;
}

/// How passes are timed.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Between the end of a pass and the next one without news; `None`: only on news. The reason is then `interval`.
    pub every: Option<Duration>,
    /// Between the end of a pass and the next one with news.
    pub gap: Duration,
    pub backoff: Backoff,
}

impl Default for Pass {
    /// Only on news, without delay.
    fn default() -> Self {
        Self { every: None, gap: Duration::ZERO, backoff: Backoff::default() }
    }
}

impl Pass {
    /// Runs passes until asked to stop; the first, with the reason `start`, at once. A pass that runs when the stop is
    /// asked for is finished.
    pub async fn run<R: Reconcile + ?Sized>(self, wake: &Wake, stop: &Stop, host: &mut R) {
        wake.wake("start");
        let mut failures: u32 = 0;
        let mut ended = None;
        while !stop.asked() {
            // The first pass waits for nothing.
            if let Some(ended) = ended
                && stop.unless(self.due(wake, ended, failures)).await.is_none()
            {
                return;
            }
            let mut reasons = wake.take();
            if reasons.is_empty() {
                reasons.insert(if failures > 0 { "retry" } else { "interval" });
            }
            if host.pass(reasons).await {
                failures = 0;
            } else {
                failures = failures.saturating_add(1);
            }
            ended = Some(Instant::now());
        }
    }

    /// Returns when the next pass is due.
    async fn due(&self, wake: &Wake, ended: Instant, failures: u32) {
        let by_time = match (failures, self.every) {
            (0, every) => every,
            (n, _) => Some(self.backoff.after(n)),
        };
        let news = async {
            wake.wait().await;
            if failures > 0 || !self.gap.is_zero() {
                tokio::time::sleep_until(ended + self.gap).await;
            }
        };
        match by_time {
            Some(pause) => tokio::select! {
                () = news => {}
                () = tokio::time::sleep_until(ended + pause) => {}
            },
            None => news.await,
        }
    }
}
