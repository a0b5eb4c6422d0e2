mod cases;
mod faults;
mod refusals;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lapin::options::QueueDeleteOptions;
use lapin::{Connection, ConnectionProperties};
use serde_json::{Value, json};
use testkit::broker::{Broker, VirtualHost};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::settings::Settings;
use super::url::TransportUrl;
use super::*;
use crate::tests::{V, call, cast, client, listen, probe};
use crate::{Bus, Client};

/// A virtual host for one test.
pub(crate) async fn host() -> VirtualHost {
    tokio::task::spawn_blocking(testkit::broker::fresh).await.unwrap()
}

fn settings(url: &str) -> Settings {
    let mut settings = Settings::new(TransportUrl::parse(url).unwrap());
    let millis = Duration::from_millis;
    settings.retry = (millis(100), millis(100), millis(500));
    settings
}

pub(crate) fn amqp(url: &str) -> Amqp {
    Amqp::new(settings(url))
}

/// Looks at the broker from beside.
async fn beside(host: &VirtualHost) -> lapin::Channel {
    let uri = format!("amqp://guest:guest@127.0.0.1:{}/{}", host.port(), host.name());
    let connection = Connection::connect(&uri, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    // The channel needs its connection.
    std::mem::forget(connection);
    channel
}

/// What a cable does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plug {
    In,
    /// Connections break, and none is made.
    Out,
    /// Connections of before neither break nor pass anything on; new ones do.
    Frozen,
}

/// A cable to the broker that can be cut.
struct Cable {
    port: u16,
    /// With the number of changes: one that is over at once is seen too.
    plug: watch::Sender<(Plug, u32)>,
}

impl Cable {
    async fn to(port: u16) -> Cable {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own = listener.local_addr().unwrap().port();
        let (plug, watch) = watch::channel((Plug::In, 0));
        tokio::spawn(async move {
            loop {
                let Ok((mut near, _)) = listener.accept().await else { return };
                let mut watch = watch.clone();
                tokio::spawn(async move {
                    let new = *watch.borrow_and_update();
                    if new.0 == Plug::Out {
                        return;
                    }
                    let Ok(mut far) = TcpStream::connect(("127.0.0.1", port)).await else { return };
                    let changed = tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => return,
                        changed = watch.wait_for(|plug| *plug != new) => changed.map(|plug| *plug),
                    };
                    if matches!(changed, Ok((Plug::Frozen, _))) {
                        // For as long as the test.
                        std::future::pending::<()>().await;
                    }
                });
            }
        });
        Cable { port: own, plug }
    }

    fn url(&self, host: &VirtualHost) -> String {
        format!("rabbit://guest:guest@127.0.0.1:{}/{}", self.port, host.name())
    }

    fn set(&self, plug: Plug) {
        self.plug.send_modify(|(now, changes)| {
            *now = plug;
            *changes += 1;
        });
    }

    fn cut(&self) {
        self.set(Plug::Out);
    }

    fn mend(&self) {
        self.set(Plug::In);
    }

    fn freeze(&self) {
        self.set(Plug::Frozen);
    }
}

/// A broker for this test alone.
async fn broker(settings: &'static str) -> Broker {
    tokio::task::spawn_blocking(move || Broker::start_as(settings)).await.unwrap()
}

/// Runs an expression in its node.
async fn evaluate(broker: &Arc<Broker>, expression: impl Into<String>) -> String {
    let (broker, expression) = (Arc::clone(broker), expression.into());
    let said = tokio::task::spawn_blocking(move || broker.evaluate(&expression)).await.unwrap();
    let said: String = said.split_whitespace().collect();
    // Texts are written as lists of bytes.
    let mut parts = said.split("#Bin<");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (bytes, rest) = part.split_once('>').unwrap();
        let bytes = bytes.split(',').filter(|byte| !byte.is_empty()).map(|byte| byte.parse::<u8>().unwrap()).collect();
        plain += &format!("<<\"{}\">>{rest}", String::from_utf8(bytes).unwrap());
    }
    plain
}

/// How many connections it has.
async fn connections(broker: &Arc<Broker>) -> usize {
    let said = evaluate(broker, "length(rabbit_networking:connections()).").await;
    said.trim_start_matches("{ok,").trim_end_matches('}').parse().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn queues_and_exchanges_are_those_of_the_reference() {
    let host = host().await;
    let bus: Bus = Arc::new(amqp(&host.url()));
    let (a, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("q-plugin").server("ctl"), &a, ListenOptions::default()).await;
    call(&client(&bus, "q-plugin"), "echo", 1).await.unwrap();
    // Declared again with other properties, the broker would close the channel.
    let channel = beside(&host).await;
    for queue in ["q-plugin", "q-plugin.ctl"] {
        channel.queue_declare(queue.into(), Default::default(), Default::default()).await.unwrap();
    }
    let topic = lapin::ExchangeKind::Topic;
    channel.exchange_declare("neutron".into(), topic, Default::default(), Default::default()).await.unwrap();
    let fanout = lapin::options::ExchangeDeclareOptions { auto_delete: true, ..Default::default() };
    let kind = lapin::ExchangeKind::Fanout;
    channel.exchange_declare("q-plugin_fanout".into(), kind, fanout, Default::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_exists_with_other_properties_is_used() {
    let host = host().await;
    let channel = beside(&host).await;
    let topic = lapin::ExchangeKind::Topic;
    let durable = lapin::options::ExchangeDeclareOptions { durable: true, ..Default::default() };
    channel.exchange_declare("neutron".into(), topic, durable, Default::default()).await.unwrap();
    let durable = lapin::options::QueueDeclareOptions { durable: true, ..Default::default() };
    channel.queue_declare("t".into(), durable, Default::default()).await.unwrap();
    let bus: Bus = Arc::new(amqp(&host.url()));
    let (a, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::default()).await;
    assert_eq!(call(&client(&bus, "t"), "echo", 1).await.unwrap(), json!({"n": 1}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_of_queues_can_be_chosen() {
    let host = host().await;
    let mut settings = settings(&host.url());
    settings.queues.quorum = true;
    settings.queues.transient_quorum = true;
    settings.queues.delivery_limit = 20;
    settings.check().unwrap();
    let bus: Bus = Arc::new(Amqp::new(settings));
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::concurrent(4)).await;
    assert_eq!(call(&client(&bus, "t"), "echo", 1).await.unwrap(), json!({"n": 1}));
    seen.recv().await.unwrap();
    cast(&client(&bus, "t").fanout(), "note", 2).await;
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 2}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_waits_for_a_server_until_its_timeout() {
    let host = host().await;
    let bus: Bus = Arc::new(amqp(&host.url()));
    let c = client(&bus, "late");
    let started = Instant::now();
    let timeout = Duration::from_secs(1);
    let failed: Result<Value, _> = c.clone().timeout(timeout).call(&Context::admin(), V, "echo", &json!({})).await;
    assert!(matches!(failed, Err(CallError::Timeout { .. })), "{failed:?}");
    assert!(started.elapsed() >= timeout, "not before");
    let waiting = tokio::spawn(async move { call(&c, "echo", 1).await });
    let (a, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("late"), &a, ListenOptions::default()).await;
    assert_eq!(waiting.await.unwrap().unwrap(), json!({"n": 1}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cut_cable_loses_nothing() {
    let host = host().await;
    let cable = Cable::to(host.port()).await;
    let far: Bus = Arc::new(amqp(&cable.url(&host)));
    let near = amqp(&host.url());
    let bus: Bus = Arc::new(near.clone());
    let (a, mut seen) = probe("a");
    let _l = listen(&far, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let (b, mut seen_b) = probe("b");
    let _m = listen(&bus, Target::topic("u"), &b, ListenOptions::in_order()).await;
    for n in 0..20 {
        cast(&client(&bus, "t").server("a"), "note", n).await;
    }
    cable.cut();
    for n in 20..40 {
        cast(&client(&bus, "t").server("a"), "note", n).await;
    }
    // In the other direction they wait in the process.
    let out = client(&far, "u");
    for n in 0..10 {
        cast(&out, "note", n).await;
    }
    let calling = tokio::spawn(async move { call(&out, "echo", 99).await });
    cable.mend();
    for n in 0..40 {
        assert_eq!(seen.recv().await.unwrap().2, json!({ "n": n }), "in order, each once");
    }
    for n in 0..10 {
        assert_eq!(seen_b.recv().await.unwrap().2, json!({ "n": n }));
    }
    assert_eq!(calling.await.unwrap().unwrap(), json!({"n": 99}));
    assert!(seen.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_reply_queue_is_noticed() {
    let host = host().await;
    let caller = amqp(&host.url());
    let bus: Bus = Arc::new(caller.clone());
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &a, ListenOptions::default()).await;
    let c = client(&bus, "t");
    call(&c, "echo", 0).await.unwrap();
    seen.recv().await.unwrap();
    let waiting = tokio::spawn(async move { call(&c, "wait", 1).await });
    seen.recv().await.unwrap();
    let queue = caller.inner.replies().queue.clone();
    let channel = beside(&host).await;
    channel.queue_delete(queue.as_str().into(), QueueDeleteOptions::default()).await.unwrap();
    let started = Instant::now();
    a.gate.add_permits(1);
    assert_eq!(waiting.await.unwrap().unwrap(), json!({"n": 1}));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_server_held_goes_to_another() {
    let host = host().await;
    let (dying, living): (Bus, Bus) = (Arc::new(amqp(&host.url())), Arc::new(amqp(&host.url())));
    let (a, mut seen_a) = probe("a");
    let l = listen(&dying, Target::topic("t").server("a"), &a, ListenOptions::default()).await;
    let c = client(&living, "t");
    let waiting = tokio::spawn(async move { call(&c, "wait", 1).await });
    seen_a.recv().await.unwrap();
    let (b, mut seen_b) = probe("b");
    let _m = listen(&living, Target::topic("t").server("b"), &b, ListenOptions::default()).await;
    drop(l);
    drop(dying);
    assert_eq!(seen_b.recv().await.unwrap().2, json!({"n": 1}));
    b.gate.add_permits(1);
    assert_eq!(waiting.await.unwrap().unwrap(), json!({"n": 1}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_flight_messages_are_bounded() {
    let host = host().await;
    let bus: Bus = Arc::new(amqp(&host.url()));
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &a, ListenOptions::concurrent(3)).await;
    let c = client(&bus, "t");
    for n in 0..50 {
        cast(&c, "wait", n).await;
    }
    for _ in 0..3 {
        seen.recv().await.unwrap();
    }
    let channel = beside(&host).await;
    let (waiting, _) = topology::look(&channel, "t").await.unwrap();
    assert_eq!(waiting, 47, "the rest is in the broker");
    a.gate.add_permits(50);
    for _ in 3..50 {
        seen.recv().await.unwrap();
    }
    assert!(a.most.load(Ordering::SeqCst) <= 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_broker_comes_back_to_the_same_service() {
    let broker = tokio::task::spawn_blocking(Broker::start).await.unwrap();
    let host = broker.virtual_host();
    let bus: Bus = Arc::new(amqp(&host.url()));
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&bus, "t");
    call(&c, "echo", 0).await.unwrap();
    seen.recv().await.unwrap();
    let broker = tokio::task::spawn_blocking(move || {
        broker.kill();
        broker
    });
    let broker = broker.await.unwrap();
    // A cast is kept here; a call waits.
    cast(&c.server("a"), "note", 1).await;
    let (again, timeout) = (c.clone(), Duration::from_secs(120));
    let calling = tokio::spawn(async move { call(&again.timeout(timeout), "echo", 2).await });
    let broker = tokio::task::spawn_blocking(move || {
        broker.restart();
        broker
    });
    let _broker = broker.await.unwrap();
    assert_eq!(calling.await.unwrap().unwrap(), json!({"n": 2}));
    let mut got = [seen.recv().await.unwrap().2, seen.recv().await.unwrap().2];
    got.sort_by_key(|args| args["n"].as_u64());
    assert_eq!(got, [json!({"n": 1}), json!({"n": 2})]);
    cast(&c.fanout(), "note", 3).await;
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 3}));
}

#[tokio::test]
async fn without_a_broker_calls_time_out_and_casts_are_kept() {
    let bus = amqp("rabbit://guest:guest@127.0.0.1:1/");
    let started = Instant::now();
    let c = Client::new(Arc::new(bus.clone()), Target::topic("t")).timeout(Duration::from_millis(300));
    assert!(matches!(call(&c, "echo", 1).await, Err(CallError::Timeout { .. })));
    assert!(started.elapsed() >= Duration::from_millis(300));
    cast(&c, "note", 1).await;
    assert!(!bus.is_connected());
}
