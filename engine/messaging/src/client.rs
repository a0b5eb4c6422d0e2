//! The sending side: typed calls and casts, with timeouts that grow while a server is slow.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Bus, CallError, Context, Message, Target, TransportError, Version};

/// Timeouts of calls by method. A method that timed out is given twice as long the next time, up to a maximum: a server
/// that is busy with everyone's resync is slow rather than gone (neutron_lib/rpc.py, `BackingOffClient`).
/// Unlike there, a success brings the timeout back, so one bad hour does not need a restart.
#[derive(Debug)]
pub struct Timeouts {
    base: Duration,
    max: Duration,
    grown: Mutex<HashMap<String, Duration>>,
}

impl Timeouts {
    /// `rpc_response_timeout` and `rpc_response_max_timeout`.
    #[must_use]
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { base, max: max.max(base), grown: Mutex::new(HashMap::new()) }
    }

    #[must_use]
    pub fn of(&self, method: &str) -> Duration {
        self.grown.lock().unwrap_or_else(PoisonError::into_inner).get(method).copied().unwrap_or(self.base)
    }

    fn timed_out(&self, method: &str) {
        let mut grown = self.grown.lock().unwrap_or_else(PoisonError::into_inner);
        let next = grown.get(method).copied().unwrap_or(self.base).saturating_mul(2).min(self.max);
        grown.insert(method.to_owned(), next);
    }

    fn answered(&self, method: &str) {
        self.grown.lock().unwrap_or_else(PoisonError::into_inner).remove(method);
    }
}

impl Default for Timeouts {
    /// 60 s, at most 600 s: the defaults of the two options.
    fn default() -> Self {
        Self::new(Duration::from_secs(60), Duration::from_secs(600))
    }
}

/// Sends to one topic. Cloned and narrowed freely: `client.server("host1").cast(..)`.
#[derive(Clone)]
pub struct Client {
    bus: Bus,
    target: Target,
    timeouts: Arc<Timeouts>,
    /// A fixed timeout, when set; it does not grow.
    timeout: Option<Duration>,
}

impl Client {
    pub fn new(bus: Bus, target: Target) -> Self {
        Self { bus, target, timeouts: Arc::default(), timeout: None }
    }

    /// Shares timeouts with other clients of the process.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Arc<Timeouts>) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Calls wait this long, neither more nor less.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Narrowed to one server of the topic.
    #[must_use]
    pub fn server(&self, server: &str) -> Self {
        Self { target: self.target.clone().server(server), ..self.clone() }
    }

    /// Widened to every server of the topic.
    #[must_use]
    pub fn fanout(&self) -> Self {
        Self { target: self.target.clone().fanout(), ..self.clone() }
    }

    /// The same client for another topic.
    #[must_use]
    pub fn topic(&self, topic: &str) -> Self {
        Self { target: Target { topic: topic.to_owned(), ..self.target.clone() }, ..self.clone() }
    }

    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Calls `method` and decodes its answer. `args` serializes to a JSON object whose keys are the argument names.
    pub async fn call<A: Serialize + Sync, R: DeserializeOwned>(
        &self,
        context: &Context,
        version: Version,
        method: &str,
        args: &A,
    ) -> Result<R, CallError> {
        let target = self.target.clone().version(version);
        let message = message(&target, method, args)
            .map_err(|source| CallError::Transport { method: method.to_owned(), source })?;
        let timeout = self.timeout.unwrap_or_else(|| self.timeouts.of(method));
        let result = self.bus.call(&target, context, message, timeout).await;
        if self.timeout.is_none() {
            match &result {
                Err(CallError::Timeout { .. }) => self.timeouts.timed_out(method),
                Err(CallError::Transport { .. }) => {}
                _ => self.timeouts.answered(method),
            }
        }
        serde_json::from_value(result?).map_err(|source| CallError::BadReply { method: method.to_owned(), source })
    }

    /// Sends `method` without waiting for it to be handled.
    pub async fn cast<A: Serialize + Sync>(
        &self,
        context: &Context,
        version: Version,
        method: &str,
        args: &A,
    ) -> Result<(), TransportError> {
        let target = self.target.clone().version(version);
        let message = message(&target, method, args)?;
        self.bus.cast(&target, context, message).await
    }
}

fn message<A: Serialize>(target: &Target, method: &str, args: &A) -> Result<Message, TransportError> {
    let args = match serde_json::to_value(args) {
        Ok(Value::Object(map)) => map,
        Ok(Value::Null) => Map::new(),
        Ok(_) => return Err(TransportError::Closed(format!("arguments of {method} are not named"))),
        Err(error) => return Err(TransportError::Closed(format!("arguments of {method} are no JSON: {error}"))),
    };
    Ok(Message::new(target, method, args))
}
