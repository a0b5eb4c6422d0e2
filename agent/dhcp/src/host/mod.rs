//! What the agent asks of a host, so that it can be tried on one that is not there.

mod driver;
#[cfg(test)]
pub(crate) mod fake;
mod linux;
mod release;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;

pub use self::driver::{InterfaceDriver, LinuxBridge};
pub use self::linux::LinuxHost;
pub use self::release::{Release, octets};
use crate::files::Leases;
use crate::model::{Id, Network};
use crate::plan::{Desired, Observed, Op};

/// Prefix of the namespaces' names.
pub const NAMESPACE_PREFIX: &str = "qdhcp-";

/// Name of a network's namespace.
pub fn namespace(network: &Id) -> String {
    format!("{NAMESPACE_PREFIX}{network}")
}

/// Why the host did not do it.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The kernel or a program refused; the text names the object.
    #[error(transparent)]
    Refused(#[from] ::linux::Error),
    /// A file or directory could not be written or removed.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// dnsmasq started, and was not there when looked for.
    #[error("dnsmasq of network {network} ended right after it started")]
    Died {
        /// Its network.
        network: Id,
    },
}

/// Result of asking the host for something.
pub type Result<T> = std::result::Result<T, HostError>;

/// What a step is about.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// The network.
    pub id: &'a Id,
    /// It as known; not known when it goes.
    pub network: Option<&'a Network>,
    /// What is wanted; nothing when it goes.
    pub desired: Option<&'a Desired>,
}

/// Keeps a second dnsmasq running.
pub struct Relief(Option<Box<dyn FnOnce() + Send>>);

impl Relief {
    /// Ends it by `end`.
    pub fn new(end: impl FnOnce() + Send + 'static) -> Relief {
        Relief(Some(Box::new(end)))
    }
}

impl Drop for Relief {
    fn drop(&mut self) {
        if let Some(end) = self.0.take() {
            end();
        }
    }
}

/// A host. Calls may block for as long as the kernel or a process takes, so they belong on a blocking thread.
pub trait Host: Send + Sync + 'static {
    /// Networks of which there is anything: a directory or a namespace.
    fn traces(&self) -> Result<BTreeSet<Id>>;

    /// What there is of one network. `desired` says which device matters.
    fn observe(&self, network: &Id, desired: Option<&Desired>) -> Result<Observed>;

    /// Does one step.
    fn apply(&self, target: Target, op: &Op) -> Result<()>;

    /// The leases of the network's dnsmasq; none when there is no file.
    fn leases(&self, network: &Id) -> Leases;

    /// Gives leases back to dnsmasq, as if their clients did; it may take a moment and may get lost.
    fn release(&self, network: &Id, device: &str, releases: &[Release]) -> Result<()>;

    /// Starts a second dnsmasq that answers clients by the files and arguments as they are wanted, while the first one is
    /// busy with them; it ends when the value is dropped. Returns when it answers.
    fn relieve(&self, target: Target) -> Result<Relief>;

    /// Waits until a process has nothing to do, at most `limit`; whether it has.
    fn settle(&self, pid: i32, limit: Duration) -> bool;

    /// Processor time that a process has used; `None` when it has ended.
    fn cpu_time(&self, pid: i32) -> Option<Duration>;

    /// Ends when the process has ended.
    fn exited(&self, pid: i32) -> BoxFuture<'static, ()>;
}
