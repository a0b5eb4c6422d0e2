//! Databases for tests, on servers of their own: MariaDB and PostgreSQL as Debian packages them, on a free port of the
//! loopback and a socket in a directory in memory, never those of the machine.
//!
//! [`fresh`] gives an empty database on a server that the test processes of one user share; the first of them starts it, and
//! it is stopped by its number some seconds after the last has ended. [`Server`] is one for a test alone, which may be
//! killed and started again. [`chosen`] is the database that a suite runs on, by `NEUTRINO_TEST_DATABASE`.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use linux::Program;
use linux::proc::{Child, Process};
use nix::sys::signal::Signal;

use crate::certificates::Certificates;
use crate::until;

/// The longest that a server takes to be made or started on a busy machine.
const SOON: Duration = Duration::from_secs(120);
const KEEP: &str = include_str!("keep.sh");

/// A kind of database server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Mariadb,
    Postgres,
}

/// The database that suites run on: `NEUTRINO_TEST_DATABASE` is `mariadb`, `postgres`, or nothing (or `sqlite`) for SQLite.
///
/// # Panics
/// On another name.
pub fn chosen() -> Option<Kind> {
    match std::env::var("NEUTRINO_TEST_DATABASE").unwrap_or_default().as_str() {
        "" | "sqlite" => None,
        "mariadb" => Some(Kind::Mariadb),
        "postgres" => Some(Kind::Postgres),
        other => panic!("NEUTRINO_TEST_DATABASE={other}: it is sqlite, mariadb or postgres"),
    }
}

/// An empty database, removed with this value.
#[derive(Debug)]
pub struct Database {
    kind: Kind,
    place: Place,
    name: String,
}

/// An empty database on the server that the tests share.
///
/// # Panics
/// When the server is not installed or does not start, saying why.
pub fn fresh(kind: Kind) -> Database {
    Database::on(kind, shared(kind))
}

/// An empty database of the [`chosen`] kind: `None` for SQLite, which needs no server.
pub fn fresh_chosen() -> Option<Database> {
    chosen().map(fresh)
}

impl Database {
    fn on(kind: Kind, place: Place) -> Database {
        let name = format!("n{:016x}", unique());
        kind.admin(
            &place,
            &match kind {
                // The character set that most deployments were made with.
                Kind::Mariadb => format!("CREATE DATABASE {name} CHARACTER SET utf8mb3"),
                Kind::Postgres => format!("CREATE DATABASE {name}"),
            },
        );
        Database { kind, place, name }
    }

    /// Its address as it stands in configuration files, over TCP.
    pub fn url(&self) -> String {
        self.kind.url(&self.place, &self.name)
    }

    /// Runs statements in it with the client of the server's package.
    ///
    /// # Panics
    /// When they fail, with what the client said.
    pub fn run(&self, sql: &str) -> String {
        self.kind.run(&self.place, &self.name, sql)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.kind == Kind::Mariadb {
            // A connection that is left with an open transaction would hold up the next statement.
            let list = format!(
                "SELECT concat('KILL ', id, ';') FROM information_schema.processlist WHERE db = '{}'",
                self.name
            );
            if let Ok(found) = self.kind.client(&self.place, None, &list).run(SOON) {
                let _ = self.kind.client(&self.place, None, &found.stdout).arg("--force").run(SOON);
            }
        }
        let sql = match self.kind {
            Kind::Mariadb => format!("DROP DATABASE {}", self.name),
            Kind::Postgres => format!("DROP DATABASE {} WITH (FORCE)", self.name),
        };
        // What stays goes with the server; it may be down by now.
        let _ = self.kind.client(&self.place, None, &sql).run(SOON);
    }
}

/// A server for one test, stopped when this value goes.
#[derive(Debug)]
pub struct Server {
    kind: Kind,
    place: Place,
    directory: tempfile::TempDir,
    options: Vec<String>,
    running: Mutex<Option<Child>>,
}

impl Server {
    /// # Panics
    /// When it is not installed or does not start.
    pub fn start(kind: Kind) -> Server {
        Server::start_at(kind, Server::directory(), &[])
    }

    /// One that takes connections over TCP by TLS only, by its name `localhost`.
    ///
    /// # Panics
    /// Like [`Server::start`].
    pub fn start_with_tls(kind: Kind) -> (Server, Certificates) {
        let directory = Server::directory();
        let certificates = Certificates::make(directory.path());
        if kind == Kind::Postgres {
            if linux::is_root() {
                Program::new("chown").arg("postgres").arg(&certificates.key).check(SOON).expect("PostgreSQL's user");
            }
            std::fs::set_permissions(&certificates.key, std::fs::Permissions::from_mode(0o600)).expect("our own file");
        }
        (Server::start_at(kind, directory, &[]), certificates)
    }

    fn directory() -> tempfile::TempDir {
        tempfile::Builder::new().prefix("neutrino-test-").tempdir_in(memory()).expect("a directory")
    }

    /// One with its files on a disk, and options of its own over those of tests: for measuring, where commits have to cost what they cost.
    ///
    /// # Panics
    /// Like [`Server::start`].
    pub fn start_in(kind: Kind, parent: &Path, options: &[&str]) -> Server {
        let directory = tempfile::Builder::new().prefix("neutrino-test-").tempdir_in(parent).expect("a directory");
        Server::start_at(kind, directory, options)
    }

    fn start_at(kind: Kind, directory: tempfile::TempDir, options: &[&str]) -> Server {
        let place = Place { port: free_port(), directory: directory.path().to_owned() };
        kind.create(&place);
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let server = Server { kind, place, directory, options, running: Mutex::new(None) };
        server.restart();
        server
    }

    /// Starts it again, at the same address and with the same data, after [`Server::kill`].
    pub fn restart(&self) {
        let log = self.directory.path().join("log");
        let start =
            || start(self.kind.server(&self.place)).args(&self.options).spawn_logging(&log).expect("the server starts");
        let mut child = start();
        until(SOON, || {
            // PostgreSQL refuses to start while processes of the one that was killed still end.
            if !matches!(child.wait(Duration::ZERO), Ok(None)) {
                child = start();
            }
            let answers = self.kind.client(&self.place, None, "SELECT 1").run(SOON);
            answers.is_ok_and(|done| done.success()).then_some(())
        });
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    }

    /// kill -9: what was committed is there after [`Server::restart`].
    pub fn kill(&self) {
        if let Some(mut child) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = child.process().signal(Signal::SIGKILL);
            let _ = child.wait(SOON);
        }
    }

    /// An empty database on it.
    pub fn database(&self) -> Database {
        Database::on(self.kind, self.place.clone())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where a server is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    pub(crate) port: u16,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Mariadb => "mariadb",
            Kind::Postgres => "postgres",
        }
    }

    /// A program of the server's package; PostgreSQL refuses to run as root.
    fn program(self, name: &str) -> Vec<String> {
        match self {
            Kind::Mariadb => vec![name.to_owned()],
            Kind::Postgres => {
                let mut words = Vec::new();
                if linux::is_root() {
                    words.extend(
                        ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"].map(str::to_owned),
                    );
                }
                words.push(format!("/usr/lib/postgresql/15/bin/{name}"));
                words
            }
        }
    }

    /// Makes the files of a new server.
    fn create(self, place: &Place) {
        let data = place.directory.join("data");
        std::fs::create_dir_all(&data).expect("a directory for the data");
        // The server's user must reach its files, whatever our umask is.
        let open = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
        open(&place.directory, 0o755).expect("our own directory");
        let done = match self {
            Kind::Mariadb => start(self.program("mariadb-install-db"))
                .args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"])
                .args([format!("--datadir={}", data.display()), format!("--user={}", user())])
                .run(SOON),
            Kind::Postgres => {
                if linux::is_root() {
                    let paths = [&data, &place.directory];
                    let owned = Program::new("chown").arg("postgres").args(paths).check(SOON);
                    owned.expect("PostgreSQL is installed (package postgresql-15)");
                }
                let options = ["-U", "postgres", "-A", "trust", "-N", "-E", "UTF8", "--locale=C.UTF-8", "-D"];
                start(self.program("initdb")).args(options).arg(&data).run(SOON)
            }
        };
        let done = done.unwrap_or_else(|error| panic!("{} is needed (`make test` installs it): {error}", self.name()));
        assert!(done.success(), "{}: {}{}", self.name(), done.stdout, done.stderr);
    }

    /// Fast and not safe from power loss, which no test turns off; kill -9 loses nothing.
    fn server(self, place: &Place) -> Vec<String> {
        let mut words = self.program(if self == Kind::Mariadb { "mariadbd" } else { "postgres" });
        let (dir, port) = (place.directory.display(), place.port);
        let has_tls = place.directory.join("server.pem").exists();
        match self {
            Kind::Mariadb => words.extend([
                "--no-defaults".to_owned(),
                format!("--datadir={dir}/data"),
                format!("--socket={dir}/socket"),
                format!("--pid-file={dir}/server.pid"),
                format!("--port={port}"),
                format!("--user={}", user()),
                "--bind-address=127.0.0.1".to_owned(),
                "--skip-name-resolve".to_owned(),
                "--skip-log-bin".to_owned(),
                "--innodb-flush-log-at-trx-commit=2".to_owned(),
                "--innodb-file-per-table=0".to_owned(),
                "--innodb-log-file-size=64M".to_owned(),
                "--innodb-buffer-pool-size=128M".to_owned(),
                "--max-connections=800".to_owned(),
                "--max-prepared-stmt-count=200000".to_owned(),
                "--performance-schema=OFF".to_owned(),
            ]),
            Kind::Postgres => {
                let mut settings = vec![
                    format!("port={port}"),
                    format!("unix_socket_directories={dir}"),
                    "listen_addresses=127.0.0.1".to_owned(),
                    "fsync=off".to_owned(),
                    "full_page_writes=off".to_owned(),
                    "max_connections=800".to_owned(),
                    "shared_buffers=64MB".to_owned(),
                    // A hundred tables are made in one transaction, by several tests at once.
                    "max_locks_per_transaction=512".to_owned(),
                    "autovacuum=off".to_owned(),
                ];
                if has_tls {
                    settings.push("ssl=on".to_owned());
                    settings.push(format!("ssl_cert_file={dir}/server.pem"));
                    settings.push(format!("ssl_key_file={dir}/server.key"));
                }
                words.extend(["-D".to_owned(), format!("{dir}/data")]);
                words.extend(settings.into_iter().flat_map(|setting| ["-c".to_owned(), setting]));
            }
        }
        if has_tls && self == Kind::Mariadb {
            words.push(format!("--ssl-cert={dir}/server.pem"));
            words.push(format!("--ssl-key={dir}/server.key"));
            words.push("--require-secure-transport=ON".to_owned());
        }
        words
    }

    fn client(self, place: &Place, database: Option<&str>, sql: &str) -> Program {
        let (dir, port) = (place.directory.display(), place.port);
        match self {
            Kind::Mariadb => Program::new("mariadb")
                .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
                .arg(format!("--socket={dir}/socket"))
                .args(database.map(|name| format!("--database={name}")))
                .input(sql),
            Kind::Postgres => Program::new("psql")
                .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--username=postgres", "--no-password"])
                .args(["--set=ON_ERROR_STOP=1", "--field-separator=\t"])
                .args([format!("--host={dir}"), format!("--port={port}")])
                .arg(format!("--dbname={}", database.unwrap_or("postgres")))
                .input(sql),
        }
    }

    fn run(self, place: &Place, database: &str, sql: &str) -> String {
        let done = self.client(place, Some(database), sql).run(SOON).expect("the client of the server is installed");
        assert!(done.success(), "{sql}: {}", done.stderr);
        done.stdout
    }

    fn admin(self, place: &Place, sql: &str) {
        let done = self.client(place, None, sql).run(SOON).expect("the client of the server is installed");
        assert!(done.success(), "{sql}: {}", done.stderr);
    }

    fn wait_for(self, place: &Place, log: &Path) {
        until(SOON, || {
            let answers = self.client(place, None, "SELECT 1").run(SOON).is_ok_and(|done| done.success());
            answers.then_some(()).or_else(|| {
                let text = std::fs::read_to_string(log).unwrap_or_default();
                assert!(!text.contains("Address already in use"), "{text}");
                None
            })
        });
    }

    fn url(self, place: &Place, name: &str) -> String {
        let port = place.port;
        match self {
            Kind::Mariadb => format!("mysql+pymysql://root@127.0.0.1:{port}/{name}?charset=utf8"),
            Kind::Postgres => format!("postgresql+psycopg2://postgres@127.0.0.1:{port}/{name}"),
        }
    }
}

/// The server that the test processes of this user share; it runs as long as this process does.
fn shared(kind: Kind) -> Place {
    static JOINED: Mutex<Vec<(Kind, Place, File)>> = Mutex::new(Vec::new());
    let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, place, _)) = joined.iter().find(|(of, ..)| *of == kind) {
        return place.clone();
    }
    let (place, users) = join(kind.name(), |place| {
        kind.create(place);
        keep(kind, place);
    });
    joined.push((kind, place.clone(), users));
    place
}

/// The server of this name that the test processes of this user share, started with `begin` when it does not run. It runs as
/// long as somebody holds the file.
pub(crate) fn join(name: &str, begin: impl FnOnce(&Place)) -> (Place, File) {
    let directory = memory().join(format!("neutrino-test-{name}-{}", nix::unistd::geteuid()));
    std::fs::create_dir_all(&directory).expect("a directory for the server");
    let file = |name: &str| {
        let path = directory.join(name);
        File::options().create(true).append(true).open(path).expect("a file of the server")
    };
    let lock = file("lock");
    lock.lock().expect("the lock of the server");
    let users = file("users");
    let running = std::fs::read_to_string(directory.join("pid"))
        .ok()
        .and_then(|pid| pid.trim().parse().ok())
        .and_then(|pid| Process::open_marked(pid, &directory.display().to_string()).ok().flatten());
    let port_file = directory.join("port");
    let place = match running.and_then(|_| std::fs::read_to_string(&port_file).ok()?.trim().parse().ok()) {
        Some(port) => Place { directory, port },
        None => {
            let _ = std::fs::remove_dir_all(directory.join("data"));
            let _ = std::fs::remove_file(directory.join("log"));
            let place = Place { port: free_port(), directory };
            begin(&place);
            std::fs::write(&port_file, place.port.to_string()).expect("a file of the server");
            place
        }
    };
    users.lock_shared().expect("the lock of the users");
    let _ = lock.unlock();
    (place, users)
}

/// Starts the server under its keeper and waits until it answers.
fn keep(kind: Kind, place: &Place) {
    let words = kind.server(place);
    keeper(place).args(words).detach().expect("bash keeps the server");
    kind.wait_for(place, &place.directory.join("log"));
}

/// What keeps a server; its command follows.
pub(crate) fn keeper(place: &Place) -> Program {
    Program::new("bash").args(["-c", KEEP, "keep"]).arg(&place.directory).directory("/")
}

/// Where files cost no disk.
pub(crate) fn memory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() }
}

pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port of the loopback");
    listener.local_addr().expect("it is bound").port()
}

fn start(words: Vec<String>) -> Program {
    let (program, arguments) = words.split_first().expect("a command has a program");
    Program::new(program).args(arguments).directory("/")
}

fn user() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
    user.map_or_else(|| "nobody".to_owned(), |user| user.name)
}

pub(crate) fn unique() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.finish()
}

#[cfg(test)]
mod tests;
