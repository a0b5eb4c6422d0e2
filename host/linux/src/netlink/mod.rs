//! The rtnetlink socket: requests, batches of requests with one result each, and dumps.
//!
//! Synchronous on purpose: the kernel answers while it takes the request, so a call costs microseconds
//! (deleting links one by one is the exception, see [`crate::link`]). From async code call it on a blocking thread
//! when many links are deleted; otherwise directly.

pub(crate) mod wire;

use std::{
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use nix::sys::{
    socket::{setsockopt, sockopt},
    time::TimeVal,
};

pub(crate) use self::wire::Raw;
use crate::{
    error::{Error, ErrorKind, Result},
    netns::Netns,
};

/// How long a reply may take before the call gives up. The kernel answers at once; this only bounds a lost reply.
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);
/// Room for replies: 256 acknowledgements and a dump's parts fit many times over.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Requests of one `sendmsg`. Bounded so that their acknowledgements fit the receive buffer.
const BATCH_REQUESTS: usize = 256;
/// Bytes of one `sendmsg`, below the default send buffer.
const BATCH_BYTES: usize = 64 << 10;
/// A dump that other writers interrupt is read again this often.
const DUMP_ATTEMPTS: usize = 16;

/// One change to the host's network, ready to be sent alone or in a batch.
///
/// Made by the functions of [`crate::link`], [`crate::addr`], [`crate::route`] and [`crate::neigh`].
#[derive(Debug, Clone)]
pub struct Request {
    message: RouteNetlinkMessage,
    flags: u16,
    operation: &'static str,
    object: String,
    /// Found wrong while it was built (a name of more than 15 bytes…): reported instead of sent.
    fault: Option<Error>,
    /// Namespaces whose descriptors the message names; held open until it has been sent.
    namespaces: Vec<Netns>,
}

impl Request {
    pub(crate) fn new(
        message: RouteNetlinkMessage,
        flags: u16,
        operation: &'static str,
        object: impl Into<String>,
    ) -> Self {
        Self { message, flags, operation, object: object.into(), fault: None, namespaces: Vec::new() }
    }

    pub(crate) fn set_flags(&mut self, flags: u16) {
        self.flags = flags;
    }

    pub(crate) fn fault(mut self, fault: Option<Error>) -> Self {
        self.fault = self.fault.or(fault);
        self
    }

    pub(crate) fn holding(mut self, namespaces: impl IntoIterator<Item = Netns>) -> Self {
        self.namespaces.extend(namespaces);
        self
    }
}

/// An open rtnetlink socket of one network namespace. Cheap to clone; safe to share between threads, whose calls
/// then take turns. It stays in the namespace in which it was opened, whatever the calling thread does.
#[derive(Debug, Clone)]
pub struct Handle {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Handle {
    /// Opens a socket in the calling thread's namespace.
    pub fn new() -> Result<Self> {
        let socket = open(RECEIVE_BUFFER)?;
        let time = TimeVal::new(REPLY_TIMEOUT.as_secs() as i64, 0);
        setsockopt(&borrow(&socket), sockopt::ReceiveTimeout, &time)
            .map_err(|e| Error::from_errno("open", "netlink socket", e as i32))?;
        // Old kernels lack these options; the requests work without them, with less said on errors.
        let _ = socket.set_cap_ack(true);
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_netlink_get_strict_chk(true);
        Ok(Self { inner: Arc::new(Mutex::new(Inner { socket, sequence: 1, buffer: Vec::new() })) })
    }

    /// Opens a socket inside a named namespace (`/run/netns/<name>`); the calling thread stays where it is.
    pub fn in_netns(name: &str) -> Result<Self> {
        Netns::open(name)?.handle()
    }

    /// Sends one request and waits for its acknowledgement.
    pub fn run(&self, request: Request) -> Result<()> {
        self.batch([request]).into_iter().next().unwrap_or(Ok(()))
    }

    /// Sends requests in as few system calls as fit, and returns one result per request, in order.
    ///
    /// The kernel does them in order and goes on after a refused one: a later request that needs an earlier one
    /// fails by itself.
    pub fn batch(&self, requests: impl IntoIterator<Item = Request>) -> Vec<Result<()>> {
        let requests: Vec<Request> = requests.into_iter().collect();
        let mut inner = self.lock();
        let mut results = Vec::with_capacity(requests.len());
        let mut start = 0;
        while start < requests.len() {
            let (bytes, first, end) = inner.encode(&requests, start);
            let part = &requests[start..end];
            results.extend(inner.exchange(&bytes, first, part));
            start = end;
        }
        results
    }

    /// Asks for one object; the messages that answer.
    pub(crate) fn get(&self, message: RouteNetlinkMessage, operation: &'static str, object: &str) -> Result<Vec<Raw>> {
        self.lock().query(message, NLM_F_REQUEST | NLM_F_ACK, operation, object).map(|(raws, _)| raws)
    }

    /// Reads a whole table, again when it changed in the middle of the reading.
    pub(crate) fn dump(&self, message: RouteNetlinkMessage, operation: &'static str, object: &str) -> Result<Vec<Raw>> {
        let mut inner = self.lock();
        for _ in 0..DUMP_ATTEMPTS {
            let (raws, interrupted) = inner.query(message.clone(), NLM_F_REQUEST | NLM_F_DUMP, operation, object)?;
            if !interrupted {
                return Ok(raws);
            }
        }
        Err(Error::new(ErrorKind::Busy, operation, object, "it kept changing while it was read"))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic of another caller leaves at most unread replies, which the sequence numbers tell apart.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1).max(1);
        self.sequence
    }

    /// Serialises requests from `start` until a limit is met: bytes, their first sequence number, the end.
    fn encode(&mut self, requests: &[Request], start: usize) -> (Vec<u8>, u32, usize) {
        let mut bytes = Vec::new();
        let first = self.sequence.wrapping_add(1).max(1);
        let mut end = start;
        for request in requests[start..].iter().take(BATCH_REQUESTS) {
            if bytes.len() >= BATCH_BYTES || self.sequence == u32::MAX && end > start {
                break;
            }
            let sequence = self.next_sequence();
            if request.fault.is_none() {
                push(&mut bytes, request.message.clone(), request.flags | NLM_F_REQUEST | NLM_F_ACK, sequence);
            }
            end += 1;
        }
        (bytes, first, end)
    }

    fn exchange(&mut self, bytes: &[u8], first: u32, requests: &[Request]) -> Vec<Result<()>> {
        let mut results: Vec<Option<Result<()>>> = requests.iter().map(|r| r.fault.clone().map(Err)).collect();
        let broken = self.exchange_into(bytes, first, requests, &mut results).err();
        let fallback = |request: &Request| match &broken {
            Some(errno) => Err(Error::from_errno(request.operation, request.object.clone(), *errno)
                .detail("no answer from the kernel")),
            None => Ok(()),
        };
        results.into_iter().zip(requests).map(|(r, request)| r.unwrap_or_else(|| fallback(request))).collect()
    }

    fn exchange_into(
        &mut self,
        bytes: &[u8],
        first: u32,
        requests: &[Request],
        results: &mut [Option<Result<()>>],
    ) -> std::result::Result<(), i32> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.send(bytes)?;
        while results.iter().any(Option::is_none) {
            self.receive()?;
            for raw in wire::split(&self.buffer) {
                let at = raw.sequence.wrapping_sub(first) as usize;
                if let (Some(reply), Some(slot @ None)) = (raw.error(), results.get_mut(at)) {
                    let request = &requests[at];
                    *slot = Some(reply.into_result(request.operation, &request.object));
                }
            }
        }
        Ok(())
    }

    fn query(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        operation: &'static str,
        object: &str,
    ) -> Result<(Vec<Raw>, bool)> {
        let sequence = self.next_sequence();
        let mut bytes = Vec::new();
        push(&mut bytes, message, flags, sequence);
        let failed = |errno| Error::from_errno(operation, object, errno).detail("no answer from the kernel");
        self.send(&bytes).map_err(failed)?;
        let (mut raws, mut interrupted) = (Vec::new(), false);
        loop {
            self.receive().map_err(failed)?;
            for raw in wire::split(&self.buffer) {
                if raw.sequence != sequence {
                    continue;
                }
                interrupted |= raw.interrupted();
                if let Some(reply) = raw.error() {
                    reply.into_result(operation, object)?;
                    return Ok((raws, interrupted));
                }
                if let Some(reply) = raw.done() {
                    reply.into_result(operation, object)?;
                    return Ok((raws, interrupted));
                }
                raws.push(raw.to_owned());
            }
        }
    }

    fn send(&self, bytes: &[u8]) -> std::result::Result<(), i32> {
        loop {
            match self.socket.send_to(bytes, &SocketAddr::new(0, 0), 0) {
                Ok(_) => return Ok(()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.raw_os_error().unwrap_or(nix::libc::EIO)),
            }
        }
    }

    fn receive(&mut self) -> std::result::Result<(), i32> {
        receive(&self.socket, &mut self.buffer)
    }
}

/// Reads one datagram, whole, into `buffer`.
pub(crate) fn receive(socket: &Socket, buffer: &mut Vec<u8>) -> std::result::Result<(), i32> {
    buffer.clear();
    // The kernel builds a dump's parts to fit the largest read so far, at most 32 KiB; events are smaller.
    buffer.reserve(64 << 10);
    loop {
        match socket.recv_from(buffer, 0) {
            Ok(_) => return Ok(()),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.raw_os_error().unwrap_or(nix::libc::EIO)),
        }
    }
}

/// A bound rtnetlink socket in the calling thread's namespace, with a receive buffer of `bytes`.
pub(crate) fn open(bytes: usize) -> Result<Socket> {
    let failed = |e: std::io::Error| Error::from_io("open", "netlink socket", &e);
    let mut socket = Socket::new(NETLINK_ROUTE).map_err(failed)?;
    socket.bind_auto().map_err(failed)?;
    // The forced size needs CAP_NET_ADMIN; without it the system's limit caps the buffer.
    if setsockopt(&borrow(&socket), sockopt::RcvBufForce, &bytes).is_err() {
        let _ = setsockopt(&borrow(&socket), sockopt::RcvBuf, &bytes);
    }
    Ok(socket)
}

#[allow(unsafe_code, reason = "netlink-sys gives only the raw descriptor")]
fn borrow(socket: &Socket) -> impl AsFd + '_ {
    // SAFETY: the socket is open for as long as it is borrowed.
    unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) }
}

fn push(bytes: &mut Vec<u8>, message: RouteNetlinkMessage, flags: u16, sequence: u32) {
    let mut header = NetlinkHeader::default();
    header.flags = flags;
    header.sequence_number = sequence;
    let mut message = NetlinkMessage::new(header, NetlinkPayload::InnerMessage(message));
    message.finalize();
    let start = bytes.len();
    bytes.resize(start + message.buffer_len().next_multiple_of(4), 0);
    message.serialize(&mut bytes[start..]);
}
