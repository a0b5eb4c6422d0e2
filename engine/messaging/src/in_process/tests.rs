use std::sync::atomic::Ordering;

use serde_json::json;

use super::*;
use crate::tests::{V, call, cast, client, listen, probe};
use crate::{Bus, Client, FakeBus, Faults};

#[tokio::test]
async fn a_call_to_nobody_fails_at_once() {
    let bus: Bus = Arc::new(InProcess::new());
    let failed = call(&client(&bus, "nobody"), "echo", 1).await;
    assert!(matches!(failed, Err(CallError::Transport { source: TransportError::Unroutable(_), .. })));
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
async fn a_busy_server_leaves_work_to_the_other() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen_a) = probe("a");
    let (b, mut seen_b) = probe("b");
    let _la = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let _lb = listen(&bus, Target::topic("t").server("b"), &b, ListenOptions::in_order()).await;
    let c = client(&bus, "t");
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
    let c = client(&bus, "t");
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

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_ever() {
    let bus: Bus = Arc::new(InProcess::new());
    let (a, mut seen) = probe("a");
    let l = listen(&bus, Target::topic("t"), &a, ListenOptions::default()).await;
    let c = client(&bus, "t").timeout(Duration::from_secs(600));
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
    let c = client(&bus, "t");
    cast(&c, "wait", 0).await;
    seen.recv().await.unwrap();
    assert!(matches!(call(&c.timeout(Duration::from_secs(1)), "echo", 1).await, Err(CallError::Timeout { .. })));
    let c = client(&bus, "t");
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
            cast(&client(&bus, "t").server("a"), "note", n).await;
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
    let c = client(&bus, "t");
    let got: u64 = c.call(&Context::admin(), V, "sum", &json!({"a": 1})).await.unwrap();
    assert_eq!(got, 2);
    fake.set_down(true);
    let lost: Result<u64, _> = c.call(&Context::admin(), V, "sum", &json!({"a": 1})).await;
    assert!(lost.is_err_and(|e| e.is_temporary()));
    fake.until("two sums", |sent| sent.len() == 2).await;
}
