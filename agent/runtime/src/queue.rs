//! Work key by key: for agents whose unit of work is a network or a router.
//!
//! A key is worked on by one worker at a time. Asking for a key that waits changes nothing but its urgency; asking for one
//! that is being worked on makes it run once more afterwards. So memory is bounded by the number of keys, however many
//! messages come.
//!
//! Order: new work goes before the full sync, and the newest first, since a user waits for it; every fourth pick takes the
//! oldest instead and every eighth one of the sync, so that nothing waits for ever. A key that failed waits a growing pause;
//! asking for it again cuts that short. After `max_failures` in a row it is dropped until asked for again.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::stop::Stop;

/// What became of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Done,
    /// Try again after the pause that its failures have earned. The handler has logged why.
    Retry,
    /// Nothing failed, but look again after this long.
    Again(Duration),
}

#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    pub backoff: Backoff,
    /// Failures in a row after which a key is dropped until asked for again.
    pub max_failures: u32,
}

impl Default for QueueOptions {
    /// One second to one minute, about a quarter of an hour in all.
    fn default() -> Self {
        Self { backoff: Backoff::default(), max_failures: 20 }
    }
}

/// The keys that want work. Clones share them.
pub struct Queue<K> {
    inner: Arc<Inner<K>>,
}

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

struct Inner<K> {
    state: Mutex<State<K>>,
    options: QueueOptions,
    changed: Notify,
}

/// Where a key stands in the order of picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    New(u64),
    Sync(u64),
    /// Until then, and what it becomes afterwards.
    Later(Instant, u64),
    /// Being worked on; whether to run once more, and as new work.
    Running(Option<Again>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    New,
    Sync,
}

struct State<K> {
    places: HashMap<K, Place>,
    new: BTreeMap<u64, K>,
    sync: BTreeMap<u64, K>,
    later: BTreeMap<(Instant, u64), K>,
    failures: HashMap<K, u32>,
    seq: u64,
    picks: u64,
}

impl<K: Eq + Hash + Clone + Debug> State<K> {
    fn next_seq(&mut self) -> u64 {
        self.seq += 1;
        self.seq
    }

    fn unplace(&mut self, key: &K) {
        match self.places.remove(key) {
            Some(Place::New(at)) => drop(self.new.remove(&at)),
            Some(Place::Sync(at)) => drop(self.sync.remove(&at)),
            Some(Place::Later(when, at)) => drop(self.later.remove(&(when, at))),
            Some(Place::Running(_)) | None => {}
        }
    }

    fn place_new(&mut self, key: K) {
        let at = self.next_seq();
        self.places.insert(key.clone(), Place::New(at));
        self.new.insert(at, key);
    }

    fn place_sync(&mut self, key: K) {
        let at = self.next_seq();
        self.places.insert(key.clone(), Place::Sync(at));
        self.sync.insert(at, key);
    }

    fn place_later(&mut self, key: K, when: Instant) {
        let at = self.next_seq();
        self.places.insert(key.clone(), Place::Later(when, at));
        self.later.insert((when, at), key);
    }

    /// Takes the next key; otherwise says when one comes due.
    fn pick(&mut self, now: Instant) -> Result<K, Option<Instant>> {
        while let Some((&(when, at), _)) = self.later.first_key_value() {
            if when > now {
                break;
            }
            if let Some(key) = self.later.remove(&(when, at)) {
                self.place_sync(key);
            }
        }
        self.picks += 1;
        let from_sync = self.new.is_empty() || (self.picks.is_multiple_of(8) && !self.sync.is_empty());
        let taken = if from_sync {
            self.sync.pop_first()
        } else if self.picks.is_multiple_of(4) {
            self.new.pop_first()
        } else {
            self.new.pop_last()
        };
        match taken {
            Some((_, key)) => {
                self.places.insert(key.clone(), Place::Running(None));
                Ok(key)
            }
            None => Err(self.later.keys().next().map(|(when, _)| *when)),
        }
    }
}

impl<K: Eq + Hash + Clone + Debug + Send + Sync + 'static> Default for Queue<K> {
    fn default() -> Self {
        Self::new(QueueOptions::default())
    }
}

impl<K: Eq + Hash + Clone + Debug + Send + Sync + 'static> Queue<K> {
    #[must_use]
    pub fn new(options: QueueOptions) -> Self {
        let state = State {
            places: HashMap::new(),
            new: BTreeMap::new(),
            sync: BTreeMap::new(),
            later: BTreeMap::new(),
            failures: HashMap::new(),
            seq: 0,
            picks: 0,
        };
        Self { inner: Arc::new(Inner { state: Mutex::new(state), options, changed: Notify::new() }) }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened to this key.
    pub fn add(&self, key: K) {
        let mut state = self.state();
        match state.places.get_mut(&key) {
            Some(Place::Running(again)) => *again = Some(Again::New),
            Some(_) => {
                state.unplace(&key);
                state.place_new(key);
            }
            None => state.place_new(key),
        }
        drop(state);
        self.inner.changed.notify_waiters();
    }

    /// Every one of these keys is to be looked at, in this order, when nothing newer waits.
    pub fn add_sync(&self, keys: impl IntoIterator<Item = K>) {
        let mut state = self.state();
        for key in keys {
            match state.places.get_mut(&key) {
                Some(Place::Running(again)) => *again = again.or(Some(Again::Sync)),
                Some(Place::Later(..)) => {
                    state.unplace(&key);
                    state.place_sync(key);
                }
                Some(_) => {}
                None => state.place_sync(key),
            }
        }
        drop(state);
        self.inner.changed.notify_waiters();
    }

    /// Forgets a key that waits, and its failures. One that is being worked on finishes and does not run again.
    pub fn forget(&self, key: &K) {
        let mut state = self.state();
        state.failures.remove(key);
        match state.places.get_mut(key) {
            Some(Place::Running(again)) => *again = None,
            _ => state.unplace(key),
        }
        drop(state);
        self.inner.changed.notify_waiters();
    }

    /// Keys that wait, pause or are being worked on.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().places.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Failures in a row of a key.
    #[must_use]
    pub fn failures(&self, key: &K) -> u32 {
        self.state().failures.get(key).copied().unwrap_or(0)
    }

    /// Returns once nothing waits or runs; keys that pause after a failure do not count.
    pub async fn settled(&self) {
        self.until(|state| state.places.values().all(|place| matches!(place, Place::Later(..)))).await;
    }

    /// Returns once there are no keys at all.
    pub async fn idle(&self) {
        self.until(|state| state.places.is_empty()).await;
    }

    async fn until(&self, wanted: impl Fn(&State<K>) -> bool) {
        loop {
            let changed = self.inner.changed.notified();
            if wanted(&self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Works until asked to stop, on at most `workers` keys at once; then finishes those begun, at most `patience`.
    /// A handler that panics counts as failed.
    pub async fn run<F, W>(&self, workers: usize, stop: &Stop, patience: Duration, handler: F)
    where
        F: Fn(K) -> W,
        W: Future<Output = Outcome> + Send + 'static,
    {
        let mut running: JoinSet<()> = JoinSet::new();
        while let Some(Some(key)) = stop.unless(self.next(&mut running, workers.max(1))).await.map(Some) {
            let (queue, work) = (self.clone(), AssertUnwindSafe(handler(key.clone())).catch_unwind());
            running.spawn(async move {
                let outcome = work.await.unwrap_or_else(|_| {
                    tracing::error!(?key, "the handler of this key panicked");
                    Outcome::Retry
                });
                queue.finish(key, outcome);
            });
        }
        let drain = async { while running.join_next().await.is_some() {} };
        if tokio::time::timeout(patience, drain).await.is_err() {
            tracing::warn!("stopped with work unfinished; the next start takes it up");
        }
    }

    /// Waits for a free worker and a key.
    async fn next(&self, running: &mut JoinSet<()>, workers: usize) -> K {
        loop {
            while running.try_join_next().is_some() {}
            if running.len() >= workers {
                running.join_next().await;
                continue;
            }
            let changed = self.inner.changed.notified();
            let picked = self.state().pick(Instant::now());
            match picked {
                Ok(key) => return key,
                Err(Some(due)) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(due) => {}
                },
                Err(None) => changed.await,
            }
        }
    }

    fn finish(&self, key: K, outcome: Outcome) {
        let mut state = self.state();
        let again = match state.places.remove(&key) {
            Some(Place::Running(again)) => again,
            _ => None,
        };
        let failures = match outcome {
            Outcome::Retry => {
                let failures = state.failures.entry(key.clone()).or_insert(0);
                *failures += 1;
                *failures
            }
            Outcome::Done | Outcome::Again(_) => {
                state.failures.remove(&key);
                0
            }
        };
        match (again, outcome) {
            (Some(Again::New), _) => state.place_new(key),
            (Some(Again::Sync), Outcome::Done) => state.place_sync(key),
            (_, Outcome::Done) => {}
            (_, Outcome::Again(pause)) => state.place_later(key, Instant::now() + pause),
            (_, Outcome::Retry) if failures < self.inner.options.max_failures => {
                let pause = self.inner.options.backoff.after(failures);
                state.place_later(key, Instant::now() + pause);
            }
            (_, Outcome::Retry) => {
                tracing::error!(?key, failures, "given up until something happens to it or everything is synced");
                state.failures.remove(&key);
            }
        }
        drop(state);
        self.inner.changed.notify_waiters();
    }
}
