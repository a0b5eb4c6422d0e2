//! How to reach RabbitMQ and what its queues are like. Names and defaults are those of `[oslo_messaging_rabbit]`
//! (oslo_messaging/_drivers/{impl_rabbit,amqp}.py).

use std::path::PathBuf;
use std::time::Duration;

use lapin::types::{AMQPValue, FieldTable};

use super::url::TransportUrl;

/// Options of the transport.
#[derive(Clone, Debug)]
pub struct Settings {
    pub url: TransportUrl,
    /// `control_exchange`: the exchange of all topics.
    pub control_exchange: String,
    /// Shown by the broker's tools, beside the process id.
    pub program: String,
    pub login: Login,
    /// `None`: no TLS.
    pub tls: Option<Tls>,
    /// How long silence from the broker is borne; zero: for ever.
    pub heartbeat: Duration,
    /// Checks in that time.
    pub heartbeat_rate: u32,
    pub failover: Failover,
    /// First wait between rounds over all hosts, what is added each time, and the most.
    pub retry: (Duration, Duration, Duration),
    /// How long a reply is offered to a caller whose queue is missing.
    pub reply_patience: Duration,
    /// Messages that a consumer holds unacknowledged; zero: as many as it can work on.
    pub prefetch: u16,
    pub queues: Queues,
    /// `use_queue_manager`: what the queues of replies and fanouts are called after their kind, the same in each life of this
    /// process and in no other at once. `None`: by chance.
    pub queue_names: Option<String>,
}

/// What queues are declared as.
#[derive(Clone, Debug)]
pub struct Queues {
    /// `amqp_durable_queues`: of topics and servers; implied by `quorum`.
    pub durable: bool,
    /// `amqp_auto_delete`: exchange and queues of topics go with their last user.
    pub auto_delete: bool,
    /// `rabbit_ha_queues`.
    pub mirrored: bool,
    /// `rabbit_quorum_queue`: of topics and servers.
    pub quorum: bool,
    /// `rabbit_transient_quorum_queue`: of replies and fanouts.
    pub transient_quorum: bool,
    /// `rabbit_stream_fanout`: one stream for all listeners of a fanout.
    pub stream_fanout: bool,
    /// `rabbit_quorum_delivery_limit`; zero: none.
    pub delivery_limit: u32,
    /// `rabbit_quorum_max_memory_length`, messages; zero: no limit.
    pub memory_length: u32,
    /// `rabbit_quorum_max_memory_bytes`; zero: no limit.
    pub memory_bytes: u32,
    /// `rabbit_transient_queues_ttl`: reply and fanout queues go when unused this long; zero: never.
    pub transient_ttl: Duration,
    /// `enable_cancel_on_failover`.
    pub cancel_on_failover: bool,
}

impl Default for Queues {
    fn default() -> Self {
        Self {
            durable: false,
            auto_delete: false,
            mirrored: false,
            quorum: false,
            transient_quorum: false,
            stream_fanout: false,
            delivery_limit: 0,
            memory_length: 0,
            memory_bytes: 0,
            transient_ttl: Duration::from_secs(1800),
            cancel_on_failover: false,
        }
    }
}

/// SASL mechanisms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    Plain,
    AmqPlain,
    External,
    RabbitCrDemo,
}

impl Login {
    /// Reads `rabbit_login_method`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "PLAIN" => Some(Self::Plain),
            "AMQPLAIN" => Some(Self::AmqPlain),
            "EXTERNAL" => Some(Self::External),
            "RABBIT-CR-DEMO" => Some(Self::RabbitCrDemo),
            _ => None,
        }
    }
}

/// Which host is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failover {
    RoundRobin,
    Shuffle,
}

/// Files in PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Authorities that may have signed the broker's certificate; `None`: it is not verified, as oslo.messaging does then.
    pub ca: Option<PathBuf>,
    /// Our certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Whether the certificate has to be the host's, where one is verified.
    pub verify_host: bool,
}

impl Settings {
    /// The defaults, for a broker.
    #[must_use]
    pub fn new(url: TransportUrl) -> Self {
        let tls = (url.scheme == "amqps").then(Tls::default);
        Self {
            url,
            control_exchange: crate::target::DEFAULT_EXCHANGE.to_owned(),
            program: "neutrino".to_owned(),
            login: Login::AmqPlain,
            tls,
            heartbeat: Duration::from_secs(60),
            heartbeat_rate: 3,
            failover: Failover::RoundRobin,
            retry: (Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(30)),
            reply_patience: Duration::from_secs(60),
            prefetch: 0,
            queues: Queues::default(),
            queue_names: None,
        }
    }

    /// Options that exclude each other, as the reference refuses them.
    pub fn check(&self) -> Result<(), &'static str> {
        let queues = &self.queues;
        if queues.quorum && queues.mirrored {
            return Err("rabbit_quorum_queue and rabbit_ha_queues exclude each other: queues are of one kind");
        }
        if queues.stream_fanout && self.prefetch == 0 {
            return Err("rabbit_stream_fanout needs rabbit_qos_prefetch_count to be above 0");
        }
        if queues.stream_fanout && !queues.transient_quorum {
            return Err("rabbit_stream_fanout needs rabbit_transient_quorum_queue");
        }
        Ok(())
    }
}

fn integer(value: u32) -> AMQPValue {
    AMQPValue::LongLongInt(i64::from(value))
}

impl Queues {
    fn of_kind(&self, quorum: bool) -> FieldTable {
        let mut arguments = FieldTable::default();
        if self.mirrored {
            arguments.insert("x-ha-policy".into(), AMQPValue::LongString("all".into()));
        }
        if quorum {
            arguments.insert("x-queue-type".into(), AMQPValue::LongString("quorum".into()));
            for (name, value) in [
                ("x-delivery-limit", self.delivery_limit),
                ("x-max-in-memory-length", self.memory_length),
                ("x-max-in-memory-bytes", self.memory_bytes),
            ] {
                if value > 0 {
                    arguments.insert(name.into(), integer(value));
                }
            }
        }
        arguments
    }

    /// Arguments of the queues of topics and servers.
    #[must_use]
    pub fn topic_arguments(&self) -> FieldTable {
        self.of_kind(self.quorum)
    }

    /// Arguments of reply queues.
    #[must_use]
    pub fn reply_arguments(&self) -> FieldTable {
        let mut arguments = self.of_kind(self.transient_quorum);
        let ttl = self.transient_ttl.as_millis();
        if ttl > 0 {
            arguments.insert("x-expires".into(), AMQPValue::LongLongInt(i64::try_from(ttl).unwrap_or(i64::MAX)));
        }
        arguments
    }

    /// Arguments of fanout queues.
    #[must_use]
    pub fn fanout_arguments(&self) -> FieldTable {
        if !self.stream_fanout {
            return self.reply_arguments();
        }
        let mut arguments = FieldTable::default();
        arguments.insert("x-queue-type".into(), AMQPValue::LongString("stream".into()));
        if !self.transient_ttl.is_zero() {
            let age = format!("{}s", self.transient_ttl.as_secs());
            arguments.insert("x-max-age".into(), AMQPValue::LongString(age.into()));
        }
        arguments
    }

    /// Whether queues of topics and servers outlive the broker.
    #[must_use]
    pub fn topics_last(&self) -> bool {
        self.durable || self.quorum
    }

    /// Whether reply queues and fanouts outlive the broker.
    #[must_use]
    pub fn transients_last(&self) -> bool {
        self.transient_quorum || self.stream_fanout
    }
}
