//! Portable text and arguments in the form that the server takes.

use std::borrow::Cow;
use std::fmt::Write;

use chrono::{Datelike, Timelike};
use mysql_async::Value as Bound;

use crate::value::time_text;
use crate::{Error, Value};

/// Members of a set that become placeholders; a larger set is written into the text, which is not kept prepared.
const MOST_MEMBERS: usize = 512;

/// What stands for an empty set, in `IN` as in `NOT IN`.
const NOTHING: &str = "SELECT NULL FROM DUAL WHERE FALSE";

/// A statement on its way to the server.
pub(super) enum Statement<'a> {
    /// To be prepared, and kept so.
    Prepared(Cow<'a, str>, Vec<Bound>),
    /// With its arguments in it.
    Literal(String),
}

/// Sets become placeholders, as many as the next power of two, so that few texts are prepared: the last member is repeated.
pub(super) fn statement<'a>(sql: &'a str, args: &[&Value]) -> Result<Statement<'a>, Error> {
    let large = args.iter().any(|arg| matches!(arg, Value::Set(members) if members.len() > MOST_MEMBERS));
    if large {
        return literal(sql, args).map(Statement::Literal);
    }
    if !sql.contains("??") {
        return Ok(Statement::Prepared(Cow::Borrowed(sql), args.iter().map(|arg| bound(arg)).collect()));
    }
    let (mut text, mut bounds) = (String::with_capacity(sql.len() + 64), Vec::with_capacity(args.len() + 8));
    walk(sql, args, &mut text, |text, arg| match arg {
        Value::Set(members) if members.is_empty() => text.push_str(NOTHING),
        Value::Set(members) => {
            let size = members.len().next_power_of_two();
            let padding = members.last().into_iter().cycle();
            for (i, member) in members.iter().chain(padding).take(size).enumerate() {
                text.push_str(if i == 0 { "?" } else { ", ?" });
                bounds.push(bound(member));
            }
        }
        one => {
            text.push('?');
            bounds.push(bound(one));
        }
    })?;
    Ok(Statement::Prepared(Cow::Owned(text), bounds))
}

/// The text with all arguments in it, for the server that has no room for another prepared statement and for large sets.
pub(super) fn literal(sql: &str, args: &[&Value]) -> Result<String, Error> {
    let mut text = String::with_capacity(sql.len() + 64 * args.len());
    walk(sql, args, &mut text, |text, arg| match arg {
        Value::Set(members) if members.is_empty() => text.push_str(NOTHING),
        Value::Set(members) => {
            for (i, member) in members.iter().enumerate() {
                text.push_str(if i == 0 { "" } else { ", " });
                write_literal(text, member);
            }
        }
        one => write_literal(text, one),
    })?;
    Ok(text)
}

/// Copies `sql` and has `put` write each argument in the place of its `?` or `??`. Quoted text is copied as it is.
fn walk<'v>(
    sql: &str,
    args: &[&'v Value],
    text: &mut String,
    mut put: impl FnMut(&mut String, &'v Value),
) -> Result<(), Error> {
    let mut args = args.iter();
    let mut quote = None;
    let mut characters = sql.chars().peekable();
    while let Some(character) = characters.next() {
        match quote {
            Some(open) if open == character => quote = None,
            Some(_) => {}
            None if matches!(character, '\'' | '"' | '`') => quote = Some(character),
            None if character == '?' => {
                characters.next_if_eq(&'?');
                let arg = args.next().ok_or_else(|| wrong_count(sql))?;
                put(text, arg);
                continue;
            }
            None => {}
        }
        text.push(character);
    }
    if args.next().is_some() { Err(wrong_count(sql)) } else { Ok(()) }
}

fn wrong_count(sql: &str) -> Error {
    Error::Invalid(format!("the statement has another number of arguments than it is given: {sql}"))
}

fn bound(value: &Value) -> Bound {
    match value {
        // A set within a set is no value and matches nothing.
        Value::Null | Value::Set(_) => Bound::NULL,
        Value::Bool(value) => Bound::Int(i64::from(*value)),
        Value::Int(value) => Bound::Int(*value),
        Value::Text(value) => Bound::Bytes(value.as_bytes().to_vec()),
        Value::Time(time) => Bound::Date(
            u16::try_from(time.year()).unwrap_or_default(),
            time.month() as u8,
            time.day() as u8,
            time.hour() as u8,
            time.minute() as u8,
            time.second() as u8,
            0,
        ),
    }
}

fn write_literal(text: &mut String, value: &Value) {
    let quoted = match value {
        Value::Null | Value::Set(_) => return text.push_str("NULL"),
        Value::Bool(value) => return text.push(if *value { '1' } else { '0' }),
        Value::Int(value) => {
            let _ = write!(text, "{value}");
            return;
        }
        Value::Text(value) => Cow::Borrowed(value.as_str()),
        Value::Time(value) => Cow::Owned(time_text(value)),
    };
    // The sessions have NO_BACKSLASH_ESCAPES, so a quote is all that ends a string.
    text.push('\'');
    for part in quoted.split_inclusive('\'') {
        text.push_str(part);
        if part.ends_with('\'') {
            text.push('\'');
        }
    }
    text.push('\'');
}
