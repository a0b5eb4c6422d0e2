//! The single writer, its queue, and group commit.
//!
//! The connection lies on a desk that writers pass on in the order of asking. The first of a batch begins the real
//! transaction; each following one works in a savepoint of it. A writer that ends while others wait passes the desk on
//! and waits; when nobody waits, or the batch is full or old, one COMMIT (one wait for the disk) makes the whole batch
//! durable, and only then do the callers hear of it and their effects go to the outbox, in the order of the batch.
//!
//! Invariants: the desk is in exactly one place (idle, a turn, or the commit); a batch with members is always followed
//! by a COMMIT, whoever stops waiting; a transaction that is dropped takes back only its own savepoint.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand::RngExt;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::connection::{Connection, Settings, meaning};
use crate::outbox::{Effect, Outbox};
use crate::{Error, Synchronous, crash_point};

pub(crate) struct Writer {
    settings: Arc<Settings>,
    outbox: Arc<Outbox>,
    /// Where COMMIT may wait for the disk.
    runtime: Handle,
    state: Mutex<State>,
    /// Pages in the log after the last commit.
    log_pages: Arc<AtomicU32>,
    /// Those of them that the last checkpoint has copied.
    copied: AtomicU32,
    checkpointer: Mutex<Checkpointer>,
}

#[derive(Default)]
struct State {
    idle: Option<Box<Desk>>,
    waiting: VecDeque<oneshot::Sender<Turn>>,
    closed: bool,
}

/// Copies the log into the file in two steps: most of it beside the writers, then what they added meanwhile between two
/// of them. Only a log that is copied to its end is begun again; the first step alone never gets there under load.
enum Checkpointer {
    Idle(Option<Box<Connection>>),
    Copying,
    Copied(Option<Box<Connection>>),
}

/// The connection and the batch that is open on it.
struct Desk {
    connection: Connection,
    /// Transactions that ended and wait for the COMMIT.
    members: Vec<Member>,
    /// When the real transaction began; `None` when none is open.
    open: Option<Instant>,
}

struct Member {
    done: oneshot::Sender<Result<(), Error>>,
    effects: Vec<Effect>,
}

/// One writer's hold of the desk. Dropping it rolls the transaction back and passes the desk on.
pub(crate) struct Turn {
    /// `None` only while ending.
    desk: Option<Box<Desk>>,
    writer: Arc<Writer>,
    /// Whether there is something to roll back.
    begun: bool,
}

impl Writer {
    pub fn open(settings: Arc<Settings>, outbox: Arc<Outbox>) -> Result<Arc<Writer>, Error> {
        let mut connection = Connection::open(&settings, true)?;
        let log_pages = Arc::new(AtomicU32::new(0));
        let pages = log_pages.clone();
        // Also turns SQLite's own checkpoint off, which would make a commit wait for the database file.
        let hook = move |_: &mut rusqlite::hooks::Wal, count: std::ffi::c_int| {
            pages.store(count.unsigned_abs(), Ordering::Relaxed);
            Ok(())
        };
        connection.raw.wal_hook(Some(hook)).map_err(|error| meaning(&error, ""))?;
        let desk = Box::new(Desk { connection, members: Vec::new(), open: None });
        let state = Mutex::new(State { idle: Some(desk), ..State::default() });
        let runtime = Handle::current();
        let checkpointer = Mutex::new(Checkpointer::Idle(None));
        let copied = AtomicU32::new(0);
        Ok(Arc::new(Writer { settings, outbox, runtime, state, log_pages, copied, checkpointer }))
    }

    /// Waits for the desk and begins a transaction.
    pub async fn take(writer: &Arc<Writer>) -> Result<Turn, Error> {
        let mut turn = Writer::wait(writer).await?;
        turn.begin().await?;
        Ok(turn)
    }

    async fn wait(writer: &Arc<Writer>) -> Result<Turn, Error> {
        let turn = {
            let mut state = writer.state();
            if state.closed {
                return Err(Error::Closed);
            }
            match state.idle.take() {
                Some(desk) => return Ok(Turn { desk: Some(desk), writer: writer.clone(), begun: false }),
                None => {
                    let (sender, turn) = oneshot::channel();
                    state.waiting.push_back(sender);
                    turn
                }
            }
        };
        match tokio::time::timeout(writer.settings.options.busy, turn).await {
            Ok(turn) => turn.map_err(|_| Error::Closed),
            Err(_) => Err(Error::Retry("other writers did not end in time".to_owned())),
        }
    }

    /// Gives the desk to the next writer, or commits the batch, or lets the desk rest.
    fn pass_on(self: &Arc<Self>, mut desk: Box<Desk>) {
        let options = &self.settings.options;
        let full = |desk: &Desk| {
            desk.members.len() >= options.batch
                || desk.open.is_some_and(|since| !desk.members.is_empty() && since.elapsed() > options.batch_time)
        };
        loop {
            if !full(&desk) {
                let mut state = self.state();
                while let Some(waiting) = state.waiting.pop_front() {
                    let turn = Turn { desk: Some(desk), writer: self.clone(), begun: false };
                    match waiting.send(turn) {
                        Ok(()) => return,
                        Err(mut refused) => desk = refused.desk.take().expect("the turn was not begun"),
                    }
                }
                if desk.members.is_empty() {
                    state.idle = Some(desk);
                    return;
                }
            }
            if self.settings.synchronous == Synchronous::Full {
                let writer = self.clone();
                self.runtime.spawn_blocking(move || {
                    writer.commit(&mut desk);
                    writer.pass_on(desk);
                });
                return;
            }
            self.commit(&mut desk);
        }
    }

    /// Makes the batch durable, queues its effects, tells its members.
    fn commit(self: &Arc<Self>, desk: &mut Desk) {
        let members = std::mem::take(&mut desk.members);
        metrics::histogram!("store_batch_size").record(members.len() as f64);
        crash_point!("store.commit.before");
        let outcome = desk.connection.run("COMMIT");
        crash_point!("store.commit.after");
        if outcome.is_err() && !desk.connection.idle() {
            // Nothing more can be done about a connection that cannot even roll back: its next BEGIN fails.
            let _ = desk.connection.run("ROLLBACK");
        }
        desk.open = None;
        for member in members {
            if outcome.is_ok() {
                self.outbox.push(member.effects);
            }
            // A caller that stopped waiting does not want to know.
            let _ = member.done.send(outcome.clone());
        }
        self.checkpoint_if_due(desk);
    }

    /// Called between two batches.
    fn checkpoint_if_due(self: &Arc<Self>, desk: &Desk) {
        let (pages, most) = (self.log_pages.load(Ordering::Relaxed), self.settings.options.checkpoint_pages);
        if pages < self.copied.load(Ordering::Relaxed) {
            // The log was begun again.
            self.copied.store(0, Ordering::Relaxed);
        }
        let mut checkpointer = self.checkpointer();
        match &mut *checkpointer {
            Checkpointer::Idle(connection) if pages.saturating_sub(self.copied.load(Ordering::Relaxed)) >= most => {
                let connection = connection.take();
                *checkpointer = Checkpointer::Copying;
                let writer = self.clone();
                self.runtime.spawn_blocking(move || writer.copy_beside(connection));
            }
            Checkpointer::Copied(connection) => {
                *checkpointer = Checkpointer::Idle(connection.take());
                drop(checkpointer);
                // Readers that never pause keep the log from being begun again: in the end they are waited for.
                let patient = pages / 4 >= most;
                self.copy(&desk.connection, if patient { "RESTART" } else { "PASSIVE" });
            }
            _ => {}
        }
    }

    /// The first step.
    fn copy_beside(&self, connection: Option<Box<Connection>>) {
        let connection = match connection {
            Some(connection) => Ok(connection),
            None => Connection::open(&self.settings, true).map(Box::new),
        };
        match &connection {
            Ok(connection) => self.copy(connection, "PASSIVE"),
            Err(error) => tracing::warn!(%error, "no connection for the checkpoint; the next one tries again"),
        }
        *self.checkpointer() = Checkpointer::Copied(connection.ok());
    }

    fn copy(&self, connection: &Connection, mode: &str) {
        match connection.query(&format!("PRAGMA wal_checkpoint({mode})"), &[]) {
            Ok(rows) => {
                let copied = rows.first().map_or(0, |row| row.int(2));
                self.copied.store(u32::try_from(copied).unwrap_or(0), Ordering::Relaxed);
            }
            Err(error) => tracing::warn!(%error, "checkpoint failed; the next one tries again"),
        }
    }

    /// Empties the log, when no reader keeps it.
    pub async fn checkpoint(writer: &Arc<Writer>) -> Result<(), Error> {
        let mut turn = Writer::wait(writer).await?;
        if turn.desk().open.is_some() {
            writer.commit(turn.desk_mut());
        }
        turn.connection().query("PRAGMA wal_checkpoint(TRUNCATE)", &[]).map(drop)
    }

    /// Waits for its turn, then refuses all later writers.
    pub async fn close(writer: &Arc<Writer>) -> Result<(), Error> {
        let mut turn = Writer::wait(writer).await?;
        let mut desk = turn.desk.take().expect("a new turn has the desk");
        let waiting = {
            let mut state = writer.state();
            state.closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
        if desk.open.is_some() {
            writer.commit(&mut desk);
        }
        *writer.checkpointer() = Checkpointer::Idle(None);
        // No `PRAGMA optimize`: statistics of a young database would make SQLite scan tables that later grow.
        desk.connection.query("PRAGMA wal_checkpoint(TRUNCATE)", &[])?;
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn checkpointer(&self) -> MutexGuard<'_, Checkpointer> {
        self.checkpointer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn desk(&self) -> &Desk {
        self.desk.as_ref().expect("taken only when the turn ends")
    }

    fn desk_mut(&mut self) -> &mut Desk {
        self.desk.as_mut().expect("taken only when the turn ends")
    }

    pub fn connection(&self) -> &Connection {
        &self.desk().connection
    }

    async fn begin(&mut self) -> Result<(), Error> {
        if self.desk().open.is_some() {
            self.connection().run("SAVEPOINT member")?;
        } else {
            self.begin_batch().await?;
            self.desk_mut().open = Some(Instant::now());
        }
        self.begun = true;
        Ok(())
    }

    /// Another process may hold the file's lock; waits for it without holding the thread.
    async fn begin_batch(&mut self) -> Result<(), Error> {
        let until = Instant::now() + self.writer.settings.options.busy;
        loop {
            match self.connection().run("BEGIN IMMEDIATE") {
                Err(Error::Retry(_)) if Instant::now() < until => {
                    let pause = rand::rng().random_range(2..20);
                    tokio::time::sleep(Duration::from_millis(pause)).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// SQLite has rolled back the whole batch.
    pub fn lost(&mut self, reason: &str) {
        self.begun = false;
        let desk = self.desk_mut();
        desk.open = None;
        for member in desk.members.drain(..) {
            let _ = member.done.send(Err(Error::Retry(format!("SQLite rolled the batch back: {reason}"))));
        }
    }

    pub async fn commit(mut self, effects: Vec<Effect>) -> Result<(), Error> {
        if !self.begun {
            return Err(Error::Retry("SQLite rolled the transaction back".to_owned()));
        }
        if !self.desk().members.is_empty() {
            self.connection().run("RELEASE member")?;
        }
        let (sender, done) = oneshot::channel();
        let mut desk = self.desk.take().expect("taken only when the turn ends");
        desk.members.push(Member { done: sender, effects });
        self.writer.pass_on(desk);
        done.await.unwrap_or_else(|_| Err(Error::Lost("the store went down while committing".to_owned())))
    }

    fn roll_back(&self) -> Result<(), Error> {
        let desk = self.desk();
        if desk.members.is_empty() {
            return desk.connection.run("ROLLBACK");
        }
        desk.connection.run("ROLLBACK TO member")?;
        desk.connection.run("RELEASE member")
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if self.desk.is_none() {
            return;
        }
        if self.begun
            && let Err(error) = self.roll_back()
        {
            // With an unknown state on the desk, nothing of the batch may be committed.
            tracing::error!(%error, "rollback failed; the batch is given up");
            if !self.connection().idle() {
                let _ = self.connection().run("ROLLBACK");
            }
            self.lost("rollback failed");
        }
        if let Some(mut desk) = self.desk.take() {
            if desk.members.is_empty() && desk.connection.idle() {
                desk.open = None;
            }
            self.writer.pass_on(desk);
        }
    }
}
