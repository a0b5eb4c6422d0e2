//! The seam: the databases that a store can stand on, one line per `match`.
//!
//! An enum and not a trait object: a statement on SQLite completes without leaving the task, and boxing a future for it
//! would cost a noticeable part of the statement.

use crate::outbox::{Effect, Outbox};
use crate::{Error, Options, Row, Value, sqlite};
use std::sync::Arc;

pub(crate) enum Backend {
    Sqlite(sqlite::Database),
}

/// One open transaction; dropping it rolls back.
pub(crate) enum Session {
    Sqlite(sqlite::Session),
}

impl Backend {
    /// Picks the database by the scheme of the address.
    pub async fn open(options: &Options, outbox: Arc<Outbox>) -> Result<Backend, Error> {
        match options.url.split("://").next().unwrap_or_default() {
            "sqlite" => Ok(Backend::Sqlite(sqlite::Database::open(options, outbox)?)),
            scheme => Err(Error::Config(format!(
                "this build knows no database {scheme:?}; use sqlite:///path (got a URL that starts with {scheme:?})"
            ))),
        }
    }

    pub async fn read(&self) -> Result<Session, Error> {
        match self {
            Backend::Sqlite(database) => database.read().await.map(Session::Sqlite),
        }
    }

    pub async fn write(&self) -> Result<Session, Error> {
        match self {
            Backend::Sqlite(database) => database.write().await.map(Session::Sqlite),
        }
    }

    pub fn scanned(&self) -> u64 {
        match self {
            Backend::Sqlite(database) => database.scanned(),
        }
    }

    pub async fn checkpoint(&self) -> Result<(), Error> {
        match self {
            Backend::Sqlite(database) => database.checkpoint().await,
        }
    }

    pub async fn close(&self) -> Result<(), Error> {
        match self {
            Backend::Sqlite(database) => database.close().await,
        }
    }
}

impl Session {
    pub async fn query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Error> {
        match self {
            Session::Sqlite(session) => session.query(sql, args),
        }
    }

    /// Affected rows.
    pub async fn execute(&mut self, sql: &str, args: &[&Value]) -> Result<u64, Error> {
        match self {
            Session::Sqlite(session) => session.execute(sql, args),
        }
    }

    /// Executes an insert into a table whose id the database gives; the id.
    pub async fn insert_id(&mut self, sql: &str, args: &[&Value]) -> Result<i64, Error> {
        match self {
            Session::Sqlite(session) => session.insert_id(sql, args),
        }
    }

    /// Many statements without arguments, as in a migration.
    pub async fn script(&mut self, sql: &str) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.script(sql),
        }
    }

    /// What makes an insert do nothing when a key refuses the row.
    pub fn if_absent(&self) -> &'static str {
        match self {
            Session::Sqlite(_) => " ON CONFLICT DO NOTHING",
        }
    }

    /// What makes an insert into a table with key `keys` set `columns` of the row that is there.
    pub fn or_update(&self, keys: &[&str], columns: &[&str]) -> String {
        match self {
            Session::Sqlite(_) => sqlite::or_update(keys, columns),
        }
    }

    /// Most arguments of one statement.
    pub fn most_args(&self) -> usize {
        match self {
            Session::Sqlite(_) => 32_000,
        }
    }

    pub async fn savepoint(&mut self, depth: usize) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.mark(sqlite::Mark::Set, depth),
        }
    }

    pub async fn release(&mut self, depth: usize) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.mark(sqlite::Mark::Release, depth),
        }
    }

    pub async fn rollback_to(&mut self, depth: usize) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.mark(sqlite::Mark::Undo, depth),
        }
    }

    pub async fn commit(self, effects: Vec<Effect>) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.commit(effects).await,
        }
    }
}
