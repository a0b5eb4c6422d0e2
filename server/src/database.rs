//! `[database]` as oslo.db has it: the address, and how many connections are kept to it.

use std::time::Duration;

use config::{Config, Opt, Options};

static CONNECTION: Opt<Option<String>> = Opt::str("database", "connection")
    .deprecated(&[("DEFAULT", "sql_connection"), ("sql", "connection")])
    .secret()
    .help("URL of the database. Without it, a file under state_path.")
    .optional();
static POOL_SIZE: Opt<i64> = Opt::int("database", "max_pool_size")
    .deprecated(&[("DATABASE", "sql_max_pool_size"), ("DEFAULT", "sql_max_pool_size")])
    .min(0)
    .default("5")
    .help("Connections to a database server that are kept.");
static OVERFLOW: Opt<i64> = Opt::int("database", "max_overflow")
    .deprecated(&[("DEFAULT", "sql_max_overflow"), ("DATABASE", "sqlalchemy_max_overflow")])
    .min(0)
    .default("50")
    .help("Connections that are opened beyond those kept, when all are busy.");
static POOL_TIMEOUT: Opt<i64> = Opt::int("database", "pool_timeout")
    .deprecated(&[("DATABASE", "sqlalchemy_pool_timeout")])
    .min(0)
    .default("30")
    .help("Seconds that a request waits for a connection when all are busy.");
static RECYCLE: Opt<i64> = Opt::int("database", "connection_recycle_time")
    .deprecated(&[("DATABASE", "idle_timeout"), ("database", "idle_timeout"), ("DEFAULT", "sql_idle_timeout")])
    .min(-1)
    .default("3600")
    .help("Seconds after which a connection is replaced; -1 for never.");
static MAX_RETRIES: Opt<i64> = Opt::int("database", "max_retries")
    .deprecated(&[("DEFAULT", "sql_max_retries"), ("DATABASE", "sql_max_retries")])
    .min(-1)
    .default("10")
    .help("How often to try to reach the database server at start; -1 for ever.");
static RETRY_INTERVAL: Opt<i64> = Opt::int("database", "retry_interval")
    .deprecated(&[("DEFAULT", "sql_retry_interval"), ("DATABASE", "reconnect_interval")])
    .min(0)
    .default("10")
    .help("Seconds between two of these attempts.");
static SQL_MODE: Opt<String> = Opt::str("database", "mysql_sql_mode")
    .default("TRADITIONAL")
    .help("MySQL: modes of SQL for the sessions, beside those that the program needs.");
static SYNC_WAIT: Opt<Option<i64>> = Opt::int("database", "mysql_wsrep_sync_wait")
    .help("Galera: which statements wait for the writes of other nodes, a bit mask.")
    .optional();

pub static OPTIONS: Options = &[
    &CONNECTION,
    &POOL_SIZE,
    &OVERFLOW,
    &POOL_TIMEOUT,
    &RECYCLE,
    &MAX_RETRIES,
    &RETRY_INTERVAL,
    &SQL_MODE,
    &SYNC_WAIT,
];

/// The options of the store; its address is empty when none is given.
pub fn read(config: &Config) -> anyhow::Result<store::Options> {
    let seconds = |value: i64| Duration::from_secs(u64::try_from(value).unwrap_or(u64::from(u32::MAX)));
    let count = |value: i64| usize::try_from(value).unwrap_or(0);
    let size = count(config.get(&POOL_SIZE)?);
    let retries = config.get(&MAX_RETRIES)?;
    Ok(store::Options {
        url: config.get(&CONNECTION)?.unwrap_or_default(),
        // As SQLAlchemy has it, 0 is without a limit.
        pool_size: if size == 0 { 500 } else { size },
        overflow: count(config.get(&OVERFLOW)?),
        pool_wait: seconds(config.get(&POOL_TIMEOUT)?),
        recycle: seconds(config.get(&RECYCLE)?),
        open_attempts: u32::try_from(retries).map_or(u32::MAX, |retries| retries.saturating_add(1)),
        open_pause: seconds(config.get(&RETRY_INTERVAL)?),
        sql_mode: config.get(&SQL_MODE)?,
        wsrep_sync_wait: config.get(&SYNC_WAIT)?.and_then(|bits| u32::try_from(bits).ok()),
        ..store::Options::default()
    })
}
