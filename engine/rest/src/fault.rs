//! Faults into answers. A fault of ours is logged here, once, with its causes; the client never sees those.

use std::error::Error;
use std::fmt::Write;

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use schema::Fault;
use serde_json::json;

pub const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// The answer for a fault, in the form that clients parse.
pub fn respond(fault: &Fault) -> Response {
    if fault.status() >= 500 {
        tracing::error!(fault.kind = fault.kind(), causes = causes(fault), "request failed: {}", fault.message());
    } else {
        tracing::debug!(fault.kind = fault.kind(), "request refused: {}", fault.message());
    }
    let status = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({"NeutronError": {"type": fault.kind(), "message": fault.message(), "detail": fault.detail()}});
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, JSON);
    response
}

fn causes(fault: &Fault) -> String {
    let mut text = String::new();
    let mut next = fault.source();
    while let Some(cause) = next {
        let _ = write!(text, "{}{cause}", if text.is_empty() { "" } else { ": " });
        next = cause.source();
    }
    text
}

/// What a panic said, as a cause.
pub fn panicked(payload: Box<dyn std::any::Any + Send>) -> Fault {
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => {
            payload.downcast::<&str>().map_or_else(|_| "of unknown cause".to_owned(), |text| (*text).to_owned())
        }
    };
    Fault::internal(format!("panic: {text}"))
}

/// No such path.
pub fn not_found() -> Fault {
    Fault::not_found("HTTPNotFound", "There is no resource of this API at this path.")
}

/// The path is there, but does not take this method.
pub fn method_not_allowed(method: &axum::http::Method) -> Fault {
    Fault::new(405, "HTTPMethodNotAllowed", format!("This path does not take the method {method}."))
}
