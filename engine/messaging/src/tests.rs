//! What holds on every transport. Each test runs on a bus and a topic of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, mpsc};

use crate::{
    Bus, CallError, Client, Context, Dispatcher, Endpoint, ListenOptions, Listener, RemoteFault, Target, Version,
};

/// Sends what it gets into a channel; `echo` answers its arguments, `wait` blocks until told.
pub(crate) struct Probe {
    name: &'static str,
    version: Version,
    methods: &'static [&'static str],
    seen: mpsc::UnboundedSender<(&'static str, String, Value)>,
    pub gate: Arc<Semaphore>,
    running: AtomicUsize,
    pub most: AtomicUsize,
}

pub(crate) type Seen = mpsc::UnboundedReceiver<(&'static str, String, Value)>;

pub(crate) fn probe(name: &'static str) -> (Arc<Probe>, Seen) {
    versioned(name, Version::new(1, 3), &["echo", "note", "wait", "fail", "panic"])
}

fn versioned(name: &'static str, version: Version, methods: &'static [&'static str]) -> (Arc<Probe>, Seen) {
    let (seen, rx) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    (Arc::new(Probe { name, version, methods, seen, gate, running: 0.into(), most: 0.into() }), rx)
}

#[async_trait]
impl Endpoint for Probe {
    fn version(&self) -> Version {
        self.version
    }
    fn methods(&self) -> &[&'static str] {
        self.methods
    }
    async fn handle(&self, _: &Context, method: &str, args: Map<String, Value>) -> Result<Value, RemoteFault> {
        let args = Value::Object(args);
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.seen.send((self.name, method.to_owned(), args.clone())).unwrap();
        if method == "wait" {
            self.gate.acquire().await.unwrap().forget();
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        match method {
            "fail" => Err(RemoteFault::neutron("ThingNotFound", "no thing 7", Map::new())),
            "panic" => panic!("boom"),
            _ => Ok(args),
        }
    }
}

pub(crate) async fn listen(bus: &Bus, target: Target, probe: &Arc<Probe>, options: ListenOptions) -> Listener {
    let dispatcher = Arc::new(Dispatcher::new().with(Arc::clone(probe) as Arc<dyn Endpoint>));
    bus.listen(&target, dispatcher, options).await.unwrap()
}

pub(crate) fn client(bus: &Bus, topic: &str) -> Client {
    Client::new(Arc::clone(bus), Target::topic(topic)).timeout(Duration::from_secs(30))
}

pub(crate) const V: Version = Version::new(1, 0);

pub(crate) async fn cast(client: &Client, method: &str, n: u64) {
    client.cast(&Context::admin(), V, method, &json!({ "n": n })).await.unwrap();
}

pub(crate) async fn call(client: &Client, method: &str, n: u64) -> Result<Value, CallError> {
    client.call(&Context::admin(), V, method, &json!({ "n": n })).await
}

async fn a_call_is_answered(bus: Bus, t: &str) {
    let (p, _seen) = probe("a");
    let _l = listen(&bus, Target::topic(t).server("a"), &p, ListenOptions::default()).await;
    assert_eq!(call(&client(&bus, t), "echo", 1).await.unwrap(), json!({"n": 1}));
    assert_eq!(call(&client(&bus, t).server("a"), "echo", 2).await.unwrap(), json!({"n": 2}));
}

async fn failures_reach_the_caller_as_what_they_are(bus: Bus, t: &str) {
    let (p, _seen) = probe("a");
    let _l = listen(&bus, Target::topic(t), &p, ListenOptions::default()).await;
    let c = client(&bus, t);
    assert_eq!(call(&c, "fail", 1).await.unwrap_err().class(), Some("ThingNotFound"));
    assert!(matches!(call(&c, "nope", 1).await, Err(CallError::NoSuchMethod { .. })));
    let newer: Result<Value, _> = c.call(&Context::admin(), Version::new(1, 4), "echo", &json!({})).await;
    assert!(matches!(newer, Err(CallError::UnsupportedVersion { .. })));
    let broke = call(&c, "panic", 1).await.unwrap_err();
    assert_eq!(broke.class(), Some("RuntimeError"));
    assert!(call(&c, "echo", 1).await.is_ok(), "a panic does not end the server");
    let wrong: Result<u8, _> = c.call(&Context::admin(), V, "echo", &json!({})).await;
    assert!(matches!(wrong, Err(CallError::BadReply { .. })));
}

async fn endpoints_of_a_topic_are_told_apart_by_version_and_method(bus: Bus, t: &str) {
    let (old, mut old_seen) = versioned("old", Version::new(1, 1), &["echo", "note"]);
    let (new, mut new_seen) = versioned("new", Version::new(1, 9), &["echo", "wait"]);
    let dispatcher = Dispatcher::new().with(old as Arc<dyn Endpoint>).with(new as Arc<dyn Endpoint>);
    let _l = bus.listen(&Target::topic(t), Arc::new(dispatcher), ListenOptions::default()).await.unwrap();
    let c = client(&bus, t);
    call(&c, "echo", 1).await.unwrap();
    assert_eq!(old_seen.recv().await.unwrap().0, "old", "the first compatible endpoint answers");
    c.call::<_, Value>(&Context::admin(), Version::new(1, 5), "echo", &json!({})).await.unwrap();
    assert_eq!(new_seen.recv().await.unwrap().0, "new", "the old one does not serve 1.5");
    let newer: Result<Value, _> = c.call(&Context::admin(), Version::new(1, 5), "note", &json!({})).await;
    assert!(matches!(newer, Err(CallError::UnsupportedVersion { .. })), "only the old one has it");
    let gone: Result<Value, _> = c.call(&Context::admin(), Version::new(1, 5), "nothing", &json!({})).await;
    assert!(matches!(gone, Err(CallError::NoSuchMethod { .. })));
}

async fn fanout_reaches_all_and_a_topic_goes_round(bus: Bus, t: &str) {
    let (a, mut seen_a) = probe("a");
    let (b, mut seen_b) = probe("b");
    let _la = listen(&bus, Target::topic(t).server("a"), &a, ListenOptions::in_order()).await;
    let _lb = listen(&bus, Target::topic(t).server("b"), &b, ListenOptions::in_order()).await;
    let c = client(&bus, t);
    cast(&c.fanout(), "note", 1).await;
    assert_eq!(seen_a.recv().await.unwrap().2, json!({"n": 1}));
    assert_eq!(seen_b.recv().await.unwrap().2, json!({"n": 1}));
    let mut takers = Vec::new();
    for n in 0..4 {
        call(&c, "echo", n).await.unwrap();
        takers.push(tokio::select! { x = seen_a.recv() => x.unwrap().0, x = seen_b.recv() => x.unwrap().0 });
    }
    assert!(takers == ["a", "b", "a", "b"] || takers == ["b", "a", "b", "a"], "{takers:?}");
    cast(&c.server("b"), "note", 9).await;
    assert_eq!(seen_b.recv().await.unwrap().2, json!({"n": 9}));
    assert!(seen_a.try_recv().is_err());
}

async fn concurrency_is_used_and_bounded(bus: Bus, t: &str) {
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic(t), &a, ListenOptions::concurrent(3)).await;
    for n in 0..10 {
        cast(&client(&bus, t), "wait", n).await;
    }
    for _ in 0..3 {
        seen.recv().await.unwrap();
    }
    // What goes over another queue meanwhile says that there was time.
    let (b, mut other) = probe("b");
    let elsewhere = format!("{t}-other");
    let _m = listen(&bus, Target::topic(&elsewhere), &b, ListenOptions::default()).await;
    cast(&client(&bus, &elsewhere), "note", 0).await;
    other.recv().await.unwrap();
    assert!(seen.try_recv().is_err(), "the fourth waits");
    a.gate.add_permits(10);
    for _ in 3..10 {
        seen.recv().await.unwrap();
    }
    assert_eq!(a.most.load(Ordering::SeqCst), 3);
}

async fn stopping_drains_and_keeps_what_others_can_do(bus: Bus, t: &str) {
    let (a, mut seen) = probe("a");
    let l = listen(&bus, Target::topic(t).server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&bus, t);
    cast(&c.server("a"), "wait", 0).await;
    seen.recv().await.unwrap();
    cast(&c, "note", 1).await;
    cast(&c.fanout(), "note", 2).await;
    cast(&c.server("a"), "note", 3).await;
    let mut stopping = Box::pin(l.stop(Duration::from_secs(30)));
    assert!(futures::poll!(&mut stopping).is_pending(), "a handler runs");
    a.gate.add_permits(1);
    assert!(stopping.await, "all done in time");
    let mut rest = [seen.recv().await.unwrap().2, seen.recv().await.unwrap().2];
    rest.sort_by_key(|args| args["n"].as_u64());
    assert_eq!(rest, [json!({"n": 2}), json!({"n": 3})]);
    assert!(seen.try_recv().is_err());
    let (b, mut seen_b) = probe("b");
    let _l = listen(&bus, Target::topic(t).server("b"), &b, ListenOptions::in_order()).await;
    assert_eq!(seen_b.recv().await.unwrap().2, json!({"n": 1}), "the next server takes what was left");
}

async fn each_queue_keeps_its_order(bus: Bus, t: &str) {
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic(t).server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&bus, t);
    for n in 0..150 {
        match n % 3 {
            0 => cast(&c, "note", n).await,
            1 => cast(&c.server("a"), "note", n).await,
            _ => cast(&c.fanout(), "note", n).await,
        }
    }
    let mut last = [None; 3];
    for _ in 0..150 {
        let n = seen.recv().await.unwrap().2["n"].as_u64().unwrap();
        let queue = &mut last[usize::try_from(n % 3).unwrap()];
        assert!(queue.is_none_or(|before| before < n), "{n} after {queue:?}");
        *queue = Some(n);
    }
    assert_eq!(a.most.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn rpc_state_report_path_lets_other_calls_wait_longer() {
    let bus: Bus = Arc::new(crate::InProcess::new());
    let (p, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &p, ListenOptions::default()).await;
    let timeouts = Arc::new(crate::Timeouts::new(Duration::from_secs(60), Duration::from_secs(600)));
    let c = Client::new(Arc::clone(&bus), Target::topic("t")).timeouts(Arc::clone(&timeouts));
    let report = c.clone().timeout(Duration::from_secs(30));
    for seconds in [60, 120, 240, 480, 600, 600] {
        for (client, expected) in [(&c, seconds), (&report, 30)] {
            let started = tokio::time::Instant::now();
            assert!(matches!(call(client, "wait", 1).await, Err(CallError::Timeout { .. })));
            assert_eq!(started.elapsed().as_secs(), expected);
        }
        assert_eq!(timeouts.of("echo").as_secs(), 60, "each method by itself");
    }
    p.gate.add_permits(100);
    call(&c, "wait", 1).await.unwrap();
    assert_eq!(timeouts.of("wait").as_secs(), 60, "it comes back");
}

async fn queues_keep_their_messages_while_nobody_listens(bus: Bus, t: &str) {
    let (a, _seen) = probe("a");
    let l = listen(&bus, Target::topic(t).server("a"), &a, ListenOptions::default()).await;
    assert!(l.stop(Duration::from_secs(30)).await);
    let c = client(&bus, t);
    cast(&c, "note", 1).await;
    cast(&c.server("a"), "note", 2).await;
    let (b, mut seen) = probe("b");
    let _l = listen(&bus, Target::topic(t).server("a"), &b, ListenOptions::default()).await;
    let mut got = [seen.recv().await.unwrap().2, seen.recv().await.unwrap().2];
    got.sort_by_key(|args| args["n"].as_u64());
    assert_eq!(got, [json!({"n": 1}), json!({"n": 2})]);
}

macro_rules! invariants {
    ($($name:ident,)*) => {
        mod in_process {
            use std::sync::Arc;
            $(#[tokio::test]
            async fn $name() {
                super::$name(Arc::new(crate::InProcess::new()), "t").await;
            })*
        }

        mod amqp {
            use std::sync::Arc;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                let host = crate::amqp::tests::host().await;
                super::$name(Arc::new(crate::amqp::tests::amqp(&host.url())), "t").await;
            })*
        }
    };
}

invariants! {
    a_call_is_answered,
    failures_reach_the_caller_as_what_they_are,
    endpoints_of_a_topic_are_told_apart_by_version_and_method,
    fanout_reaches_all_and_a_topic_goes_round,
    concurrency_is_used_and_bounded,
    stopping_drains_and_keeps_what_others_can_do,
    each_queue_keeps_its_order,
    queues_keep_their_messages_while_nobody_listens,
}
