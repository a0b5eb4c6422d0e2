//! Texts of the statements that the helpers of [`crate::Txn`] build.

use std::fmt::Write;

/// `INSERT INTO "table" ("a", "b") VALUES (?, ?), …` for `rows` rows.
pub(crate) fn insert<'a>(table: &str, columns: impl Iterator<Item = &'a str> + Clone, rows: usize) -> String {
    let mut sql = String::with_capacity(256);
    sql.push_str("INSERT INTO \"");
    sql.push_str(table);
    sql.push_str("\" (");
    names(&mut sql, columns.clone());
    sql.push_str(") VALUES ");
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ", (" });
        for (i, _) in columns.clone().enumerate() {
            sql.push_str(if i == 0 { "?" } else { ", ?" });
        }
        sql.push(')');
    }
    sql
}

/// Names in double quotes, separated by commas.
pub(crate) fn names<'a>(sql: &mut String, columns: impl Iterator<Item = &'a str>) {
    for (i, column) in columns.enumerate() {
        let _ = write!(sql, "{}\"{column}\"", if i == 0 { "" } else { ", " });
    }
}

/// The table that a statement writes, for error messages; `""` when it cannot be told.
pub(crate) fn target(sql: &str) -> &str {
    let mut words = sql.split_ascii_whitespace();
    let table = match words.next().map(str::to_ascii_uppercase).as_deref() {
        Some("UPDATE") => words.next(),
        Some("INSERT" | "DELETE" | "REPLACE") => {
            words.find(|word| word.eq_ignore_ascii_case("INTO") || word.eq_ignore_ascii_case("FROM"));
            words.next()
        }
        _ => None,
    };
    let table = table.unwrap_or_default();
    table.split('(').next().unwrap_or_default().trim_matches('"')
}

/// The statements of a script, one by one; quoted text and comments may hold semicolons.
pub(crate) fn statements(script: &str) -> impl Iterator<Item = &str> {
    let mut rest = script;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            let end = end_of_statement(rest);
            let statement = rest[..end].trim();
            rest = rest.get(end + 1..).unwrap_or_default();
            let only_comments = statement.lines().all(|line| line.trim().is_empty() || line.trim().starts_with("--"));
            if !only_comments {
                return Some(statement);
            }
        }
    })
}

fn end_of_statement(text: &str) -> usize {
    let mut quote = None;
    let mut comment = false;
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match (quote, byte) {
            _ if comment => comment = *byte != b'\n',
            (Some(open), byte) if open == *byte => quote = None,
            (Some(_), _) => {}
            (None, b'\'' | b'"' | b'`') => quote = Some(*byte),
            (None, b'-') if bytes.get(at + 1) == Some(&b'-') => comment = true,
            (None, b';') => return at,
            _ => {}
        }
    }
    text.len()
}
