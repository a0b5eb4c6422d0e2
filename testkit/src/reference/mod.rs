//! The reference's server: Neutron from PyPI in an environment of its own (`tools/reference-venv`), as a small deployment runs it: its API
//! under uWSGI with two processes, and an RPC server. Who asks is told by headers, as with `auth_strategy = noauth` here.
//!
//! The files that it reads ([`Reference::files`]) are those that our programs read too.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linux::Program;
use linux::proc::Process;

use crate::database::{free_port, memory};
use crate::until;

/// The release that ours is compared with.
pub const RELEASE: &str = "29.0.0";
/// Installation from PyPI, and the schema's many steps.
const LONG: Duration = Duration::from_secs(900);
/// The longest that it takes to start on a busy machine.
const SOON: Duration = Duration::from_secs(180);
/// Processes of its API: one for each processor of a small machine.
pub const API_PROCESSES: usize = 2;

/// What a server of the reference is made of, before it runs.
#[derive(Debug)]
pub struct Deployment {
    environment: PathBuf,
    directory: tempfile::TempDir,
}

/// A running server; it ends with this value.
#[derive(Debug)]
pub struct Reference<'a> {
    deployment: &'a Deployment,
    api: Family,
    rpc: Family,
    port: u16,
    /// From the start of its API to the first answer.
    pub started: Duration,
}

impl Deployment {
    /// Writes the files of a deployment on a database and a broker, with more lines for `neutron.conf` (sections may come again).
    ///
    /// # Panics
    /// When Neutron cannot be installed from PyPI, saying why.
    pub fn new(database: &str, transport: &str, more: &str) -> Deployment {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tools/reference-venv");
        let made = Program::new(script).arg(RELEASE).run(LONG).expect("bash runs");
        assert!(made.success(), "the reference cannot be installed: {}", made.stderr);
        let environment = PathBuf::from(made.stdout.trim());
        let directory =
            tempfile::Builder::new().prefix("neutrino-reference-").tempdir_in(memory()).expect("a directory");
        let deployment = Deployment { environment, directory };
        let home = deployment.path("").display().to_string();
        let home = home.trim_end_matches('/');
        std::fs::create_dir_all(deployment.path("lock")).expect("a directory");
        let fill =
            |text: &str| text.replace("@HOME@", home).replace("@DATABASE@", database).replace("@TRANSPORT@", transport);
        for (name, text) in [
            ("neutron.conf", format!("{}{more}", include_str!("neutron.conf"))),
            ("ml2_conf.ini", include_str!("ml2_conf.ini").to_owned()),
            ("api-paste.ini", include_str!("api-paste.ini").to_owned()),
            ("wsgi.py", include_str!("wsgi.py").to_owned()),
        ] {
            std::fs::write(deployment.path(name), fill(&text)).expect("a file of the deployment");
        }
        deployment
    }

    /// A file of its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Arguments that name its files, for its programs and ours.
    pub fn files(&self) -> Vec<String> {
        let file = |name: &str| self.path(name).display().to_string();
        vec!["--config-file".into(), file("neutron.conf"), "--config-file".into(), file("ml2_conf.ini")]
    }

    fn program(&self, name: &str) -> Program {
        // Everything else of the environment is nothing to it.
        Program::new(self.environment.join("bin").join(name))
            .directory(self.directory.path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("PYTHONWARNINGS", "ignore")
    }

    /// `neutron-db-manage`, with what it said.
    ///
    /// # Panics
    /// When it fails.
    pub fn manage(&self, arguments: &[&str]) -> String {
        let done =
            self.program("neutron-db-manage").args(self.files()).args(arguments).run(LONG).expect("it is installed");
        assert!(done.success(), "neutron-db-manage {}: {}{}", arguments.join(" "), done.stdout, done.stderr);
        done.stdout
    }

    /// Starts API and RPC server and waits until both do their work.
    pub fn start(&self) -> Reference<'_> {
        let port = free_port();
        let (processes, log) = (API_PROCESSES.to_string(), self.path("api.log"));
        let start = Instant::now();
        let uwsgi = self.program("uwsgi").arg("--http-socket").arg(format!("127.0.0.1:{port}")).arg("--wsgi-file");
        let uwsgi = uwsgi.arg(self.path("wsgi.py")).args([
            "--processes",
            &processes,
            "--lazy-apps",
            "--enable-threads",
            "--master",
        ]);
        let uwsgi = uwsgi.args(["--die-on-term", "--buffer-size", "65535", "--add-header", "Connection: close"]);
        let uwsgi = uwsgi.args(["--disable-logging", "--listen", "100", "--pyhome"]).arg(&self.environment);
        let api = Family(uwsgi.detach_logging(&log).expect("uwsgi is installed"));
        let address = format!("127.0.0.1:{port}");
        let alive = |family: &Family, log: &Path| {
            let said = || std::fs::read_to_string(log).unwrap_or_default();
            assert!(family.0.is_alive(), "the reference ended: {}", said());
        };
        until(SOON, || {
            alive(&api, &log);
            answers(&address)
        });
        let started = start.elapsed();
        let log = self.path("rpc.log");
        let rpc = self.program("neutron-rpc-server").args(self.files()).detach_logging(&log).expect("it is installed");
        let rpc = Family(rpc);
        until(SOON, || {
            alive(&rpc, &log);
            // Its workers are forked when everything is there.
            (family(rpc.0.pid()).len() > 1).then_some(())
        });
        Reference { deployment: self, api, rpc, port, started }
    }
}

impl Reference<'_> {
    /// Address of its API.
    pub fn base(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Numbers of its processes.
    pub fn pids(&self) -> Vec<i32> {
        let mut pids = family(self.api.0.pid());
        pids.extend(family(self.rpc.0.pid()));
        pids
    }

    /// What its programs logged.
    pub fn log(&self) -> String {
        ["api.log", "rpc.log"]
            .map(|name| std::fs::read_to_string(self.deployment.path(name)).unwrap_or_default())
            .concat()
    }
}

/// A process with all that it started; they end with this value.
#[derive(Debug)]
struct Family(Process);

impl Drop for Family {
    fn drop(&mut self) {
        let all: Vec<Process> =
            family(self.0.pid()).into_iter().filter_map(|pid| Process::open(pid).ok().flatten()).collect();
        let _ = self.0.terminate(Duration::from_secs(5));
        for process in all {
            let _ = process.terminate(Duration::ZERO);
        }
    }
}

/// Whether a server of HTTP answers anything at all.
fn answers(address: &str) -> Option<()> {
    use std::io::{Read, Write};
    let mut stream = std::net::TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(SOON)).ok()?;
    write!(stream, "GET / HTTP/1.0\r\nHost: {address}\r\n\r\n").ok()?;
    let mut first = [0; 12];
    stream.read_exact(&mut first).ok()?;
    (first == *b"HTTP/1.1 200" || first == *b"HTTP/1.0 200").then_some(())
}

/// A process and all that it started.
pub fn family(pid: i32) -> Vec<i32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        // Each of its threads may have started some.
        let Ok(threads) = std::fs::read_dir(format!("/proc/{parent}/task")) else { continue };
        for thread in threads.flatten() {
            let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            found.extend(list.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
        }
    }
    found
}
