//! The schema, step by step: one directory per migration with a file per database.
//!
//! `0001-reference-2026.2` creates everything that Neutron 29 has, under its names, and ends at its alembic heads, so that
//! either program can open the other's database. `facts.json` beside it is what was read from the reference's own
//! database; a test compares. `mysql-facts.txt` and `postgres-facts.txt` are the same with every name, as read there by
//! `cargo run -p migrations --example facts -- URL`. Later migrations only expand or only contract, like the branches that
//! the heads end.

use store::migrate::Migration;

/// All migrations in order.
pub const ALL: &[Migration] = &[Migration {
    name: "0001-reference-2026.2",
    from_heads: &[],
    to_heads: &["5c85685d616d", "c7f8d9e0f1a2"],
    sqlite: include_str!("../0001-reference-2026.2/sqlite.sql"),
    mysql: include_str!("../0001-reference-2026.2/mysql.sql"),
    postgres: include_str!("../0001-reference-2026.2/postgres.sql"),
    mysql_facts: include_str!("../0001-reference-2026.2/mysql-facts.txt"),
    postgres_facts: include_str!("../0001-reference-2026.2/postgres-facts.txt"),
}];

#[cfg(test)]
mod tests;
