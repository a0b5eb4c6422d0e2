//! A connection: settings of the session, statements, answers.

use std::sync::OnceLock;

use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder, Params, SslOpts, Value as Stored};
use rustls::CertificateError;

use super::errors::{Failure, failure, refused, tls_error};
use super::text::{Statement, literal, statement};
use crate::address::Address;
use crate::row::{Cell, Rows};
use crate::{Error, Options, Row, Value};

/// Added to what the operator asks for: double quotes are for names, `||` joins, a backslash is one.
const MODES: &str = "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES";

/// Prepared statements kept by a connection, at most. The server keeps 16,382 for all.
const MOST_STATEMENTS: usize = 200;

pub(super) struct Settings {
    opts: Opts,
    /// The address without the password.
    at: String,
    /// Whether the server's certificate may be for another name.
    any_name: bool,
    /// The name that its certificate is for, where it is not the address's.
    name: OnceLock<String>,
}

/// What a connection is set up for; turning it costs a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// One snapshot for all statements of a transaction.
    Read,
    /// Every statement sees what is committed by then.
    Write,
}

pub(super) struct Connection {
    conn: Conn,
    pub used_for: Use,
    /// While a call runs; still set when it was abandoned in the middle, and the connection is of no use then.
    pub busy: bool,
}

/// What a statement did.
pub(super) struct Done {
    pub affected: u64,
    pub last_id: u64,
}

impl Settings {
    pub fn new(address: &Address, options: &Options) -> Result<Settings, Error> {
        let at = crate::address::masked(&options.url);
        if address.database.is_empty() {
            return Err(Error::Config(format!(
                "{at} names no database; write mysql+pymysql://user:password@host/database"
            )));
        }
        let host = if address.host.is_empty() { "localhost" } else { &address.host };
        let wait = options.busy.as_secs().max(1);
        let modes =
            if options.sql_mode.is_empty() { MODES.to_owned() } else { format!("{},{MODES}", options.sql_mode) };
        if !modes.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',')) {
            return Err(Error::Config(format!("{at}: {:?} is no list of modes of SQL", options.sql_mode)));
        }
        let mut setup =
            vec![format!("SET SESSION sql_mode = '{modes}', autocommit = 0, innodb_lock_wait_timeout = {wait}")];
        if let Some(sync) = options.wsrep_sync_wait {
            setup.push(format!("SET SESSION wsrep_sync_wait = {sync}"));
        }
        let builder = OptsBuilder::default()
            .ip_or_hostname(host)
            .tcp_port(address.port.unwrap_or(3306))
            .user(address.user.as_deref())
            .pass(address.password.as_deref())
            .db_name(Some(&address.database))
            .socket(address.option("unix_socket"))
            .prefer_socket(false)
            .tcp_nodelay(true)
            .client_found_rows(true)
            .stmt_cache_size(options.statements.min(MOST_STATEMENTS))
            .max_allowed_packet(Some(16 << 20))
            .wait_timeout(Some(28_800))
            .ssl_opts(tls(address)?)
            .setup(setup);
        for (name, _) in &address.options {
            if !KNOWN.contains(&name.as_str()) {
                tracing::warn!(option = name, "an option of the database's address is not known and ignored");
            }
        }
        Ok(Settings { opts: builder.into(), at, any_name: !checks_name(address), name: OnceLock::new() })
    }

    pub fn at(&self) -> &str {
        &self.at
    }

    async fn connect(&self) -> mysql_async::Result<Conn> {
        let first = match self.name.get() {
            Some(name) => return Conn::new(self.named(name)).await,
            None => Conn::new(self.opts.clone()).await,
        };
        // The library compares the name always. It does so last, so the certificate is good but for the name: it is asked for under its own.
        match first {
            Err(error) if self.any_name => match names_of(&error) {
                Some(name) => {
                    let conn = Conn::new(self.named(&name)).await?;
                    let _ = self.name.set(name);
                    Ok(conn)
                }
                None => Err(error),
            },
            outcome => outcome,
        }
    }

    fn named(&self, name: &str) -> Opts {
        let ssl = self.opts.ssl_opts().cloned().map(|ssl| ssl.with_danger_tls_hostname_override(Some(name.to_owned())));
        OptsBuilder::from_opts(self.opts.clone()).ssl_opts(ssl).into()
    }
}

/// Options of an address that have a meaning here, or none that matters.
const KNOWN: &[&str] = &[
    "charset",
    "unix_socket",
    "ssl",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "ssl_check_hostname",
    "ssl_verify_cert",
    "ssl_verify_identity",
    "connect_timeout",
    "read_timeout",
    "write_timeout",
    "use_unicode",
    "binary_prefix",
    "plugin",
];

fn checks_name(address: &Address) -> bool {
    address.flag("ssl_check_hostname").or(address.flag("ssl_verify_identity")).unwrap_or(true)
}

/// As PyMySQL has it: any `ssl_…` asks for TLS, an authority makes the certificate be checked, and the name too unless
/// `ssl_check_hostname` says no.
fn tls(address: &Address) -> Result<Option<SslOpts>, Error> {
    let asked =
        address.flag("ssl").unwrap_or(false) || address.options.iter().any(|(name, _)| name.starts_with("ssl_"));
    if !asked {
        return Ok(None);
    }
    let path = |text: &str| std::path::PathBuf::from(text);
    let mut opts = SslOpts::default();
    match address.option("ssl_ca") {
        Some(authority) => {
            let verify = address.flag("ssl_verify_cert").unwrap_or(true);
            opts = opts
                .with_root_certs(vec![path(authority).into()])
                .with_disable_built_in_roots(true)
                .with_danger_accept_invalid_certs(!verify);
        }
        None => opts = opts.with_danger_accept_invalid_certs(true),
    }
    match (address.option("ssl_cert"), address.option("ssl_key")) {
        (Some(chain), Some(key)) => {
            let identity = mysql_async::ClientIdentity::new(path(chain).into(), path(key).into());
            opts = opts.with_client_identity(Some(identity));
        }
        (None, None) => {}
        _ => return Err(Error::Config("ssl_cert and ssl_key of the database's address go together".to_owned())),
    }
    Ok(Some(opts))
}

/// A name that a certificate is for which was refused for its name only.
fn names_of(error: &mysql_async::Error) -> Option<String> {
    let rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }) =
        tls_error(error)?
    else {
        return None;
    };
    // As rustls writes them: `DnsName("db.example")`, `IpAddress(192.0.2.1)`.
    let bare = |text: &String| {
        let inner = text.split_once('(')?.1.strip_suffix(')')?;
        Some(inner.trim_matches('"').replacen('*', "any", 1))
    };
    presented.iter().find_map(bare)
}

impl Connection {
    pub async fn open(settings: &Settings, purpose: Use) -> Result<Connection, Error> {
        let conn = settings.connect().await.map_err(|error| refused(error, &settings.at))?;
        let mut connection = Connection { conn, used_for: purpose, busy: false };
        connection.turn(purpose).await?;
        Ok(connection)
    }

    /// Sets the connection up for another use, between two transactions.
    pub async fn turn(&mut self, purpose: Use) -> Result<(), Failure> {
        self.run(match purpose {
            Use::Read => "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY",
            Use::Write => "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE",
        })
        .await?;
        self.used_for = purpose;
        Ok(())
    }

    pub async fn query(&mut self, sql: &str, args: &[&Value]) -> Result<Vec<Row>, Failure> {
        self.busy = true;
        let outcome = self.rows(sql, args).await;
        self.busy = false;
        outcome
    }

    async fn rows(&mut self, sql: &str, args: &[&Value]) -> Result<Vec<Row>, Failure> {
        let text = match statement(sql, args).map_err(Failure::Statement)? {
            Statement::Prepared(text, bounds) => match self.prepared(&text, bounds, sql).await {
                Ok(answer) => return collect(answer, sql).await,
                Err(Failure::Unprepared) => literal(sql, args).map_err(Failure::Statement)?,
                Err(other) => return Err(other),
            },
            Statement::Literal(text) => text,
        };
        let answer = self.conn.query_iter(text).await.map_err(|error| failure(error, sql))?;
        collect(answer, sql).await
    }

    pub async fn execute(&mut self, sql: &str, args: &[&Value]) -> Result<Done, Failure> {
        self.busy = true;
        let outcome = self.changed(sql, args).await;
        self.busy = false;
        outcome
    }

    async fn changed(&mut self, sql: &str, args: &[&Value]) -> Result<Done, Failure> {
        let text = match statement(sql, args).map_err(Failure::Statement)? {
            Statement::Prepared(text, bounds) => match self.prepared(&text, bounds, sql).await {
                Ok(answer) => return finish(answer, sql).await,
                Err(Failure::Unprepared) => literal(sql, args).map_err(Failure::Statement)?,
                Err(other) => return Err(other),
            },
            Statement::Literal(text) => text,
        };
        let answer = self.conn.query_iter(text).await.map_err(|error| failure(error, sql))?;
        finish(answer, sql).await
    }

    /// The number of arguments is checked here: the library ends the connection over a wrong one.
    async fn prepared(
        &mut self,
        text: &str,
        bounds: Vec<Stored>,
        sql: &str,
    ) -> Result<mysql_async::QueryResult<'_, 'static, mysql_async::BinaryProtocol>, Failure> {
        let prepared = self.conn.prep(text).await.map_err(|error| failure(error, sql))?;
        let (wanted, given) = (usize::from(prepared.num_params()), bounds.len());
        if wanted != given {
            let message = format!("{given} arguments for a statement that takes {wanted}: {sql}");
            return Err(Failure::Statement(Error::Invalid(message)));
        }
        self.conn.exec_iter(prepared, params(bounds)).await.map_err(|error| failure(error, sql))
    }

    /// Statements of the store itself or of a migration, without arguments.
    pub async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.busy = true;
        let outcome = self.conn.query_drop(sql).await.map_err(|error| failure(error, sql));
        self.busy = false;
        outcome
    }
}

fn params(bounds: Vec<Stored>) -> Params {
    if bounds.is_empty() { Params::Empty } else { Params::Positional(bounds) }
}

async fn finish<P>(answer: mysql_async::QueryResult<'_, 'static, P>, sql: &str) -> Result<Done, Failure>
where
    P: mysql_async::prelude::Protocol,
{
    let done = Done { affected: answer.affected_rows(), last_id: answer.last_insert_id().unwrap_or_default() };
    answer.drop_result().await.map_err(|error| failure(error, sql))?;
    Ok(done)
}

async fn collect<P>(mut answer: mysql_async::QueryResult<'_, 'static, P>, sql: &str) -> Result<Vec<Row>, Failure>
where
    P: mysql_async::prelude::Protocol,
{
    let kinds: Vec<Kind> = answer.columns_ref().iter().map(|column| kind(column.column_type())).collect();
    let mut rows = Rows::new(kinds.len());
    while let Some(row) = answer.next().await.map_err(|error| failure(error, sql))? {
        for (value, kind) in row.unwrap().into_iter().zip(&kinds) {
            cell(&mut rows, value, *kind);
        }
        rows.end_row();
    }
    answer.drop_result().await.map_err(|error| failure(error, sql))?;
    Ok(rows.finish())
}

/// How text of a column is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    /// Also sums, which are decimals.
    Number,
}

fn kind(column: ColumnType) -> Kind {
    use ColumnType as T;
    match column {
        T::MYSQL_TYPE_TINY
        | T::MYSQL_TYPE_SHORT
        | T::MYSQL_TYPE_INT24
        | T::MYSQL_TYPE_LONG
        | T::MYSQL_TYPE_LONGLONG
        | T::MYSQL_TYPE_YEAR
        | T::MYSQL_TYPE_DECIMAL
        | T::MYSQL_TYPE_NEWDECIMAL
        | T::MYSQL_TYPE_FLOAT
        | T::MYSQL_TYPE_DOUBLE => Kind::Number,
        _ => Kind::Text,
    }
}

fn cell(rows: &mut Rows, value: Stored, kind: Kind) {
    match value {
        Stored::NULL => rows.cell(Cell::Null),
        Stored::Int(value) => rows.cell(Cell::Int(value)),
        Stored::UInt(value) => rows.cell(Cell::Int(i64::try_from(value).unwrap_or(i64::MAX))),
        Stored::Float(value) => rows.cell(Cell::Real(f64::from(value))),
        Stored::Double(value) => rows.cell(Cell::Real(value)),
        Stored::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            match kind {
                Kind::Number => match (text.parse(), text.parse()) {
                    (Ok(value), _) => rows.cell(Cell::Int(value)),
                    (_, Ok(value)) => rows.cell(Cell::Real(value)),
                    _ => rows.text(&text),
                },
                Kind::Text => rows.text(&text),
            }
        }
        Stored::Date(year, month, day, hour, minute, second, _) => {
            rows.text(&format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"));
        }
        Stored::Time(negative, days, hours, minutes, seconds, _) => {
            let sign = if negative { "-" } else { "" };
            let hours = u64::from(days) * 24 + u64::from(hours);
            rows.text(&format!("{sign}{hours:02}:{minutes:02}:{seconds:02}"));
        }
    }
}
