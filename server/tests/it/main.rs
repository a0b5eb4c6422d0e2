//! The composed server as its clients see it, without sockets.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod nova;
mod policy;
mod rbac;
mod rpc;
mod security;
mod statements;
mod support;
mod tags_and_quotas;
