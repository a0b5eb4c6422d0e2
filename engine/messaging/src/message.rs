//! What is asked: a method and its named arguments.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Target, Version};

/// A request as on the wire: `{"method", "args", "version", "namespace"?}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub method: String,
    #[serde(default)]
    pub args: Map<String, Value>,
    /// `major.minor` as text; absent means `1.0`.
    #[serde(default = "first_version")]
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

fn first_version() -> String {
    Version::default().to_string()
}

impl Message {
    /// The message that asks `method` of `target`, with the target's version and namespace.
    #[must_use]
    pub fn new(target: &Target, method: &str, args: Map<String, Value>) -> Self {
        Self {
            method: method.to_owned(),
            args,
            version: target.version.unwrap_or_default().to_string(),
            namespace: target.namespace.clone(),
        }
    }
}
