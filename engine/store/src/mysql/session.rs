//! One transaction on a server of MySQL's kind.
//!
//! Connections are without autocommit, so the first statement begins the transaction: it costs no round trip of its own.

use std::sync::Arc;

use super::connection::{Connection, Done, Use};
use super::errors::{Failure, odd};
use super::{Database, Mark};
use crate::outbox::Effect;
use crate::pool::Slot;
use crate::{Error, Row, Value, crash_point, sql};

pub(crate) struct Session {
    /// `None` only while ending.
    slot: Option<Slot<Connection>>,
    database: Arc<Database>,
    purpose: Use,
    /// Whether the server may have a transaction open.
    begun: bool,
}

impl Session {
    pub(super) fn new(slot: Slot<Connection>, database: Arc<Database>, purpose: Use) -> Session {
        Session { slot: Some(slot), database, purpose, begun: false }
    }

    fn slot(&mut self) -> &mut Slot<Connection> {
        self.slot.as_mut().expect("taken only when the session ends")
    }

    pub async fn query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Error> {
        let args: Vec<&Value> = args.iter().collect();
        loop {
            let first = !std::mem::replace(&mut self.begun, true);
            let connection = self.slot().connection().ok_or_else(gone)?;
            match connection.query(sql, &args).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => self.failed(failure, first, sql).await?,
            }
        }
    }

    async fn run(&mut self, sql: &str, args: &[&Value]) -> Result<Done, Error> {
        loop {
            let first = !std::mem::replace(&mut self.begun, true);
            let connection = self.slot().connection().ok_or_else(gone)?;
            match connection.execute(sql, args).await {
                Ok(done) => return Ok(done),
                Err(failure) => self.failed(failure, first, sql).await?,
            }
        }
    }

    pub async fn execute(&mut self, sql: &str, args: &[&Value]) -> Result<u64, Error> {
        self.run(sql, args).await.map(|done| done.affected)
    }

    pub async fn insert_id(&mut self, sql: &str, args: &[&Value]) -> Result<i64, Error> {
        let done = self.run(sql, args).await?;
        i64::try_from(done.last_id).map_err(Error::other)
    }

    pub async fn script(&mut self, script: &str) -> Result<(), Error> {
        for statement in sql::statements(script) {
            self.begun = true;
            let connection = self.slot().connection().ok_or_else(gone)?;
            if let Err(failure) = connection.run(statement).await {
                self.failed(failure, false, statement).await?;
            }
        }
        Ok(())
    }

    pub async fn mark(&mut self, mark: Mark, depth: usize) -> Result<(), Error> {
        let text = match mark {
            Mark::Set => format!("SAVEPOINT s{depth}"),
            Mark::Release => format!("RELEASE SAVEPOINT s{depth}"),
            Mark::Undo => format!("ROLLBACK TO SAVEPOINT s{depth}"),
        };
        loop {
            let first = !std::mem::replace(&mut self.begun, true);
            let connection = self.slot().connection().ok_or_else(gone)?;
            match connection.run(&text).await {
                Ok(()) => return Ok(()),
                Err(failure) => self.failed(failure, first, &text).await?,
            }
        }
    }

    /// `Ok` when the statement may be sent again: nothing had been sent before it, and the connection was dead.
    async fn failed(&mut self, failure: Failure, first: bool, sql: &str) -> Result<(), Error> {
        match failure {
            Failure::Statement(error) => Err(error),
            Failure::Duplicate(key) => Err(self.duplicate(key, sql).await),
            Failure::Gone(error) => {
                // After a lock that was waited for too long the transaction is still open.
                let connection = self.slot().connection();
                let rolled_back = match connection {
                    Some(connection) => connection.run("ROLLBACK").await.is_ok(),
                    None => false,
                };
                if rolled_back {
                    self.begun = false;
                } else {
                    self.slot().discard();
                }
                Err(error)
            }
            Failure::Lost(why) => {
                self.slot().lost();
                if !first {
                    return Err(Error::Retry(why));
                }
                // A connection that the server had ended meanwhile: all others that are as old are gone now as well.
                tracing::debug!(why, "a connection to the database was dead; opening another one");
                let connection = Connection::open(&self.database.settings, self.purpose).await?;
                self.slot().put(connection);
                self.begun = false;
                Ok(())
            }
            Failure::Unprepared => Err(Error::Retry("the server keeps no more prepared statements".to_owned())),
        }
    }

    /// The server names the key only; its columns are looked up once.
    async fn duplicate(&mut self, key: String, sql: &str) -> Error {
        let table = sql::target(sql).to_owned();
        if let Some(columns) = self.database.columns_of(&table, &key) {
            return Error::Duplicate { table, columns };
        }
        let text = "SELECT column_name FROM information_schema.statistics WHERE table_schema = database() \
                    AND table_name = ? AND index_name = ? ORDER BY seq_in_index";
        let args = [Value::from(&table), Value::from(&key)];
        let args: Vec<&Value> = args.iter().collect();
        let found = match self.slot().connection() {
            Some(connection) => connection.query(text, &args).await.ok(),
            None => None,
        };
        match found.filter(|rows| !rows.is_empty()) {
            Some(rows) => {
                let columns: Vec<String> = rows.iter().map(|row| row.text(0)).collect();
                self.database.note_columns(&table, &key, &columns);
                Error::Duplicate { table, columns }
            }
            None => Error::Duplicate { table, columns: vec![key] },
        }
    }

    pub fn abandon(mut self) {
        if let Some(mut slot) = self.slot.take() {
            slot.discard();
        }
    }

    /// Goes on when the caller stops waiting. The effects go out in the order in which commits were sent.
    pub async fn commit(mut self, effects: Vec<Effect>) -> Result<(), Error> {
        let ticket = self.database.outbox.ticket();
        if !self.begun {
            ticket.redeem(effects);
            return Ok(());
        }
        let mut slot = self.slot.take().expect("taken only when the session ends");
        let work = tokio::spawn(async move {
            let Some(connection) = slot.connection() else { return Err(gone()) };
            crash_point!("store.commit.before");
            let outcome = connection.run("COMMIT").await;
            crash_point!("store.commit.after");
            match outcome {
                Ok(()) => {
                    ticket.redeem(effects);
                    slot.give_back();
                    Ok(())
                }
                Err(Failure::Lost(why)) => {
                    slot.lost();
                    Err(Error::Lost(why))
                }
                Err(Failure::Gone(error)) => {
                    if connection.run("ROLLBACK").await.is_ok() {
                        slot.give_back();
                    }
                    Err(error)
                }
                Err(other) => Err(Error::Lost(other.plain().to_string())),
            }
        });
        work.await.unwrap_or_else(|_| Err(Error::Lost("the process went down while committing".to_owned())))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(mut slot) = self.slot.take() else { return };
        // Abandoned in the middle of a call: what the server would answer next nobody knows.
        if slot.connection().is_none_or(|connection| connection.busy) {
            return;
        }
        if !self.begun {
            slot.give_back();
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let Some(connection) = slot.connection() else { return };
                match connection.run("ROLLBACK").await {
                    Ok(()) => slot.give_back(),
                    Err(Failure::Lost(_)) => slot.lost(),
                    Err(_) => {}
                }
            });
        }
    }
}

fn gone() -> Error {
    odd("the transaction has no connection any more".to_owned())
}
