//! One transaction on SQLite.

use super::connection::Connection;
use super::readers::Reader;
use super::writer::Turn;
use crate::outbox::Effect;
use crate::{Error, Row, Value};

pub(crate) enum Session {
    Reader(Reader),
    Writer(Turn),
}

/// What to do with a savepoint.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark {
    Set,
    Release,
    Undo,
}

impl Session {
    pub fn reader(reader: Reader) -> Self {
        Session::Reader(reader)
    }

    pub fn writer(turn: Turn) -> Self {
        Session::Writer(turn)
    }

    fn connection(&self) -> &Connection {
        match self {
            Session::Reader(reader) => reader.connection(),
            Session::Writer(turn) => turn.connection(),
        }
    }

    pub fn query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Error> {
        let outcome = self.connection().query(sql, args);
        self.note(outcome)
    }

    pub fn execute(&mut self, sql: &str, args: &[&Value]) -> Result<u64, Error> {
        let outcome = self.connection().execute(sql, args);
        self.note(outcome)
    }

    pub fn insert_id(&mut self, sql: &str, args: &[&Value]) -> Result<i64, Error> {
        self.execute(sql, args)?;
        Ok(self.connection().raw.last_insert_rowid())
    }

    pub fn script(&mut self, sql: &str) -> Result<(), Error> {
        let outcome = self.connection().script(sql);
        self.note(outcome)
    }

    pub fn mark(&mut self, mark: Mark, depth: usize) -> Result<(), Error> {
        // Names, not numbers, so that the texts are few and prepared.
        const NAMES: [[&str; 3]; 4] = [
            ["SAVEPOINT a", "RELEASE a", "ROLLBACK TO a"],
            ["SAVEPOINT b", "RELEASE b", "ROLLBACK TO b"],
            ["SAVEPOINT c", "RELEASE c", "ROLLBACK TO c"],
            ["SAVEPOINT d", "RELEASE d", "ROLLBACK TO d"],
        ];
        let [set, release, undo] =
            NAMES.get(depth).ok_or_else(|| Error::Invalid("savepoints nest four deep at most".to_owned()))?;
        let connection = self.connection();
        let outcome = match mark {
            Mark::Set => connection.run(set),
            Mark::Release => connection.run(release),
            Mark::Undo => connection.run(undo).and_then(|()| connection.run(release)),
        };
        self.note(outcome)
    }

    /// When SQLite has given up the whole transaction after an error, the caller must start again.
    fn note<T>(&mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(error) = &outcome
            && let Session::Writer(turn) = self
            && turn.connection().idle()
        {
            let reason = error.to_string();
            turn.lost(&reason);
            return Err(Error::Retry(format!("SQLite rolled the transaction back: {reason}")));
        }
        outcome
    }

    pub async fn commit(self, effects: Vec<Effect>) -> Result<(), Error> {
        match self {
            Session::Reader(reader) => reader.finish(effects),
            Session::Writer(turn) => turn.commit(effects).await,
        }
    }
}
