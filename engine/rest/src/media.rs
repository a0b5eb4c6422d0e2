//! What the client can read: answers are JSON, so a request that accepts no JSON gets 406, as by the reference.

use axum::http::{HeaderMap, header};
use schema::Fault;

/// Refuses a request whose Accept rules JSON out.
pub fn acceptable(headers: &HeaderMap) -> Result<(), Fault> {
    let Some(accept) = headers.get(header::ACCEPT) else { return Ok(()) };
    let Ok(accept) = accept.to_str() else { return Ok(()) };
    let accept = accept.trim();
    // Browsers ask for pages first, and are shown JSON.
    if accept.is_empty() || accept.starts_with("text/html,") || accept.split(',').any(takes_json) {
        return Ok(());
    }
    let message = "Answers of this API are application/json; let the Accept header allow that.";
    Err(Fault::new(406, "HTTPNotAcceptable", message))
}

fn takes_json(range: &str) -> bool {
    let mut parts = range.split(';');
    let kind = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let refused =
        parts.any(|part| matches!(part.trim().split_once('='), Some(("q", weight)) if weight.parse() == Ok(0.0)));
    !refused && matches!(kind.as_str(), "*/*" | "application/*" | "application/json")
}
