//! From text to values, with oslo.config's rules for each kind.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::Kind;

/// A type that options can give.
pub trait FromText: Sized + 'static {
    /// From all values given to the option, at least one; the last is the one that counts, save for multi-valued options.
    /// The error says what would be right, without naming the option or the value.
    fn from_texts(kind: Kind, texts: &[String]) -> Result<Self, String>;

    /// What it is when neither a file nor a default says anything. `None`: it must be set.
    fn unset() -> Option<Self> {
        None
    }
}

fn last(texts: &[String]) -> &str {
    texts.last().map_or("", String::as_str)
}

impl FromText for String {
    fn from_texts(kind: Kind, texts: &[String]) -> Result<Self, String> {
        let text = last(texts);
        match kind {
            Kind::Str { choices, ignore_case, max_length } => {
                if text.chars().count() > max_length {
                    return Err(format!("it is longer than {max_length} characters"));
                }
                let same = |choice: &&&str| {
                    if ignore_case { choice.to_lowercase() == text.to_lowercase() } else { **choice == text }
                };
                if !choices.is_empty() && choices.iter().find(same).is_none() {
                    return Err(format!("it is not one of {}", choices.join(", ")));
                }
            }
            Kind::HostAddress => host_address(text)?,
            _ => {}
        }
        Ok(text.to_owned())
    }
}

impl FromText for i64 {
    fn from_texts(kind: Kind, texts: &[String]) -> Result<Self, String> {
        let number = integer(last(texts))?;
        match kind {
            Kind::Int { min, .. } if number < min => Err(format!("it is less than {min}")),
            Kind::Int { max, .. } if number > max => Err(format!("it is more than {max}")),
            _ => Ok(number),
        }
    }
}

impl FromText for u16 {
    fn from_texts(_: Kind, texts: &[String]) -> Result<Self, String> {
        u16::try_from(integer(last(texts))?).map_err(|_| "it is not between 0 and 65535".to_owned())
    }
}

/// As Python's `int`: sign, and underscores between digits.
fn integer(text: &str) -> Result<i64, String> {
    let text = text.trim();
    let plain = text.replace('_', "");
    let underscored = text.starts_with('_') || text.ends_with('_') || text.contains("__");
    if underscored {
        return Err("it is no whole number".to_owned());
    }
    plain.parse().map_err(|_| "it is no whole number".to_owned())
}

impl FromText for f64 {
    fn from_texts(kind: Kind, texts: &[String]) -> Result<Self, String> {
        let number: f64 = last(texts).trim().parse().map_err(|_| "it is no number".to_owned())?;
        match kind {
            Kind::Float { min, .. } if number < min => Err(format!("it is less than {min}")),
            Kind::Float { max, .. } if number > max => Err(format!("it is more than {max}")),
            _ => Ok(number),
        }
    }
}

impl FromText for bool {
    fn from_texts(_: Kind, texts: &[String]) -> Result<Self, String> {
        match last(texts).to_lowercase().as_str() {
            "true" | "1" | "on" | "yes" => Ok(true),
            "false" | "0" | "off" | "no" => Ok(false),
            _ => Err("it is neither true nor false".to_owned()),
        }
    }
}

impl FromText for Vec<String> {
    fn from_texts(kind: Kind, texts: &[String]) -> Result<Self, String> {
        if kind == Kind::MultiStr {
            return Ok(texts.to_vec());
        }
        let text = last(texts).trim().trim_end_matches(',');
        if text.is_empty() {
            return Ok(Vec::new());
        }
        Ok(text.split(',').map(|item| item.trim().to_owned()).collect())
    }

    fn unset() -> Option<Self> {
        Some(Vec::new())
    }
}

impl FromText for BTreeMap<String, String> {
    fn from_texts(_: Kind, texts: &[String]) -> Result<Self, String> {
        let mut map = Self::new();
        let text = last(texts).trim();
        if text.is_empty() {
            return Ok(map);
        }
        let mut pairs = text.split(',');
        while let Some(first) = pairs.next() {
            // A part without a colon belongs to the key that follows.
            let mut pair = first.to_owned();
            while !pair.contains(':') {
                let more = pairs.next().ok_or("it is not a list of key:value separated by commas")?;
                pair = format!("{pair},{more}");
            }
            let (key, value) = pair.split_once(':').unwrap_or((&pair, ""));
            let key = key.trim();
            if key.is_empty() {
                return Err("a key is empty".to_owned());
            }
            if map.insert(key.to_owned(), value.trim().to_owned()).is_some() {
                return Err(format!("the key {key} occurs twice"));
            }
        }
        Ok(map)
    }

    fn unset() -> Option<Self> {
        Some(Self::new())
    }
}

impl FromText for IpAddr {
    fn from_texts(_: Kind, texts: &[String]) -> Result<Self, String> {
        last(texts).parse().map_err(|_| "it is neither an IPv4 nor an IPv6 address".to_owned())
    }
}

impl<T: FromText> FromText for Option<T> {
    /// Numbers and addresses given as nothing are unset; empty text is text.
    fn from_texts(kind: Kind, texts: &[String]) -> Result<Self, String> {
        let text = matches!(kind, Kind::Str { .. } | Kind::List | Kind::Dict | Kind::MultiStr);
        if !text && last(texts).trim().is_empty() {
            return Ok(None);
        }
        T::from_texts(kind, texts).map(Some)
    }

    fn unset() -> Option<Self> {
        Some(None)
    }
}

/// An address, or a name by RFC 1123 whose last label is not all digits (so that a mistyped address is no name).
fn host_address(text: &str) -> Result<(), String> {
    if text.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let named =
        name.split('.').next_back().is_some_and(|top| top.contains(|c: char| c.is_ascii_alphabetic() || c == '-'));
    if text.len() <= 253 && named && name.split('.').all(label) {
        Ok(())
    } else {
        Err("it is neither an address nor a host name".to_owned())
    }
}
