//! The door: opens a database and hands out transactions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::backend::{Backend, Dialect};
use crate::faults::{Dice, Fate};
use crate::outbox::Outbox;
use crate::{Error, Options, Txn};

/// An open database. Cloning is cheap and gives the same one.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    backend: Backend,
    outbox: Arc<Outbox>,
    statements: Arc<AtomicU64>,
    dice: Option<Dice>,
}

impl Store {
    /// Opens (and creates, when absent) the database. Must be called within a tokio runtime, where the outbox will run.
    pub async fn open(options: Options) -> Result<Store, Error> {
        let outbox = Arc::new(Outbox::start());
        let backend = Backend::open(&options, outbox.clone()).await?;
        let dice = options.faults.map(Dice::new);
        let inner = Inner { backend, outbox, statements: Arc::default(), dice };
        Ok(Store { inner: Arc::new(inner) })
    }

    /// A private database in memory that goes with the store, for tests.
    pub async fn private() -> Result<Store, Error> {
        Store::open(Options::default()).await
    }

    /// A read-only transaction: all its statements see the same committed state, which includes every transaction whose
    /// `commit()` had returned. Waits while `Options::readers` others are open.
    pub async fn read(&self) -> Result<Txn, Error> {
        let session = self.inner.backend.read().await?;
        Ok(Txn::new(session, self.inner.statements.clone(), Fate::Fine))
    }

    /// A transaction that may write. On SQLite writers take turns in the order of asking, so keep it short, await nothing
    /// slow inside, and never ask for a second one while holding one.
    pub async fn write(&self) -> Result<Txn, Error> {
        let session = self.inner.backend.write().await?;
        let fate = self.inner.dice.as_ref().map_or(Fate::Fine, Dice::throw);
        Ok(Txn::new(session, self.inner.statements.clone(), fate))
    }

    /// Statements sent so far by `query`, `execute` and the inserts of all transactions; begin, commit and savepoints are
    /// not counted. Tests compare differences.
    pub fn statements(&self) -> u64 {
        self.inner.statements.load(Ordering::Relaxed)
    }

    /// Rows that statements stepped over because no index led to what they wanted, so far (0 where the database does not
    /// tell). A create that raises it by more than a constant gets slower as tables grow: tests compare differences.
    pub fn scanned(&self) -> u64 {
        self.inner.backend.scanned()
    }

    /// Whether other programs may work on the database at the same time: on a server, not in a file of SQLite.
    pub fn is_shared(&self) -> bool {
        self.dialect() != Dialect::Sqlite
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.inner.backend.dialect()
    }

    /// Waits until the outbox has run every effect of the transactions committed so far.
    pub async fn settled(&self) {
        self.inner.outbox.settled().await;
    }

    /// Effects that wait or run.
    pub fn pending_effects(&self) -> u64 {
        self.inner.outbox.pending()
    }

    /// Moves the log into the database file, waiting for readers where the database needs that.
    pub async fn checkpoint(&self) -> Result<(), Error> {
        self.inner.backend.checkpoint().await
    }

    /// Lets the current writer finish, runs the effects, tidies the file. Later transactions fail with [`Error::Closed`].
    pub async fn close(&self) -> Result<(), Error> {
        self.inner.backend.close().await?;
        self.settled().await;
        Ok(())
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Store").field("statements", &self.statements()).finish_non_exhaustive()
    }
}
