//! Options that all agents have. Names, sections and defaults as in neutron/conf/{common,service}.py,
//! neutron/conf/agent/common.py and oslo.messaging.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use config::{Config, ConfigError, Loader, Opt, Options};
use messaging::Timeouts;

pub static HOST: Opt<String> = Opt::host_address("DEFAULT", "host")
    .help("Name of this host, the same for every service on it. Ports are bound to it. Default: the host name.");
pub static STATE_PATH: Opt<String> = Opt::str("DEFAULT", "state_path")
    .default("/var/lib/neutron")
    .help("Directory for what must outlive the process; the agent writes there.");
pub static DEBUG: Opt<bool> = Opt::bool("DEFAULT", "debug").default("false").help("Log at level DEBUG.");
pub static USE_JSON: Opt<bool> = Opt::bool("DEFAULT", "use_json").default("false").help("Log lines are JSON.");
pub static RPC_RESPONSE_TIMEOUT: Opt<i64> =
    Opt::int("DEFAULT", "rpc_response_timeout").min(1).default("60").help("Seconds to wait for the answer to a call.");
pub static RPC_RESPONSE_MAX_TIMEOUT: Opt<i64> = Opt::int("DEFAULT", "rpc_response_max_timeout")
    .min(1)
    .default("600")
    .help("Seconds to which that grows while the server does not answer in time.");
pub static CONTROL_EXCHANGE: Opt<String> =
    Opt::str("DEFAULT", "control_exchange").default("neutron").help("Exchange of all topics.");
pub static REPORT_INTERVAL: Opt<f64> = Opt::float("AGENT", "report_interval")
    .range(0.0, 86_400.0)
    .default("30")
    .help("Seconds between reports to the server; at most half of its agent_down_time. 0: none.");
pub static LOG_AGENT_HEARTBEATS: Opt<bool> =
    Opt::bool("AGENT", "log_agent_heartbeats").default("false").help("The server logs each report of this agent.");
pub static AVAILABILITY_ZONE: Opt<String> = Opt::str("AGENT", "availability_zone")
    .max_length(255)
    .default("nova")
    .help("Availability zone of this host, for schedulers.");

pub static OPTIONS: Options = &[
    &HOST,
    &STATE_PATH,
    &DEBUG,
    &USE_JSON,
    &RPC_RESPONSE_TIMEOUT,
    &RPC_RESPONSE_MAX_TIMEOUT,
    &CONTROL_EXCHANGE,
    &REPORT_INTERVAL,
    &LOG_AGENT_HEARTBEATS,
    &AVAILABILITY_ZONE,
];

/// The values of [`OPTIONS`].
#[derive(Clone, Debug)]
pub struct Common {
    pub host: String,
    pub state_path: PathBuf,
    pub debug: bool,
    /// `None`: no reports.
    pub report_interval: Option<Duration>,
    pub log_agent_heartbeats: bool,
    pub availability_zone: String,
    /// Shared by all clients of the process.
    pub timeouts: Arc<Timeouts>,
}

impl Common {
    pub fn read(config: &Config) -> Result<Self, ConfigError> {
        let seconds = |opt| config.get::<i64>(opt).map(|n| Duration::from_secs(n.unsigned_abs()));
        let interval = Duration::from_secs_f64(config.get(&REPORT_INTERVAL)?);
        Ok(Self {
            host: config.get(&HOST)?,
            state_path: config.get(&STATE_PATH)?.into(),
            debug: config.get(&DEBUG)?,
            report_interval: (!interval.is_zero()).then_some(interval),
            log_agent_heartbeats: config.get(&LOG_AGENT_HEARTBEATS)?,
            availability_zone: config.get(&AVAILABILITY_ZONE)?,
            timeouts: Arc::new(Timeouts::new(seconds(&RPC_RESPONSE_TIMEOUT)?, seconds(&RPC_RESPONSE_MAX_TIMEOUT)?)),
        })
    }
}

/// A loader that knows these options and the name of this host.
#[must_use]
pub fn loader() -> Loader {
    let loader = Loader::new().declare(OPTIONS);
    match std::fs::read_to_string("/proc/sys/kernel/hostname") {
        Ok(name) => loader.default_of(&HOST.spec, name.trim()),
        // `host` must then stand in a file, and an error says so.
        Err(_) => loader,
    }
}
