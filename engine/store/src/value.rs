//! Arguments of statements.

use chrono::NaiveDateTime;

/// One argument of a statement, or one field of a row that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Null,
    /// Stored as 0 or 1.
    Bool(bool),
    Int(i64),
    Text(String),
    /// UTC, whole seconds; stored as `YYYY-MM-DD HH:MM:SS`.
    Time(NaiveDateTime),
    /// The right side of `x IN (??)`. Duplicates and an empty set are allowed; a set within a set is not.
    Set(Vec<Value>),
}

impl Value {
    /// A set from anything that gives values: `Value::set(ids.iter().map(String::as_str))`.
    pub fn set<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Value {
        Value::Set(values.into_iter().map(Into::into).collect())
    }

    /// The text inside, if it is text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// As JSON: a time in the stored form, a set as an array.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::Time(value) => time_text(value).into(),
            Value::Set(values) => values.iter().map(Value::to_json).collect(),
        }
    }
}

/// `YYYY-MM-DD HH:MM:SS`, the stored form of a time.
pub(crate) fn time_text(time: &NaiveDateTime) -> String {
    use chrono::{Datelike, Timelike};
    let year = time.year().clamp(0, 9999) as u32;
    let mut text = Vec::with_capacity(19);
    let mut put = |number: u32, width: u32, end: &[u8]| {
        for place in (0..width).rev() {
            text.push(b'0' + (number / 10u32.pow(place) % 10) as u8);
        }
        text.extend_from_slice(end);
    };
    put(year, 4, b"-");
    put(time.month(), 2, b"-");
    put(time.day(), 2, b" ");
    put(time.hour(), 2, b":");
    put(time.minute(), 2, b":");
    put(time.second(), 2, b"");
    String::from_utf8(text).expect("digits and separators are ASCII")
}

/// Reads the stored form; also accepts a `T` between date and time, and fractions of a second.
pub(crate) fn time_from(text: &str) -> Option<NaiveDateTime> {
    NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f")
        .or_else(|_| NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f"))
        .ok()
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Value::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Value::Text(value)
    }
}

impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Value::Text(value.clone())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<NaiveDateTime> for Value {
    fn from(value: NaiveDateTime) -> Self {
        Value::Time(value)
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Self {
        value.clone()
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Self {
        Value::set(values)
    }
}

macro_rules! from_integers {
    ($($integer:ty),*) => {$(
        impl From<$integer> for Value {
            fn from(value: $integer) -> Self {
                Value::Int(i64::from(value))
            }
        }
    )*};
}

from_integers!(i8, i16, i32, i64, u8, u16, u32);
