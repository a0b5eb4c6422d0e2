//! A bus for tests: the in-process transport with eyes and with faults.
//!
//! It records everything sent, answers calls from a script where no real server listens, and loses, repeats, swaps and
//! holds back casts. All choices come from a seed, so a failure is reproduced by its number. Nothing depends on time:
//! a message held back is let go after a number of later messages, or by [`FakeBus::flush`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::Notify;

use crate::transport::Transport;
use crate::{
    CallError, Context, Dispatcher, InProcess, ListenOptions, Listener, Message, RemoteFault, Target, TransportError,
};

/// What was sent.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub kind: Kind,
    pub target: Target,
    pub context: Context,
    pub message: Message,
}

impl Recorded {
    #[must_use]
    pub fn method(&self) -> &str {
        &self.message.method
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Call,
    Cast,
    Fanout,
}

/// Chances of each fault for a message, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub seed: u64,
    /// Casts that never arrive.
    pub drop: u8,
    /// Casts that arrive twice.
    pub duplicate: u8,
    /// Casts held back until one to eight later messages have passed them: reordering and delay.
    pub hold: u8,
    /// Calls whose request is lost: the caller sees a timeout at once.
    pub lose_request: u8,
    /// Calls that run but whose answer is lost: the caller sees a timeout after the handler ran.
    pub lose_reply: u8,
}

type Script = Arc<dyn Fn(&Context, &Map<String, Value>) -> Result<Value, RemoteFault> + Send + Sync>;

/// The bus. Clones share everything.
#[derive(Clone, Default)]
pub struct FakeBus {
    real: InProcess,
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    faults: Faults,
    random: u64,
    down: bool,
    sent: Vec<Recorded>,
    scripts: HashMap<String, Script>,
    held: Vec<Held>,
}

struct Held {
    /// Messages that still have to pass.
    left: u64,
    cast: Recorded,
}

impl State {
    /// splitmix64: a fixed algorithm, so that seeds mean the same for ever.
    fn next(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn chance(&mut self, percent: u8) -> bool {
        percent > 0 && self.next() % 100 < u64::from(percent)
    }
}

impl FakeBus {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with_faults(faults: Faults) -> Self {
        let bus = Self::default();
        bus.set_faults(faults);
        bus
    }

    /// Changes the faults from here on and restarts the random sequence.
    pub fn set_faults(&self, faults: Faults) {
        let mut state = self.state();
        state.random = faults.seed;
        state.faults = faults;
    }

    /// While down, calls time out at once and casts are lost: the broker or the server is away.
    pub fn set_down(&self, down: bool) {
        self.state().down = down;
    }

    /// Answers calls of `method` with this instead of a listener. Casts are not affected.
    pub fn on_call(
        &self,
        method: &str,
        answer: impl Fn(&Context, &Map<String, Value>) -> Result<Value, RemoteFault> + Send + Sync + 'static,
    ) {
        self.state().scripts.insert(method.to_owned(), Arc::new(answer));
    }

    /// Everything sent so far, lost or not.
    #[must_use]
    pub fn sent(&self) -> Vec<Recorded> {
        self.state().sent.clone()
    }

    /// What was sent under this method.
    #[must_use]
    pub fn sent_as(&self, method: &str) -> Vec<Recorded> {
        self.state().sent.iter().filter(|r| r.method() == method).cloned().collect()
    }

    /// Forgets what was recorded.
    pub fn clear(&self) {
        self.state().sent.clear();
    }

    /// Waits until `wanted` of all that was sent, at most ten seconds.
    ///
    /// # Panics
    /// When it does not come true; the message lists what was sent.
    pub async fn until(&self, what: &str, wanted: impl Fn(&[Recorded]) -> bool) {
        self.until_within(Duration::from_secs(10), what, wanted).await;
    }

    /// The same with another limit: under paused time, hours cost nothing.
    ///
    /// # Panics
    /// As [`FakeBus::until`].
    pub async fn until_within(&self, limit: Duration, what: &str, wanted: impl Fn(&[Recorded]) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if wanted(&self.state().sent) {
                    return;
                }
                changed.await;
            }
        };
        if tokio::time::timeout(limit, waiting).await.is_err() {
            let seen: Vec<String> = self.sent().iter().map(|r| format!("{} to {}", r.method(), r.target)).collect();
            panic!("not in time: {what}; sent were {seen:?}");
        }
    }

    /// Lets go of every message held back, in the order in which they were sent.
    pub async fn flush(&self) {
        let held = std::mem::take(&mut self.state().held);
        for Held { cast, .. } in held {
            self.deliver(&cast).await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, recorded: Recorded) {
        self.state().sent.push(recorded);
        self.changed.notify_waiters();
    }

    async fn deliver(&self, cast: &Recorded) {
        // A full or closed queue loses the cast, which is one more fault.
        let _ = self.real.cast(&cast.target, &cast.context, cast.message.clone()).await;
    }

    /// Counts one message past those held back and returns those whose time has come.
    fn release(&self) -> Vec<Recorded> {
        let mut state = self.state();
        for held in &mut state.held {
            held.left = held.left.saturating_sub(1);
        }
        let (due, held) = std::mem::take(&mut state.held).into_iter().partition(|held| held.left == 0);
        state.held = held;
        let due: Vec<Held> = due;
        due.into_iter().map(|held| held.cast).collect()
    }
}

#[async_trait]
impl Transport for FakeBus {
    async fn call(
        &self,
        target: &Target,
        context: &Context,
        message: Message,
        timeout: Duration,
    ) -> Result<Value, CallError> {
        let method = message.method.clone();
        let lost = CallError::Timeout { method: method.clone(), topic: target.to_string(), after: timeout };
        self.record(Recorded {
            kind: Kind::Call,
            target: target.clone(),
            context: context.clone(),
            message: message.clone(),
        });
        let (lose_request, lose_reply, script) = {
            let mut state = self.state();
            let (request, reply) = (state.faults.lose_request, state.faults.lose_reply);
            (state.down || state.chance(request), state.chance(reply), state.scripts.get(&method).cloned())
        };
        for cast in self.release() {
            self.deliver(&cast).await;
        }
        if lose_request {
            return Err(lost);
        }
        let result = match script {
            Some(script) => script(context, &message.args)
                .map_err(|fault| CallError::from_fault(&method, target.version.unwrap_or_default(), fault)),
            None => self.real.call(target, context, message, timeout).await,
        };
        if lose_reply { Err(lost) } else { result }
    }

    async fn cast(&self, target: &Target, context: &Context, message: Message) -> Result<(), TransportError> {
        let kind = if target.fanout { Kind::Fanout } else { Kind::Cast };
        let cast = Recorded { kind, target: target.clone(), context: context.clone(), message };
        self.record(cast.clone());
        let copies = {
            let mut state = self.state();
            let faults = state.faults;
            if state.down || state.chance(faults.drop) {
                0
            } else if state.chance(faults.hold) {
                let left = 1 + state.next() % 8;
                state.held.push(Held { left: left + 1, cast: cast.clone() });
                0
            } else if state.chance(faults.duplicate) {
                2
            } else {
                1
            }
        };
        for _ in 0..copies {
            self.deliver(&cast).await;
        }
        for cast in self.release() {
            self.deliver(&cast).await;
        }
        Ok(())
    }

    async fn listen(
        &self,
        target: &Target,
        dispatcher: Arc<Dispatcher>,
        options: ListenOptions,
    ) -> Result<Listener, TransportError> {
        self.real.listen(target, dispatcher, options).await
    }
}
