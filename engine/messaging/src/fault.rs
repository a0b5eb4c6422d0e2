//! How a call fails, on the side that serves and on the side that asks.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Version;

/// An exception raised by a handler, in the form in which oslo.messaging carries it to the caller
/// (`serialize_remote_exception`). Python callers rebuild the class when its module is one they allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{class}: {message}")]
pub struct RemoteFault {
    /// Python class name, e.g. `IpAddressGenerationFailure`. Callers match on it.
    pub class: String,
    /// Python module, e.g. `neutron_lib.exceptions`.
    #[serde(default)]
    pub module: String,
    #[serde(default)]
    pub message: String,
    /// Boxed so that a `Result` stays small.
    #[serde(flatten)]
    pub detail: Box<FaultDetail>,
}

/// The rest of an exception: what its constructor was given, and where it came from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultDetail {
    /// Traceback lines, ours or Python's. For logs only.
    #[serde(rename = "tb", default)]
    pub traceback: Vec<String>,
    #[serde(default)]
    pub args: Vec<Value>,
    #[serde(default)]
    pub kwargs: Map<String, Value>,
}

impl RemoteFault {
    #[must_use]
    pub fn new(module: &str, class: &str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            class: class.to_owned(),
            module: module.to_owned(),
            detail: Box::new(FaultDetail { args: vec![Value::String(message.clone())], ..FaultDetail::default() }),
            message,
        }
    }

    /// A fault of `neutron_lib.exceptions`, whose constructors take keywords only.
    #[must_use]
    pub fn neutron(class: &str, message: impl Into<String>, kwargs: Map<String, Value>) -> Self {
        let mut fault = Self::new("neutron_lib.exceptions", class, message);
        *fault.detail = FaultDetail { kwargs, ..FaultDetail::default() };
        fault
    }

    /// The handler broke: a bug or something below it that failed. The caller can only retry.
    #[must_use]
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new("builtins", "RuntimeError", message)
    }

    /// The arguments are not those of the method.
    #[must_use]
    pub fn bad_arguments(method: &str, why: impl std::fmt::Display) -> Self {
        Self::new("builtins", "TypeError", format!("{method}: {why}"))
    }

    #[must_use]
    pub fn no_such_method(method: &str) -> Self {
        Self::new(DISPATCHER, NO_SUCH_METHOD, format!("Endpoint does not support RPC method {method}"))
    }

    #[must_use]
    pub fn unsupported_version(version: Version, method: &str) -> Self {
        Self::new(
            DISPATCHER,
            UNSUPPORTED_VERSION,
            format!("Endpoint does not support RPC version {version}. Attempted method: {method}"),
        )
    }
}

const DISPATCHER: &str = "oslo_messaging.rpc.dispatcher";
const NO_SUCH_METHOD: &str = "NoSuchMethod";
const UNSUPPORTED_VERSION: &str = "UnsupportedVersion";

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// No answer in time. The method may have run all the same.
    #[error("no answer to {method} from {topic} within {after:?}")]
    Timeout { method: String, topic: String, after: Duration },
    /// The handler raised.
    #[error("{method} failed on the server")]
    Remote {
        method: String,
        #[source]
        fault: RemoteFault,
    },
    /// The other side is older or newer and lacks this method.
    #[error("the server does not know the method {method}")]
    NoSuchMethod { method: String },
    /// The other side is older or newer and no endpoint of it serves this version.
    #[error("the server does not serve version {version} of {method}")]
    UnsupportedVersion { method: String, version: Version },
    /// The answer came but is not what the method returns.
    #[error("the answer to {method} could not be understood")]
    BadReply {
        method: String,
        #[source]
        source: serde_json::Error,
    },
    #[error("{method} could not be sent")]
    Transport {
        method: String,
        #[source]
        source: TransportError,
    },
}

impl CallError {
    /// Sorts a fault that came back into the cases that a caller treats differently.
    #[must_use]
    pub fn from_fault(method: &str, version: Version, fault: RemoteFault) -> Self {
        let method = method.to_owned();
        match (fault.module.as_str(), fault.class.as_str()) {
            (DISPATCHER, NO_SUCH_METHOD) => Self::NoSuchMethod { method },
            (DISPATCHER, UNSUPPORTED_VERSION) => Self::UnsupportedVersion { method, version },
            _ => Self::Remote { method, fault },
        }
    }

    /// The Python class of the exception raised by the handler, if it was one.
    #[must_use]
    pub fn class(&self) -> Option<&str> {
        match self {
            Self::Remote { fault, .. } => Some(&fault.class),
            _ => None,
        }
    }

    /// Whether the same call may succeed later without anything else changing: the server is away or overloaded.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Timeout { .. } | Self::Transport { .. })
    }
}

/// Why a message did not leave.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Nobody has ever listened to this topic or server.
    #[error("nobody listens to {0}")]
    Unroutable(String),
    /// The queue stayed full for as long as a sender waits.
    #[error("the queue of {0} is full")]
    Full(String),
    /// The listener ended before it answered.
    #[error("the server stopped before it answered")]
    Gone,
    /// The connection, or the transport, is closed.
    #[error("{0}")]
    Closed(String),
}
