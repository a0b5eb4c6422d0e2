//! A connection: settings, statements, and the meaning of SQLite's errors.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::types::{ToSql, ToSqlOutput, Value as Stored, ValueRef};
use rusqlite::vtab::array::Array;
use rusqlite::{CachedStatement, OpenFlags, StatementStatus, ffi};

use crate::row::{Cell, Rows};
use crate::value::time_text;
use crate::{Error, Options, Row, Synchronous, Value, sql};

pub(crate) struct Settings {
    pub path: PathBuf,
    pub synchronous: Synchronous,
    pub options: Options,
    /// Rows that statements stepped over in scans of whole tables.
    pub scanned: AtomicU64,
}

/// One SQLite connection with its cache of prepared statements.
pub(crate) struct Connection {
    pub raw: rusqlite::Connection,
    settings: Arc<Settings>,
}

impl Connection {
    pub fn open(settings: &Arc<Settings>, writable: bool) -> Result<Connection, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let raw = rusqlite::Connection::open_with_flags(&settings.path, flags)
            .map_err(|error| Error::Config(format!("{}: {error}", settings.path.display())))?;
        // Short: the waits that matter are asynchronous loops above.
        raw.busy_timeout(Duration::from_millis(20)).map_err(|e| meaning(&e, ""))?;
        let options = &settings.options;
        let synchronous = match settings.synchronous {
            Synchronous::Full => "FULL",
            Synchronous::Normal => "NORMAL",
            Synchronous::Off => "OFF",
        };
        let setup = format!(
            "PRAGMA page_size = {}; PRAGMA cache_size = -{}; PRAGMA mmap_size = {}; PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON; \
             PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA query_only = {};",
            options.page,
            options.cache_kib,
            options.mmap,
            u8::from(!writable),
        );
        raw.execute_batch(&setup).map_err(|e| meaning(&e, ""))?;
        // Without it, binding another value may make SQLite prepare a statement again to look for a better plan.
        raw.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|e| meaning(&e, ""))?;
        if settings.synchronous == Synchronous::Off {
            // Closing is quick then; a later reader of the file replays the log, which holds the same.
            raw.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(|e| meaning(&e, ""))?;
        }
        raw.set_prepared_statement_cache_capacity(options.statements);
        rusqlite::vtab::array::load_module(&raw).map_err(|e| meaning(&e, ""))?;
        Ok(Connection { raw, settings: settings.clone() })
    }

    pub fn query(&self, sql: &str, args: &[Value]) -> Result<Vec<Row>, Error> {
        self.rows(sql, args).map_err(|error| meaning(&error, sql))
    }

    fn rows(&self, sql: &str, args: &[Value]) -> rusqlite::Result<Vec<Row>> {
        let mut statement = self.prepare(sql)?;
        bind(&mut statement, args.len(), args.iter())?;
        let mut found = Rows::new(statement.column_count());
        let mut rows = statement.raw_query();
        if fetch(&mut rows, &mut found, SHORT)? {
            // A long answer: other tasks go on meanwhile.
            aside(|| fetch(&mut rows, &mut found, usize::MAX))?;
        }
        drop(rows);
        self.note_scan(&statement);
        Ok(found.finish())
    }

    pub fn execute(&self, sql: &str, args: &[&Value]) -> Result<u64, Error> {
        self.changed(sql, args).map_err(|error| meaning(&error, sql))
    }

    fn changed(&self, sql: &str, args: &[&Value]) -> rusqlite::Result<u64> {
        let mut statement = self.prepare(sql)?;
        bind(&mut statement, args.len(), args.iter().copied())?;
        let changed = statement.raw_execute()? as u64;
        self.note_scan(&statement);
        Ok(changed)
    }

    fn note_scan(&self, statement: &CachedStatement<'_>) {
        let steps = statement.reset_status(StatementStatus::FullscanStep);
        if steps > 0 {
            self.settings.scanned.fetch_add(u64::from(steps.unsigned_abs()), Ordering::Relaxed);
        }
    }

    /// A statement of the store itself, without arguments.
    pub fn run(&self, sql: &'static str) -> Result<(), Error> {
        self.execute(sql, &[]).map(drop)
    }

    pub fn script(&self, sql: &str) -> Result<(), Error> {
        self.raw.execute_batch(sql).map_err(|error| meaning(&error, ""))
    }

    /// True when SQLite has rolled the transaction back by itself (full disk, I/O error), or none was begun.
    pub fn idle(&self) -> bool {
        self.raw.is_autocommit()
    }

    fn prepare(&self, sql: &str) -> rusqlite::Result<CachedStatement<'_>> {
        if sql.contains("??") {
            return self.raw.prepare_cached(&sql.replace("??", "SELECT value FROM rarray(?)"));
        }
        self.raw.prepare_cached(sql)
    }
}

/// Binds exactly as many arguments as there are placeholders: SQLite would read NULL for those that are missing.
fn bind<'a>(
    statement: &mut CachedStatement<'_>,
    count: usize,
    args: impl Iterator<Item = &'a Value>,
) -> rusqlite::Result<()> {
    let wanted = statement.parameter_count();
    if count != wanted {
        return Err(rusqlite::Error::InvalidParameterCount(count, wanted));
    }
    for (i, arg) in args.enumerate() {
        statement.raw_bind_parameter(i + 1, Bound(arg))?;
    }
    Ok(())
}

/// Rows that an answer may have before its thread is given up to it, some 2 ms.
const SHORT: usize = 500;

/// Takes at most `most` rows over; whether there may be more.
fn fetch(rows: &mut rusqlite::Rows<'_>, found: &mut Rows, most: usize) -> rusqlite::Result<bool> {
    for _ in 0..most {
        let Some(row) = rows.next()? else { return Ok(false) };
        for column in 0..found.width() {
            match row.get_ref(column)? {
                ValueRef::Null => found.cell(Cell::Null),
                ValueRef::Integer(value) => found.cell(Cell::Int(value)),
                ValueRef::Real(value) => found.cell(Cell::Real(value)),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => match std::str::from_utf8(bytes) {
                    Ok(text) => found.text(text),
                    Err(_) => found.text(&String::from_utf8_lossy(bytes)),
                },
            }
        }
        found.end_row();
    }
    Ok(true)
}

/// Runs what takes long without holding back the tasks of this worker thread, where the runtime has others.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match tokio::runtime::Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(tokio::runtime::RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

/// A [`Value`] on its way into a statement.
struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Owned(Stored::Null),
            Value::Bool(value) => ToSqlOutput::Owned(Stored::Integer(i64::from(*value))),
            Value::Int(value) => ToSqlOutput::Owned(Stored::Integer(*value)),
            Value::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Value::Time(value) => ToSqlOutput::Owned(Stored::Text(time_text(value))),
            Value::Set(values) => {
                // The only owner is the statement, so it may change threads with its connection.
                let array: Array = Rc::new(values.iter().map(stored).collect());
                ToSqlOutput::from_rc(array, c"rarray")
            }
        })
    }
}

/// A member of a set. A set within a set is no value and matches nothing.
fn stored(value: &Value) -> Stored {
    match value {
        Value::Null | Value::Set(_) => Stored::Null,
        Value::Bool(value) => Stored::Integer(i64::from(*value)),
        Value::Int(value) => Stored::Integer(*value),
        Value::Text(value) => Stored::Text(value.clone()),
        Value::Time(value) => Stored::Text(time_text(value)),
    }
}

/// Sorts SQLite's errors by what the caller does about them.
pub(crate) fn meaning(error: &rusqlite::Error, sql: &str) -> Error {
    let rusqlite::Error::SqliteFailure(failure, message) = error else {
        return match error {
            rusqlite::Error::SqlInputError { .. }
            | rusqlite::Error::ExecuteReturnedResults
            | rusqlite::Error::InvalidParameterCount(..) => Error::Invalid(format!("{error}")),
            _ => Error::Other(Arc::new(Failed(error.to_string()))),
        };
    };
    let message = message.as_deref().unwrap_or_default();
    match failure.extended_code {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            return duplicate(message, sql);
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY | ffi::SQLITE_CONSTRAINT_TRIGGER => {
            return Error::ForeignKey { table: sql::target(sql).to_owned() };
        }
        _ => {}
    }
    match failure.code {
        ffi::ErrorCode::ConstraintViolation | ffi::ErrorCode::TypeMismatch | ffi::ErrorCode::TooBig => {
            Error::Invalid(message.to_owned())
        }
        ffi::ErrorCode::DatabaseBusy | ffi::ErrorCode::DatabaseLocked => Error::Retry(error.to_string()),
        ffi::ErrorCode::ReadOnly => Error::ReadOnly,
        ffi::ErrorCode::DatabaseCorrupt | ffi::ErrorCode::NotADatabase => Error::Corrupt(error.to_string()),
        _ => Error::Other(Arc::new(Failed(error.to_string()))),
    }
}

/// `UNIQUE constraint failed: table.a, table.b`, or `… index 'name'` for an index over expressions.
fn duplicate(message: &str, sql: &str) -> Error {
    let list = message.split_once(": ").map_or("", |(_, list)| list);
    let mut table = sql::target(sql).to_owned();
    let mut columns = Vec::new();
    for part in list.split(", ") {
        if let Some(name) = part.strip_prefix("index '") {
            columns.push(name.trim_end_matches('\'').to_owned());
        } else if let Some((of, column)) = part.rsplit_once('.') {
            of.clone_into(&mut table);
            columns.push(column.to_owned());
        }
    }
    Error::Duplicate { table, columns }
}

/// SQLite's own words, where nothing more is known about a failure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);
