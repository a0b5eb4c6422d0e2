//! Transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use chrono::{NaiveDateTime, Timelike, Utc};

use crate::backend::{Dialect, Session};
use crate::faults::Fate;
use crate::outbox::Effect;
use crate::{Error, Row, Value, sql};

/// Most rows of one `insert_many` statement. Chunks are powers of two, so that few texts are prepared.
const MOST_ROWS: usize = 128;

/// An open transaction, from [`crate::Store::read`] or [`crate::Store::write`]. Dropping it rolls back.
///
/// After an error of a statement the transaction is still open and that statement alone is undone, except after
/// [`Error::Retry`]: then the transaction is gone and everything more fails with the same error.
pub struct Txn {
    session: Session,
    statements: Arc<AtomicU64>,
    /// Statements of this transaction.
    sent: u32,
    now: NaiveDateTime,
    effects: Vec<Effect>,
    /// Number of effects at each open savepoint.
    marks: Vec<usize>,
    fate: Fate,
    gone: Option<Error>,
}

impl Txn {
    pub(crate) fn new(session: Session, statements: Arc<AtomicU64>, fate: Fate) -> Self {
        let now = Utc::now().naive_utc();
        let now = now.with_nanosecond(0).unwrap_or(now);
        Txn { session, statements, sent: 0, now, effects: Vec::new(), marks: Vec::new(), fate, gone: None }
    }

    /// The time of this transaction: UTC, whole seconds, always the same.
    pub fn now(&self) -> NaiveDateTime {
        self.now
    }

    /// Statements that this transaction has sent.
    pub fn statements(&self) -> u32 {
        self.sent
    }

    /// All rows of an answer.
    pub async fn query(&mut self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Error> {
        self.send(sql)?;
        let outcome = self.session.query(sql, args).await;
        self.note(outcome)
    }

    /// The first row of an answer.
    pub async fn query_one(&mut self, sql: &str, args: &[Value]) -> Result<Option<Row>, Error> {
        Ok(self.query(sql, args).await?.into_iter().next())
    }

    /// Number of affected rows: of an UPDATE those that matched, changed or not.
    pub async fn execute(&mut self, sql: &str, args: &[Value]) -> Result<u64, Error> {
        let args: Vec<&Value> = args.iter().collect();
        self.run(sql, &args).await
    }

    /// Stores one row.
    pub async fn insert(&mut self, table: &str, values: &[(&str, Value)]) -> Result<(), Error> {
        let (sql, args) = insert_of(table, values);
        self.run(&sql, &args).await.map(drop)
    }

    /// Stores one row in a table whose id the database gives; returns the id.
    pub async fn insert_id(&mut self, table: &str, values: &[(&str, Value)]) -> Result<i64, Error> {
        let (sql, args) = insert_of(table, values);
        self.send(&sql)?;
        let outcome = self.session.insert_id(&sql, &args).await;
        self.note(outcome)
    }

    /// Stores one row unless a primary or unique key refuses it; `false` when it was refused.
    pub async fn insert_if_absent(&mut self, table: &str, values: &[(&str, Value)]) -> Result<bool, Error> {
        let (mut sql, args) = insert_of(table, values);
        sql.push_str(self.session.if_absent());
        match self.run(&sql, &args).await {
            // Where no text says so, the refusal of the key does.
            Err(Error::Duplicate { .. }) => Ok(false),
            outcome => outcome.map(|rows| rows > 0),
        }
    }

    /// Stores one row, or sets the columns that are not in `keys` where a row with the same `keys` (a primary or unique
    /// key of the table) is there.
    pub async fn upsert(&mut self, table: &str, keys: &[&str], values: &[(&str, Value)]) -> Result<(), Error> {
        let (mut sql, args) = insert_of(table, values);
        let others: Vec<&str> = values.iter().map(|(name, _)| *name).filter(|name| !keys.contains(name)).collect();
        sql.push_str(&self.session.or_update(keys, &others));
        self.run(&sql, &args).await.map(drop)
    }

    /// Stores rows of the same columns, many with one statement. Every row has as many values as there are columns.
    pub async fn insert_many(&mut self, table: &str, columns: &[&str], rows: Vec<Vec<Value>>) -> Result<(), Error> {
        if let Some(row) = rows.iter().find(|row| row.len() != columns.len()) {
            let (is, needed) = (row.len(), columns.len());
            return Err(Error::Invalid(format!("a row of {is} values for {needed} columns of {table}")));
        }
        let most = MOST_ROWS.min(self.session.most_args() / columns.len().max(1)).max(1);
        let mut rest = &rows[..];
        while !rest.is_empty() {
            let size = 1 << rest.len().min(most).ilog2();
            let (chunk, tail) = rest.split_at(size);
            let sql = sql::insert(table, columns.iter().copied(), size);
            let args: Vec<&Value> = chunk.iter().flatten().collect();
            self.run(&sql, &args).await?;
            rest = tail;
        }
        Ok(())
    }

    /// Runs `effect` after the commit, in the order of all commits, one at a time; never when the transaction, or the
    /// savepoint it was given in, is rolled back. `name` stands in logs.
    pub fn after_commit(&mut self, name: &'static str, effect: impl Future<Output = ()> + Send + 'static) {
        self.effects.push(Effect { name, run: Box::pin(effect) });
    }

    /// Begins a nested attempt, which `release` keeps and `rollback_to` undoes. They pair like brackets.
    pub async fn savepoint(&mut self) -> Result<(), Error> {
        self.alive()?;
        let outcome = self.session.savepoint(self.marks.len()).await;
        self.note(outcome)?;
        self.marks.push(self.effects.len());
        Ok(())
    }

    /// Ends the innermost nested attempt and keeps what it did.
    pub async fn release(&mut self) -> Result<(), Error> {
        self.alive()?;
        self.marks.pop().ok_or_else(unpaired)?;
        let outcome = self.session.release(self.marks.len()).await;
        self.note(outcome)
    }

    /// Ends the innermost nested attempt and undoes what it did, effects included.
    pub async fn rollback_to(&mut self) -> Result<(), Error> {
        self.alive()?;
        let effects = self.marks.pop().ok_or_else(unpaired)?;
        let outcome = self.session.rollback_to(self.marks.len()).await;
        self.note(outcome)?;
        self.effects.truncate(effects);
        Ok(())
    }

    /// Ends the transaction. When it returns `Ok`, the rows are durable, later readers see them, and the effects are queued.
    ///
    /// A caller that stops waiting does not stop the commit.
    pub async fn commit(mut self) -> Result<(), Error> {
        self.alive()?;
        match self.fate {
            Fate::Fine => self.session.commit(self.effects).await,
            Fate::Deadlock(_) => Err(Error::Retry("injected deadlock at commit".to_owned())),
            Fate::LostBefore => Err(Error::Lost("injected, before the commit".to_owned())),
            Fate::LostAfter => {
                self.effects.clear();
                self.session.commit(self.effects).await?;
                Err(Error::Lost("injected, after the commit".to_owned()))
            }
        }
    }

    /// Rolls back and throws the connection to the server away, with what is tied to it.
    pub(crate) fn abandon(self) {
        self.session.abandon();
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.session.dialect()
    }

    /// Runs a script of a migration.
    pub(crate) async fn script(&mut self, sql: &str) -> Result<(), Error> {
        self.send("(script)")?;
        let outcome = self.session.script(sql).await;
        self.note(outcome)
    }

    async fn run(&mut self, sql: &str, args: &[&Value]) -> Result<u64, Error> {
        self.send(sql)?;
        let outcome = self.session.execute(sql, args).await;
        self.note(outcome)
    }

    fn alive(&self) -> Result<(), Error> {
        self.gone.clone().map_or(Ok(()), Err)
    }

    fn send(&mut self, sql: &str) -> Result<(), Error> {
        self.alive()?;
        tracing::trace!(sql, "statement");
        self.sent += 1;
        self.statements.fetch_add(1, Ordering::Relaxed);
        if self.fate == Fate::Deadlock(self.sent) {
            self.note(Err(Error::Retry("injected deadlock".to_owned())))?;
        }
        Ok(())
    }

    fn note<T>(&mut self, outcome: Result<T, Error>) -> Result<T, Error> {
        if let Err(error @ Error::Retry(_)) = &outcome {
            self.gone = Some(error.clone());
        }
        outcome
    }
}

impl std::fmt::Debug for Txn {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Txn").field("statements", &self.sent).field("gone", &self.gone).finish_non_exhaustive()
    }
}

fn insert_of<'a>(table: &str, values: &'a [(&str, Value)]) -> (String, Vec<&'a Value>) {
    let sql = sql::insert(table, values.iter().map(|(name, _)| *name), 1);
    (sql, values.iter().map(|(_, value)| value).collect())
}

fn unpaired() -> Error {
    Error::Invalid("release or rollback_to without a savepoint".to_owned())
}
