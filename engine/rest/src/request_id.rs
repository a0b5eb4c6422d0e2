//! Ids of a request: ours is in the answer and in the log; the caller's, if it is one, goes along as the global id.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

const HEADER: HeaderName = HeaderName::from_static("x-openstack-request-id");

pub struct Ids {
    /// `req-<uuid>`.
    pub request: String,
    pub global: Option<String>,
}

/// Makes the id of a request and reads the caller's. Anything but `req-<uuid>` in lower case is dropped, since it goes into logs.
pub fn assign(headers: &HeaderMap) -> Ids {
    let request = new_request_id();
    let global = headers.get(&HEADER).and_then(|value| value.to_str().ok()).filter(|id| is_id(id)).map(str::to_owned);
    Ids { request, global }
}

/// `req-<uuid>`, a new one each time.
pub fn new_request_id() -> String {
    let mut request = String::with_capacity(40);
    request.push_str("req-");
    request.push_str(uuid::Uuid::new_v4().hyphenated().encode_lower(&mut uuid::Uuid::encode_buffer()));
    request
}

pub fn mark(headers: &mut HeaderMap, request: &str) {
    if let Ok(value) = HeaderValue::from_str(request) {
        headers.insert(HEADER, value);
    }
}

fn is_id(text: &str) -> bool {
    let Some(uuid) = text.strip_prefix("req-") else { return false };
    uuid.len() == 36
        && uuid.bytes().enumerate().all(|(i, byte)| match i {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
        })
}
