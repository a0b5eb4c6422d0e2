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
