//! Access rules of application credentials: which requests of which service a token may make.

use http::Method;

use super::token::AccessRule;

/// Whether one of the rules is about such a request. Without a service type of our own nothing can be, as in the reference.
pub fn allows(rules: &[AccessRule], service_type: Option<&str>, method: &Method, path: &str) -> bool {
    let Some(service_type) = service_type else {
        tracing::warn!("a token with access rules is rejected: [keystone_authtoken] service_type is not set");
        return false;
    };
    rules.iter().any(|rule| rule.service == service_type && rule.method == method.as_str() && matches(&rule.path, path))
}

/// `*` and `{name}` stand for one segment's characters, `**` for any.
pub fn matches(pattern: &str, path: &str) -> bool {
    enum Part<'a> {
        Literal(&'a str),
        One,
        Any,
    }
    let mut parts = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("**") {
            parts.push(Part::Any);
            rest = after;
        } else if let Some(after) = rest.strip_prefix('*') {
            parts.push(Part::One);
            rest = after;
        } else if let Some(end) = rest.strip_prefix('{').and_then(|after| after.find('}')) {
            parts.push(Part::One);
            rest = &rest[end + 2..];
        } else {
            let end = rest[1..].find(['*', '{']).map_or(rest.len(), |at| at + 1);
            parts.push(Part::Literal(&rest[..end]));
            rest = &rest[end..];
        }
    }
    // Positions in the path that the parts so far can reach; never more than its length, whatever the pattern.
    let bytes = path.as_bytes();
    let mut reached = vec![false; bytes.len() + 1];
    reached[0] = true;
    for part in parts {
        let mut next = vec![false; bytes.len() + 1];
        match part {
            Part::Literal(text) => {
                for at in 0..=bytes.len() {
                    if reached[at] && bytes[at..].starts_with(text.as_bytes()) {
                        next[at + text.len()] = true;
                    }
                }
            }
            Part::One => {
                for at in 0..bytes.len() {
                    if (reached[at] || next[at]) && bytes[at] != b'/' {
                        next[at + 1] = true;
                    }
                }
            }
            Part::Any => {
                let first = reached.iter().position(|is| *is).unwrap_or(bytes.len() + 1);
                next.iter_mut().skip(first).for_each(|is| *is = true);
            }
        }
        reached = next;
    }
    reached[bytes.len()]
}
