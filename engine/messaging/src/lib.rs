//! Remote procedure calls with the semantics of oslo.messaging, over any transport.
//!
//! Owns: addressing ([`Target`]), who asks ([`Context`]), what is asked ([`Message`]), how a server picks the endpoint
//! that answers ([`Dispatcher`]), and how failures travel ([`RemoteFault`]). Knows no method and no noun; those are said in
//! the `rpc` crate. Messages travel as JSON exactly as on RabbitMQ, so that a second transport is one more file here.
//!
//! | to… | use |
//! |---|---|
//! | send | [`Client`]: `client.call(&ctxt, version, method, args)`, `client.server("host").cast(..)`, `client.fanout().cast(..)` |
//! | serve | [`Endpoint`] + [`Dispatcher`] + [`Transport::listen`] giving a [`Listener`], stopped by [`Listener::stop`] or [`stop_all`] |
//! | run in one process | [`InProcess`] |
//! | run over RabbitMQ | [`Amqp`]; [`wire`] packs and unpacks the envelope |
//! | test | `FakeBus` (feature `test-util`): records, scripts replies, drops/duplicates/reorders by seed |
//!
//! Invariants, the same on every transport:
//! 1. A queue keeps order; a listener with `concurrency: 1` handles its messages one by one in that order.
//! 2. A message to a topic reaches exactly one of its listeners, to `topic.server` that server, a fanout all of them.
//! 3. A topic or server queue, once declared by a listener, keeps its messages while no listener is there.
//! 4. A call either returns the handler's answer, or an error within its timeout. The handler may still have run.
//!
//! Reproduces: oslo_messaging/rpc/{client,server,dispatcher}.py, oslo_messaging/_drivers/{amqpdriver,common}.py,
//! neutron_lib/{rpc,context}.py.

pub mod amqp;
mod client;
mod context;
mod dispatch;
#[cfg(any(test, feature = "test-util"))]
mod fake_bus;
mod fault;
mod in_process;
mod message;
mod meter;
mod target;
#[cfg(test)]
mod tests;
mod transport;
pub mod wire;

pub use amqp::Amqp;
pub use client::{Client, Timeouts};
pub use context::Context;
pub(crate) use dispatch::log_cast_fault;
pub use dispatch::{Dispatcher, Endpoint};
#[cfg(any(test, feature = "test-util"))]
pub use fake_bus::{FakeBus, Faults, Kind, Recorded};
pub use fault::{CallError, FaultDetail, RemoteFault, TransportError};
pub use in_process::InProcess;
pub use message::Message;
pub use target::{BadVersion, Target, Version};
pub use transport::{Bus, ListenOptions, Listener, Transport, stop_all};
