//! RabbitMQ for tests, as Debian packages it: a node of its own on free ports of the loopback, with its own name server and its
//! files in memory, never that of the machine.
//!
//! [`fresh`] gives an empty virtual host on a node that the test processes of one user share; the first of them starts it (some
//! seconds), and it is stopped some seconds after the last has ended. [`Broker`] is one for a test alone, which may be killed
//! and started again.

use std::fs::File;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use linux::Program;
use linux::proc::Child;
use nix::sys::signal::Signal;

use crate::database::{Place, free_port, join, keeper, memory, unique};
use crate::until;

/// The longest that a node takes to start on a busy machine.
const SOON: Duration = Duration::from_secs(180);
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";

/// A virtual host that nobody else uses, on the node that tests share.
#[derive(Debug, Clone)]
pub struct VirtualHost {
    name: String,
    port: u16,
}

impl VirtualHost {
    /// `transport_url` of it.
    pub fn url(&self) -> String {
        format!("rabbit://guest:guest@127.0.0.1:{}/{}", self.port, self.name)
    }

    /// The port of the node on the loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// An empty virtual host on the shared node, which is started if it does not run.
///
/// # Panics
/// When RabbitMQ is not installed or does not start, saying why.
pub fn fresh() -> VirtualHost {
    static JOINED: Mutex<Option<(Place, File)>> = Mutex::new(None);
    let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
    let (place, _) = joined.get_or_insert_with(|| {
        join("rabbitmq", |place| {
            let node = Node::new(place);
            node.write();
            let epmd = format!("epmd -port {} -kill", node.names_port());
            let started = keeper(place).arg(SERVER).env("KEEP_AFTER", epmd);
            node.environment(started).detach().expect("bash keeps the broker");
            node.wait();
        })
    });
    Node::new(place).virtual_host()
}

/// A node for one test, stopped when this value goes.
#[derive(Debug)]
pub struct Broker {
    place: Place,
    _directory: tempfile::TempDir,
    running: Mutex<Option<Child>>,
}

impl Broker {
    /// # Panics
    /// When RabbitMQ is not installed or does not start.
    pub fn start() -> Broker {
        Broker::start_with("127.0.0.1", "")
    }

    /// The same on another address of the network namespace that this thread is in.
    pub fn start_on(address: &str) -> Broker {
        Broker::start_with(address, "")
    }

    /// With further lines of `rabbitmq.conf`.
    pub fn start_as(settings: &str) -> Broker {
        Broker::start_with("127.0.0.1", settings)
    }

    /// With TLS on a further port: the broker, that port, and a directory with `ca.pem` and with `client.pem` and `client.key`,
    /// which it has signed. The broker's certificate is for `localhost`; `other.pem` has signed nothing.
    pub fn start_tls() -> (Broker, u16, tempfile::TempDir) {
        let files = tempfile::Builder::new().prefix("neutrino-test-").tempdir_in(memory()).expect("a directory");
        for name in ["ca", "other"] {
            openssl(
                files.path(),
                &format!(
                    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN={name} -keyout {name}.key -out {name}.pem"
                ),
            );
        }
        for (name, host) in [("broker", "localhost"), ("client", "client")] {
            openssl(
                files.path(),
                &format!(
                    "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN={host} -addext subjectAltName=DNS:{host} -keyout {name}.key -out {name}.csr"
                ),
            );
            openssl(
                files.path(),
                &format!(
                    "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -copy_extensions copy -out {name}.pem"
                ),
            );
        }
        let (port, path) = (free_port(), files.path().display());
        let settings = format!(
            "listeners.ssl.default = 127.0.0.1:{port}\nssl_options.cacertfile = {path}/ca.pem\n\
             ssl_options.certfile = {path}/broker.pem\nssl_options.keyfile = {path}/broker.key\n\
             ssl_options.verify = verify_peer\nssl_options.fail_if_no_peer_cert = false\n"
        );
        let broker = Broker::start_as(&settings);
        until(SOON, || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
        (broker, port, files)
    }

    fn start_with(address: &str, settings: &str) -> Broker {
        let directory = tempfile::Builder::new().prefix("neutrino-test-").tempdir_in(memory()).expect("a directory");
        let place = Place { port: free_port(), directory: directory.path().to_owned() };
        let node = Node::new(&place);
        node.write();
        std::fs::write(place.directory.join("address"), address).expect("a file of the broker");
        let file = place.directory.join("data/rabbitmq.conf");
        let all = std::fs::read_to_string(&file).expect("a file of the broker") + settings;
        std::fs::write(file, all).expect("a file of the broker");
        let broker = Broker { place, _directory: directory, running: Mutex::new(None) };
        broker.restart();
        broker
    }

    /// Starts it again at the same address, after [`Broker::kill`].
    pub fn restart(&self) {
        let node = Node::new(&self.place);
        let started = node.environment(Program::new(SERVER)).directory("/");
        let child = started.spawn_logging(&self.place.directory.join("log")).expect("RabbitMQ is installed");
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        node.wait();
    }

    /// kill -9.
    pub fn kill(&self) {
        if let Some(mut child) = self.running.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = child.process().signal(Signal::SIGKILL);
            let _ = child.wait(SOON);
        }
    }

    /// An empty virtual host on it. It lasts over a restart.
    pub fn virtual_host(&self) -> VirtualHost {
        Node::new(&self.place).virtual_host()
    }

    /// Runs an expression in the node, such as `rabbit_amqqueue:list().`
    pub fn evaluate(&self, expression: &str) -> String {
        let node = Node::new(&self.place);
        until(SOON, || node.evaluate(expression))
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        let port = Node::new(&self.place).names_port().to_string();
        let _ = Program::new("epmd").args(["-port", &port, "-kill"]).run(SOON);
    }
}

fn openssl(directory: &std::path::Path, arguments: &str) {
    let call = Program::new("openssl").args(arguments.split(' ')).directory(directory);
    let done = call.run(SOON).expect("openssl is installed (`make test` installs it)");
    assert!(done.success(), "openssl {arguments}: {}", done.stderr);
}

/// A node by where it is.
struct Node {
    port: u16,
    directory: PathBuf,
}

impl Node {
    fn new(place: &Place) -> Self {
        Self { port: place.port, directory: place.directory.clone() }
    }

    /// Its files, and the ports that it needs beside its own.
    fn write(&self) {
        let data = self.directory.join("data");
        std::fs::create_dir_all(&data).expect("a directory for the broker");
        for file in ["names", "peers"] {
            std::fs::write(self.directory.join(file), free_port().to_string()).expect("a file of the broker");
        }
        let settings = "vm_memory_high_watermark.absolute = 512MB\ndisk_free_limit.absolute = 10MB\nlog.console = true\n\
                        log.console.level = warning\nlog.file = false\nloopback_users.guest = false\n";
        std::fs::write(data.join("rabbitmq.conf"), settings).expect("a file of the broker");
        std::fs::write(data.join("enabled_plugins"), "[].\n").expect("a file of the broker");
        let cookie = data.join(".erlang.cookie");
        std::fs::write(&cookie, format!("NEUTRINO{:016X}", unique())).expect("a file of the broker");
        let secret = std::os::unix::fs::PermissionsExt::from_mode(0o400);
        std::fs::set_permissions(&cookie, secret).expect("a file of the broker");
    }

    /// The port of its name server.
    fn names_port(&self) -> u16 {
        self.other_port("names")
    }

    fn other_port(&self, file: &str) -> u16 {
        let text = std::fs::read_to_string(self.directory.join(file)).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }

    fn address(&self) -> String {
        std::fs::read_to_string(self.directory.join("address")).unwrap_or_else(|_| "127.0.0.1".to_owned())
    }

    fn name(&self) -> String {
        format!("neutrino{}@localhost", self.port)
    }

    fn environment(&self, program: Program) -> Program {
        let data = self.directory.join("data");
        program
            .env("HOME", &data)
            .env("ERL_EPMD_PORT", self.names_port().to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_NODENAME", self.name())
            .env("RABBITMQ_NODE_IP_ADDRESS", self.address())
            .env("RABBITMQ_NODE_PORT", self.port.to_string())
            .env("RABBITMQ_MNESIA_BASE", data.join("mnesia"))
            .env("RABBITMQ_LOG_BASE", data.join("log"))
            .env("RABBITMQ_CONFIG_FILE", data.join("rabbitmq"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", data.join("enabled_plugins"))
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("RABBITMQ_PID_FILE", data.join("pid"))
            .env("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", "-kernel inet_dist_use_interface {127,0,0,1} +S 2:2 +sbwt none")
            .env("RABBITMQ_DIST_PORT", self.other_port("peers").to_string())
            // The shell becomes the node, so that signals reach it.
            .env("RUNNING_UNDER_SYSTEMD", "1")
    }

    /// Its listener is the last that starts.
    fn wait(&self) {
        until(SOON, || {
            let answers = std::net::TcpStream::connect(("127.0.0.1", self.port)).is_ok();
            answers.then_some(()).or_else(|| {
                let text = std::fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                assert!(!text.contains("eaddrinuse") && !text.contains("BOOT FAILED"), "{text}");
                None
            })
        });
    }

    fn evaluate(&self, expression: &str) -> Option<String> {
        let cookie = std::fs::read_to_string(self.directory.join("data/.erlang.cookie")).ok()?;
        let call = Program::new("erl_call")
            .args(["-sname", &self.name(), "-c", cookie.trim(), "-e"])
            .env("ERL_EPMD_PORT", self.names_port().to_string())
            // The line has to end.
            .input(format!("{expression}\n"));
        let done = call.run(SOON).expect("erl_call is installed with RabbitMQ (`make test` installs it)");
        (done.success() && done.stdout.contains("{ok,")).then_some(done.stdout)
    }

    fn virtual_host(&self) -> VirtualHost {
        let name = format!("v{:016x}", unique());
        let expression = format!(
            "rabbit_vhost:add(<<\"{name}\">>, <<\"test\">>), rabbit_auth_backend_internal:set_permissions(\
             <<\"guest\">>, <<\"{name}\">>, <<\".*\">>, <<\".*\">>, <<\".*\">>, <<\"test\">>)."
        );
        // Calls of one user share a name, under which the node lets in one at a time.
        until(SOON, || self.evaluate(&expression));
        VirtualHost { name, port: self.port }
    }
}
