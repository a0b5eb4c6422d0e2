//! The protocol over a small made-up system: things in a database in memory.

mod bodies;
mod bulk;
mod fields;
mod paging;
mod paths;
mod property;
mod serving;
mod things;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use identity::Noauth;
use resource::System;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{Options, Rest};

/// A server without a socket.
pub struct Api {
    pub system: Arc<System>,
    pub rest: Rest,
    router: Router,
    headers: Vec<(&'static str, String)>,
}

pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Api {
    pub async fn start() -> Api {
        Api::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Api {
        let system = Arc::new(things::system().await);
        let rest = Rest::new(system.clone(), Arc::new(Noauth), options).unwrap();
        Api { router: rest.router(), rest, system, headers: Vec::new() }
    }

    /// The same server with one more header in every request.
    pub fn header(&self, name: &'static str, value: &str) -> Api {
        let mut headers = self.headers.clone();
        headers.push((name, value.to_owned()));
        Api { system: self.system.clone(), rest: self.rest.clone(), router: self.router.clone(), headers }
    }

    pub fn member(&self, project: &str) -> Api {
        self.header("x-project-id", project).header("x-roles", "member")
    }

    pub async fn send(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let mut request = Request::builder().method(Method::from_bytes(method.as_bytes()).unwrap()).uri(path);
        for (name, value) in [("host", "net.example.test:9696".to_owned())].into_iter().chain(self.headers.clone()) {
            request = request.header(name, value);
        }
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        Answer { status: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, Body::empty()).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send("POST", path, body.to_string()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.send("PUT", path, body.to_string()).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, Body::empty()).await
    }

    /// Makes a thing and returns it.
    pub async fn thing(&self, thing: Value) -> Value {
        self.post("/v2.0/things", json!({ "thing": thing })).await.expect(201)["thing"].clone()
    }
}

impl Answer {
    /// The JSON of an answer of that status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(self.headers["content-type"], "application/json");
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// Checks a fault and returns its message.
    #[track_caller]
    pub fn fault(&self, status: u16, kind: &str) -> String {
        let body = self.expect(status);
        let fault = &body["NeutronError"];
        assert_eq!(fault["type"], kind, "{body}");
        assert_eq!(fault["detail"], "", "{body}");
        let message = fault["message"].as_str().unwrap();
        assert!(!message.is_empty());
        message.to_owned()
    }
}

/// A path of a thing.
pub fn at(thing: &Value) -> String {
    format!("/v2.0/things/{}", thing["id"].as_str().unwrap())
}
