//! Cases of the reference.

use async_trait::async_trait;
use serde_json::Map;

use super::*;
use crate::{Endpoint, RemoteFault, Version};

/// Answers with as many bytes as it is asked for.
struct Large;

#[async_trait]
impl Endpoint for Large {
    fn version(&self) -> Version {
        Version::new(1, 0)
    }
    fn methods(&self) -> &[&'static str] {
        &["bytes"]
    }
    async fn handle(&self, _: &Context, _: &str, args: Map<String, Value>) -> Result<Value, RemoteFault> {
        let count = args["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        Ok(Value::from("x".repeat(count)))
    }
}

const LIMIT: usize = 100_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rpc_large_messages_end_in_a_fault_at_once() {
    let broker = Arc::new(broker("max_message_size = 100000\n").await);
    let host = broker.virtual_host();
    let process = amqp(&host.url());
    let bus: Bus = Arc::new(process.clone());
    let (a, mut seen) = probe("a");
    let _l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::in_order()).await;
    let dispatcher = Arc::new(Dispatcher::new().with(Arc::new(Large)));
    let _m = bus.listen(&Target::topic("large"), dispatcher, ListenOptions::default()).await.unwrap();
    let c = client(&bus, "t");
    call(&c, "echo", 0).await.unwrap();
    seen.recv().await.unwrap();
    let before = connections(&broker).await;
    let started = Instant::now();

    let big = json!({"n": 1, "text": "x".repeat(LIMIT)});
    let refused = c.cast(&Context::admin(), V, "note", &big).await.unwrap_err();
    assert!(refused.to_string().contains("PRECONDITION"), "{refused}");
    let refused = c.call::<_, Value>(&Context::admin(), V, "echo", &big).await.unwrap_err();
    assert!(matches!(refused, CallError::Transport { .. }), "{refused:?}");
    let large = client(&bus, "large");
    let refused = call(&large, "bytes", 2 * LIMIT as u64).await.unwrap_err();
    assert_eq!(refused.class(), Some("RuntimeError"), "{refused:?}");
    assert_eq!(call(&large, "bytes", LIMIT as u64 / 2).await.unwrap().as_str().unwrap().len(), LIMIT / 2);

    // Those of the same queue arrive all the same, in order and once.
    let mut expected = Vec::new();
    for n in 0..60 {
        let text = if n % 10 == 3 { "x".repeat(LIMIT) } else { String::new() };
        let sent = c.server("a").cast(&Context::admin(), V, "note", &json!({"n": n, "text": text})).await;
        assert_eq!(sent.is_err(), n % 10 == 3, "{n}");
        if sent.is_ok() {
            expected.push(n);
        }
    }
    for n in expected {
        assert_eq!(seen.recv().await.unwrap().2["n"], n);
    }
    assert!(started.elapsed() < Duration::from_secs(25), "no call ran into its timeout");
    assert_eq!((connections(&broker).await, process.backlog()), (before, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rpc_quorum_options_make_the_queues() {
    let broker = Arc::new(broker("").await);
    let host = broker.virtual_host();
    let mut settings = settings(&host.url());
    settings.queues.quorum = true;
    settings.queues.transient_quorum = true;
    settings.queues.delivery_limit = 20;
    settings.queues.memory_length = 1000;
    settings.queues.memory_bytes = 1_000_000;
    settings.queues.stream_fanout = true;
    settings.prefetch = 10;
    settings.queue_names = Some("host1:neutron-server:1".to_owned());
    settings.check().unwrap();
    let bus: Bus = Arc::new(Amqp::new(settings.clone()));
    let (a, mut seen) = probe("a");
    let l = listen(&bus, Target::topic("t").server("a"), &a, ListenOptions::default()).await;
    call(&client(&bus, "t"), "echo", 1).await.unwrap();
    seen.recv().await.unwrap();
    cast(&client(&bus, "t").fanout(), "note", 2).await;
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 2}));

    let queues = format!(
        "[{{element(4, amqqueue:get_name(Q)), amqqueue:get_type(Q), amqqueue:is_durable(Q), lists:sort(amqqueue:get_arguments(Q))}} \
         || Q <- rabbit_amqqueue:list(<<\"{}\">>)].",
        host.name()
    );
    let said = evaluate(&broker, &queues).await;
    let limits = "{<<\"x-delivery-limit\">>,long,20},{<<\"x-max-in-memory-bytes\">>,long,1000000},\
                  {<<\"x-max-in-memory-length\">>,long,1000},";
    for name in ["t", "t.a"] {
        let wanted = format!(
            "{{<<\"{name}\">>,rabbit_quorum_queue,true,[{limits}{{<<\"x-queue-type\">>,longstr,<<\"quorum\">>}}]}}"
        );
        assert!(said.contains(&wanted), "{wanted} in {said}");
    }
    assert!(said.contains("{<<\"t_fanout\">>,rabbit_stream_queue,true"), "{said}");
    assert!(said.contains("{<<\"reply_host1:neutron-server:1\">>,rabbit_quorum_queue,true"), "{said}");
    assert!(said.contains("{<<\"x-max-age\">>,longstr,<<\"1800s\">>}"), "{said}");

    // The next life of the process finds them again, and makes no others.
    assert!(l.stop(Duration::from_secs(30)).await);
    drop(bus);
    let bus: Bus = Arc::new(Amqp::new(settings.clone()));
    let (b, _seen) = probe("b");
    let _l = listen(&bus, Target::topic("t").server("a"), &b, ListenOptions::default()).await;
    call(&client(&bus, "t"), "echo", 3).await.unwrap();
    let again = evaluate(&broker, &queues).await;
    assert_eq!(again.matches("rabbit_quorum_queue").count(), 3, "{again}");
    assert_eq!(again.matches("rabbit_stream_queue").count(), 1, "{again}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rpc_quorum_options_leave_existing_queues_in_use() {
    let host = host().await;
    let classic: Bus = Arc::new(amqp(&host.url()));
    let (a, _seen) = probe("a");
    let l = listen(&classic, Target::topic("t").server("a"), &a, ListenOptions::default()).await;
    assert!(l.stop(Duration::from_secs(30)).await);
    let mut settings = settings(&host.url());
    settings.queues.quorum = true;
    settings.queues.transient_quorum = true;
    let bus: Bus = Arc::new(Amqp::new(settings));
    let (b, mut seen) = probe("b");
    let _l = listen(&bus, Target::topic("t").server("a"), &b, ListenOptions::default()).await;
    assert_eq!(call(&client(&bus, "t"), "echo", 1).await.unwrap(), json!({"n": 1}));
    seen.recv().await.unwrap();
    cast(&client(&bus, "t").fanout(), "note", 2).await;
    assert_eq!(seen.recv().await.unwrap().2, json!({"n": 2}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rpc_state_report_path_has_consumers_of_its_own() {
    let host = host().await;
    let server: Bus = Arc::new(amqp(&host.url()));
    let (busy, mut seen) = probe("busy");
    let (reports, _heard) = probe("reports");
    let _l = listen(&server, Target::topic("q-plugin"), &busy, ListenOptions::concurrent(4)).await;
    let _m = listen(&server, Target::topic("q-reports-plugin"), &reports, ListenOptions::concurrent(4)).await;
    let agents: Bus = Arc::new(amqp(&host.url()));
    let calls: Vec<_> = (0..200)
        .map(|n| {
            let c = client(&agents, "q-plugin").timeout(Duration::from_secs(120));
            tokio::spawn(async move { call(&c, "wait", n).await })
        })
        .collect();
    for _ in 0..4 {
        seen.recv().await.unwrap();
    }
    for n in 0..50 {
        let report = client(&agents, "q-reports-plugin").timeout(Duration::from_secs(10));
        assert_eq!(call(&report, "echo", n).await.unwrap(), json!({ "n": n }));
    }
    assert!(calls.iter().all(|call| !call.is_finished()), "reports did not wait for them");
    busy.gate.add_permits(200);
    for call in calls {
        call.await.unwrap().unwrap();
    }
}
