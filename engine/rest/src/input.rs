//! Bodies: size limit, time limit, JSON.

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use schema::{Fault, Value};
use tokio::time::timeout;

use crate::Options;

/// How much of an oversized body is read and dropped, so that its client gets to see the answer.
const DROPPED: usize = 8 << 20;

/// Reads a body of at most `max_body` bytes.
pub async fn read(headers: &HeaderMap, body: Body, options: &Options) -> Result<Bytes, Fault> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > options.max_body + DROPPED) {
        return Err(too_large(options.max_body));
    }
    let late = |_| {
        let seconds = options.body_timeout.as_secs();
        Fault::new(408, "HTTPRequestTimeout", format!("The body of the request did not come within {seconds} seconds."))
    };
    timeout(options.body_timeout, collect(body, options.max_body)).await.map_err(late)?
}

async fn collect(mut body: Body, max: usize) -> Result<Bytes, Fault> {
    let mut read = BytesMut::new();
    let mut size = 0;
    while let Some(frame) = body.frame().await {
        let broken = |error| Fault::bad_request("The body of the request ended before its end.").with_source(error);
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        size += data.len();
        if size <= max {
            read.extend_from_slice(&data);
        } else if size > max + DROPPED {
            break;
        }
    }
    if size > max { Err(too_large(max)) } else { Ok(read.freeze()) }
}

fn too_large(max: usize) -> Fault {
    let message = format!("The request is too large; the body may have {max} bytes (max_request_body_size).");
    Fault::new(413, "HTTPRequestEntityTooLarge", message)
}

/// The JSON object in a body, None if it is empty.
pub fn parse(body: &[u8]) -> Result<Option<Value>, Fault> {
    if body.is_empty() {
        return Ok(None);
    }
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match serde_json::from_slice::<Value>(text) {
        Ok(value @ Value::Object(_)) => Ok(Some(value)),
        Ok(_) => Err(Fault::bad_request("Body contains invalid data: it is JSON, but not an object.")),
        Err(error) => Err(Fault::bad_request(format!("Body contains invalid data: it is not JSON ({error})."))),
    }
}
