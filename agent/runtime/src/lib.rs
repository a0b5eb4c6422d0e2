//! What every agent shares: options, state reports, reconcile loops, stopping, log fields.
//!
//! | to… | use |
//! |---|---|
//! | read the options that all agents have | [`Common::read`], [`options::OPTIONS`] |
//! | choose the bus | [`transport::bus`], [`transport::OPTIONS`] |
//! | stop everything once, in order | [`Stop`] |
//! | report to the server that this agent lives, and hear that it was thought dead | [`Reporter`] |
//! | work key by key (a network, a router), new work before the full sync, failures retried | [`Queue`] |
//! | run one pass over everything whenever something happened, and by time | [`Reconcile`] run by [`Pass`], woken by [`Wake`] |
//! | log so that one search finds all of a request | [`log`] |
//!
//! The shape of an agent: messages and host events call [`Queue::add`] or [`Wake::wake`] and carry no truth; the handler
//! asks the server what is wanted, looks at the host, and makes the difference go away. So a message lost, repeated or late
//! costs time only, and a restart is one more pass. [`Signal::Revived`] means that messages were lost: sync everything.

pub mod backoff;
pub mod log;
pub mod options;
mod pass;
mod queue;
mod report;
mod stop;
#[cfg(test)]
mod tests;
pub mod transport;

pub use backoff::Backoff;
pub use options::Common;
pub use pass::{Pass, Reasons, Reconcile, Wake};
pub use queue::{Outcome, Queue, QueueOptions};
pub use report::{Reporter, ReporterOptions, Signal, Started};
pub use stop::Stop;
