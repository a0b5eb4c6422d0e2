//! A connection: settings, statements, answers.

use std::collections::HashMap;
use std::time::Duration;

use futures::StreamExt as _;
use tokio_postgres::{Client, Config, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::errors::{Failure, failure, refused};
use super::text::numbered;
use super::values::{Arg, Raw, cell};
use crate::address::Address;
use crate::row::Rows;
use crate::{Error, Options, Row, Value};

pub(super) struct Settings {
    config: Config,
    tls: MakeRustlsConnect,
    /// The address without the password.
    at: String,
    statements: usize,
}

pub(super) struct Connection {
    client: Client,
    /// Prepared statements by their portable text.
    statements: HashMap<String, Statement>,
    most: usize,
}

impl Settings {
    pub fn new(address: &Address, options: &Options) -> Result<Settings, Error> {
        let at = crate::address::masked(&options.url);
        if address.database.is_empty() {
            return Err(Error::Config(format!(
                "{at} names no database; write postgresql://user:password@host/database"
            )));
        }
        let (mode, tls) = super::tls::of(address)?;
        let mut config = Config::new();
        match (address.option("host"), address.host.as_str()) {
            (Some(path), "") if path.starts_with('/') => config.host_path(path),
            (Some(host), "") => config.host(host),
            (None, "") => config.host_path("/var/run/postgresql"),
            (_, host) => config.host(host),
        };
        config.port(address.port.unwrap_or(5432)).dbname(&address.database).ssl_mode(mode);
        config.user(address.user.as_deref().unwrap_or("neutron"));
        if let Some(password) = &address.password {
            config.password(password);
        }
        config.application_name(address.option("application_name").unwrap_or("neutrino"));
        let seconds = address.option("connect_timeout").and_then(|text| text.parse().ok()).unwrap_or(10);
        config.connect_timeout(Duration::from_secs(seconds));
        // Notices of DDL interest nobody; a lock is not waited for without end.
        let own = format!("-c client_min_messages=warning -c lock_timeout={}", options.busy.as_millis());
        config.options(match address.option("options") {
            Some(theirs) => format!("{own} {theirs}"),
            None => own,
        });
        Ok(Settings { config, tls, at, statements: options.statements })
    }
}

impl Connection {
    pub async fn open(settings: &Settings) -> Result<Connection, Error> {
        let opened = settings.config.connect(settings.tls.clone()).await;
        let (client, connection) = opened.map_err(|error| refused(&error, &settings.at))?;
        tokio::spawn(async move {
            // Ends with the client, or with an error that its next statement meets.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to the database ended");
            }
        });
        Ok(Connection { client, statements: HashMap::new(), most: settings.statements.max(1) })
    }

    pub fn is_dead(&self) -> bool {
        self.client.is_closed()
    }

    async fn prepare(&mut self, sql: &str, given: usize) -> Result<Statement, Failure> {
        let statement = match self.statements.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let (text, _) = numbered(sql);
                let statement = self.client.prepare(&text).await.map_err(|error| failure(&error, sql))?;
                if self.statements.len() >= self.most {
                    // Texts are constant and fewer than this; those that are not come and go.
                    self.statements.clear();
                }
                self.statements.insert(sql.to_owned(), statement.clone());
                statement
            }
        };
        let wanted = statement.params().len();
        if wanted != given {
            let message = format!("{given} arguments for a statement that takes {wanted}: {sql}");
            return Err(Failure::Statement(Error::Invalid(message)));
        }
        Ok(statement)
    }

    /// Sends `before` (statements without an answer) and the statement together: one round trip.
    pub async fn query(&mut self, before: &str, sql: &str, args: &[&Value]) -> Result<Vec<Row>, Failure> {
        let (outcome, prepared) = self.prepared(before, sql, args.len()).await?;
        let question = is_question(sql);
        let arguments = args.iter().map(|value| Arg { value, question });
        let rows = async {
            let stream = self.client.query_raw(&prepared, arguments).await?;
            let mut stream = std::pin::pin!(stream);
            let mut rows = Rows::new(prepared.columns().len());
            while let Some(row) = stream.next().await {
                let row = row?;
                for column in 0..prepared.columns().len() {
                    cell(&mut rows, row.try_get::<_, Option<Raw<'_>>>(column)?);
                }
                rows.end_row();
            }
            Ok::<_, tokio_postgres::Error>(rows.finish())
        };
        if outcome {
            return rows.await.map_err(|error| failure(&error, sql));
        }
        let (begun, rows) = tokio::join!(self.client.batch_execute(before), rows);
        begun.map_err(|error| failure(&error, before))?;
        rows.map_err(|error| failure(&error, sql))
    }

    pub async fn execute(&mut self, before: &str, sql: &str, args: &[&Value]) -> Result<u64, Failure> {
        let (outcome, prepared) = self.prepared(before, sql, args.len()).await?;
        let done = self.client.execute_raw(&prepared, args.iter().map(|value| Arg { value, question: false }));
        if outcome {
            return done.await.map_err(|error| failure(&error, sql));
        }
        let (begun, done) = tokio::join!(self.client.batch_execute(before), done);
        begun.map_err(|error| failure(&error, before))?;
        done.map_err(|error| failure(&error, sql))
    }

    /// The prepared statement, and whether `before` is done: a text that must be prepared first is not sent together with it.
    async fn prepared(&mut self, before: &str, sql: &str, given: usize) -> Result<(bool, Statement), Failure> {
        if before.is_empty() {
            return Ok((true, self.prepare(sql, given).await?));
        }
        if self.statements.get(sql).is_some_and(|statement| statement.params().len() == given) {
            return Ok((false, self.prepare(sql, given).await?));
        }
        // Preparing fails like a statement and must be undone like one.
        self.run(before).await?;
        Ok((true, self.prepare(sql, given).await?))
    }

    /// Statements without arguments and answers.
    pub async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).await.map_err(|error| failure(&error, sql))
    }
}

/// Whether a statement only reads.
pub(super) fn is_question(sql: &str) -> bool {
    sql.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("SELECT"))
}
