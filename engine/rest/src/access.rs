//! One line in the log and two metrics for each request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{Method, Uri};
use axum::response::Response;
use http_body::Body;

/// What is known of a request when it comes.
pub struct Entry {
    method: Method,
    uri: Uri,
    peer: Option<SocketAddr>,
    start: Instant,
}

impl Entry {
    pub fn new(method: &Method, uri: &Uri, peer: Option<SocketAddr>) -> Entry {
        Entry { method: method.clone(), uri: uri.clone(), peer, start: Instant::now() }
    }

    /// `route` is the endpoint's pattern, so that the number of time series does not grow with the paths that clients think of.
    /// A streamed answer is counted when its head is ready.
    ///
    /// From `slow` on, a request is warned of, with what it cost.
    pub fn finish(self, route: &Arc<str>, response: &Response, slow: Option<Duration>) {
        let elapsed = self.start.elapsed();
        let status = response.status().as_u16();
        let method = label(&self.method);
        let labels = [
            ("method", metrics::SharedString::const_str(method)),
            ("route", route.clone().into()),
            ("status", status.to_string().into()),
        ];
        metrics::counter!("http_requests_total", &labels).increment(1);
        metrics::histogram!("http_request_duration_seconds", "method" => method, "route" => route.clone())
            .record(elapsed);
        if slow.is_some_and(|slow| elapsed >= slow) {
            metrics::counter!("http_requests_slow_total", "method" => method, "route" => route.clone()).increment(1);
            tracing::warn!(
                target: "rest::slow",
                status,
                seconds = elapsed.as_secs_f64(),
                "a slow request: {} {}", self.method, self.uri
            );
        }
        if tracing::enabled!(target: "rest::access", tracing::Level::INFO) {
            let peer = self.peer.map_or_else(|| "-".to_owned(), |peer| peer.ip().to_string());
            let length = response.body().size_hint().exact();
            tracing::info!(
                target: "rest::access",
                status,
                length,
                seconds = elapsed.as_secs_f64(),
                "{peer} \"{} {}\"", self.method, self.uri
            );
        }
    }
}

fn label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "POST" => "POST",
        "PUT" => "PUT",
        "DELETE" => "DELETE",
        "HEAD" => "HEAD",
        _ => "other",
    }
}
