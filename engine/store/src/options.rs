//! How a store is opened.

use std::time::Duration;

use crate::faults::Faults;

/// When a commit counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    /// When the disk has it: survives power loss.
    Full,
    /// When the operating system has it: survives kill -9, may lose the last commits on power loss.
    Normal,
    /// For throw-away databases.
    Off,
}

/// How to open a [`crate::Store`]. `Options::default()` is a private database in memory, for tests.
#[derive(Debug, Clone)]
pub struct Options {
    /// As SQLAlchemy writes it: `sqlite:///absolute/path`, or `sqlite://` for a private database in memory that goes with the
    /// store; `mysql+pymysql://user:password@host:port/database?charset=utf8`, with `unix_socket` and `ssl_ca`, `ssl_cert`,
    /// `ssl_key`, `ssl_check_hostname`; `postgresql://user:password@host:port/database`, with `host` (a directory of
    /// sockets), `sslmode`, `sslrootcert`, `sslcert`, `sslkey`.
    pub url: String,
    /// Most read transactions at once; the others wait.
    pub readers: usize,
    /// `None`: `Full` for a file, `Off` in memory.
    pub synchronous: Option<Synchronous>,
    /// How long to wait for a lock that another process holds, or for one's turn to write.
    pub busy: Duration,
    /// Most transactions in one group commit.
    pub batch: usize,
    /// A group commit takes in no transaction that ends later than this after its first began.
    pub batch_time: Duration,
    /// Page cache of each connection, KiB.
    pub cache_kib: u32,
    /// Bytes of the file that each connection may map into memory: no faster here, and each mapping counts as memory.
    pub mmap: u64,
    /// Bytes of a page, of a database that is created; a power of two from 512 to 65536.
    pub page: u32,
    /// Prepared statements kept by each connection.
    pub statements: usize,
    /// Pages in the log that start a checkpoint.
    pub checkpoint_pages: u32,
    /// Connections to a server that are kept: `[database] max_pool_size`.
    pub pool_size: usize,
    /// How many more are opened when all are busy: `[database] max_overflow`.
    pub overflow: usize,
    /// How long to wait for a connection when all are busy: `[database] pool_timeout`.
    pub pool_wait: Duration,
    /// A connection that is older is replaced: `[database] connection_recycle_time`.
    pub recycle: Duration,
    /// How often to try to open the first connection to a server that cannot be reached: `[database] max_retries`.
    pub open_attempts: u32,
    /// Between two of these attempts: `[database] retry_interval`.
    pub open_pause: Duration,
    /// MySQL: modes of SQL beside those that are needed here: `[database] mysql_sql_mode`.
    pub sql_mode: String,
    /// MySQL behind Galera: which statements wait for other nodes' writes: `[database] mysql_wsrep_sync_wait`.
    pub wsrep_sync_wait: Option<u32>,
    /// Injected errors, for tests.
    pub faults: Option<Faults>,
}

impl Options {
    pub fn new(url: impl Into<String>) -> Self {
        Options { url: url.into(), ..Options::default() }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            url: "sqlite://".to_owned(),
            readers: 4,
            synchronous: None,
            busy: Duration::from_secs(10),
            batch: 64,
            batch_time: Duration::from_millis(5),
            cache_kib: 2048,
            mmap: 0,
            page: 2048,
            statements: 512,
            checkpoint_pages: 32_000,
            pool_size: 5,
            overflow: 50,
            pool_wait: Duration::from_secs(30),
            recycle: Duration::from_secs(3600),
            open_attempts: 1,
            open_pause: Duration::from_secs(10),
            sql_mode: "TRADITIONAL".to_owned(),
            wsrep_sync_wait: None,
            faults: None,
        }
    }
}
