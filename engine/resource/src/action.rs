use async_trait::async_trait;
use policy::Context;
use schema::{Fault, Value};

use crate::System;

/// Verbs of the protocol that actions answer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    Get,
    Post,
    Put,
    Delete,
}

/// One path of an action below the API's root; `{name}` stands for one segment: `/things/{id}/parts`.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
}

/// A request to an action.
#[derive(Debug)]
pub struct Request {
    pub route: Route,
    /// Values of the path's placeholders, by name.
    pub params: Vec<(String, String)>,
    /// Decoded query, in order.
    pub query: Vec<(String, String)>,
    /// The parsed body; None if it was empty.
    pub body: Option<Value>,
    /// Value of If-Match's `revision_number=N`, if sent.
    pub if_match: Option<i64>,
}

impl Request {
    /// The value of a placeholder of the route's path; empty if it has none of that name.
    pub fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }
}

/// What an action answers.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Option<Value>,
}

impl Answer {
    pub fn ok(body: Value) -> Answer {
        Answer { status: 200, body: Some(body) }
    }

    pub fn created(body: Value) -> Answer {
        Answer { status: 201, body: Some(body) }
    }

    pub fn no_content() -> Answer {
        Answer { status: 204, body: None }
    }
}

/// Endpoints beside the five verbs, in the room of their noun. The protocol engine mounts them.
#[async_trait]
pub trait Action: Send + Sync {
    fn routes(&self) -> &[Route];

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault>;
}
