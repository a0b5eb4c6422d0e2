use std::net::IpAddr;

use serde_json::Map;
use types::{Mac, cidr};

use crate::{Fault, Value};

/// A member of an object value.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    pub nullable: bool,
}

impl Field {
    pub const fn new(name: &'static str, kind: Kind) -> Field {
        Field { name, kind, required: false, nullable: false }
    }
    pub const fn required(mut self) -> Field {
        self.required = true;
        self
    }
    pub const fn nullable(mut self) -> Field {
        self.nullable = true;
        self
    }
}

/// The type of an attribute: what requests may hold, how it is normalised, how a column reads back.
#[derive(Clone, Copy)]
pub enum Kind {
    Uuid,
    /// Characters, at most `max`; control characters are kept as they are.
    Text {
        max: usize,
    },
    /// The same, but not blank.
    NonBlank {
        max: usize,
    },
    /// A name: characters that print, at most `max`, without space at either end. As the reference's `name_string`, which knows no
    /// characters beyond U+FFFE since its database may not.
    Name {
        max: usize,
    },
    /// true, false, and what the reference takes for them, in any case: 1, "1", "t", "true", "on", "y", "yes" and
    /// 0, "0", "f", "false", "off", "n", "no".
    Bool,
    /// Numbers, also written as text.
    Int {
        min: i64,
        max: i64,
    },
    OneOf(&'static [&'static str]),
    /// One of these numbers, also written as text.
    OneOfInts(&'static [i64]),
    Ip,
    Mac,
    /// A prefix; host bits are masked.
    Cidr,
    /// A list; `unique` refuses doubled items.
    List {
        of: &'static Kind,
        unique: bool,
    },
    /// An object with known members.
    Object(&'static [Field]),
    /// Any object. In a column it is JSON text, empty for `{}`.
    Dict,
    /// A list kept as JSON text in one column; no item twice.
    JsonList(&'static Kind),
    /// A point in time; shown as ISO 8601 with `Z`.
    Time,
    /// Anything; the function normalises or says what is wrong.
    Custom(fn(Value) -> Result<Value, String>),
    /// The same, with a fault of its own where the reference has one.
    Judged(fn(Value) -> Result<Value, Fault>),
}

/// Why a value is refused. The reference tells values that fail a check from those that cannot be converted.
#[derive(Debug)]
pub enum Refusal {
    /// It fails a check: `HTTPBadRequest`, naming the attribute.
    Invalid(String),
    /// It is not of the type, nor can it be converted: `InvalidInput`.
    Inconvertible(String),
    /// A fault of its own.
    Fault(Fault),
}

impl Refusal {
    /// What is wrong, without the attribute's name.
    pub fn why(self) -> String {
        match self {
            Refusal::Invalid(why) | Refusal::Inconvertible(why) => why,
            Refusal::Fault(fault) => fault.message().to_owned(),
        }
    }

    fn within(self, member: &str) -> Refusal {
        match self {
            Refusal::Invalid(why) => Refusal::Invalid(format!("{member}: {why}")),
            Refusal::Inconvertible(why) => Refusal::Inconvertible(format!("{member}: {why}")),
            Refusal::Fault(fault) => Refusal::Fault(fault),
        }
    }
}

impl From<String> for Refusal {
    fn from(why: String) -> Refusal {
        Refusal::Invalid(why)
    }
}

impl From<&str> for Refusal {
    fn from(why: &str) -> Refusal {
        Refusal::Invalid(why.to_owned())
    }
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Uuid => "Uuid",
            Kind::Text { .. } => "Text",
            Kind::NonBlank { .. } => "NonBlank",
            Kind::Name { .. } => "Name",
            Kind::Bool => "Bool",
            Kind::Int { .. } => "Int",
            Kind::OneOf(_) => "OneOf",
            Kind::OneOfInts(_) => "OneOfInts",
            Kind::Ip => "Ip",
            Kind::Mac => "Mac",
            Kind::Cidr => "Cidr",
            Kind::List { .. } => "List",
            Kind::Object(_) => "Object",
            Kind::Dict => "Dict",
            Kind::JsonList(_) => "JsonList",
            Kind::Time => "Time",
            Kind::Custom(_) => "Custom",
            Kind::Judged(_) => "Judged",
        })
    }
}

fn brief(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() > 80 { format!("{}…", text.chars().take(80).collect::<String>()) } else { text }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("'{}' is not a string", brief(value)))
}

/// True, false and their spellings in the reference's API; None for anything else.
pub(crate) fn boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_i64() {
            Some(1) => Some(true),
            Some(0) => Some(false),
            _ => None,
        },
        Value::String(text) => match text.to_ascii_lowercase().as_str() {
            "1" | "t" | "true" | "on" | "y" | "yes" => Some(true),
            "0" | "f" | "false" | "off" | "n" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn is_uuid(text: &str) -> bool {
    // The reference takes any form that Python's uuid module reads back equal once hyphens are out of it.
    let hex = text.bytes().filter(|b| *b != b'-').count();
    hex == 32 && text.len() <= 36 && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// Whether all characters print and none at an end is a space.
fn is_name(text: &str) -> bool {
    let prints = |c: char| {
        // Control, format, private use, line and paragraph separators.
        !(c.is_control()
            || matches!(c, '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{180e}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}'
                | '\u{feff}' | '\u{fff0}'..='\u{fffb}')
            || c > '\u{fffe}')
    };
    text.chars().all(prints) && !text.starts_with(char::is_whitespace) && !text.ends_with(char::is_whitespace)
}

/// Whole numbers, also as text. Fractions are refused rather than cut off.
fn integer(value: &Value) -> Result<i64, Refusal> {
    let number = match value {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    number.ok_or_else(|| Refusal::Inconvertible(format!("'{}' is not an integer", brief(value))))
}

impl Kind {
    /// Checks and normalises a value from a request. The error says what is wrong with it, without the attribute's name.
    pub fn convert(&self, value: Value) -> Result<Value, String> {
        self.judge(value).map_err(Refusal::why)
    }

    /// The same, with the way in which it is wrong.
    pub fn judge(&self, value: Value) -> Result<Value, Refusal> {
        match self {
            Kind::Uuid => {
                let id = text(&value)?;
                if is_uuid(id) { Ok(value) } else { Err(format!("'{}' is not a UUID", brief(&value)).into()) }
            }
            Kind::Text { max } | Kind::NonBlank { max } | Kind::Name { max } => {
                let string = text(&value)?;
                if string.contains('\0') {
                    return Err("it contains a NUL character".into());
                }
                if string.chars().count() > *max {
                    let why = format!("'{}' exceeds the maximum length of {max} characters", brief(&value));
                    return Err(why.into());
                }
                if matches!(self, Kind::Name { .. }) && !is_name(string) {
                    let why = "has blanks at an end, or a character that names may not have";
                    return Err(format!("'{}' {why}", brief(&value)).into());
                }
                if matches!(self, Kind::NonBlank { .. }) && string.trim().is_empty() {
                    return Err("blank strings are not permitted".into());
                }
                Ok(value)
            }
            Kind::Bool => boolean(&value)
                .map(Value::Bool)
                .ok_or_else(|| Refusal::Inconvertible(format!("'{}' cannot be converted to boolean", brief(&value)))),
            Kind::Int { min, max } => {
                let number = integer(&value)?;
                if number < *min || number > *max {
                    return Err(format!("{number} is outside the range {min} to {max}").into());
                }
                Ok(Value::from(number))
            }
            Kind::OneOf(allowed) => match value.as_str() {
                Some(text) if allowed.contains(&text) => Ok(value),
                _ => Err(format!("'{}' is not one of {}", brief(&value), allowed.join(", ")).into()),
            },
            Kind::OneOfInts(allowed) => {
                let number = integer(&value)?;
                if allowed.contains(&number) {
                    return Ok(Value::from(number));
                }
                let allowed: Vec<String> = allowed.iter().map(i64::to_string).collect();
                Err(format!("{number} is not one of {}", allowed.join(", ")).into())
            }
            Kind::Ip => {
                let string = text(&value)?;
                string
                    .parse::<IpAddr>()
                    .map(|ip| Value::from(ip.to_string()))
                    .map_err(|_| format!("'{}' is not a valid IP address", brief(&value)).into())
            }
            Kind::Mac => {
                text(&value)?.parse::<Mac>().map(|mac| Value::from(mac.to_string())).map_err(|e| e.to_string().into())
            }
            Kind::Cidr => {
                let string = text(&value)?;
                match cidr::parse(string) {
                    Some(net) if string.contains('/') => Ok(Value::from(net.to_string())),
                    _ => {
                        let why =
                            format!("'{}' is not a valid IP subnet; write it as address/prefix length", brief(&value));
                        Err(why.into())
                    }
                }
            }
            Kind::List { of, unique } => {
                let Value::Array(items) = value else {
                    return Err(format!("'{}' is not a list", brief(&value)).into());
                };
                let items = items.into_iter().map(|item| of.judge(item)).collect::<Result<Vec<_>, _>>()?;
                if *unique {
                    for (i, item) in items.iter().enumerate() {
                        if items[..i].contains(item) {
                            return Err(format!("the list contains '{}' twice", brief(item)).into());
                        }
                    }
                }
                Ok(Value::Array(items))
            }
            Kind::JsonList(of) => Kind::List { of, unique: true }.judge(value),
            Kind::Object(fields) => {
                let Value::Object(mut given) = value else {
                    return Err(format!("'{}' is not an object", brief(&value)).into());
                };
                let mut object = Map::new();
                for field in *fields {
                    match given.remove(field.name) {
                        None if field.required => return Err(format!("the key '{}' is missing", field.name).into()),
                        None => {}
                        Some(Value::Null) if field.nullable => {
                            object.insert(field.name.into(), Value::Null);
                        }
                        Some(value) => {
                            let value = field.kind.judge(value).map_err(|refusal| refusal.within(field.name))?;
                            object.insert(field.name.into(), value);
                        }
                    }
                }
                if let Some(unknown) = given.keys().next() {
                    let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
                    return Err(format!("'{unknown}' is not a known key; known are {}", known.join(", ")).into());
                }
                Ok(Value::Object(object))
            }
            Kind::Dict => {
                if value.is_object() {
                    Ok(value)
                } else {
                    Err(format!("'{}' is not a dictionary", brief(&value)).into())
                }
            }
            Kind::Time => Ok(Value::from(text(&value)?.to_owned())),
            Kind::Custom(convert) => Ok(convert(value)?),
            Kind::Judged(judge) => judge(value).map_err(Refusal::Fault),
        }
    }

    /// Whether doubled list items are a duplicate fault; objects are compared whole.
    pub fn is_list(&self) -> bool {
        matches!(self, Kind::List { .. } | Kind::JsonList(_))
    }
}
