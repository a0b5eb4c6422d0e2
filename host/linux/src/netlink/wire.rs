//! Framing of netlink messages: headers, acknowledgements with the kernel's own words, ends of dumps.
//!
//! What the kernel sends is read attribute by attribute, and only what we use: an attribute that a newer kernel adds
//! or changes cannot lose a whole object.

use std::net::IpAddr;

use types::Mac;

use crate::error::{Error, Result};

const HEADER: usize = 16;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_CAPPED: u16 = 0x100;
const NLM_F_ACK_TLVS: u16 = 0x200;
const NLMSGERR_ATTR_MSG: u16 = 1;
/// Without the flags "nested" and "network byte order".
const NLA_TYPE_MASK: u16 = 0x3fff;

/// One message of a datagram.
#[derive(Debug, Clone)]
pub(crate) struct Raw<T = Vec<u8>> {
    pub(crate) kind: u16,
    flags: u16,
    pub(crate) sequence: u32,
    pub(crate) payload: T,
}

/// An acknowledgement: zero or an error number, and the kernel's explanation.
pub(super) struct Reply {
    errno: i32,
    message: String,
}

impl Reply {
    pub(super) fn into_result(self, operation: &'static str, object: &str) -> Result<()> {
        match self.errno {
            0 => Ok(()),
            errno => Err(Error::from_errno(operation, object, errno).detail(self.message)),
        }
    }
}

/// The messages of a datagram; stops at the first that does not fit.
pub(crate) fn split(mut bytes: &[u8]) -> impl Iterator<Item = Raw<&[u8]>> {
    std::iter::from_fn(move || {
        let header: &[u8; HEADER] = bytes.first_chunk()?;
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let payload = bytes.get(HEADER..length)?;
        let raw = Raw {
            kind: u16::from_ne_bytes([header[4], header[5]]),
            flags: u16::from_ne_bytes([header[6], header[7]]),
            sequence: u32::from_ne_bytes([header[8], header[9], header[10], header[11]]),
            payload,
        };
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(raw)
    })
}

impl Raw<&[u8]> {
    pub(crate) fn to_owned(&self) -> Raw {
        Raw { kind: self.kind, flags: self.flags, sequence: self.sequence, payload: self.payload.to_vec() }
    }

    pub(super) fn interrupted(&self) -> bool {
        self.flags & NLM_F_DUMP_INTR != 0
    }

    pub(super) fn error(&self) -> Option<Reply> {
        if self.kind != NLMSG_ERROR {
            return None;
        }
        let errno = self.errno();
        // After the number stands the request: only its header when capped or acknowledged, else all of it.
        let echoed = match self.payload.get(4..8).and_then(|b| b.try_into().ok()).map(u32::from_ne_bytes) {
            Some(length) if errno != 0 && self.flags & NLM_F_CAPPED == 0 => (length as usize).next_multiple_of(4),
            _ => HEADER,
        };
        Some(Reply { errno, message: self.explanation(4 + echoed) })
    }

    pub(super) fn done(&self) -> Option<Reply> {
        (self.kind == NLMSG_DONE).then(|| Reply { errno: self.errno(), message: self.explanation(4) })
    }

    fn errno(&self) -> i32 {
        self.payload.first_chunk().map_or(0, |b| i32::from_ne_bytes(*b)).saturating_neg()
    }

    fn explanation(&self, offset: usize) -> String {
        if self.flags & NLM_F_ACK_TLVS == 0 {
            return String::new();
        }
        let tlvs = self.payload.get(offset..).unwrap_or_default();
        attributes(tlvs).find(|(kind, _)| *kind == NLMSGERR_ATTR_MSG).map(|(_, value)| text(value)).unwrap_or_default()
    }
}

/// The attributes of a message or of a nested attribute: number and value.
///
/// Ends at the first that does not fit.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        let kind = u16_of(bytes.get(2..4)?) & NLA_TYPE_MASK;
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

pub(crate) fn u16_be(value: &[u8]) -> u16 {
    value.first_chunk().map_or(0, |b| u16::from_be_bytes(*b))
}

pub(crate) fn u16_of(value: &[u8]) -> u16 {
    value.first_chunk().map_or(0, |b| u16::from_ne_bytes(*b))
}

pub(crate) fn u32_of(value: &[u8]) -> u32 {
    value.first_chunk().map_or(0, |b| u32::from_ne_bytes(*b))
}

pub(crate) fn u8_of(value: &[u8]) -> u8 {
    value.first().copied().unwrap_or(0)
}

pub(crate) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|b| *b == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

pub(crate) fn mac(value: &[u8]) -> Option<Mac> {
    value.try_into().ok().map(Mac)
}

pub(crate) fn ip(value: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(value) {
        return Some(IpAddr::from(v4));
    }
    <[u8; 16]>::try_from(value).ok().map(IpAddr::from)
}
