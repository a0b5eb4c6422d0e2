//! The seam: the databases that a store can stand on, one line per `match`.
//!
//! An enum and not a trait object: a statement on SQLite completes without leaving the task, and boxing a future for it
//! would cost a noticeable part of the statement.

use crate::outbox::{Effect, Outbox};
use crate::{Error, Options, Row, Value, address, mysql, postgres, sqlite};
use std::sync::Arc;

pub(crate) enum Backend {
    Sqlite(sqlite::Database),
    Mysql(Arc<mysql::Database>),
    Postgres(Arc<postgres::Database>),
}

/// The databases, for texts that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Mysql,
    Postgres,
}

/// One open transaction; dropping it rolls back.
pub(crate) enum Session {
    Sqlite(sqlite::Session),
    Mysql(mysql::Session),
    Postgres(postgres::Session),
}

impl Backend {
    /// Picks the database by the scheme of the address. A server that cannot be reached is tried again, as the options say.
    pub async fn open(options: &Options, outbox: Arc<Outbox>) -> Result<Backend, Error> {
        let mut attempt = 1;
        loop {
            match Backend::open_once(options, &outbox).await {
                Err(Error::Retry(why)) if attempt < options.open_attempts => {
                    tracing::warn!(why, attempt, "the database cannot be reached; trying again");
                    tokio::time::sleep(options.open_pause).await;
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn open_once(options: &Options, outbox: &Arc<Outbox>) -> Result<Backend, Error> {
        match address::dialect(&options.url) {
            "sqlite" => Ok(Backend::Sqlite(sqlite::Database::open(options, outbox.clone())?)),
            "mysql" | "mariadb" => Ok(Backend::Mysql(mysql::Database::open(options, outbox.clone()).await?)),
            "postgresql" | "postgres" => {
                Ok(Backend::Postgres(postgres::Database::open(options, outbox.clone()).await?))
            }
            other => Err(Error::Config(format!(
                "this program knows no database {other:?}; write sqlite:///path, \
                 mysql+pymysql://user:password@host/database or postgresql://user:password@host/database"
            ))),
        }
    }

    pub fn dialect(&self) -> Dialect {
        match self {
            Backend::Sqlite(_) => Dialect::Sqlite,
            Backend::Mysql(_) => Dialect::Mysql,
            Backend::Postgres(_) => Dialect::Postgres,
        }
    }

    pub async fn read(&self) -> Result<Session, Error> {
        match self {
            Backend::Sqlite(database) => database.read().await.map(Session::Sqlite),
            Backend::Mysql(database) => Box::pin(database.read()).await.map(Session::Mysql),
            Backend::Postgres(database) => Box::pin(database.read()).await.map(Session::Postgres),
        }
    }

    pub async fn write(&self) -> Result<Session, Error> {
        match self {
            Backend::Sqlite(database) => database.write().await.map(Session::Sqlite),
            Backend::Mysql(database) => Box::pin(database.write()).await.map(Session::Mysql),
            Backend::Postgres(database) => Box::pin(database.write()).await.map(Session::Postgres),
        }
    }

    pub fn scanned(&self) -> u64 {
        match self {
            Backend::Sqlite(database) => database.scanned(),
            Backend::Mysql(_) => 0,
            Backend::Postgres(_) => 0,
        }
    }

    pub async fn checkpoint(&self) -> Result<(), Error> {
        match self {
            Backend::Sqlite(database) => database.checkpoint().await,
            Backend::Mysql(_) => Ok(()),
            Backend::Postgres(_) => Ok(()),
        }
    }

    pub async fn close(&self) -> Result<(), Error> {
        match self {
            Backend::Sqlite(database) => database.close().await,
            Backend::Mysql(database) => {
                database.close().await;
                Ok(())
            }
            Backend::Postgres(database) => {
                database.close().await;
                Ok(())
            }
        }
    }
}

impl Session {
    pub fn dialect(&self) -> Dialect {
        match self {
            Session::Sqlite(_) => Dialect::Sqlite,
            Session::Mysql(_) => Dialect::Mysql,
            Session::Postgres(_) => Dialect::Postgres,
        }
    }

    pub async fn query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Error> {
        match self {
            Session::Sqlite(session) => session.query(sql, args),
            Session::Mysql(session) => Box::pin(session.query(sql, args)).await,
            Session::Postgres(session) => Box::pin(session.query(sql, args)).await,
        }
    }

    /// Affected rows.
    pub async fn execute(&mut self, sql: &str, args: &[&Value]) -> Result<u64, Error> {
        match self {
            Session::Sqlite(session) => session.execute(sql, args),
            Session::Mysql(session) => Box::pin(session.execute(sql, args)).await,
            Session::Postgres(session) => Box::pin(session.execute(sql, args)).await,
        }
    }

    /// Executes an insert into a table whose id the database gives; the id.
    pub async fn insert_id(&mut self, sql: &str, args: &[&Value]) -> Result<i64, Error> {
        match self {
            Session::Sqlite(session) => session.insert_id(sql, args),
            Session::Mysql(session) => Box::pin(session.insert_id(sql, args)).await,
            Session::Postgres(session) => Box::pin(session.insert_id(sql, args)).await,
        }
    }

    /// Many statements without arguments, as in a migration.
    pub async fn script(&mut self, sql: &str) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.script(sql),
            Session::Mysql(session) => Box::pin(session.script(sql)).await,
            Session::Postgres(session) => Box::pin(session.script(sql)).await,
        }
    }

    /// What makes an insert do nothing when a key refuses the row.
    pub fn if_absent(&self) -> &'static str {
        match self {
            Session::Sqlite(_) => " ON CONFLICT DO NOTHING",
            // The server tells an insert that was ignored and one that was not apart by an error only.
            Session::Mysql(_) => "",
            Session::Postgres(_) => " ON CONFLICT DO NOTHING",
        }
    }

    /// What makes an insert into a table with key `keys` set `columns` of the row that is there.
    pub fn or_update(&self, keys: &[&str], columns: &[&str]) -> String {
        match self {
            Session::Sqlite(_) => sqlite::or_update(keys, columns),
            Session::Mysql(_) => mysql::or_update(keys, columns),
            Session::Postgres(_) => sqlite::or_update(keys, columns),
        }
    }

    /// Most arguments of one statement.
    pub fn most_args(&self) -> usize {
        match self {
            Session::Sqlite(_) => 32_000,
            Session::Mysql(_) => 65_000,
            Session::Postgres(_) => 32_000,
        }
    }

    pub async fn savepoint(&mut self, depth: usize) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.mark(sqlite::Mark::Set, depth),
            Session::Mysql(session) => Box::pin(session.mark(mysql::Mark::Set, depth)).await,
            Session::Postgres(session) => Box::pin(session.mark(mysql::Mark::Set, depth)).await,
        }
    }

    pub async fn release(&mut self, depth: usize) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.mark(sqlite::Mark::Release, depth),
            Session::Mysql(session) => Box::pin(session.mark(mysql::Mark::Release, depth)).await,
            Session::Postgres(session) => Box::pin(session.mark(mysql::Mark::Release, depth)).await,
        }
    }

    pub async fn rollback_to(&mut self, depth: usize) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.mark(sqlite::Mark::Undo, depth),
            Session::Mysql(session) => Box::pin(session.mark(mysql::Mark::Undo, depth)).await,
            Session::Postgres(session) => Box::pin(session.mark(mysql::Mark::Undo, depth)).await,
        }
    }

    /// Rolls back, and keeps no connection to a server.
    pub fn abandon(self) {
        match self {
            Session::Sqlite(session) => drop(session),
            Session::Mysql(session) => session.abandon(),
            Session::Postgres(session) => session.abandon(),
        }
    }

    pub async fn commit(self, effects: Vec<Effect>) -> Result<(), Error> {
        match self {
            Session::Sqlite(session) => session.commit(effects).await,
            Session::Mysql(session) => Box::pin(session.commit(effects)).await,
            Session::Postgres(session) => Box::pin(session.commit(effects)).await,
        }
    }
}
