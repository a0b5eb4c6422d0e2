//! SQLite, in the process: one writer with group commit, pooled readers, write-ahead log.
//!
//! Statements run where they are called, without a thread hop: an indexed statement takes some microseconds, less than
//! waking another thread. What may wait for the disk (COMMIT with `Synchronous::Full`, checkpoints) runs on the
//! blocking pool. See `docs/adr/0001-sqlite-through-rusqlite.md`.

mod connection;
mod readers;
mod session;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::outbox::Outbox;
use crate::{Error, Options, Synchronous, sql};

use connection::Settings;
use readers::Readers;
use writer::Writer;

pub(crate) use session::{Mark, Session};

pub(crate) struct Database {
    // The order is that of dropping: connections close before their directory goes.
    writer: Arc<Writer>,
    readers: Arc<Readers>,
    settings: Arc<Settings>,
    _private: Option<Private>,
}

impl Database {
    pub fn open(options: &Options, outbox: Arc<Outbox>) -> Result<Database, Error> {
        let path = options.url.strip_prefix("sqlite://").unwrap_or_default();
        let (path, private) = if path.is_empty() {
            let private = Private::create()?;
            (private.path.join("db"), Some(private))
        } else if path.starts_with('/') {
            // SQLAlchemy writes an absolute path with a fourth slash.
            (Path::new("/").join(path.trim_start_matches('/')), None)
        } else {
            return Err(Error::Config(format!(
                "sqlite://{path} is not absolute; write sqlite:///{path} with the full path"
            )));
        };
        let fallback = if private.is_some() { Synchronous::Off } else { Synchronous::Full };
        let synchronous = options.synchronous.unwrap_or(fallback);
        let settings = Arc::new(Settings { path, synchronous, options: options.clone(), scanned: AtomicU64::new(0) });
        let writer = Writer::open(settings.clone(), outbox.clone())?;
        let readers = Arc::new(Readers::new(settings.clone(), outbox));
        Ok(Database { writer, readers, settings, _private: private })
    }

    pub async fn read(&self) -> Result<Session, Error> {
        Ok(Session::reader(Readers::take(&self.readers).await?))
    }

    pub async fn write(&self) -> Result<Session, Error> {
        Ok(Session::writer(Writer::take(&self.writer).await?))
    }

    pub fn scanned(&self) -> u64 {
        self.settings.scanned.load(Ordering::Relaxed)
    }

    pub async fn checkpoint(&self) -> Result<(), Error> {
        Writer::checkpoint(&self.writer).await
    }

    pub async fn close(&self) -> Result<(), Error> {
        Writer::close(&self.writer).await?;
        self.readers.close();
        Ok(())
    }
}

/// The clause that turns an insert into an upsert.
pub(crate) fn or_update(keys: &[&str], columns: &[&str]) -> String {
    let mut clause = " ON CONFLICT (".to_owned();
    sql::names(&mut clause, keys.iter().copied());
    if columns.is_empty() {
        clause.push_str(") DO NOTHING");
        return clause;
    }
    clause.push_str(") DO UPDATE SET ");
    for (i, column) in columns.iter().enumerate() {
        let comma = if i == 0 { "" } else { ", " };
        clause.push_str(&format!("{comma}\"{column}\" = excluded.\"{column}\""));
    }
    clause
}

/// A directory in memory for one private database, removed with it.
///
/// A real file with a real log, and not `:memory:`: several connections, snapshots and locks are then those of production.
struct Private {
    path: PathBuf,
    _lock: std::fs::File,
}

impl Private {
    fn create() -> Result<Private, Error> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        sweep(&parent);
        let unique: u64 = rand::random();
        let path = parent.join(format!("neutrino-store-{}-{unique:016x}", std::process::id()));
        std::fs::create_dir(&path).map_err(Error::other)?;
        let lock = std::fs::File::create(path.join("lock")).map_err(Error::other)?;
        lock.lock().map_err(Error::other)?;
        Ok(Private { path, _lock: lock })
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // Best effort: what stays is swept by the next private store.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Removes directories of processes that died: nobody holds their lock any more. Once per process.
fn sweep(parent: &Path) {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let Ok(entries) = std::fs::read_dir(parent) else { return };
        for entry in entries.flatten() {
            if !entry.file_name().to_string_lossy().starts_with("neutrino-store-") {
                continue;
            }
            // A directory without a lock file is just being created.
            if let Ok(lock) = std::fs::File::open(entry.path().join("lock"))
                && lock.try_lock().is_ok()
            {
                let _ = std::fs::remove_dir_all(entry.path());
            }
        }
    });
}
