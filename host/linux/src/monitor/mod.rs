//! Changes of devices, addresses, neighbours and routes, as the kernel announces them.
//!
//! An announcement is a hint to look again, not a record: when they come faster than they are read the kernel drops
//! some, and the reader gets [`Event::Resync`], upon which it must read everything anew. So does a reader that has just
//! subscribed: subscribe first, list then.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    io,
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use netlink_sys::Socket;
use nix::{
    errno::Errno,
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};
use tokio::io::unix::AsyncFd;

use crate::{
    addr::Address,
    error::{Error, Result},
    link::Link,
    neigh::{Fdb, Neighbour},
    netlink::{self, wire},
    netns::Netns,
    ready,
    route::Route,
};

/// Room for announcements that were not read yet: some ten thousand.
const RECEIVE_BUFFER: usize = 8 << 20;

/// What to be told about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// Devices.
    Links,
    /// IPv4 and IPv6 addresses.
    Addresses,
    /// Neighbours and forwarding databases.
    Neighbours,
    /// IPv4 and IPv6 routes.
    Routes,
}

impl Topic {
    /// `RTNLGRP_*` of `linux/rtnetlink.h`.
    fn groups(self) -> &'static [u32] {
        match self {
            Self::Links => &[1],
            Self::Neighbours => &[3],
            Self::Addresses => &[5, 9],
            Self::Routes => &[7, 11],
        }
    }
}

/// A change that has happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A device is there, or changed in some way.
    Link(Link),
    /// A device is gone, or was moved to another namespace; it was this.
    LinkGone(Link),
    /// An address was added or changed.
    Address(Address),
    /// An address was removed.
    AddressGone(Address),
    /// A neighbour was learned or changed.
    Neighbour(Neighbour),
    /// A neighbour was forgotten.
    NeighbourGone(Neighbour),
    /// A forwarding entry was learned or added.
    Fdb(Fdb),
    /// A forwarding entry was removed.
    FdbGone(Fdb),
    /// A route was added or changed.
    Route(Route),
    /// A route was removed.
    RouteGone(Route),
    /// Announcements were lost: read everything again.
    Resync,
}

/// A subscription to changes in one namespace.
#[derive(Debug)]
pub struct Monitor {
    /// A duplicate of the socket's descriptor on tokio's reactor, made when first waited for.
    ready: Option<AsyncFd<OwnedFd>>,
    socket: Socket,
    buffer: Vec<u8>,
    queue: VecDeque<Event>,
}

impl Monitor {
    /// Subscribes in the calling thread's namespace.
    pub fn new(topics: &[Topic]) -> Result<Self> {
        Self::with_buffer(topics, RECEIVE_BUFFER)
    }

    /// Subscribes in a namespace; the calling thread stays where it is.
    pub fn in_netns(namespace: &Netns, topics: &[Topic]) -> Result<Self> {
        namespace.run(|| Self::new(topics))?
    }

    fn with_buffer(topics: &[Topic], bytes: usize) -> Result<Self> {
        let failed = |e: io::Error| Error::from_io("subscribe to", "network changes", &e);
        let socket = netlink::open(bytes)?;
        socket.set_non_blocking(true).map_err(failed)?;
        for group in topics.iter().flat_map(|topic| topic.groups()) {
            socket.add_membership(*group).map_err(failed)?;
        }
        Ok(Self { ready: None, socket, buffer: Vec::new(), queue: VecDeque::new() })
    }

    /// The next change. Needs a tokio runtime with I/O. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.take()? {
                return Ok(event);
            }
            let failed = |e: io::Error| Error::from_io("wait for", "network changes", &e);
            let ready = match self.ready.take() {
                Some(ready) => ready,
                None => ready::readable(self.fd().try_clone_to_owned().map_err(failed)?).map_err(failed)?,
            };
            let ready = self.ready.insert(ready);
            let mut guard = ready.readable().await.map_err(failed)?;
            // All that had come before was read, so readiness seen now can be forgotten unless more has come.
            guard.clear_ready();
            drop(guard);
        }
    }

    /// The next change that has come or comes within `limit`, without tokio.
    pub fn next_within(&mut self, limit: Duration) -> Result<Option<Event>> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(event) = self.take()? {
                return Ok(Some(event));
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            let milliseconds = left.as_millis().clamp(1, i32::MAX as u128) as i32;
            let mut fds = [PollFd::new(self.fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(errno) => return Err(Error::from_errno("wait for", "network changes", errno as i32)),
            }
        }
    }

    /// A change that has come already.
    fn take(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(Some(event));
            }
            match netlink::receive(&self.socket, &mut self.buffer) {
                Ok(()) => {
                    let events = wire::split(&self.buffer).filter_map(|raw| decode(raw.kind, raw.payload));
                    self.queue.extend(events);
                }
                Err(libc::EAGAIN) => return Ok(None),
                Err(libc::ENOBUFS) => return Ok(Some(Event::Resync)),
                Err(errno) => return Err(Error::from_errno("read", "network changes", errno)),
            }
        }
    }

    #[allow(unsafe_code, reason = "netlink-sys gives only the raw descriptor")]
    fn fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the socket is open for as long as it is borrowed.
        unsafe { BorrowedFd::borrow_raw(self.socket.as_raw_fd()) }
    }
}

fn decode(kind: u16, payload: &[u8]) -> Option<Event> {
    match kind {
        // A bridge announces its ports with messages of its own family, where "gone" means only "no port any more".
        // What matters of it comes as an ordinary message too.
        libc::RTM_NEWLINK | libc::RTM_DELLINK if payload.first() == Some(&(libc::AF_BRIDGE as u8)) => None,
        libc::RTM_NEWLINK => Link::decode(payload).map(Event::Link),
        libc::RTM_DELLINK => Link::decode(payload).map(Event::LinkGone),
        libc::RTM_NEWADDR => Address::decode(payload).map(Event::Address),
        libc::RTM_DELADDR => Address::decode(payload).map(Event::AddressGone),
        libc::RTM_NEWNEIGH => {
            Neighbour::decode(payload).map(Event::Neighbour).or_else(|| Fdb::decode(payload).map(Event::Fdb))
        }
        libc::RTM_DELNEIGH => {
            Neighbour::decode(payload).map(Event::NeighbourGone).or_else(|| Fdb::decode(payload).map(Event::FdbGone))
        }
        libc::RTM_NEWROUTE => Route::decode(payload).map(Event::Route),
        libc::RTM_DELROUTE => Route::decode(payload).map(Event::RouteGone),
        _ => None,
    }
}
