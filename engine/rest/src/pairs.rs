//! Query strings into decoded pairs.

use schema::Fault;

/// Pairs of a query in their order; a name without a value has an empty one. A percent sign that starts no escape stands for itself,
/// as in Python. Text that is not UTF-8 is a fault.
pub fn decode(query: Option<&str>) -> Result<Vec<(String, String)>, Fault> {
    let mut pairs = Vec::new();
    for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        pairs.push((text(name, true)?, text(value, true)?));
    }
    Ok(pairs)
}

/// One segment of a path.
pub fn segment(raw: &str) -> Result<String, Fault> {
    text(raw, false)
}

fn text(raw: &str, plus: bool) -> Result<String, Fault> {
    if !raw.bytes().any(|byte| byte == b'%' || byte == b'+') {
        return Ok(raw.to_owned());
    }
    let bytes = raw.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let escaped = || Some(hex(*bytes.get(i + 1)?)? << 4 | hex(*bytes.get(i + 2)?)?);
        match bytes[i] {
            b'+' if plus => decoded.push(b' '),
            b'%' => match escaped() {
                Some(byte) => {
                    decoded.push(byte);
                    i += 2;
                }
                None => decoded.push(b'%'),
            },
            byte => decoded.push(byte),
        }
        i += 1;
    }
    String::from_utf8(decoded)
        .map_err(|_| Fault::bad_request("The address of the request is not UTF-8 once its escapes are read."))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// The form that `application/x-www-form-urlencoded` gives a text: as Python's `quote_plus`.
pub fn encode(text: &str, into: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => into.push(char::from(byte)),
            b' ' => into.push('+'),
            _ => {
                into.push('%');
                into.push(char::from(HEX[usize::from(byte >> 4)]));
                into.push(char::from(HEX[usize::from(byte & 15)]));
            }
        }
    }
}
