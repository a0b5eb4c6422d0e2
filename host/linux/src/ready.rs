//! Waiting for a descriptor on tokio's reactor.

use std::{io, os::fd::OwnedFd};

use tokio::io::{Interest, unix::AsyncFd};

/// Watches a descriptor for reading; must be called inside a tokio runtime with I/O.
#[allow(unsafe_code, reason = "tokio cannot see by itself that the descriptor stays the same")]
pub(crate) fn readable(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an OwnedFd gives the same open descriptor for as long as it lives, and the AsyncFd owns it.
    unsafe { AsyncFd::register_with_interest(fd, Interest::READABLE) }.map_err(Into::into)
}
