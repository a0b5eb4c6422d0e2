use std::ops::Deref;

use serde_json::Value;
use ureq::Body;
use ureq::http::{HeaderMap, Response};

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    asked: String,
}

/// An object of the API with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    kind: String,
    value: Value,
}

impl Answer {
    pub(crate) fn read(mut response: Response<Body>, asked: String) -> Answer {
        let text = response.body_mut().with_config().limit(1 << 30).read_to_string();
        let text = text.unwrap_or_else(|error| panic!("{asked}: {error}"));
        Answer { status: response.status().as_u16(), headers: response.headers().clone(), text, asked }
    }

    /// Checks the status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> &Answer {
        assert_eq!(self.status, status, "{}: {}", self.asked, self.text);
        self
    }

    /// The JSON of the body.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{}: {error}: {}", self.asked, self.text))
    }

    /// Checks status and type of a fault; its message.
    #[track_caller]
    pub fn fault(&self, status: u16, kind: &str) -> String {
        self.expect(status);
        let body = self.json();
        let fault = &body["NeutronError"];
        assert_eq!(fault["type"], kind, "{}: {}", self.asked, self.text);
        fault["message"].as_str().unwrap_or_default().to_owned()
    }

    /// Status and type of a fault together, as `409 NetworkInUse`; only the status of anything else.
    pub fn summary(&self) -> String {
        let body = serde_json::from_str(&self.text).unwrap_or(Value::Null);
        match body["NeutronError"]["type"].as_str() {
            Some(kind) => format!("{} {kind}", self.status),
            None => self.status.to_string(),
        }
    }

    /// The only object of the body.
    #[track_caller]
    pub fn object(&self, status: u16) -> Object {
        self.expect(status);
        let Value::Object(body) = self.json() else { panic!("{}: no object: {}", self.asked, self.text) };
        let (kind, value) = body.into_iter().next().unwrap_or_else(|| panic!("{}: an empty object", self.asked));
        Object { kind, value }
    }

    /// The objects of a list.
    #[track_caller]
    pub fn objects(&self, status: u16) -> Vec<Object> {
        self.expect(status);
        let Value::Object(body) = self.json() else { panic!("{}: no object: {}", self.asked, self.text) };
        let list = body.into_iter().find_map(|(key, value)| match value {
            Value::Array(list) if !key.ends_with("_links") => Some((key, list)),
            _ => None,
        });
        let (key, list) = list.unwrap_or_else(|| panic!("{}: no list: {}", self.asked, self.text));
        let kind = match key.strip_suffix("ies") {
            Some(stem) => format!("{stem}y"),
            None => key.trim_end_matches('s').to_owned(),
        };
        list.into_iter().map(|value| Object { kind: kind.clone(), value }).collect()
    }
}

impl Object {
    pub fn id(&self) -> &str {
        self.text("id")
    }

    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The text of an attribute; empty if it is null or absent.
    pub fn text(&self, name: &str) -> &str {
        self.value[name].as_str().unwrap_or_default()
    }

    /// The texts of an attribute that is a list of texts.
    pub fn texts(&self, name: &str) -> Vec<&str> {
        self.value[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The number of an attribute.
    #[track_caller]
    pub fn number(&self, name: &str) -> i64 {
        self.value[name].as_i64().unwrap_or_else(|| panic!("{name} is no number: {}", self.value))
    }

    /// Addresses of a port, in its order.
    pub fn addresses(&self) -> Vec<&str> {
        self.value["fixed_ips"].as_array().into_iter().flatten().filter_map(|ip| ip["ip_address"].as_str()).collect()
    }

    pub fn has(&self, name: &str) -> bool {
        self.value.get(name).is_some()
    }

    /// Its path below `/v2.0/`.
    pub fn path(&self) -> String {
        format!("{}/{}", crate::collection(&self.kind), self.id())
    }
}

impl Deref for Object {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.value
    }
}
