//! Pooled connections for read transactions, opened when first needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connection::{Connection, Settings};
use crate::Error;
use crate::outbox::{Effect, Outbox};

pub(crate) struct Readers {
    settings: Arc<Settings>,
    outbox: Arc<Outbox>,
    permits: Arc<Semaphore>,
    /// The one used last is taken first: its cache is warm.
    idle: Mutex<Vec<Connection>>,
}

/// A read transaction's connection; goes back to the pool when dropped.
pub(crate) struct Reader {
    /// `None` only while dropping.
    connection: Option<Connection>,
    readers: Arc<Readers>,
    _permit: OwnedSemaphorePermit,
}

impl Readers {
    pub fn new(settings: Arc<Settings>, outbox: Arc<Outbox>) -> Self {
        let permits = Arc::new(Semaphore::new(settings.options.readers.max(1)));
        Readers { settings, outbox, permits, idle: Mutex::default() }
    }

    /// Begins a read transaction. The snapshot is taken by its first statement.
    pub async fn take(readers: &Arc<Readers>) -> Result<Reader, Error> {
        let permit = tokio::time::timeout(readers.settings.options.busy, readers.permits.clone().acquire_owned())
            .await
            .map_err(|_| Error::Retry("all readers stayed busy".to_owned()))?
            .map_err(|_| Error::Closed)?;
        let idle = readers.idle().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => Connection::open(&readers.settings, false)?,
        };
        connection.run("BEGIN")?;
        Ok(Reader { connection: Some(connection), readers: readers.clone(), _permit: permit })
    }

    pub fn close(&self) {
        self.permits.close();
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader {
    pub fn connection(&self) -> &Connection {
        self.connection.as_ref().expect("taken only by drop")
    }

    /// Ends the transaction; its effects go to the outbox at once, since there is nothing to make durable.
    pub fn finish(self, effects: Vec<Effect>) -> Result<(), Error> {
        self.readers.outbox.push(effects);
        Ok(())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // A connection that cannot end its transaction is not used again.
            if (connection.idle() || connection.run("COMMIT").is_ok()) && !self.readers.permits.is_closed() {
                self.readers.idle().push(connection);
            }
        }
    }
}
