//! Storage: transactions over a database, and effects after their commit. Knows no table.
//!
//! What a caller sees:
//!
//! - [`Store`] opens a database, hands out [`Txn`]s and owns the outbox.
//! - [`Txn`] is owned, `Send`, and rolls back when dropped. `commit()` returns only when the rows are durable.
//! - [`retry`] and [`Attempts`] repeat a whole transaction that met a deadlock or a busy database.
//! - [`migrate`] brings an empty or older database to the schema that the program needs.
//!
//! # Portable SQL
//!
//! One text serves every database: `?` for arguments, standard syntax, identifiers in double quotes only when they are
//! reserved words (MySQL runs with `ANSI_QUOTES`), `x IN (??)` for a [`Value::Set`]. A set is one argument, whatever
//! its size, so the text stays one prepared statement; `??` stands nowhere but there. What differs between databases
//! (insert-or-ignore, upsert, the id of a new row, many rows at once) is a method of [`Txn`], never text.
//! Booleans are stored as 0 and 1, times as `YYYY-MM-DD HH:MM:SS` in UTC.
//!
//! # The seam
//!
//! `backend.rs` lists the databases. Another one is a file (or directory) beside `sqlite/` with the same few methods and
//! one line per `match`; callers do not change.

mod address;
mod backend;
pub mod crash;
mod error;
mod fault;
mod faults;
pub mod migrate;
mod mysql;
mod options;
mod outbox;
mod pool;
mod postgres;
mod retry;
mod row;
mod sql;
mod sqlite;
mod store;
mod txn;
mod value;

pub use error::Error;
pub use faults::Faults;
pub use options::{Options, Synchronous};
pub use retry::{Attempts, Retriable, retry};
pub use row::Row;
pub use store::Store;
pub use txn::Txn;
pub use value::Value;

#[cfg(test)]
mod tests;
