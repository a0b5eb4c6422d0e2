//! `$name` in values, with the grammar of Python's `string.Template` as oslo.config sets it up.

/// Replaces every reference by what `lookup` says; a reference that it does not know stays.
pub(crate) fn interpolate<E>(
    text: &str,
    mut lookup: impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<String, E> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['$', '\\']) {
        out.push_str(&rest[..at]);
        let here = &rest[at..];
        if let Some(after) = here.strip_prefix("\\$").or_else(|| here.strip_prefix("$$")) {
            out.push('$');
            rest = after;
            continue;
        }
        let Some(after) = here.strip_prefix('$') else {
            out.push('\\');
            rest = &here[1..];
            continue;
        };
        let braced = after.strip_prefix('{').and_then(|inner| {
            let name = &inner[..name_length(inner)];
            (!name.is_empty()).then_some(())?;
            inner[name.len()..].strip_prefix('}').map(|tail| (name, tail))
        });
        let plain = || {
            let length = name_length(after);
            (length > 0).then(|| after.split_at(length))
        };
        let Some((name, tail)) = braced.or_else(plain) else {
            out.push('$');
            rest = after;
            continue;
        };
        match lookup(name)? {
            Some(value) => out.push_str(&value),
            None => out.push_str(&here[..here.len() - tail.len()]),
        }
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

/// Length of `[_a-z][._a-z0-9]*` at the start, in any case.
fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    match bytes.first() {
        Some(b) if b.is_ascii_alphabetic() || *b == b'_' => {
            bytes.iter().position(|b| !(b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.'))).unwrap_or(bytes.len())
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> String {
        let known = |name: &str| {
            Ok::<_, ()>(match name {
                "a" => Some("1".to_owned()),
                "s.b" => Some("2".to_owned()),
                _ => None,
            })
        };
        interpolate(text, known).unwrap()
    }

    #[test]
    fn references_are_replaced_and_the_rest_stays() {
        for (text, expected) in [
            ("$a/x", "1/x"),
            ("${a}x", "1x"),
            ("$s.b", "2"),
            ("$ab", "$ab"),
            ("${nope}", "${nope}"),
            ("${a", "${a"),
            ("$$a \\$a", "$a $a"),
            ("$", "$"),
            ("$1 ${} \\x", "$1 ${} \\x"),
            ("é$a€", "é1€"),
        ] {
            assert_eq!(run(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in ".*") {
            run(&text);
        }
    }
}
