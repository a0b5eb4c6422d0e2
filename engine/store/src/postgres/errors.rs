//! The server's errors, sorted by what the caller does about them.

use tokio_postgres::error::DbError;

use crate::{Error, sql};

/// What became of a statement or a connection.
pub(super) enum Failure {
    /// The statement failed; the transaction waits to be taken back to before it.
    Statement(Error),
    /// The transaction is gone, and the connection is good for another one.
    Gone(Error),
    /// The connection is of no use any more.
    Lost(String),
}

impl Failure {
    /// For a caller to whom the difference does not matter: nothing was stored in any of the cases.
    pub fn plain(self) -> Error {
        match self {
            Failure::Statement(error) | Failure::Gone(error) => error,
            Failure::Lost(why) => Error::Retry(why),
        }
    }
}

/// Sorts an error of a statement.
pub(super) fn failure(error: &tokio_postgres::Error, sql: &str) -> Failure {
    let Some(server) = error.as_db_error() else {
        let words = with_cause(error);
        // An argument that is not of the type that the server expects.
        let ours = words.starts_with("error serializing") || words.starts_with("expected ");
        return if ours { Failure::Statement(Error::Invalid(words)) } else { Failure::Lost(words) };
    };
    let message = server.message().to_owned();
    let table = || server.table().unwrap_or_else(|| sql::target(sql)).to_owned();
    let code = server.code().code();
    match code {
        "23505" => Failure::Statement(Error::Duplicate { table: table(), columns: key_of(server) }),
        "23503" => Failure::Statement(Error::ForeignKey { table: sql::target(sql).to_owned() }),
        "25006" => Failure::Statement(Error::ReadOnly),
        // Failed serialisation, deadlock, waited too long for a lock; a plan of before a change of the schema.
        "40001" | "40P01" | "55P03" | "57014" | "0A000" => Failure::Gone(Error::Retry(message)),
        // No more connections.
        "53300" | "53400" => Failure::Gone(Error::Retry(message)),
        _ if code.starts_with("57P") || code.starts_with("08") => Failure::Lost(message),
        _ if ["22", "23", "42"].iter().any(|class| code.starts_with(class)) => {
            Failure::Statement(Error::Invalid(message))
        }
        _ => Failure::Statement(Error::other(Failed(format!("{code}: {message}")))),
    }
}

/// Sorts an error of opening a connection: what another attempt may mend is `Retry`.
pub(super) fn refused(error: &tokio_postgres::Error, at: &str) -> Error {
    let words = format!("{at}: {}", with_cause(error));
    match error.as_db_error().map(|server| server.code().code()) {
        Some(code) if code.starts_with("28") || code.starts_with("3D") || code.starts_with("22") => {
            Error::Config(words)
        }
        Some(_) => Error::Retry(words),
        None if words.contains("TLS") || words.contains("certificate") || words.contains("invalid configuration") => {
            Error::Config(words)
        }
        None => Error::Retry(words),
    }
}

fn with_cause(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) if error.as_db_error().is_none() => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}

/// The columns in the detail `Key (a, b)=(1, 2) already exists.`, which stand in the first brackets in every language.
fn key_of(error: &DbError) -> Vec<String> {
    let inner = error.detail().and_then(|detail| detail.split_once('(')?.1.split_once(")=").map(|(inner, _)| inner));
    match inner {
        Some(inner) => inner.split(", ").map(|name| name.trim_matches('"').to_owned()).collect(),
        None => error.constraint().map(str::to_owned).into_iter().collect(),
    }
}

/// The server's own words, where nothing more is known about a failure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Failed(pub String);

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        failure.plain()
    }
}
