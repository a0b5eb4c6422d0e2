//! What can go wrong in a database, sorted by what the caller does about it.

use std::sync::Arc;

/// A failed statement or transaction.
///
/// `Clone`, because a failed group commit fails every transaction in it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A unique or primary key refused the row: take another candidate, or report a conflict.
    #[error("table {table} already has a row with this {}", columns.join(", "))]
    Duplicate {
        table: String,
        /// Columns of the key; for databases that only name the constraint, its name alone.
        columns: Vec<String>,
    },
    /// A row that is referred to does not exist, or a row that others refer to was about to go.
    #[error("a row of table {table} refers to a row that does not exist, or is still referred to")]
    ForeignKey {
        /// Table of the refused statement (SQLite does not tell which reference failed).
        table: String,
    },
    /// NOT NULL, CHECK or type of a column refused the value: a mistake in the program, since input is checked before.
    #[error("the database refused a value: {0}")]
    Invalid(String),
    /// A text with characters that the database's character set does not have, stored or compared: a user's, not a mistake.
    #[error("the character set of the database does not have a character of this text: {0}")]
    Characters(String),
    /// Deadlock, busy database or failed serialisation. Nothing was stored; run the transaction again.
    #[error("the transaction gave way to another one: {0}")]
    Retry(String),
    /// The connection was lost while committing: the transaction may or may not be stored.
    #[error("the outcome of the transaction is unknown: {0}")]
    Lost(String),
    /// A write in a read transaction or in a database that cannot be written.
    #[error("the transaction or the database is read only")]
    ReadOnly,
    /// The file is no database or is damaged.
    #[error("the database is damaged: {0}")]
    Corrupt(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The address or an option cannot be used.
    #[error("cannot open the database: {0}")]
    Config(String),
    /// Anything else; the cause is the source.
    #[error("the database failed")]
    Other(#[source] Arc<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Whether running the whole transaction again is safe and may succeed.
    pub fn is_retriable(&self) -> bool {
        matches!(self, Error::Retry(_))
    }

    pub fn is_duplicate(&self) -> bool {
        matches!(self, Error::Duplicate { .. })
    }

    /// Whether a key that contains `column` refused the row.
    pub fn is_duplicate_of(&self, column: &str) -> bool {
        matches!(self, Error::Duplicate { columns, .. } if columns.iter().any(|name| name == column))
    }

    pub fn is_foreign_key(&self) -> bool {
        matches!(self, Error::ForeignKey { .. })
    }

    pub(crate) fn other(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Error::Other(Arc::new(error))
    }
}
