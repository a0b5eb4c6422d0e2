//! One error type for everything that is asked of the host.

use std::{fmt, io};

use nix::errno::Errno;

/// What kind of refusal it was; callers decide on this, people read [`Error`]'s text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The device, address, route, process, file or namespace is not there
    /// (`ENODEV`, `ENOENT`, `ESRCH`, `EADDRNOTAVAIL`, `ENXIO`).
    NotFound,
    /// It is there already (`EEXIST`).
    Exists,
    /// Something else holds it (`EBUSY`, `ETXTBSY`).
    Busy,
    /// This kernel cannot do it (`EOPNOTSUPP`, `EAFNOSUPPORT`, `EPROTONOSUPPORT`, `ENOSYS`).
    Unsupported,
    /// Not allowed (`EPERM`, `EACCES`, `EROFS`): the process lacks `CAP_NET_ADMIN`, `CAP_SYS_ADMIN` or file rights.
    Permission,
    /// The request makes no sense to the kernel or to us (`EINVAL`, `ERANGE`, a name that is too long).
    Invalid,
    /// No route to a gateway, or its device is down (`ENETUNREACH`, `EHOSTUNREACH`, `ENETDOWN`).
    Unreachable,
    /// Events or replies were lost because the receive buffer overflowed (`ENOBUFS`): read everything again.
    Overrun,
    /// No answer within the bound (`ETIMEDOUT`, `EAGAIN` on a socket with a time limit).
    TimedOut,
    /// A program ended with a failure; the text has its standard error.
    Failed,
    /// Any other error number; see [`Error::errno`].
    Other,
}

/// A refused operation: what was tried, on which object, and why not.
#[derive(Debug, Clone)]
pub struct Error {
    kind: ErrorKind,
    operation: &'static str,
    object: String,
    errno: Option<i32>,
    detail: String,
}

/// Result of asking the host for something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn from_errno(operation: &'static str, object: impl Into<String>, errno: i32) -> Self {
        Self { kind: kind_of(errno), operation, object: object.into(), errno: Some(errno), detail: String::new() }
    }

    pub(crate) fn from_io(operation: &'static str, object: impl Into<String>, error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(errno) => Self::from_errno(operation, object, errno),
            None => {
                let kind = match error.kind() {
                    io::ErrorKind::NotFound => ErrorKind::NotFound,
                    io::ErrorKind::AlreadyExists => ErrorKind::Exists,
                    io::ErrorKind::PermissionDenied => ErrorKind::Permission,
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => ErrorKind::Invalid,
                    io::ErrorKind::TimedOut => ErrorKind::TimedOut,
                    _ => ErrorKind::Other,
                };
                Self::new(kind, operation, object, error.to_string())
            }
        }
    }

    pub(crate) fn new(
        kind: ErrorKind,
        operation: &'static str,
        object: impl Into<String>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind, operation, object: object.into(), errno: None, detail: detail.into() }
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    /// The class of the refusal.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The device, address, path or process that the operation was about.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// The kernel's error number, when the kernel gave one.
    pub fn errno(&self) -> Option<i32> {
        self.errno
    }

    /// Whether the object was not there.
    pub fn is_not_found(&self) -> bool {
        self.kind == ErrorKind::NotFound
    }

    /// Whether the object was there already.
    pub fn is_exists(&self) -> bool {
        self.kind == ErrorKind::Exists
    }
}

fn kind_of(errno: i32) -> ErrorKind {
    match Errno::from_raw(errno) {
        Errno::ENODEV | Errno::ENOENT | Errno::ESRCH | Errno::EADDRNOTAVAIL | Errno::ENXIO => ErrorKind::NotFound,
        Errno::EEXIST => ErrorKind::Exists,
        Errno::EBUSY | Errno::ETXTBSY => ErrorKind::Busy,
        Errno::EOPNOTSUPP | Errno::EAFNOSUPPORT | Errno::EPROTONOSUPPORT | Errno::ENOSYS => ErrorKind::Unsupported,
        Errno::EPERM | Errno::EACCES | Errno::EROFS => ErrorKind::Permission,
        Errno::EINVAL | Errno::ERANGE | Errno::ENAMETOOLONG => ErrorKind::Invalid,
        Errno::ENETUNREACH | Errno::EHOSTUNREACH | Errno::ENETDOWN => ErrorKind::Unreachable,
        Errno::ENOBUFS => ErrorKind::Overrun,
        Errno::ETIMEDOUT | Errno::EAGAIN => ErrorKind::TimedOut,
        _ => ErrorKind::Other,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: ", self.operation, self.object)?;
        match (self.errno, self.detail.is_empty()) {
            (Some(errno), true) => write!(f, "{}", Errno::from_raw(errno).desc()),
            (Some(errno), false) => write!(f, "{} ({})", self.detail, Errno::from_raw(errno).desc()),
            (None, _) => f.write_str(&self.detail),
        }
    }
}

impl std::error::Error for Error {}

/// Reading a refusal as success where the wanted state is already there.
pub trait Idempotent {
    /// "Already exists" counts as done; says whether this call did it.
    fn or_exists(self) -> Result<bool>;
    /// "Not found" counts as done; says whether this call did it.
    fn or_missing(self) -> Result<bool>;
}

impl<T> Idempotent for Result<T> {
    fn or_exists(self) -> Result<bool> {
        match self {
            Ok(_) => Ok(true),
            Err(e) if e.is_exists() => Ok(false),
            Err(e) => Err(e),
        }
    }

    fn or_missing(self) -> Result<bool> {
        match self {
            Ok(_) => Ok(true),
            Err(e) if e.is_not_found() => Ok(false),
            Err(e) => Err(e),
        }
    }
}
