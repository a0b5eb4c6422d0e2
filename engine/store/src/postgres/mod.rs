//! PostgreSQL.
//!
//! Write transactions run at READ COMMITTED: a read after a conflict sees the rows of the other. Read transactions run at
//! REPEATABLE READ and see one snapshot.

mod connection;
mod errors;
mod session;
mod text;
mod tls;
mod values;

use std::sync::Arc;

use crate::address::Address;
use crate::outbox::Outbox;
use crate::pool::{Pool, Slot};
use crate::{Error, Options};

use connection::{Connection, Settings};

pub(crate) use session::Session;

pub(crate) struct Database {
    settings: Settings,
    pool: Arc<Pool<Connection>>,
    outbox: Arc<Outbox>,
}

impl Database {
    /// Opens a first connection, so that a wrong address is told at once.
    pub async fn open(options: &Options, outbox: Arc<Outbox>) -> Result<Arc<Database>, Error> {
        let settings = Settings::new(&Address::parse(&options.url)?, options)?;
        let database = Arc::new(Database { settings, pool: Pool::new(options), outbox });
        database.slot().await?.give_back();
        Ok(database)
    }

    async fn slot(&self) -> Result<Slot<Connection>, Error> {
        let mut slot = Pool::take(&self.pool, |_| true).await?;
        if slot.connection().is_some_and(|connection| connection.is_dead()) {
            slot.lost();
        }
        if slot.is_empty() {
            slot.put(Connection::open(&self.settings).await?);
        }
        Ok(slot)
    }

    pub async fn read(self: &Arc<Self>) -> Result<Session, Error> {
        Ok(Session::new(self.slot().await?, self.clone(), true))
    }

    pub async fn write(self: &Arc<Self>) -> Result<Session, Error> {
        Ok(Session::new(self.slot().await?, self.clone(), false))
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}
