//! The server's errors, sorted by what the caller does about them.

use std::sync::Arc;

use mysql_async::DriverError;

use crate::{Error, sql};

/// What became of a statement or a connection.
pub(super) enum Failure {
    /// The statement failed; the connection and the transaction are there.
    Statement(Error),
    /// A unique or primary key of this name refused a row.
    Duplicate(String),
    /// The transaction is gone, and the connection is good for another one.
    Gone(Error),
    /// The connection is of no use any more.
    Lost(String),
    /// The server keeps no more prepared statements.
    Unprepared,
}

impl Failure {
    /// For a caller to whom the difference does not matter: nothing was stored in any of the cases.
    pub fn plain(self) -> Error {
        match self {
            Failure::Statement(error) | Failure::Gone(error) => error,
            Failure::Duplicate(key) => Error::Duplicate { table: String::new(), columns: vec![key] },
            Failure::Lost(why) => Error::Retry(why),
            Failure::Unprepared => Error::Retry("the server keeps no more prepared statements".to_owned()),
        }
    }
}

/// Sorts an error of a statement.
pub(super) fn failure(error: mysql_async::Error, sql: &str) -> Failure {
    let server = match error {
        mysql_async::Error::Server(server) => server,
        mysql_async::Error::Io(error) => return Failure::Lost(error.to_string()),
        mysql_async::Error::Driver(error) => {
            return match error {
                DriverError::StmtParamsMismatch { .. }
                | DriverError::StmtParamsNumberExceedsLimit { .. }
                | DriverError::MixedParams
                | DriverError::Params(_) => Failure::Statement(Error::Invalid(error.to_string())),
                other => Failure::Lost(other.to_string()),
            };
        }
        other => return Failure::Statement(Error::other(Failed(other.to_string()))),
    };
    let message = server.message;
    match server.code {
        // The row's key is there already.
        1022 | 1062 | 1169 | 1586 => Failure::Duplicate(key_of(&message)),
        1216 | 1217 | 1451 | 1452 => Failure::Statement(Error::ForeignKey { table: sql::target(sql).to_owned() }),
        // Deadlock, also by Galera's certification; waited too long for a lock; Galera's node not ready; the row has changed
        // since it was read; interrupted; the statement must be prepared again.
        1213 | 1205 | 1047 | 1020 | 1317 | 1615 | 1180 | 3024 | 1969 => Failure::Gone(Error::Retry(message)),
        // Going down, killed, gone away, timed out.
        1053 | 1079 | 1152 | 1158..=1161 | 1184 | 1927 | 2006 | 2013 | 2055 | 4031 => Failure::Lost(message),
        // No more connections, for all or for this user.
        1040 | 1203 | 1226 => Failure::Gone(Error::Retry(message)),
        1461 => Failure::Unprepared,
        1290 | 1792 | 1836 => Failure::Statement(Error::ReadOnly),
        1366 if message.starts_with("Incorrect string value") => Failure::Statement(Error::Characters(message)),
        1267 | 3988 => Failure::Statement(Error::Characters(message)),
        // A value that the column does not take, or a text that is no statement.
        1048 | 1054 | 1064 | 1146 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 1411 | 1690 | 3819 | 4025 => {
            Failure::Statement(Error::Invalid(message))
        }
        code => Failure::Statement(Error::other(Failed(format!("{code}: {message}")))),
    }
}

/// What TLS had against the server.
pub(super) fn tls_error(error: &mysql_async::Error) -> Option<&rustls::Error> {
    let mysql_async::Error::Io(mysql_async::IoError::Io(error)) = error else { return None };
    error.get_ref()?.downcast_ref()
}

/// Sorts an error of opening a connection: what another attempt may mend is `Retry`.
pub(super) fn refused(error: mysql_async::Error, at: &str) -> Error {
    // A certificate that is refused stays so.
    if let Some(tls) = tls_error(&error) {
        return Error::Config(format!("{at}: {tls}"));
    }
    match &error {
        mysql_async::Error::Io(mysql_async::IoError::Tls(_)) => Error::Config(format!("{at}: {error}")),
        mysql_async::Error::Server(server) if matches!(server.code, 1044 | 1045 | 1049 | 1130 | 1231 | 1193 | 1698) => {
            Error::Config(format!("{at}: {}", server.message))
        }
        mysql_async::Error::Io(_) | mysql_async::Error::Server(_) => Error::Retry(format!("{at}: {error}")),
        mysql_async::Error::Driver(DriverError::ConnectionClosed | DriverError::PacketOutOfOrder) => {
            Error::Retry(format!("{at}: {error}"))
        }
        _ => Error::Config(format!("{at}: {error}")),
    }
}

/// The key in `Duplicate entry 'a-b' for key 'table.key'`; MySQL writes the table in front, MariaDB does not.
fn key_of(message: &str) -> String {
    let quoted = message.trim_end().trim_end_matches('\'');
    let name = quoted.rsplit('\'').next().unwrap_or_default();
    name.rsplit('.').next().unwrap_or_default().to_owned()
}

/// The server's own words, where nothing more is known about a failure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Failed(String);

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        failure.plain()
    }
}

/// A failure that nobody expected, with its words.
pub(super) fn odd(words: String) -> Error {
    Error::Other(Arc::new(Failed(words)))
}
