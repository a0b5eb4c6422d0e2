//! Which endpoint answers a message. Same rules as oslo_messaging/rpc/dispatcher.py.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures::FutureExt;
use serde_json::{Map, Value};
use tracing::Instrument;

use crate::{Context, Message, RemoteFault, Version};

/// A set of methods under one namespace and version. Several may share a topic.
#[async_trait]
pub trait Endpoint: Send + Sync + 'static {
    fn namespace(&self) -> Option<&str> {
        None
    }

    /// The newest version of the API that this serves; older minors are served too.
    fn version(&self) -> Version;

    /// The methods it has. Others of the same topic may have more.
    fn methods(&self) -> &[&'static str];

    /// Runs one of [`Endpoint::methods`].
    async fn handle(&self, context: &Context, method: &str, args: Map<String, Value>) -> Result<Value, RemoteFault>;
}

/// The endpoints of a topic.
#[derive(Clone, Default)]
pub struct Dispatcher {
    endpoints: Vec<Arc<dyn Endpoint>>,
}

impl Dispatcher {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an endpoint; of two that have a method in compatible versions, the first added answers.
    #[must_use]
    pub fn with(mut self, endpoint: Arc<dyn Endpoint>) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// Runs the message. A panic in a handler becomes a fault: one bad message must not end a server.
    pub async fn dispatch(&self, context: &Context, message: Message) -> Result<Value, RemoteFault> {
        let Message { method, args, version, namespace } = message;
        let endpoint = self.find(namespace.as_deref(), &version, &method)?;
        // What it does is found in the log by the ids of the request that it is for.
        let span = tracing::info_span!(
            "rpc",
            rpc.method = method,
            request.id = context.request_id(),
            global_request.id = context.global_request_id()
        );
        match AssertUnwindSafe(endpoint.handle(context, &method, args).instrument(span)).catch_unwind().await {
            Ok(result) => result,
            Err(panic) => {
                let what = panic
                    .downcast_ref::<&str>()
                    .map(|text| (*text).to_owned())
                    .or_else(|| panic.downcast_ref::<String>().cloned())
                    .unwrap_or_else(|| "unknown cause".to_owned());
                tracing::error!(rpc.method = method, "handler panicked: {what}");
                Err(RemoteFault::internal(format!("{method} broke: {what}")))
            }
        }
    }

    fn find(&self, namespace: Option<&str>, version: &str, method: &str) -> Result<&Arc<dyn Endpoint>, RemoteFault> {
        let wanted: Version =
            version.parse().map_err(|bad| RemoteFault::new("builtins", "ValueError", format!("{method}: {bad}")))?;
        let all = || self.endpoints.iter().filter(|e| e.namespace() == namespace);
        let compatible = || all().filter(|e| e.version().serves(wanted));
        if let Some(endpoint) = compatible().find(|e| e.methods().contains(&method)) {
            return Ok(endpoint);
        }
        // That another endpoint of the topic is new enough says nothing about this method.
        if compatible().next().is_none() || all().any(|e| e.methods().contains(&method)) {
            return Err(RemoteFault::unsupported_version(wanted, method));
        }
        Err(RemoteFault::no_such_method(method))
    }
}

/// Nobody hears of a cast that failed, so it is said here.
pub(crate) fn log_cast_fault(topic: &str, method: &str, context: &Context, fault: &RemoteFault) {
    tracing::warn!(
        rpc.topic = topic,
        rpc.method = method,
        request.id = context.request_id().unwrap_or("-"),
        "cast failed: {fault}"
    );
}
