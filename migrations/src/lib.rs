//! The schema, step by step: one directory per migration with a file per database.
//!
//! `0001-reference-2026.2` creates everything that Neutron 29 has, under its names, and ends at its alembic heads, so that
//! either program can open the other's database. `facts.json` beside it is what was read from the reference's own
//! database; a test compares. Later migrations only expand or only contract, like the branches that the heads end.

use store::migrate::Migration;

/// All migrations in order.
pub const ALL: &[Migration] = &[Migration {
    name: "0001-reference-2026.2",
    from_heads: &[],
    to_heads: &["5c85685d616d", "c7f8d9e0f1a2"],
    sqlite: include_str!("../0001-reference-2026.2/sqlite.sql"),
}];

#[cfg(test)]
mod tests;
