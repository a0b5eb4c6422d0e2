//! The compute service hears what happens to ports of its instances: `os-server-external-events`.
//!
//! - [`News`]: what a change of a port means to it; queued after the commit;
//! - [`Nova`]: the queue, sent in batches, again while Nova does not answer;
//! - [`Event`]: one piece of news, as Nova takes it.
//!
//! Reproduces neutron/notifiers/nova.py and batch_notifier.py. Unlike there, a batch that Nova could not take is sent again, for as long as
//! it waits for a plugged interface.

mod event;
mod news;
pub mod options;
mod queue;

pub use event::Event;
pub use news::News;
pub use options::Settings;
pub use queue::Nova;

#[cfg(test)]
mod tests;
