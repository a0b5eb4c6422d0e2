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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        ErrorKind,
        addr::Address,
        link::Link,
        neigh::{Fdb, Neighbour},
        route::Route,
    };

    fn message(kind: u16, flags: u16, payload: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + payload.len()) as u32).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        bytes.extend([7, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn the_kernels_words_are_found_behind_a_short_or_whole_echo() {
        let words = b"\x13\x00\x01\x00Unknown device\x00\x00";
        for (flags, echo) in [(NLM_F_CAPPED | NLM_F_ACK_TLVS, HEADER), (NLM_F_ACK_TLVS, 40)] {
            let mut payload = (-19i32).to_ne_bytes().to_vec();
            payload.extend((echo as u32).to_ne_bytes());
            payload.resize(4 + echo, 0);
            payload.extend(words);
            let bytes = message(NLMSG_ERROR, flags, &payload);
            let raw = split(&bytes).next().unwrap();
            let error = raw.error().unwrap().into_result("change", "eth9").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound);
            assert_eq!(error.to_string(), "change eth9: Unknown device (No such device)");
        }
        // Two messages in one datagram, the second cut off.
        let mut bytes = message(NLMSG_ERROR, 0, &[0; 20]);
        bytes.extend(&message(NLMSG_DONE, 0, &[0; 4])[..18]);
        assert_eq!(split(&bytes).map(|raw| raw.kind).collect::<Vec<_>>(), [NLMSG_ERROR]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            kind in 0u16..40,
            flags: u16,
            payload in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            for raw in split(&message(kind, flags, &payload)).chain(split(&payload)) {
                let _ = raw.error().map(|reply| reply.into_result("read", "x"));
                let _ = raw.done().map(|reply| reply.into_result("read", "x"));
            }
            Link::decode(&payload);
            Address::decode(&payload);
            Route::decode(&payload);
            Neighbour::decode(&payload);
            Fdb::decode(&payload);
        }

        #[test]
        fn nested_attributes_of_any_length_are_read(
            header in proptest::collection::vec(any::<u8>(), 16),
            attributes in proptest::collection::vec((0u16..70, proptest::collection::vec(any::<u8>(), 0..12)), 0..20),
        ) {
            let mut payload = header;
            for (kind, value) in attributes {
                payload.extend(((4 + value.len()) as u16).to_ne_bytes());
                payload.extend(kind.to_ne_bytes());
                payload.extend(&value);
                payload.resize(payload.len().next_multiple_of(4), 0);
            }
            Link::decode(&payload);
            // The other headers are shorter: the same attributes behind them.
            Address::decode(&payload[8..]);
            Route::decode(&payload[4..]);
            Neighbour::decode(&payload[4..]);
            Fdb::decode(&payload[4..]);
        }
    }
}
