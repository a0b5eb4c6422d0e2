//! MariaDB and MySQL, also behind Galera.
//!
//! Write transactions run at READ COMMITTED: a read after a conflict sees the rows of the other, and no gap is locked. What
//! must hold stands on keys and on updates that count the rows they match (CLIENT_FOUND_ROWS), never on locking reads, which
//! Galera does not carry to other nodes. Read transactions run at REPEATABLE READ and see one snapshot.

mod connection;
mod errors;
mod session;
mod text;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::address::Address;
use crate::outbox::Outbox;
use crate::pool::{Pool, Slot};
use crate::{Error, Options};

use connection::{Connection, Settings, Use};

pub(crate) use session::Session;

/// What to do with a savepoint.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mark {
    Set,
    Release,
    Undo,
}

pub(crate) struct Database {
    settings: Settings,
    pool: Arc<Pool<Connection>>,
    outbox: Arc<Outbox>,
    /// Columns of unique keys, by table and key: filled by the first conflict on each.
    keys: Mutex<HashMap<(String, String), Vec<String>>>,
}

impl Database {
    /// Opens a first connection, so that a wrong address is told at once.
    pub async fn open(options: &Options, outbox: Arc<Outbox>) -> Result<Arc<Database>, Error> {
        let settings = Settings::new(&Address::parse(&options.url)?, options)?;
        let database = Arc::new(Database { settings, pool: Pool::new(options), outbox, keys: Mutex::default() });
        database.slot(Use::Write).await?.give_back();
        Ok(database)
    }

    async fn slot(&self, purpose: Use) -> Result<Slot<Connection>, Error> {
        let mut slot = Pool::take(&self.pool, |connection: &Connection| connection.used_for == purpose).await?;
        if let Some(connection) = slot.connection()
            && connection.used_for != purpose
            && connection.turn(purpose).await.is_err()
        {
            slot.lost();
        }
        if slot.is_empty() {
            slot.put(Connection::open(&self.settings, purpose).await?);
        }
        Ok(slot)
    }

    pub async fn read(self: &Arc<Self>) -> Result<Session, Error> {
        Ok(Session::new(self.slot(Use::Read).await?, self.clone(), Use::Read))
    }

    pub async fn write(self: &Arc<Self>) -> Result<Session, Error> {
        Ok(Session::new(self.slot(Use::Write).await?, self.clone(), Use::Write))
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }

    pub fn at(&self) -> &str {
        self.settings.at()
    }

    fn columns_of(&self, table: &str, key: &str) -> Option<Vec<String>> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.get(&(table.to_owned(), key.to_owned())).cloned()
    }

    fn note_columns(&self, table: &str, key: &str, columns: &[String]) {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.insert((table.to_owned(), key.to_owned()), columns.to_vec());
    }
}

/// The clause that turns an insert into an upsert.
pub(crate) fn or_update(keys: &[&str], columns: &[&str]) -> String {
    let mut clause = " ON DUPLICATE KEY UPDATE ".to_owned();
    if columns.is_empty() {
        let key = keys.first().copied().unwrap_or_default();
        clause.push_str(&format!("\"{key}\" = \"{key}\""));
    }
    for (i, column) in columns.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        clause.push_str(&format!("{comma}\"{column}\" = VALUES(\"{column}\")"));
    }
    clause
}

impl Drop for Database {
    fn drop(&mut self) {
        tracing::debug!(at = self.at(), "the database is closed");
    }
}
