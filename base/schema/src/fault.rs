use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// What a user is told when something is wrong: Neutron's fault type, an HTTP status and a message that names the
/// object and the remedy. Domains make them through small constructors named after the fault.
///
/// A cause, if any, is kept for the log and never shown to the user.
#[derive(Debug)]
pub struct Fault {
    kind: Cow<'static, str>,
    status: u16,
    message: String,
    detail: String,
    retriable: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    pub fn new(status: u16, kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Fault {
        let message = message.into();
        Fault { kind: kind.into(), status, message, detail: String::new(), retriable: false, source: None }
    }

    /// 400 with the type that attribute validation has.
    pub fn bad_request(message: impl Into<String>) -> Fault {
        Fault::new(400, "HTTPBadRequest", message)
    }

    /// 400 `InvalidInput`: a value that is well formed but makes no sense here.
    pub fn invalid_input(message: impl Into<String>) -> Fault {
        Fault::new(400, "InvalidInput", message)
    }

    pub fn not_found(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Fault {
        Fault::new(404, kind, message)
    }

    pub fn conflict(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Fault {
        Fault::new(409, kind, message)
    }

    /// 403 `PolicyNotAuthorized`, naming the rules that forbid it.
    pub fn forbidden(rules: &str) -> Fault {
        let message = format!("The policy does not let you do this (rule {rules}); ask an administrator.");
        Fault::new(403, "PolicyNotAuthorized", message)
    }

    /// 500: a fault of ours. The cause is logged, the user gets a request id to report.
    pub fn internal(source: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
        let message =
            "The request failed inside the server and was rolled back; its log has the cause under this request id.";
        let mut fault = Fault::new(500, "HTTPInternalServerError", message);
        fault.source = Some(source.into());
        fault
    }

    /// 503: the store or a peer is away for now; nothing was changed and the request may be sent again.
    pub fn unavailable(source: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
        let mut fault =
            Fault::new(503, "HTTPServiceUnavailable", "The service is unavailable for now; try again later.");
        fault.source = Some(source.into());
        fault
    }

    /// A conflict between transactions: the caller of the transaction runs it again.
    pub fn retry(source: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
        let mut fault = Fault::unavailable(source);
        fault.retriable = true;
        fault
    }

    /// The same, but worth another run of the transaction: what it met may be gone by then. The user is told of it if it stays.
    pub fn or_again(mut self) -> Fault {
        self.retriable = true;
        self
    }

    pub fn with_detail(mut self, detail: impl Into<String>) -> Fault {
        self.detail = detail.into();
        self
    }

    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Fault {
        self.source = Some(source.into());
        self
    }

    /// Neutron's name of the fault, for example `NetworkInUse`.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    pub fn status(&self) -> u16 {
        self.status
    }

    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    pub fn is_retriable(&self) -> bool {
        self.retriable
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}
