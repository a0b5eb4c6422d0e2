use std::path::PathBuf;
use std::time::Duration;

/// How the protocol behaves; the options of `neutron.conf` that it has.
#[derive(Clone, Debug)]
pub struct Options {
    /// `max_request_body_size` of `[oslo_middleware]`, in bytes.
    pub max_body: usize,
    /// How long a client may take to send a body.
    pub body_timeout: Duration,
    /// `pagination_max_limit`: most objects in one answer; None for `infinite`.
    pub page_limit: Option<usize>,
    /// `network_link_prefix`: replaces scheme and host of links, and goes before their path.
    pub link_prefix: Option<String>,
    /// `enable_proxy_headers_parsing` of `[oslo_middleware]`: believe `Forwarded` and `X-Forwarded-Host`, `-Prefix`, `-For`.
    /// `X-Forwarded-Proto` is always believed, as by the reference.
    pub proxy_headers: bool,
    /// `disable_by_file_path` of `[healthcheck]`: `/healthcheck` says 503 while this file is there.
    pub health_file: Option<PathBuf>,
    /// What this process does, as `/healthcheck` says when it is asked for JSON.
    pub roles: Vec<&'static str>,
    /// Requests that take as long are warned of; None for none.
    pub slow: Option<Duration>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            max_body: 114_688,
            body_timeout: Duration::from_secs(60),
            page_limit: None,
            link_prefix: None,
            proxy_headers: false,
            health_file: None,
            roles: vec!["api"],
            slow: None,
        }
    }
}

/// How connections are treated.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long a client may take to send a request's head, and how long a connection may be idle between requests.
    pub header_timeout: Duration,
    /// Whether a connection serves more than one request (`wsgi_keep_alive`).
    pub keep_alive: bool,
    /// How long requests may go on after the stop (`graceful_shutdown_timeout`).
    pub drain: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { header_timeout: Duration::from_secs(60), keep_alive: true, drain: Duration::from_secs(60) }
    }
}
