use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, json};
use tokio::sync::mpsc;

use super::*;
use crate::{Bus, Client, Endpoint, FakeBus, Faults, Version};

/// Sends what it gets into a channel; `echo` answers its arguments, `wait` blocks until told.
struct Probe {
    name: &'static str,
    version: Version,
    methods: &'static [&'static str],
    seen: mpsc::UnboundedSender<(&'static str, String, Value)>,
    gate: Arc<Semaphore>,
    running: AtomicUsize,
    most: AtomicUsize,
}

type Seen = mpsc::UnboundedReceiver<(&'static str, String, Value)>;

fn probe(name: &'static str) -> (Arc<Probe>, Seen) {
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

async fn listen(bus: &Bus, target: Target, probe: &Arc<Probe>, options: ListenOptions) -> Listener {
    let dispatcher = Arc::new(Dispatcher::new().with(Arc::clone(probe) as Arc<dyn Endpoint>));
    bus.listen(&target, dispatcher, options).await.unwrap()
}

fn client(bus: &Bus) -> Client {
    Client::new(Arc::clone(bus), Target::topic("t")).timeout(Duration::from_secs(5))
}

const V: Version = Version::new(1, 0);

async fn cast(client: &Client, method: &str, n: u64) {
    client.cast(&Context::admin(), V, method, &json!({ "n": n })).await.unwrap();
}

async fn call(client: &Client, method: &str, n: u64) -> Result<Value, CallError> {
    client.call(&Context::admin(), V, method, &json!({ "n": n })).await
}

#[tokio::test]
async fn a_call_is_answered() {
    let bus: Bus = Arc::new(InProcess::new());
    let (p, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &p, ListenOptions::default()).await;
    assert_eq!(call(&client(&bus), "echo", 1).await.unwrap(), json!({"n": 1}));
    assert_eq!(call(&client(&bus).server("a"), "echo", 2).await.unwrap(), json!({"n": 2}));
}

#[tokio::test]
async fn failures_reach_the_caller_as_what_they_are() {
    let bus: Bus = Arc::new(InProcess::new());
    let (p, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &p, ListenOptions::default()).await;
    let c = client(&bus);
    assert_eq!(call(&c, "fail", 1).await.unwrap_err().class(), Some("ThingNotFound"));
    assert!(matches!(call(&c, "nope", 1).await, Err(CallError::NoSuchMethod { .. })));
    let newer: Result<Value, _> = c.call(&Context::admin(), Version::new(1, 4), "echo", &json!({})).await;
    assert!(matches!(newer, Err(CallError::UnsupportedVersion { .. })));
    let broke = call(&c, "panic", 1).await.unwrap_err();
    assert_eq!(broke.class(), Some("RuntimeError"));
    assert!(call(&c, "echo", 1).await.is_ok(), "a panic does not end the server");
    let wrong: Result<u8, _> = c.call(&Context::admin(), V, "echo", &json!({})).await;
    assert!(matches!(wrong, Err(CallError::BadReply { .. })));
    assert!(matches!(
        call(&c.topic("nobody"), "echo", 1).await,
        Err(CallError::Transport { source: TransportError::Unroutable(_), .. })
    ));
}

#[tokio::test(start_paused = true)]
async fn a_call_times_out_and_its_timeout_grows_then_shrinks() {
    let bus: Bus = Arc::new(InProcess::new());
    let (p, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &p, ListenOptions::default()).await;
    let timeouts = Arc::new(crate::Timeouts::new(Duration::from_secs(10), Duration::from_secs(25)));
    let c = Client::new(Arc::clone(&bus), Target::topic("t")).timeouts(Arc::clone(&timeouts));
    for expected in [20, 25, 25] {
        assert!(matches!(call(&c, "wait", 1).await, Err(CallError::Timeout { .. })));
        assert_eq!(timeouts.of("wait"), Duration::from_secs(expected));
    }
    assert_eq!(timeouts.of("echo"), Duration::from_secs(10));
    p.gate.add_permits(10);
    call(&c, "wait", 1).await.unwrap();
    assert_eq!(timeouts.of("wait"), Duration::from_secs(10));
}

#[tokio::test]
async fn endpoints_of_a_topic_are_told_apart_by_version_and_method() {
    let bus: Bus = Arc::new(InProcess::new());
    let (old, mut old_seen) = versioned("old", Version::new(1, 1), &["echo", "note"]);
    let (new, mut new_seen) = versioned("new", Version::new(1, 9), &["echo", "wait"]);
    let dispatcher = Dispatcher::new().with(old as Arc<dyn Endpoint>).with(new as Arc<dyn Endpoint>);
    let _l = bus.listen(&Target::topic("t"), Arc::new(dispatcher), ListenOptions::default()).await.unwrap();
    let c = client(&bus);
    call(&c, "echo", 1).await.unwrap();
    assert_eq!(old_seen.recv().await.unwrap().0, "old", "the first compatible endpoint answers");
    c.call::<_, Value>(&Context::admin(), Version::new(1, 5), "echo", &json!({})).await.unwrap();
    assert_eq!(new_seen.recv().await.unwrap().0, "new", "the old one does not serve 1.5");
    let gone: Result<Value, _> = c.call(&Context::admin(), Version::new(1, 5), "note", &json!({})).await;
    assert!(matches!(gone, Err(CallError::NoSuchMethod { .. })));
}

#[tokio::test]
async fn fanout_reaches_all_and_a_topic_goes_round() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen_a) = probe("a");
    let (b, mut seen_b) = probe("b");
    let _la = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let _lb = listen(&bus, Target::topic("t").server("b"), &b, ListenOptions::in_order()).await;
    let c = client(&bus);
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

#[tokio::test]
async fn a_busy_server_leaves_work_to_the_other() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen_a) = probe("a");
    let (b, mut seen_b) = probe("b");
    let _la = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let _lb = listen(&bus, Target::topic("t").server("b"), &b, ListenOptions::in_order()).await;
    let c = client(&bus);
    cast(&c.server("a"), "wait", 0).await;
    seen_a.recv().await.unwrap();
    for n in 0..5 {
        call(&c, "echo", n).await.unwrap();
        assert_eq!(seen_b.recv().await.unwrap().2, json!({ "n": n }));
    }
    a.gate.add_permits(1);
}

#[tokio::test]
async fn order_holds_across_the_queues_of_a_listener() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&bus);
    for n in 0..300 {
        match n % 3 {
            0 => cast(&c, "note", n).await,
            1 => cast(&c.server("a"), "note", n).await,
            _ => cast(&c.fanout(), "note", n).await,
        }
    }
    for n in 0..300 {
        assert_eq!(seen.recv().await.unwrap().2, json!({ "n": n }));
    }
    assert_eq!(a.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn concurrency_is_used_and_bounded() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &a, ListenOptions::concurrent(3)).await;
    for n in 0..10 {
        cast(&client(&bus), "wait", n).await;
    }
    for _ in 0..3 {
        seen.recv().await.unwrap();
    }
    tokio::task::yield_now().await;
    assert!(seen.try_recv().is_err(), "the fourth waits");
    a.gate.add_permits(10);
    for _ in 3..10 {
        seen.recv().await.unwrap();
    }
    assert_eq!(a.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn stopping_drains_and_keeps_what_others_can_do() {
    let bus = InProcess::new();
    let shared: Bus = Arc::new(bus.clone());
    let (a, mut seen) = probe("a");
    let l = listen(&shared, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&shared);
    cast(&c.server("a"), "wait", 0).await;
    seen.recv().await.unwrap();
    cast(&c, "note", 1).await;
    cast(&c.fanout(), "note", 2).await;
    cast(&c.server("a"), "note", 3).await;
    let stopping = tokio::spawn(l.stop(Duration::from_secs(5)));
    // Until the stop has begun, the listener could still take from the shared queue.
    while !shared_closed(&bus) {
        tokio::task::yield_now().await;
    }
    a.gate.add_permits(1);
    assert!(stopping.await.unwrap(), "all done in time");
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 2}));
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 3}));
    assert!(seen.try_recv().is_err());
    assert_eq!(bus.backlog(), 1);
    let (b, mut seen_b) = probe("b");
    let _l = listen(&shared, Target::topic("t").server("b"), &b, ListenOptions::in_order()).await;
    assert_eq!(seen_b.recv().await.unwrap().2, json!({"n": 1}), "the next server takes what was left");
}

fn shared_closed(bus: &InProcess) -> bool {
    bus.shared.queues().any_closing()
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_ever() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen) = probe("a");
    let l = listen(&bus, Target::topic("t"), &a, ListenOptions::default()).await;
    let c = client(&bus).timeout(Duration::from_secs(600));
    let waiting = tokio::spawn(async move { call(&c, "wait", 0).await });
    seen.recv().await.unwrap();
    assert!(!l.stop(Duration::from_secs(3)).await);
    assert!(matches!(waiting.await.unwrap(), Err(CallError::Transport { source: TransportError::Gone, .. })));
}

#[tokio::test(start_paused = true)]
async fn queues_are_bounded_and_abandoned_calls_are_not_run() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen) = probe("a");
    let options = ListenOptions { concurrency: 1, queue_limit: 2 };
    let _l = listen(&bus, Target::topic("t"), &a, options).await;
    let c = client(&bus);
    cast(&c, "wait", 0).await;
    seen.recv().await.unwrap();
    assert!(matches!(call(&c.timeout(Duration::from_secs(1)), "echo", 1).await, Err(CallError::Timeout { .. })));
    let c = client(&bus);
    cast(&c, "note", 2).await;
    let full = c.cast(&Context::admin(), V, "note", &json!({"n": 3})).await;
    assert_eq!(full, Err(TransportError::Full("t".into())));
    let late = tokio::spawn(async move { c.cast(&Context::admin(), V, "note", &json!({"n": 4})).await });
    a.gate.add_permits(1);
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 2}), "the abandoned call was skipped");
    late.await.unwrap().unwrap();
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 4}));
}

#[tokio::test]
async fn the_fake_bus_repeats_itself_by_seed() {
    async fn run(seed: u64) -> Vec<u64> {
        let fake = FakeBus::with_faults(Faults { seed, drop: 20, duplicate: 20, hold: 30, ..Faults::default() });
        let bus: Bus = Arc::new(fake.clone());
        let (a, mut seen) = probe("a");
        let l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
        for n in 0..100 {
            cast(&client(&bus).server("a"), "note", n).await;
        }
        fake.flush().await;
        assert_eq!(fake.sent_as("note").len(), 100);
        assert!(l.stop(Duration::from_secs(5)).await);
        let mut got = Vec::new();
        while let Ok((_, _, args)) = seen.try_recv() {
            got.push(args["n"].as_u64().unwrap());
        }
        got
    }
    let first = run(7).await;
    assert_eq!(first, run(7).await);
    assert_ne!(first, run(8).await);
    let mut sorted = first.clone();
    sorted.sort_unstable();
    assert_ne!(first, sorted, "some are out of order");
    sorted.dedup();
    assert!(sorted.len() < 100 && sorted.len() < first.len(), "some are lost, some repeated");
}

#[tokio::test]
async fn the_fake_bus_scripts_and_loses_calls() {
    let fake = FakeBus::new();
    let bus: Bus = Arc::new(fake.clone());
    fake.on_call("sum", |_, args| Ok(json!(args["a"].as_u64().unwrap_or(0) + 1)));
    let c = client(&bus);
    let got: u64 = c.call(&Context::admin(), V, "sum", &json!({"a": 1})).await.unwrap();
    assert_eq!(got, 2);
    fake.set_down(true);
    let lost: Result<u64, _> = c.call(&Context::admin(), V, "sum", &json!({"a": 1})).await;
    assert!(lost.is_err_and(|e| e.is_temporary()));
    fake.until("two sums", |sent| sent.len() == 2).await;
}
