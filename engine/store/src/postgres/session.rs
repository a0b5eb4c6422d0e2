//! One transaction on PostgreSQL.
//!
//! The server gives a transaction up at the first error, unless there is a savepoint before it. So each statement that may
//! write has one, `w`, which is sent together with it and costs no round trip; a statement that failed is undone by going
//! back to it. BEGIN is sent with the first statement.

use std::sync::Arc;

use super::Database;
use super::connection::{Connection, is_question};
use super::errors::{Failed, Failure};
use crate::mysql::Mark;
use crate::outbox::Effect;
use crate::pool::Slot;
use crate::{Error, Row, Value, crash_point};

pub(crate) struct Session {
    /// `None` only while ending.
    slot: Option<Slot<Connection>>,
    database: Arc<Database>,
    read: bool,
    /// Whether the server may have a transaction open.
    begun: bool,
    /// Whether `w` stands behind the last statement that may have written.
    marked: bool,
    /// Whether there is a `w` within each of the savepoints that callers have open.
    marks: Vec<bool>,
}

impl Session {
    pub(super) fn new(slot: Slot<Connection>, database: Arc<Database>, read: bool) -> Session {
        Session { slot: Some(slot), database, read, begun: false, marked: false, marks: vec![false] }
    }

    fn slot(&mut self) -> &mut Slot<Connection> {
        self.slot.as_mut().expect("taken only when the session ends")
    }

    /// What must be sent before the next statement.
    fn before(&mut self) -> &'static str {
        let within = self.marks.last_mut().expect("the outermost is never taken away");
        if !self.begun {
            self.begun = true;
            self.marked = true;
            *within = true;
            return if self.read {
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SAVEPOINT w"
            } else {
                "BEGIN ISOLATION LEVEL READ COMMITTED; SAVEPOINT w"
            };
        }
        if self.marked {
            return "";
        }
        self.marked = true;
        if std::mem::replace(within, true) { "RELEASE SAVEPOINT w; SAVEPOINT w" } else { "SAVEPOINT w" }
    }

    pub async fn query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Error> {
        let args: Vec<&Value> = args.iter().collect();
        self.ask(sql, &args).await
    }

    async fn ask(&mut self, sql: &str, args: &[&Value]) -> Result<Vec<Row>, Error> {
        loop {
            let first = !self.begun;
            let before = self.before();
            let connection = self.slot().connection().ok_or_else(gone)?;
            match connection.query(before, sql, args).await {
                Ok(rows) => {
                    self.marked = self.read || is_question(sql);
                    return Ok(rows);
                }
                Err(failure) => self.failed(failure, first).await?,
            }
        }
    }

    pub async fn execute(&mut self, sql: &str, args: &[&Value]) -> Result<u64, Error> {
        loop {
            let first = !self.begun;
            let before = self.before();
            let connection = self.slot().connection().ok_or_else(gone)?;
            match connection.execute(before, sql, args).await {
                Ok(done) => {
                    self.marked = false;
                    return Ok(done);
                }
                Err(failure) => self.failed(failure, first).await?,
            }
        }
    }

    pub async fn insert_id(&mut self, sql: &str, args: &[&Value]) -> Result<i64, Error> {
        let rows = self.ask(&format!("{sql} RETURNING id"), args).await?;
        Ok(rows.first().map_or(0, |row| row.int(0)))
    }

    pub async fn script(&mut self, sql: &str) -> Result<(), Error> {
        let before = self.before();
        let connection = self.slot().connection().ok_or_else(gone)?;
        let outcome = match connection.run(before).await {
            Ok(()) => connection.run(sql).await,
            failed => failed,
        };
        self.marked = false;
        match outcome {
            Ok(()) => Ok(()),
            Err(failure) => self.failed(failure, false).await,
        }
    }

    pub async fn mark(&mut self, mark: Mark, depth: usize) -> Result<(), Error> {
        let first = !self.begun;
        let before = self.before();
        let text = match mark {
            Mark::Set => format!("{before}; SAVEPOINT s{depth}"),
            Mark::Release => format!("RELEASE SAVEPOINT s{depth}"),
            Mark::Undo => format!("ROLLBACK TO SAVEPOINT s{depth}; RELEASE SAVEPOINT s{depth}"),
        };
        loop {
            let connection = self.slot().connection().ok_or_else(gone)?;
            match connection.run(text.trim_start_matches("; ")).await {
                Ok(()) => break,
                Err(failure) => {
                    self.failed(failure, first).await?;
                    self.before();
                }
            }
        }
        match mark {
            Mark::Set => self.marks.push(false),
            Mark::Release | Mark::Undo => drop(self.marks.pop()),
        }
        self.marked = false;
        Ok(())
    }

    /// `Ok` when the statement may be sent again: nothing had been sent before it, and the connection was dead.
    async fn failed(&mut self, failure: Failure, first: bool) -> Result<(), Error> {
        match failure {
            Failure::Statement(error) => {
                let connection = self.slot().connection();
                let back = match connection {
                    Some(connection) => connection.run("ROLLBACK TO SAVEPOINT w").await.is_ok(),
                    None => false,
                };
                if !back {
                    self.slot().lost();
                    return Err(Error::Retry(format!("the transaction was lost after an error: {error}")));
                }
                self.marked = true;
                Err(error)
            }
            Failure::Gone(error) => {
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
                let connection = Connection::open(&self.database.settings).await?;
                self.slot().put(connection);
                self.begun = false;
                self.marked = false;
                self.marks = vec![false];
                Ok(())
            }
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
                Err(other) => {
                    if connection.run("ROLLBACK").await.is_ok() {
                        slot.give_back();
                    }
                    Err(other.plain())
                }
            }
        });
        work.await.unwrap_or_else(|_| Err(Error::Lost("the process went down while committing".to_owned())))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let Some(mut slot) = self.slot.take() else { return };
        if slot.connection().is_none_or(|connection| connection.is_dead()) {
            return slot.lost();
        }
        if !self.begun {
            slot.give_back();
        } else if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // What a caller abandoned in the middle is answered first; answers nobody waits for are dropped.
            runtime.spawn(async move {
                let Some(connection) = slot.connection() else { return };
                match connection.run("ROLLBACK").await {
                    Ok(()) => slot.give_back(),
                    Err(_) => slot.lost(),
                }
            });
        }
    }
}

fn gone() -> Error {
    Error::other(Failed("the transaction has no connection any more".to_owned()))
}
