//! The generic REST protocol over [`resource::System`]: what a resource's table says becomes collections and items under `/v2.0`, and every
//! [`resource::Action`] an endpoint. Knows no noun.
//!
//! [`Rest`] is the door; a request passes these rooms in this order, and `exchange.rs` shows it on one page:
//!
//! | pass | file |
//! |---|---|
//! | ids of the request | `request_id` |
//! | access log, metrics | `access` |
//! | pages that need no identity | `pages` |
//! | who asks | `caller` |
//! | what the client can read | `media` |
//! | path and method to an endpoint | `routes` |
//! | query, If-Match | `pairs`, `if_match` |
//! | size limit, JSON | `input` |
//! | body into objects | `objects` |
//! | verbs and actions | `verbs` |
//! | paging links | `links`, `origin` |
//! | fields, serialisation | `shape`, `list` |
//! | faults | `fault` |
//!
//! [`serve`] runs it on a [`Listener`], over TCP or a Unix socket.
//!
//! Behaviour follows the reference's `neutron/pecan_wsgi` and `neutron/api/api_common.py`.

mod access;
mod caller;
mod exchange;
mod fault;
mod if_match;
mod input;
mod links;
mod list;
mod listener;
mod media;
mod objects;
mod options;
mod origin;
mod pages;
mod pairs;
mod request_id;
mod rest;
mod routes;
mod serve;
mod shape;
mod verbs;

pub use fault::respond;
pub use listener::{Connection, Listener};
pub use options::{Limits, Options};
pub use request_id::new_request_id;
pub use rest::Rest;
pub use serve::serve;

/// Root of the API.
pub const ROOT: &str = "/v2.0";

#[cfg(test)]
mod tests;
