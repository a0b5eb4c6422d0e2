use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use messaging::{Bus, FakeBus, RemoteFault};
use rpc::state::{AgentState, StateClient, agent_type, binary};
use serde_json::{Map, Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;

use crate::options::{self, Common};
use crate::*;

const SECOND: Duration = Duration::from_secs(1);

fn state() -> AgentState {
    AgentState {
        agent_type: agent_type::LINUXBRIDGE.into(),
        binary: binary::LINUXBRIDGE.into(),
        host: "cmp1".into(),
        topic: rpc::state::L2_AGENT_TOPIC.into(),
        availability_zone: None,
        configurations: json!({"bridge_mappings": {}}).as_object().cloned().unwrap(),
        start_flag: true,
        resource_versions: Some(rpc::resources::versions()),
        uuid: None,
        extra: Map::new(),
    }
}

type Signals = mpsc::UnboundedReceiver<Signal>;

fn report(bus: &FakeBus, started: Started) -> (Reporter, Signals) {
    let (tx, rx) = mpsc::unbounded_channel();
    let client = StateClient::new(Arc::new(bus.clone()) as Bus);
    let options = ReporterOptions { interval: 30 * SECOND, started };
    let refresh = Box::new(|map: &mut Map<String, Value>| {
        map.insert("devices".into(), json!(2));
    });
    let signal = move |signal| tx.send(signal).unwrap();
    (Reporter::spawn(client, state(), options, refresh, signal, Stop::new()), rx)
}

async fn reports(bus: &FakeBus, n: usize) -> Vec<Value> {
    bus.until_within(3600 * SECOND, &format!("{n} reports"), |sent| sent.len() >= n).await;
    bus.sent_as("report_state").into_iter().map(|r| r.message.args["agent_state"]["agent_state"].clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn reports_say_what_the_reference_says() {
    let bus = FakeBus::new();
    bus.on_call("report_state", |_, _| Ok(json!("new")));
    let (reporter, mut signals) = report(&bus, Started::WithFirstSync);
    let first = reports(&bus, 1).await.remove(0);
    let keys: BTreeSet<&str> = first.as_object().unwrap().keys().map(String::as_str).collect();
    let wanted = ["agent_type", "binary", "configurations", "host", "resource_versions", "start_flag", "topic", "uuid"];
    assert_eq!(keys, wanted.into());
    assert_eq!(first["configurations"], json!({"bridge_mappings": {}, "devices": 2}));
    let time = bus.sent()[0].message.args["time"].as_str().unwrap().to_owned();
    assert_eq!(time.len(), "2026-11-30T12:35:31.811539".len());
    assert_eq!(signals.recv().await, Some(Signal::Connected));
    assert!(reporter.connected());
    let at = Instant::now();
    let second = reports(&bus, 2).await.remove(1);
    assert!(at.elapsed() >= 29 * SECOND);
    assert!(second.get("resource_versions").is_none());
    assert_eq!(second["start_flag"], true, "not synced yet");
    assert_ne!(second["uuid"], first["uuid"]);
    let at = Instant::now();
    reporter.synced();
    assert!(reports(&bus, 3).await[2].get("start_flag").is_none());
    assert!(at.elapsed() < SECOND, "told at once");
}

#[tokio::test(start_paused = true)]
async fn the_start_flag_of_a_dhcp_agent_ends_with_its_first_report_that_arrived() {
    let bus = FakeBus::new();
    bus.on_call("report_state", |_, _| Err(RemoteFault::internal("database is away")));
    let (_reporter, _signals) = report(&bus, Started::WithFirstReport);
    assert_eq!(reports(&bus, 2).await[1]["start_flag"], true);
    bus.on_call("report_state", |_, _| Ok(json!("new")));
    let sent = bus.sent().len();
    assert_eq!(reports(&bus, sent + 1).await[sent]["start_flag"], true);
    assert!(reports(&bus, sent + 2).await[sent + 1].get("start_flag").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_lost_server_is_asked_again_with_growing_pauses_and_revival_is_told() {
    let bus = FakeBus::new();
    bus.on_call("report_state", |_, _| Ok(json!("alive")));
    let (reporter, mut signals) = report(&bus, Started::WithFirstReport);
    assert_eq!(signals.recv().await, Some(Signal::Connected));
    bus.set_down(true);
    assert_eq!(signals.recv().await, Some(Signal::Lost));
    assert!(!reporter.connected());
    let (lost, sent) = (Instant::now(), bus.sent().len());
    reports(&bus, sent + 6).await;
    assert_eq!(lost.elapsed().as_secs(), 1 + 2 + 4 + 8 + 16 + 30);
    bus.set_down(false);
    assert_eq!(signals.recv().await, Some(Signal::Recovered));
    bus.on_call("report_state", |_, _| Ok(json!("revived")));
    assert_eq!(signals.recv().await, Some(Signal::Revived));
    reporter.wait_connected().await;
    bus.on_call("report_state", |_, _| Ok(Value::Null));
    let sent = bus.sent().len();
    reports(&bus, sent + 2).await;
    assert!(signals.try_recv().is_err(), "a report that was ignored is no news");
}

struct Noted(mpsc::UnboundedSender<(Vec<&'static str>, Instant)>, Arc<Semaphore>);

#[async_trait::async_trait]
impl Reconcile for Noted {
    async fn pass(&mut self, reasons: Reasons) -> bool {
        self.0.send((reasons.into_iter().collect(), Instant::now())).unwrap();
        self.1.acquire().await.unwrap().forget();
        true
    }
}

#[tokio::test(start_paused = true)]
async fn passes_coalesce_and_come_by_time() {
    let (wake, stop) = (Wake::new(), Stop::new());
    let (tx, mut ran) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let pass = Pass { every: Some(60 * SECOND), gap: 2 * SECOND, backoff: Backoff::new(5 * SECOND, 10 * SECOND) };
    let task = tokio::spawn({
        let (wake, stop, gate) = (wake.clone(), stop.clone(), Arc::clone(&gate));
        async move {
            pass.run(&wake, &stop, &mut Noted(tx, gate)).await;
        }
    });
    assert_eq!(ran.recv().await.unwrap().0, ["start"]);
    for reason in ["b", "a", "b"] {
        wake.wake(reason);
    }
    gate.add_permits(1);
    let ended = Instant::now();
    let (reasons, at) = ran.recv().await.unwrap();
    assert_eq!((reasons, at - ended), (vec!["a", "b"], 2 * SECOND));
    gate.add_permits(1);
    let ended = Instant::now();
    let (reasons, at) = ran.recv().await.unwrap();
    assert_eq!((reasons, at - ended), (vec!["interval"], 60 * SECOND));
    stop.ask();
    gate.add_permits(1);
    task.await.unwrap();
    assert!(ran.recv().await.is_none(), "the pass that ran was finished and no other begun");
}

struct Failing {
    start: Instant,
    seen: Vec<(u64, Vec<&'static str>)>,
    wake: Wake,
    stop: Stop,
}

#[async_trait::async_trait]
impl Reconcile for Failing {
    async fn pass(&mut self, reasons: Reasons) -> bool {
        self.seen.push((self.start.elapsed().as_secs(), reasons.into_iter().collect()));
        match self.seen.len() {
            3 => self.wake.wake("news"),
            4 => self.stop.ask(),
            _ => {}
        }
        false
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_pass_is_run_again_with_growing_pauses_or_on_news() {
    let (wake, stop) = (Wake::new(), Stop::new());
    let pass = Pass { every: None, gap: SECOND, backoff: Backoff::new(5 * SECOND, 8 * SECOND) };
    let mut failing = Failing { start: Instant::now(), seen: Vec::new(), wake: wake.clone(), stop: stop.clone() };
    pass.run(&wake, &stop, &mut failing).await;
    let seen = failing.seen;
    assert_eq!(seen, [(0, vec!["start"]), (5, vec!["retry"]), (13, vec!["retry"]), (14, vec!["news"])]);
}

/// Runs a queue whose handler answers from `outcomes` by key and notes the order.
async fn order(
    queue: Queue<u32>,
    workers: usize,
    outcome: impl Fn(u32) -> Outcome + Send + Sync + 'static,
) -> Vec<u32> {
    let (stop, seen) = (Stop::new(), Arc::new(Mutex::new(Vec::new())));
    let outcome = Arc::new(outcome);
    let task = tokio::spawn({
        let (queue, stop, seen) = (queue.clone(), stop.clone(), Arc::clone(&seen));
        async move {
            let handler = |key| {
                seen.lock().unwrap().push(key);
                let outcome = outcome(key);
                async move { outcome }
            };
            queue.run(workers, &stop, SECOND, handler).await;
        }
    });
    queue.idle().await;
    stop.ask();
    task.await.unwrap();
    Arc::try_unwrap(seen).unwrap().into_inner().unwrap()
}

#[tokio::test(start_paused = true)]
async fn new_work_goes_before_the_sync_and_nothing_starves() {
    let queue = Queue::default();
    queue.add_sync(100..110);
    for key in 0..12 {
        queue.add(key);
    }
    queue.add(105);
    queue.add_sync([3, 100]);
    let seen = order(queue, 1, |_| Outcome::Done).await;
    assert_eq!(seen[..9], [105, 11, 10, 0, 9, 8, 7, 100, 6]);
    let unique: BTreeSet<u32> = seen.iter().copied().collect();
    assert_eq!((seen.len(), unique.len()), (22, 22), "each key once");
}

#[tokio::test(start_paused = true)]
async fn failures_pause_longer_and_are_given_up() {
    let queue = Queue::new(QueueOptions { backoff: Backoff::new(SECOND, 4 * SECOND), max_failures: 5 });
    queue.add(1);
    queue.add(2);
    let start = Instant::now();
    let seen = order(queue.clone(), 2, |key| if key == 1 { Outcome::Retry } else { Outcome::Done }).await;
    assert_eq!(seen.iter().filter(|key| **key == 1).count(), 5);
    assert_eq!(start.elapsed().as_secs(), 1 + 2 + 4 + 4);
    assert_eq!(queue.failures(&1), 0);
}

#[tokio::test(start_paused = true)]
async fn news_cuts_a_pause_short_and_a_panic_is_a_failure() {
    let queue = Queue::new(QueueOptions { backoff: Backoff::new(100 * SECOND, 100 * SECOND), max_failures: 9 });
    let (stop, runs) = (Stop::new(), Arc::new(Mutex::new(0)));
    let task = tokio::spawn({
        let (queue, stop, runs) = (queue.clone(), stop.clone(), Arc::clone(&runs));
        async move {
            let handler = |_| {
                let mut runs = runs.lock().unwrap();
                *runs += 1;
                let first = *runs == 1;
                async move {
                    assert!(!first, "broken on purpose");
                    Outcome::Done
                }
            };
            queue.run(1, &stop, SECOND, handler).await;
        }
    });
    let start = Instant::now();
    queue.add("k");
    queue.settled().await;
    assert_eq!((queue.failures(&"k"), queue.len()), (1, 1));
    queue.add("k");
    queue.idle().await;
    assert!(start.elapsed() < SECOND);
    assert_eq!(queue.failures(&"k"), 0);
    stop.ask();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_key_is_never_worked_on_twice_at_once_and_news_meanwhile_is_not_lost() {
    let queue: Queue<u8> = Queue::default();
    let (stop, gate) = (Stop::new(), Arc::new(Semaphore::new(0)));
    let (tx, mut begun) = mpsc::unbounded_channel();
    let task = tokio::spawn({
        let (queue, stop, gate) = (queue.clone(), stop.clone(), Arc::clone(&gate));
        async move {
            let handler = |key| {
                tx.send(key).unwrap();
                let gate = Arc::clone(&gate);
                async move {
                    gate.acquire().await.unwrap().forget();
                    Outcome::Done
                }
            };
            queue.run(4, &stop, SECOND, handler).await;
        }
    });
    queue.add(1);
    assert_eq!(begun.recv().await, Some(1));
    queue.add(1);
    queue.add_sync([1]);
    queue.add(2);
    assert_eq!(begun.recv().await, Some(2));
    assert!(begun.try_recv().is_err(), "1 still runs");
    gate.add_permits(2);
    assert_eq!(begun.recv().await, Some(1), "once more, and only once");
    queue.add(1);
    queue.forget(&1);
    gate.add_permits(1);
    queue.idle().await;
    assert!(begun.try_recv().is_err());
    queue.add(3);
    begun.recv().await.unwrap();
    queue.add(4);
    begun.recv().await.unwrap();
    stop.ask();
    gate.add_permits(1);
    let at = Instant::now();
    task.await.unwrap();
    assert_eq!(at.elapsed(), SECOND, "what never ends is left after the patience");
}

#[tokio::test(start_paused = true)]
async fn again_looks_later_without_counting_as_failure() {
    let (queue, runs) = (Queue::default(), Mutex::new(0));
    queue.add(1);
    let start = Instant::now();
    let seen = order(queue, 1, move |_| {
        let mut runs = runs.lock().unwrap();
        *runs += 1;
        if *runs < 3 { Outcome::Again(7 * SECOND) } else { Outcome::Done }
    })
    .await;
    assert_eq!((seen.len(), start.elapsed().as_secs()), (3, 14));
}

#[test]
fn common_options_are_read_and_defaults_hold() {
    let files = options::loader().text("f", "[DEFAULT]\nhost = cmp7\n[agent]\nreport_interval = 0\n").load().unwrap();
    assert!(files.check().is_empty(), "{:?}", files.check());
    let common = Common::read(&files).unwrap();
    assert_eq!((common.host.as_str(), common.report_interval), ("cmp7", None));
    assert_eq!(common.timeouts.of("any"), 60 * SECOND);
    let common = Common::read(&options::loader().load().unwrap()).unwrap();
    assert_eq!(common.report_interval, Some(30 * SECOND));
    assert_eq!((common.availability_zone.as_str(), common.host.is_empty()), ("nova", false));
}

#[test]
fn errors_are_written_with_their_causes() {
    let error = messaging::CallError::Remote {
        method: "m".into(),
        fault: RemoteFault::neutron("PortNotFound", "Port p could not be found.", Map::new()),
    };
    assert_eq!(log::chain(&error), "m failed on the server: PortNotFound: Port p could not be found.");
}
