//! The body of a list: text is made as the client takes it, and records are dropped as they are written, so that a long list
//! holds one chunk of text at a time.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::Frame;
use schema::Record;

use crate::shape::Shape;

/// Text made at once, in bytes. A list that fits is sent with its length.
const CHUNK: usize = 64 << 10;

struct List {
    head: Vec<u8>,
    records: std::vec::IntoIter<Record>,
    shape: Arc<Shape>,
    tail: Vec<u8>,
    first: bool,
    done: bool,
    /// Made ahead, to see whether the list fits into one.
    ready: Option<Bytes>,
}

/// `{"<plural>":[…],"<plural>_links":…}`.
pub fn body(plural: &str, records: Vec<Record>, shape: Arc<Shape>, links: Option<&str>) -> Body {
    let tail = match links {
        Some(links) => format!("],\"{plural}_links\":{links}}}"),
        None => "]}".to_owned(),
    };
    let head = format!("{{\"{plural}\":[").into_bytes();
    let records = records.into_iter();
    let mut list = List { head, records, shape, tail: tail.into_bytes(), first: true, done: false, ready: None };
    let chunk = list.chunk();
    if list.done {
        return Body::from(chunk);
    }
    list.ready = Some(chunk);
    Body::new(list)
}

impl List {
    fn chunk(&mut self) -> Bytes {
        let mut out = std::mem::take(&mut self.head);
        while out.len() < CHUNK {
            let Some(record) = self.records.next() else {
                out.append(&mut self.tail);
                self.done = true;
                break;
            };
            if !self.first {
                out.push(b',');
            } else if self.records.len() > 0 {
                out.reserve(CHUNK + 4096);
            }
            self.first = false;
            self.shape.write(&record, &mut out);
        }
        if !self.done {
            self.head = Vec::with_capacity(CHUNK + 4096);
        }
        Bytes::from(out)
    }
}

impl http_body::Body for List {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(ready) = self.ready.take() {
            return Poll::Ready(Some(Ok(Frame::data(ready))));
        }
        if self.done {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(self.chunk()))))
    }

    fn is_end_stream(&self) -> bool {
        self.done && self.ready.is_none()
    }
}
