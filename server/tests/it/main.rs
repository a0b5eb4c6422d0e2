//! The composed server as its clients see it, without sockets.

mod statements;
mod support;
mod tags_and_quotas;
