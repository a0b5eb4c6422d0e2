//! Trouble on the way and with the broker.

use super::*;
use crate::tests::Seen;
use futures::future::join_all;

async fn numbers(seen: &mut Seen, count: usize) -> Vec<u64> {
    let mut got = Vec::new();
    while got.len() < count {
        let next = tokio::time::timeout(Duration::from_secs(60), seen.recv()).await;
        got.push(next.unwrap_or_else(|_| panic!("only {got:?}")).unwrap().2["n"].as_u64().unwrap());
    }
    got
}

// With several mandatory messages under way, the library may give a returned one to the confirmation of another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_without_a_queue_costs_no_other() {
    let host = host().await;
    let bus: Bus = Arc::new(amqp(&host.url()));
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&bus, "t");
    let cast = |n: u64| {
        let c = c.server(if n.is_multiple_of(2) { "a" } else { "gone" });
        async move { cast(&c, "note", n).await }
    };
    join_all((0..400).map(cast)).await;
    let mut got = numbers(&mut seen, 200).await;
    got.sort_unstable();
    assert_eq!(got, (0..400).step_by(2).collect::<Vec<_>>(), "each once");
    let (b, mut seen) = probe("b");
    let _m = listen(&bus, Target::topic("t").server("gone"), &b, ListenOptions::in_order()).await;
    let mut got = numbers(&mut seen, 200).await;
    got.sort_unstable();
    assert_eq!(got, (1..400).step_by(2).collect::<Vec<_>>(), "the others waited");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_waits_for_a_queue_keeps_its_order() {
    let host = host().await;
    let bus: Bus = Arc::new(amqp(&host.url()));
    let c = client(&bus, "t").server("late");
    for n in 0..50 {
        cast(&c, "note", n).await;
    }
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("late"), &a, ListenOptions::in_order()).await;
    assert_eq!(numbers(&mut seen, 50).await, (0..50).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_frozen_connection_is_left_for_another() {
    let host = host().await;
    let cable = Cable::to(host.port()).await;
    let mut settings = settings(&cable.url(&host));
    settings.heartbeat = Duration::from_secs(30);
    let (far, near): (Bus, Bus) = (Arc::new(Amqp::new(settings)), Arc::new(amqp(&host.url())));
    let (a, mut seen) = probe("a");
    let _l = listen(&near, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let (b, mut seen_b) = probe("b");
    let _m = listen(&far, Target::topic("u").server("b"), &b, ListenOptions::in_order()).await;
    let mut losses = far.losses().unwrap();
    let c = client(&far, "t").timeout(Duration::from_secs(50));
    call(&c, "echo", 0).await.unwrap();
    cable.freeze();
    // The library itself would believe in the connection for twice the heartbeat, and so does the broker.
    let started = Instant::now();
    for n in 1..6 {
        cast(&c.server("a"), "note", n).await;
    }
    assert_eq!(numbers(&mut seen, 6).await, [0, 1, 2, 3, 4, 5]);
    losses.changed().await.unwrap();
    // Its own queues have a consumer of each connection; the living one gets what comes.
    for n in 0..4 {
        cast(&client(&near, "u").server("b"), "note", n).await;
        cast(&client(&near, "u").fanout(), "note", n + 10).await;
    }
    let mut got = numbers(&mut seen_b, 8).await;
    got.sort_unstable();
    assert_eq!(got, [0, 1, 2, 3, 10, 11, 12, 13]);
    assert_eq!(call(&c, "echo", 6).await.unwrap(), json!({"n": 6}));
    assert!(started.elapsed() < Duration::from_secs(50));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broker_without_room_holds_up_nobody() {
    let broker = Arc::new(broker("").await);
    let host = broker.virtual_host();
    let sender = amqp(&host.url());
    let bus: Bus = Arc::new(sender.clone());
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&bus, "t");
    call(&c, "echo", 0).await.unwrap();
    seen.recv().await.unwrap();
    let before = connections(&broker).await;
    evaluate(&broker, "rabbit_alarm:set_alarm({{resource_limit, memory, node()}, []}).").await;
    let started = Instant::now();
    for n in 0..100 {
        cast(&c.server("a"), "note", n).await;
    }
    assert!(started.elapsed() < Duration::from_secs(20), "kept, not waited for: {:?}", started.elapsed());
    let short = c.clone().timeout(Duration::from_millis(300));
    assert!(matches!(call(&short, "echo", 1).await, Err(CallError::Timeout { .. })));
    // What is kept is bounded, and what finds no room is refused at once.
    let mut refused = None;
    for n in 100..20_000 {
        if let Err(error) = c.server("a").cast(&Context::admin(), V, "note", &json!({"n": n})).await {
            refused = Some((n, error));
            break;
        }
    }
    let Some((kept, TransportError::Full(_))) = refused else { panic!("{refused:?}") };
    assert!(kept > 5_000 && sender.backlog() < 12_000, "{kept} {}", sender.backlog());
    evaluate(&broker, "rabbit_alarm:clear_alarm({resource_limit, memory, node()}).").await;
    let got = numbers(&mut seen, usize::try_from(kept).unwrap()).await;
    assert!(got.iter().copied().eq(0..kept), "in order, each once");
    assert_eq!(call(&c, "echo", 7).await.unwrap(), json!({"n": 7}));
    assert_eq!(connections(&broker).await, before, "none was made anew");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_has_two_connections() {
    let broker = Arc::new(broker("").await);
    let host = broker.virtual_host();
    let process = amqp(&host.url());
    let bus: Bus = Arc::new(process.clone());
    let (a, _seen) = probe("a");
    let mut listeners = Vec::new();
    for topic in ["t", "u", "v", "w"] {
        listeners.push(listen(&bus, Target::topic(topic).server("a"), &a, ListenOptions::default()).await);
    }
    let all = (0..200).map(|n| {
        let c = client(&bus, ["t", "u", "v", "w"][n % 4]);
        async move { call(&c, "echo", n as u64).await.unwrap() }
    });
    join_all(all).await;
    assert_eq!(connections(&broker).await, 2);
    assert_eq!((process.inner.replies().waiting(), process.backlog()), (0, 0), "nothing is left of them");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_listener_gives_back_what_it_held() {
    let host = host().await;
    let bus: Bus = Arc::new(amqp(&host.url()));
    let (a, mut seen_a) = probe("a");
    let l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&bus, "t");
    cast(&c, "wait", 0).await;
    seen_a.recv().await.unwrap();
    cast(&c, "note", 1).await;
    drop(l);
    let (b, mut seen_b) = probe("b");
    b.gate.add_permits(1);
    let _m = listen(&bus, Target::topic("t").server("b"), &b, ListenOptions::in_order()).await;
    assert_eq!(numbers(&mut seen_b, 2).await, [0, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_given_up_leaves_nothing() {
    let host = host().await;
    let process = amqp(&host.url());
    let bus: Bus = Arc::new(process.clone());
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &a, ListenOptions::default()).await;
    let c = client(&bus, "t");
    for topic in ["t", "nobody"] {
        let c = c.topic(topic);
        let calling = tokio::spawn(async move { call(&c, "wait", 1).await });
        while process.inner.replies().waiting() == 0 {
            tokio::task::yield_now().await;
        }
        if topic == "t" {
            seen.recv().await.unwrap();
        }
        calling.abort();
        calling.await.unwrap_err();
        assert_eq!(process.inner.replies().waiting(), 0);
    }
    a.gate.add_permits(1);
    assert_eq!(call(&c, "echo", 2).await.unwrap(), json!({"n": 2}));
    while process.backlog() > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_busy_has_its_queues_again_meanwhile() {
    let host = host().await;
    let cable = Cable::to(host.port()).await;
    let far: Bus = Arc::new(amqp(&cable.url(&host)));
    let near: Bus = Arc::new(amqp(&host.url()));
    let (a, mut seen) = probe("a");
    let _l = listen(&far, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let mut losses = far.losses().unwrap();
    cast(&client(&near, "t").server("a"), "wait", 0).await;
    seen.recv().await.unwrap();
    cable.cut();
    cable.mend();
    let back = tokio::time::timeout(Duration::from_secs(30), losses.changed()).await;
    back.expect("although its handler still runs").unwrap();
    cast(&client(&near, "t").fanout(), "note", 1).await;
    a.gate.add_permits(1);
    assert_eq!(numbers(&mut seen, 1).await, [1], "what came again is not handled again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quorum_queues_keep_their_order_over_a_cut_cable() {
    let host = host().await;
    let cable = Cable::to(host.port()).await;
    let quorum = |url: &str| {
        let mut settings = settings(url);
        settings.queues.quorum = true;
        settings.queues.transient_quorum = true;
        Arc::new(Amqp::new(settings)) as Bus
    };
    let (far, near) = (quorum(&cable.url(&host)), quorum(&host.url()));
    let (a, mut seen) = probe("a");
    let _l = listen(&far, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let c = client(&near, "t").server("a");
    cast(&c, "wait", 0).await;
    for n in 1..40 {
        cast(&c, "note", n).await;
    }
    let mut got = numbers(&mut seen, 1).await;
    cable.cut();
    a.gate.add_permits(1);
    cable.mend();
    got.extend(numbers(&mut seen, 39).await);
    assert_eq!(got, (0..40).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_while_the_broker_is_away_ends() {
    let host = host().await;
    let cable = Cable::to(host.port()).await;
    let bus: Bus = Arc::new(amqp(&cable.url(&host)));
    let (a, mut seen) = probe("a");
    let l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    cast(&client(&bus, "t").server("a"), "wait", 0).await;
    seen.recv().await.unwrap();
    cable.cut();
    a.gate.add_permits(1);
    let started = Instant::now();
    assert!(l.stop(Duration::from_secs(30)).await, "its handler has ended");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_out_when_a_listener_has_stopped() {
    let host = host().await;
    let (process, other): (Bus, Bus) = (Arc::new(amqp(&host.url())), Arc::new(amqp(&host.url())));
    let (a, mut seen) = probe("a");
    let l = listen(&process, Target::topic("t"), &a, ListenOptions::default()).await;
    let c = client(&other, "t");
    let calling = tokio::spawn(async move { call(&c, "wait", 1).await });
    seen.recv().await.unwrap();
    let stopping = tokio::spawn(l.stop(Duration::from_secs(30)));
    a.gate.add_permits(1);
    assert!(stopping.await.unwrap());
    // As a process that ends.
    drop(process);
    assert_eq!(calling.await.unwrap().unwrap(), json!({"n": 1}));
}
