//! Which bus a process talks over: `transport_url` and the section `[oslo_messaging_rabbit]`, with names and defaults of
//! oslo.messaging (oslo_messaging/_drivers/{impl_rabbit,amqp}.py). Options in the query of the URL override the section.

use std::sync::Arc;
use std::time::Duration;

use config::{Config, ConfigError, FromText, Opt, Options};
use messaging::amqp::settings::{Failover, Login, Queues, Settings, Tls};
use messaging::amqp::url::{BadUrl, TransportUrl};
use messaging::{Amqp, Bus};

use crate::options::CONTROL_EXCHANGE;

const SECTION: &str = "oslo_messaging_rabbit";
/// Processes of one program on a host whose queues have stable names.
const MAX_NAMES: u32 = 1000;

macro_rules! options {
    ($( $NAME:ident : $ty:ty = $opt:expr; )*) => {
        $( pub static $NAME: Opt<$ty> = $opt; )*

        /// All of them.
        pub static OPTIONS: Options = &[$( &$NAME ),*];
    };
}

const fn seconds(name: &'static str) -> Opt<f64> {
    Opt::float(SECTION, name).range(0.0, 86_400.0)
}

const fn count(name: &'static str) -> Opt<i64> {
    Opt::int(SECTION, name).range(0, 0x7fff_ffff)
}

options! {
    TRANSPORT_URL: Option<String> = Opt::str("DEFAULT", "transport_url").secret().optional()
        .help("The broker: rabbit://user:password@host:5672,user:password@host2:5672/virtual_host. Unset, server and agents of one process talk inside it.");
    SSL: bool = Opt::bool(SECTION, "ssl").default("false").help("Speak TLS to the broker.");
    SSL_CA_FILE: String = Opt::str(SECTION, "ssl_ca_file").default("")
        .help("PEM file of the authorities that may have signed the broker's certificate. Unset, it is not verified.");
    SSL_CERT_FILE: String = Opt::str(SECTION, "ssl_cert_file").default("").help("PEM file of our certificate.");
    SSL_KEY_FILE: String = Opt::str(SECTION, "ssl_key_file").default("").help("PEM file of its key.");
    SSL_VERIFY_HOST: bool = Opt::bool(SECTION, "ssl_enforce_hostname_verification").default("true")
        .help("The broker's certificate has to be for the host's name, where ssl_ca_file is set.");
    LOGIN_METHOD: String = Opt::choice(SECTION, "rabbit_login_method", &["PLAIN", "AMQPLAIN", "EXTERNAL", "RABBIT-CR-DEMO"])
        .default("AMQPLAIN").help("How to log in.");
    FAILOVER: String = Opt::choice(SECTION, "kombu_failover_strategy", &["round-robin", "shuffle"])
        .default("round-robin").help("Which host of several is next when one is lost.");
    MISSING_CONSUMER: i64 = count("kombu_missing_consumer_retry_timeout").default("60")
        .deprecated(&[(SECTION, "kombu_reconnect_timeout")])
        .help("Seconds for which an answer is offered to a caller whose queue is missing.");
    RETRY_INTERVAL: f64 = seconds("rabbit_retry_interval").default("1")
        .help("Seconds until hosts that could not be reached are tried again.");
    RETRY_BACKOFF: f64 = seconds("rabbit_retry_backoff").default("2").help("Seconds that are added to it each time.");
    INTERVAL_MAX: f64 = seconds("rabbit_interval_max").default("30").help("Seconds that it is at most.");
    HEARTBEAT: i64 = Opt::int(SECTION, "heartbeat_timeout_threshold").range(0, 65_535).default("60")
        .help("Seconds of silence after which the broker counts as lost; 0: never.");
    HEARTBEAT_RATE: i64 = Opt::int(SECTION, "heartbeat_rate").range(1, 100).default("3")
        .help("How often in that time the connection is checked.");
    PREFETCH: i64 = Opt::int(SECTION, "rabbit_qos_prefetch_count").range(0, 65_535).default("0")
        .help("Messages that a consumer holds unacknowledged; 0: as many as it works on at once.");
    HA_QUEUES: bool = Opt::bool(SECTION, "rabbit_ha_queues").default("false").help("Declare queues with x-ha-policy.");
    QUORUM: bool = Opt::bool(SECTION, "rabbit_quorum_queue").default("false").help("Queues of topics are quorum queues.");
    TRANSIENT_QUORUM: bool = Opt::bool(SECTION, "rabbit_transient_quorum_queue").default("false")
        .help("Queues of replies and fanouts are quorum queues.");
    DELIVERY_LIMIT: i64 = count("rabbit_quorum_delivery_limit").default("0")
        .help("Deliveries after which a quorum queue drops a message; 0: no limit.");
    MEMORY_LENGTH: i64 = count("rabbit_quorum_max_memory_length").default("0")
        .help("Messages that a quorum queue keeps in memory; 0: no limit.");
    MEMORY_BYTES: i64 = count("rabbit_quorum_max_memory_bytes").default("0")
        .help("Bytes that a quorum queue keeps in memory; 0: no limit.");
    TRANSIENT_TTL: i64 = count("rabbit_transient_queues_ttl").default("1800")
        .help("Seconds after which unused queues of replies and fanouts go; 0: never.");
    STREAM_FANOUT: bool = Opt::bool(SECTION, "rabbit_stream_fanout").default("false")
        .help("One stream for all listeners of a fanout; needs rabbit_transient_quorum_queue and rabbit_qos_prefetch_count.");
    CANCEL_ON_FAILOVER: bool = Opt::bool(SECTION, "enable_cancel_on_failover").default("false")
        .help("Consumers are cancelled when a mirrored queue fails over.");
    DURABLE: bool = Opt::bool(SECTION, "amqp_durable_queues").default("false")
        .help("Queues of topics outlive the broker's restart.");
    USE_QUEUE_MANAGER: bool = Opt::bool(SECTION, "use_queue_manager").default("false")
        .help("Queues of replies and fanouts have the same names in each life of a process: host, program and a number.");
    HOSTNAME: String = Opt::str(SECTION, "hostname").default("").help("The host in these names. Default: the host name.");
    PROCESSNAME: String = Opt::str(SECTION, "processname").default("").help("The program in these names. Default: its own.");
    AUTO_DELETE: bool = Opt::bool(SECTION, "amqp_auto_delete").default("false")
        .help("Queues of topics go with their last user.");
}

/// What is wrong with the options.
#[derive(Debug, thiserror::Error)]
pub enum TransportConfigError {
    #[error(transparent)]
    Option(#[from] ConfigError),
    #[error("[DEFAULT] {0}")]
    Url(#[from] BadUrl),
    #[error("transport_url: {name} in its query: {why}")]
    Query { name: &'static str, why: String },
    #[error("[oslo_messaging_rabbit] {0}")]
    Combination(&'static str),
    #[error("[oslo_messaging_rabbit] use_queue_manager: {0}")]
    Names(String),
    #[error("[DEFAULT] transport_url: there is no driver for {0:?}; it begins with rabbit://")]
    Driver(String),
}

struct Reader<'a> {
    config: &'a Config,
    url: &'a TransportUrl,
}

impl Reader<'_> {
    fn get<T: FromText>(&self, opt: &Opt<T>) -> Result<T, TransportConfigError> {
        let spec = &opt.spec;
        match self.url.query.get(spec.name) {
            Some(text) => T::from_texts(spec.kind, std::slice::from_ref(text))
                .map_err(|why| TransportConfigError::Query { name: spec.name, why }),
            None => Ok(self.config.get(opt)?),
        }
    }

    fn whole(&self, opt: &Opt<i64>) -> Result<u64, TransportConfigError> {
        self.get(opt).map(i64::unsigned_abs)
    }

    fn small(&self, opt: &Opt<i64>) -> Result<u32, TransportConfigError> {
        self.whole(opt).map(|n| u32::try_from(n).unwrap_or(u32::MAX))
    }

    fn time(&self, opt: &Opt<f64>) -> Result<Duration, TransportConfigError> {
        self.get(opt).map(Duration::from_secs_f64)
    }

    fn path(&self, opt: &Opt<String>) -> Result<Option<std::path::PathBuf>, TransportConfigError> {
        self.get(opt).map(|text| (!text.is_empty()).then(|| text.into()))
    }
}

/// The settings of the broker that the configuration names; `None` when it names none. `program` is shown by its tools.
pub fn settings(config: &Config, program: &str) -> Result<Option<Settings>, TransportConfigError> {
    let Some(text) = config.get(&TRANSPORT_URL)?.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
    let url = TransportUrl::parse(&text)?;
    if !url.is_rabbit() {
        return Err(TransportConfigError::Driver(url.scheme));
    }
    read(config, url, program).map(Some)
}

fn read(config: &Config, url: TransportUrl, program: &str) -> Result<Settings, TransportConfigError> {
    let reader = Reader { config, url: &url };
    let identity = match (reader.path(&SSL_CERT_FILE)?, reader.path(&SSL_KEY_FILE)?) {
        (Some(certificate), Some(key)) => Some((certificate, key)),
        // A file may hold both.
        (Some(certificate), None) => Some((certificate.clone(), certificate)),
        _ => None,
    };
    let tls = Tls { ca: reader.path(&SSL_CA_FILE)?, identity, verify_host: reader.get(&SSL_VERIFY_HOST)? };
    let queues = Queues {
        durable: reader.get(&DURABLE)?,
        auto_delete: reader.get(&AUTO_DELETE)?,
        mirrored: reader.get(&HA_QUEUES)?,
        quorum: reader.get(&QUORUM)?,
        transient_quorum: reader.get(&TRANSIENT_QUORUM)?,
        stream_fanout: reader.get(&STREAM_FANOUT)?,
        delivery_limit: reader.small(&DELIVERY_LIMIT)?,
        memory_length: reader.small(&MEMORY_LENGTH)?,
        memory_bytes: reader.small(&MEMORY_BYTES)?,
        transient_ttl: Duration::from_secs(reader.whole(&TRANSIENT_TTL)?),
        cancel_on_failover: reader.get(&CANCEL_ON_FAILOVER)?,
    };
    let settings = Settings {
        control_exchange: config.get(&CONTROL_EXCHANGE)?,
        program: program.to_owned(),
        login: Login::named(&reader.get(&LOGIN_METHOD)?).unwrap_or(Login::AmqPlain),
        tls: (reader.get(&SSL)? || url.scheme == "amqps").then_some(tls),
        heartbeat: Duration::from_secs(reader.whole(&HEARTBEAT)?),
        heartbeat_rate: reader.small(&HEARTBEAT_RATE)?,
        failover: if reader.get(&FAILOVER)? == "shuffle" { Failover::Shuffle } else { Failover::RoundRobin },
        retry: (reader.time(&RETRY_INTERVAL)?, reader.time(&RETRY_BACKOFF)?, reader.time(&INTERVAL_MAX)?),
        reply_patience: Duration::from_secs(reader.whole(&MISSING_CONSUMER)?),
        prefetch: u16::try_from(reader.whole(&PREFETCH)?).unwrap_or(u16::MAX),
        queues,
        queue_names: match reader.get(&USE_QUEUE_MANAGER)? {
            true => Some(stable_name(&reader.get(&HOSTNAME)?, &reader.get(&PROCESSNAME)?, program)?),
            false => None,
        },
        url: url.clone(),
    };
    settings.check().map_err(TransportConfigError::Combination)?;
    Ok(settings)
}

/// A name for the queues of this process: the first of its host and program that no living process has. It is this one's until it
/// ends.
fn stable_name(host: &str, process: &str, program: &str) -> Result<String, TransportConfigError> {
    let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let or = |name: &str, other: &str| if name.is_empty() { other.trim().to_owned() } else { name.to_owned() };
    let (host, process) = (or(host, &own), or(process, program));
    for number in 1..=MAX_NAMES {
        let name = format!("{host}:{process}:{number}");
        let file = std::path::Path::new("/dev/shm").join(format!("neutrino-{}", name.replace(['/', ':'], "_")));
        let wrong = |error: std::io::Error| TransportConfigError::Names(format!("{}: {error}", file.display()));
        let lock = std::fs::File::options().create(true).append(true).open(&file).map_err(wrong)?;
        if lock.try_lock().is_ok() {
            // The lock lasts as long as the process.
            std::mem::forget(lock);
            return Ok(name);
        }
    }
    Err(TransportConfigError::Names(format!("{host}:{process} has {MAX_NAMES} processes already")))
}

/// The bus over the broker that the configuration names; `None` when it names none. Needs a tokio runtime.
pub fn bus(config: &Config, program: &str) -> Result<Option<Bus>, TransportConfigError> {
    Ok(settings(config, program)?.map(connect))
}

/// The same for a process that has nobody to talk to inside it: without `transport_url`, the broker of this machine.
pub fn bus_or_local(config: &Config, program: &str) -> Result<Bus, TransportConfigError> {
    let settings = match settings(config, program)? {
        Some(settings) => settings,
        None => read(config, TransportUrl::parse("rabbit://")?, program)?,
    };
    Ok(connect(settings))
}

fn connect(settings: Settings) -> Bus {
    tracing::info!("messages go over {}", settings.url);
    Arc::new(Amqp::new(settings))
}

/// Ends the watch when it goes away.
#[must_use = "a dropped watch sees nothing"]
pub struct Reconnects(tokio::task::JoinHandle<()>);

impl Drop for Reconnects {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Calls `again` whenever a listener is there again after its queues were lost: news may have been lost meanwhile, so whoever lives
/// by them looks at everything. `None` on a bus that loses nothing.
pub fn on_reconnect(bus: &Bus, again: impl Fn() + Send + 'static) -> Option<Reconnects> {
    let mut losses = bus.losses()?;
    Some(Reconnects(tokio::spawn(async move {
        while losses.changed().await.is_ok() {
            tracing::info!("queues are there again: what was missed is asked for");
            again();
        }
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<Settings>, TransportConfigError> {
        let loader = crate::options::loader().declare(OPTIONS);
        settings(&loader.text("test", text).load().unwrap(), "test")
    }

    #[test]
    fn defaults_are_those_of_the_reference() {
        assert!(of("").unwrap().is_none());
        let settings = of("[DEFAULT]\ntransport_url = rabbit://u:p@h/").unwrap().unwrap();
        let wanted = Settings { program: "test".to_owned(), ..Settings::new(settings.url.clone()) };
        assert_eq!(format!("{settings:?}"), format!("{wanted:?}"));
    }

    #[test]
    fn the_url_overrides_the_section() {
        let section = "[oslo_messaging_rabbit]\nssl = true\nssl_ca_file = /a\nrabbit_quorum_queue = true\n";
        let settings =
            of(&format!("[DEFAULT]\ntransport_url = rabbit://h/?ssl_ca_file=/b\n{section}")).unwrap().unwrap();
        assert_eq!(settings.tls.unwrap().ca.unwrap().to_str(), Some("/b"));
        assert!(settings.queues.quorum);
    }

    #[test]
    fn rpc_quorum_options_are_read_and_a_misspelt_one_is_said() {
        let host = format!("h{}", std::process::id());
        let text = "[DEFAULT]\ntransport_url = rabbit://h/\n[oslo_messaging_rabbit]\nrabbit_quorum_queue = true\n\
                    rabbit_transient_quorum_queue = true\nrabbit_stream_fanout = true\nrabbit_qos_prefetch_count = 10\n\
                    use_queue_manager = true\nprocessname = p1\nrabbit_quorum_queues = true\nhostname = ";
        let text = &format!("{text}{host}\n");
        let config = crate::options::loader().declare(OPTIONS).text("neutron.conf", text).load().unwrap();
        let settings = |program| settings(&config, program).unwrap().unwrap();
        let first = settings("neutron-server");
        let queues = &first.queues;
        assert!(queues.quorum && queues.transient_quorum && queues.stream_fanout);
        assert_eq!(first.prefetch, 10);
        assert_eq!(first.queue_names.as_deref(), Some(format!("{host}:p1:1").as_str()));
        assert_eq!(
            settings("neutron-server").queue_names.as_deref(),
            Some(format!("{host}:p1:2").as_str()),
            "the first has its names still"
        );
        let unknown: Vec<String> = config.unknown(&[]).into_iter().map(|unknown| unknown.name).collect();
        assert_eq!(unknown, ["rabbit_quorum_queues"]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let refused = |text: &str| of(text).unwrap_err().to_string();
        assert!(refused("[DEFAULT]\ntransport_url = kafka://h/").contains("kafka"));
        assert!(refused("[DEFAULT]\ntransport_url = rabbit://h/?ssl=perhaps").contains("ssl"));
        let both = "[DEFAULT]\ntransport_url = rabbit://h/?rabbit_quorum_queue=1&rabbit_ha_queues=1";
        assert!(refused(both).contains("rabbit_ha_queues"));
    }
}
