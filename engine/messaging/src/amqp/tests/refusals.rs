//! What the broker refuses, and what is said of it.

use super::*;
use crate::amqp::link::connect;
use crate::amqp::settings::Tls;

async fn refusal(settings: &Settings) -> String {
    let host = settings.url.hosts[0].clone();
    connect(settings, &host, "test").await.map(drop).unwrap_err()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_broker_refuses_names_the_option() {
    let host = host().await;
    for login in [super::settings::Login::Plain, super::settings::Login::AmqPlain] {
        let mut wrong = settings(&format!("rabbit://guest:wrong@127.0.0.1:{}/{}", host.port(), host.name()));
        wrong.login = login;
        let why = refusal(&wrong).await;
        assert!(why.contains("[DEFAULT] transport_url") && why.contains("user and password"), "{why}");
        assert!(!why.contains("wrong"), "{why}");
    }
    let why = refusal(&settings(&format!("rabbit://guest:guest@127.0.0.1:{}/nowhere", host.port()))).await;
    assert!(why.contains("[DEFAULT] transport_url") && why.contains("nowhere"), "{why}");
    let why = refusal(&settings("rabbit://guest:guest@127.0.0.1:1/")).await;
    assert!(why.contains("refused"), "{why}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_is_too_long_breaks_nothing() {
    let host = host().await;
    let bus: Bus = Arc::new(amqp(&host.url()));
    let (a, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &a, ListenOptions::default()).await;
    let c = client(&bus, "t");
    let long = c.server(&"x".repeat(300));
    let refused = long.cast(&Context::admin(), V, "note", &json!({"n": 1})).await.unwrap_err();
    assert!(refused.to_string().contains("255"), "{refused}");
    assert!(matches!(call(&long, "echo", 1).await, Err(CallError::Transport { .. })));
    let dispatcher = Arc::new(Dispatcher::new().with(Arc::clone(&a) as Arc<dyn crate::Endpoint>));
    let target = Target::topic("t").server("x".repeat(300));
    assert!(bus.listen(&target, dispatcher, ListenOptions::default()).await.is_err());
    assert_eq!(call(&c, "echo", 1).await.unwrap(), json!({"n": 1}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_second_of_several_hosts_serves() {
    let host = host().await;
    let url = format!("rabbit://guest:guest@127.0.0.1:1,guest:guest@127.0.0.1:{}/{}", host.port(), host.name());
    let bus: Bus = Arc::new(amqp(&url));
    let (a, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &a, ListenOptions::default()).await;
    assert_eq!(call(&client(&bus, "t"), "echo", 1).await.unwrap(), json!({"n": 1}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_verified_as_far_as_asked() {
    let (broker, port, files) = tokio::task::spawn_blocking(Broker::start_tls).await.unwrap();
    let host = broker.virtual_host();
    let file = |name: &str| files.path().join(name);
    let tls = |server: &str, tls: Tls| {
        let mut settings = settings(&format!("rabbit://guest:guest@{server}:{port}/{}", host.name()));
        settings.tls = Some(tls);
        settings
    };
    let ca = Some(file("ca.pem"));
    let identity = Some((file("client.pem"), file("client.key")));
    let whole = tls("localhost", Tls { ca: ca.clone(), identity, verify_host: true });
    let bus: Bus = Arc::new(Amqp::new(whole));
    let (a, _seen) = probe("a");
    let _l = listen(&bus, Target::topic("t"), &a, ListenOptions::default()).await;
    assert_eq!(call(&client(&bus, "t"), "echo", 1).await.unwrap(), json!({"n": 1}));
    let accepted = [
        tls("127.0.0.1", Tls { ca: ca.clone(), identity: None, verify_host: false }),
        tls("127.0.0.1", Tls::default()),
    ];
    for settings in accepted {
        connect(&settings, &settings.url.hosts[0].clone(), "test").await.unwrap();
    }
    let why = refusal(&tls("127.0.0.1", Tls { ca, identity: None, verify_host: true })).await;
    assert!(why.contains("ssl_enforce_hostname_verification"), "{why}");
    let other = Some(file("other.pem"));
    let why = refusal(&tls("localhost", Tls { ca: other, identity: None, verify_host: false })).await;
    assert!(why.contains("ssl_ca_file"), "{why}");
    let missing = Some(file("missing.pem"));
    let why = refusal(&tls("localhost", Tls { ca: missing, identity: None, verify_host: false })).await;
    assert!(why.contains("[oslo_messaging_rabbit] ssl_") && why.contains("missing.pem"), "{why}");
}
