//! What resources have in common between protocol and store: the five verbs over any [`schema::Model`], in
//! one transaction each, with the hooks where behaviour comes in. Knows no noun.
//!
//! - [`System`], [`Entity`]: what the server is made of; built once by the composition root;
//! - [`Behaviour`]: the hooks of a resource, and of those who react to it, in the order of the entity's list;
//! - [`Op`]: one operation in its transaction;
//! - [`Query`], [`Condition`]: what a list asks for, and SQL for it;
//! - [`Action`]: endpoints beside the five verbs.

mod action;
mod behaviour;
mod condition;
mod op;
mod query;
mod select;
mod system;
mod verbs;
mod write;

pub use action::{Action, Answer, Method, Request, Route};
pub use behaviour::{Behaviour, Plain};
pub use condition::{Condition, column_value, from_store, to_store};
pub use op::Op;
pub use query::{Direction, Query, Sort};
pub use schema::body::Given;
pub use system::{Entity, Quota, SharedTable, System};
pub use verbs::{MAX_ATTEMPTS, is_last_attempt};

/// A new random id (version 4), in the form of the API.
pub fn new_id() -> String {
    uuid::Uuid::new_v4().hyphenated().to_string()
}
