//! The envelope that oslo.messaging puts around a message on RabbitMQ, both ways.
//!
//! Body: `{"oslo.version": "2.0", "oslo.message": "<JSON text>"}`; the text holds the [`Message`], the context under
//! `_context_*`, and for calls `_msg_id`, `_reply_q`, `_timeout`; always `_unique_id` (duplicate detection).
//! Reply: `{"result", "failure", "ending", "_msg_id", "_unique_id"}`, `failure` being JSON text of a [`RemoteFault`].

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::{Context, Message, RemoteFault};

const ENVELOPE_VERSION: &str = "2.0";
const CONTEXT_PREFIX: &str = "_context_";

/// A request with its context and where to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub message: Message,
    pub context: Context,
    /// Message id and reply queue; `None` for casts.
    pub reply_to: Option<(String, String)>,
    /// The caller wants to hear at least this often that its call is worked on (`_timeout`, seconds).
    pub monitor: Option<Duration>,
    /// For detection of redelivered messages.
    pub unique_id: String,
}

/// An answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub message_id: String,
    pub result: Result<Value, RemoteFault>,
    /// oslo.messaging sends heartbeats (`ending: false`) while a long call runs; they carry no result.
    pub ending: bool,
    /// For detection of redelivered messages.
    pub unique_id: String,
}

fn new_id() -> String {
    Uuid::new_v4().simple().to_string()
}

/// A body that is no message.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    #[error("the body is no JSON of the expected form")]
    Json(#[from] serde_json::Error),
    #[error("envelope version {0} is not understood; this speaks 2.x")]
    Version(String),
}

#[derive(Serialize, Deserialize)]
struct Envelope {
    #[serde(rename = "oslo.version")]
    version: String,
    #[serde(rename = "oslo.message")]
    message: String,
}

/// Wraps a message (already flat JSON) in the envelope.
pub fn seal(flat: &Value) -> Result<Vec<u8>, WireError> {
    let envelope = Envelope { version: ENVELOPE_VERSION.to_owned(), message: serde_json::to_string(flat)? };
    Ok(serde_json::to_vec(&envelope)?)
}

/// Opens the envelope. A message without one (version 1.0 of the format) is given as it is.
pub fn open(body: &[u8]) -> Result<Value, WireError> {
    let value: Value = serde_json::from_slice(body)?;
    if value.is_object() && value.get("oslo.message").is_none() && value.get("oslo.version").is_none() {
        return Ok(value);
    }
    let envelope: Envelope = serde_json::from_value(value)?;
    if !envelope.version.starts_with("2.") {
        return Err(WireError::Version(envelope.version));
    }
    Ok(serde_json::from_str(&envelope.message)?)
}

impl Request {
    /// A cast.
    #[must_use]
    pub fn new(message: Message, context: Context) -> Self {
        Self { message, context, reply_to: None, monitor: None, unique_id: new_id() }
    }

    /// A call, to be answered under an id in a queue.
    #[must_use]
    pub fn reply_to(self, id: &str, queue: &str) -> Self {
        Self { reply_to: Some((id.to_owned(), queue.to_owned())), ..self }
    }

    /// The flat JSON inside the envelope.
    #[must_use]
    pub fn to_flat(&self) -> Value {
        let mut flat = Map::new();
        flat.insert("method".to_owned(), json!(self.message.method));
        flat.insert("args".to_owned(), json!(self.message.args));
        flat.insert("version".to_owned(), json!(self.message.version));
        if let Some(namespace) = &self.message.namespace {
            flat.insert("namespace".to_owned(), json!(namespace));
        }
        if let Some((id, queue)) = &self.reply_to {
            flat.insert("_msg_id".to_owned(), json!(id));
            flat.insert("_reply_q".to_owned(), json!(queue));
            let seconds = self.monitor.map(|every| every.as_secs());
            flat.insert("_timeout".to_owned(), json!(seconds));
        }
        flat.insert("_unique_id".to_owned(), json!(self.unique_id));
        for (key, value) in &self.context.0 {
            flat.insert(format!("{CONTEXT_PREFIX}{key}"), value.clone());
        }
        Value::Object(flat)
    }

    pub fn from_flat(flat: Value) -> Result<Self, WireError> {
        let Value::Object(flat) = flat else {
            return Err(WireError::Json(serde::de::Error::custom("a message is an object")));
        };
        let (mut context, mut rest) = (Map::new(), Map::new());
        for (key, value) in flat {
            match key.strip_prefix(CONTEXT_PREFIX) {
                Some(name) => context.insert(name.to_owned(), value),
                None => rest.insert(key, value),
            };
        }
        let mut text = |key: &str| match rest.remove(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let reply_to = text("_msg_id").zip(text("_reply_q"));
        let unique_id = text("_unique_id").unwrap_or_else(new_id);
        let seconds = rest.remove("_timeout").as_ref().and_then(Value::as_f64);
        let monitor = seconds.filter(|s| *s > 0.0).and_then(|s| Duration::try_from_secs_f64(s).ok());
        Ok(Self {
            message: serde_json::from_value(Value::Object(rest))?,
            context: Context(context),
            reply_to,
            monitor,
            unique_id,
        })
    }
}

impl Reply {
    /// The answer to the call of this id.
    #[must_use]
    pub fn new(message_id: String, result: Result<Value, RemoteFault>) -> Self {
        Self { message_id, result, ending: true, unique_id: new_id() }
    }

    /// The sign that the call of this id is worked on.
    #[must_use]
    pub fn alive(message_id: String) -> Self {
        Self { message_id, result: Ok(Value::Null), ending: false, unique_id: new_id() }
    }

    #[must_use]
    pub fn to_flat(&self) -> Value {
        let (result, failure) = match &self.result {
            Ok(value) => (value.clone(), Value::Null),
            Err(fault) => (Value::Null, json!(serde_json::to_string(fault).unwrap_or_default())),
        };
        json!({"result": result, "failure": failure, "ending": self.ending, "_msg_id": self.message_id,
               "_unique_id": self.unique_id})
    }

    pub fn from_flat(flat: Value) -> Result<Self, WireError> {
        #[derive(Deserialize)]
        struct Flat {
            #[serde(default)]
            result: Value,
            #[serde(default)]
            failure: Option<String>,
            #[serde(default)]
            ending: bool,
            #[serde(rename = "_msg_id")]
            message_id: String,
            #[serde(rename = "_unique_id", default = "new_id")]
            unique_id: String,
        }
        let Flat { result, failure, ending, message_id, unique_id } = serde_json::from_value(flat)?;
        let result = match failure {
            // Its caller has to hear of it in any case.
            Some(text) => Err(serde_json::from_str(&text).unwrap_or_else(|_| RemoteFault::internal(text))),
            None => Ok(result),
        };
        Ok(Self { message_id, result, ending, unique_id })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_survives_the_envelope() {
        let request = Request {
            message: Message {
                method: "m".into(),
                args: json!({"a": [1]}).as_object().cloned().unwrap(),
                version: "1.2".into(),
                namespace: None,
            },
            context: Context::admin(),
            reply_to: Some(("1".into(), "reply_q".into())),
            monitor: Some(Duration::from_secs(5)),
            unique_id: "u".into(),
        };
        let back = Request::from_flat(open(&seal(&request.to_flat()).unwrap()).unwrap()).unwrap();
        assert_eq!(back, request);
    }

    #[test]
    fn a_failure_survives_the_envelope() {
        let fault = RemoteFault::new("neutron_lib.exceptions", "Gone", "gone");
        let reply = Reply::new("1".into(), Err(fault));
        assert_eq!(Reply::from_flat(reply.to_flat()).unwrap(), reply);
    }

    #[test]
    fn other_envelopes_are_refused() {
        assert!(matches!(open(br#"{"oslo.version":"3.0","oslo.message":"{}"}"#), Err(WireError::Version(_))));
        assert!(open(b"[]").is_err() && open(b"\xff").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_body_panics(body: Vec<u8>, text in ".*") {
            let _ = open(&body);
            let _ = open(text.as_bytes());
            if let Ok(value) = serde_json::from_str::<Value>(&text) {
                let _ = Request::from_flat(value.clone());
                let _ = Reply::from_flat(value);
            }
        }
    }
}
