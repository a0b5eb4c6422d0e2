//! Arguments and cells in the server's binary format, by the type that the server says.

use std::error::Error as StdError;

use chrono::{DateTime, NaiveDate, NaiveDateTime};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, Kind, ToSql, Type, to_sql_checked};

use crate::Value;
use crate::row::{Cell, Rows};
use crate::value::{time_from, time_text};

type Problem = Box<dyn StdError + Sync + Send>;

/// An argument; it takes the form of the type that the server expects in its place.
#[derive(Debug)]
pub(super) struct Arg<'a> {
    pub value: &'a Value,
    /// In a question, what is no value of the type is the value of no row (NULL), and not an error.
    pub question: bool,
}

impl ToSql for Arg<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
        let kind = match ty.kind() {
            Kind::Domain(inner) => inner,
            _ => ty,
        };
        match self.value {
            Value::Null => return Ok(IsNull::Yes),
            Value::Set(members) => {
                let question = self.question;
                let members: Vec<Arg<'_>> = members.iter().map(|value| Arg { value, question }).collect();
                return members.to_sql(kind, out);
            }
            _ => {}
        }
        let length = out.len();
        match one(self.value, kind, out) {
            Err(_) if self.question => {
                out.truncate(length);
                Ok(IsNull::Yes)
            }
            outcome => outcome,
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Writes a value that is neither NULL nor a set.
fn one(value: &Value, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Problem> {
    match *kind {
        Type::BOOL => truth(value)?.to_sql(kind, out),
        Type::INT2 => i16::try_from(number(value)?)?.to_sql(kind, out),
        Type::INT4 => i32::try_from(number(value)?)?.to_sql(kind, out),
        Type::INT8 => number(value)?.to_sql(kind, out),
        Type::OID => u32::try_from(number(value)?)?.to_sql(kind, out),
        Type::FLOAT8 => (number(value)? as f64).to_sql(kind, out),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let micros = time(value)?.and_utc().timestamp_micros() - epoch();
            out.extend_from_slice(&micros.to_be_bytes());
            Ok(IsNull::No)
        }
        _ => {
            let text = text(value);
            if let Kind::Enum(labels) = kind.kind()
                && !labels.contains(&text)
            {
                return Err(format!("{text:?} is none of {}", labels.join(", ")).into());
            }
            if text.contains('\0') {
                return Err("a text holds the character 0".into());
            }
            out.extend_from_slice(text.as_bytes());
            Ok(IsNull::No)
        }
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Int(number) => number.to_string(),
        Value::Bool(truth) => u8::from(*truth).to_string(),
        Value::Time(time) => time_text(time),
        Value::Null | Value::Set(_) => String::new(),
    }
}

fn number(value: &Value) -> Result<i64, Problem> {
    match value {
        Value::Int(number) => Ok(*number),
        Value::Bool(truth) => Ok(i64::from(*truth)),
        Value::Text(text) => text.trim().parse().map_err(|_| format!("{text:?} is no whole number").into()),
        other => Err(format!("{other:?} is no whole number").into()),
    }
}

fn truth(value: &Value) -> Result<bool, Problem> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        Value::Int(number) => Ok(*number != 0),
        Value::Text(text) => match text.as_str() {
            "0" => Ok(false),
            "1" => Ok(true),
            other => other.to_ascii_lowercase().parse().map_err(|_| format!("{other:?} is not true or false").into()),
        },
        other => Err(format!("{other:?} is not true or false").into()),
    }
}

fn time(value: &Value) -> Result<NaiveDateTime, Problem> {
    match value {
        Value::Time(time) => Ok(*time),
        Value::Text(text) => time_from(text).ok_or_else(|| format!("{text:?} is no time").into()),
        other => Err(format!("{other:?} is no time").into()),
    }
}

/// Microseconds from 1970 to 2000, where the server begins to count.
fn epoch() -> i64 {
    const DAYS: i64 = 10_957;
    debug_assert_eq!(
        NaiveDate::from_ymd_opt(2000, 1, 1).map(|date| date.signed_duration_since(NaiveDate::default()).num_days()),
        Some(DAYS)
    );
    DAYS * 86_400 * 1_000_000
}

/// A cell as it came.
pub(super) struct Raw<'a> {
    ty: Type,
    bytes: &'a [u8],
}

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(ty: &Type, bytes: &'a [u8]) -> Result<Raw<'a>, Problem> {
        Ok(Raw { ty: ty.clone(), bytes })
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Adds a cell to an answer.
pub(super) fn cell(rows: &mut Rows, raw: Option<Raw<'_>>) {
    let Some(Raw { ty, bytes }) = raw else { return rows.cell(Cell::Null) };
    let integer = |bytes: &[u8]| {
        let negative = bytes.first().is_some_and(|first| first & 0x80 != 0);
        bytes.iter().fold(if negative { -1i64 } else { 0 }, |number, byte| number << 8 | i64::from(*byte))
    };
    match ty {
        Type::BOOL => rows.cell(Cell::Int(i64::from(bytes.first().is_some_and(|byte| *byte != 0)))),
        Type::INT2 | Type::INT4 | Type::INT8 => rows.cell(Cell::Int(integer(bytes))),
        Type::OID => rows.cell(Cell::Int(bytes.iter().fold(0, |number, byte| number << 8 | i64::from(*byte)))),
        Type::FLOAT4 => {
            rows.cell(Cell::Real(bytes.try_into().map_or(0.0, |bytes| f64::from(f32::from_be_bytes(bytes)))))
        }
        Type::FLOAT8 => rows.cell(Cell::Real(bytes.try_into().map_or(0.0, f64::from_be_bytes))),
        Type::TIMESTAMP | Type::TIMESTAMPTZ => {
            let time = DateTime::from_timestamp_micros(integer(bytes).saturating_add(epoch()));
            rows.text(&time.map(|time| time_text(&time.naive_utc())).unwrap_or_default());
        }
        Type::NUMERIC => rows.cell(numeric(bytes)),
        _ => rows.text(&String::from_utf8_lossy(bytes)),
    }
}

/// Sums: groups of four digits after a head of their count, the weight of the first, the sign, and the digits after the point.
fn numeric(bytes: &[u8]) -> Cell {
    let word =
        |at: usize| bytes.get(at * 2..at * 2 + 2).map_or(0, |pair| i64::from(i16::from_be_bytes([pair[0], pair[1]])));
    let (count, weight, sign, scale) = (word(0), word(1), word(2) as u16, word(3));
    let mut value = 0f64;
    let mut whole = 0i64;
    for i in 0..count {
        let digits = word(4 + i as usize);
        value += digits as f64 * 10_000f64.powi((weight - i) as i32);
        if weight >= i {
            whole = whole.saturating_add(digits.saturating_mul(10_000i64.saturating_pow((weight - i) as u32)));
        }
    }
    let negative = sign == 0x4000;
    match scale {
        0 => Cell::Int(if negative { -whole } else { whole }),
        _ => Cell::Real(if negative { -value } else { value }),
    }
}
