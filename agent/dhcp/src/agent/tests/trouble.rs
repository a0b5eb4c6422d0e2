//! Failures: of the server, of the host, of dnsmasq, of the agent itself.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use super::server::FakeServer;
use super::{Site, one_network, settings};
use crate::host::fake::FakeHost;
use crate::model::Id;
use crate::plan::{Namespace, Observed, Op};

#[tokio::test]
async fn dhcp_agent_restart_keeps_dataplane() {
    let (mut site, networks) = Site::start(FakeHost::default(), settings(), |server: &FakeServer| {
        let make = |n: usize| {
            let network = server.network();
            server.subnet(&network, &format!("10.{}.{}.0/24", n / 250, n % 250), json!({}));
            (0..5).for_each(|_| drop(server.port(&network, json!({}))));
            network
        };
        (0..1000).map(make).collect::<Vec<_>>()
    })
    .await;
    for network in &networks {
        site.host.until("dnsmasq runs", |host| host.of(network).dnsmasq.is_some()).await;
    }
    let pids =
        |site: &Site<FakeHost>| networks.iter().map(|n| site.host.of(n).dnsmasq.unwrap().pid).collect::<Vec<_>>();
    let (before, done) = (pids(&site), site.host.done().len());
    site.stop().await;
    assert_eq!(pids(&site), before, "an agent that ends leaves dnsmasq running");
    site.restart(settings()).await;
    // News during the sync.
    let port = site.server.boot(&networks[999]).await;
    site.server.until_ready(&[&port]).await;
    let all: Vec<_> = networks.iter().map(|network| site.server.dhcp_ports(network)[0].clone()).collect();
    site.server.until_ready(&all.iter().collect::<Vec<_>>()).await;
    assert_eq!(pids(&site), before);
    let new: Vec<Op> = site.host.done().into_iter().skip(done).map(|(_, op)| op).collect();
    assert!(matches!(new[..], [Op::WriteFiles, Op::Reload { .. }]), "only the new port: {new:?}");
}

#[tokio::test]
async fn new_ports_are_reported_before_old_ones() {
    let (site, network, _) = one_network().await;
    // Hold the reports back while both kinds gather.
    site.server.raise("dhcp_ready_on_ports", Some("RuntimeError"));
    let old: Vec<_> = (0..200).map(|_| site.server.port(&network, json!({}))).collect();
    let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
    site.server.tell_subnet(&network, &subnet).await;
    site.host.until("the restart", |host| host.count(|op| *op == Op::StartDnsmasq) == 2).await;
    let new = site.server.boot(&network).await;
    let lines = |host: &FakeHost| {
        host.of(&network).files.is_some_and(|files| files.host.contains(new["mac_address"].as_str().unwrap()))
    };
    site.host.until("the new port's line", lines).await;
    let refused = site.server.calls("dhcp_ready_on_ports");
    site.server.bus.until("a refusal of both", |_| site.server.calls("dhcp_ready_on_ports") > refused).await;
    site.server.raise("dhcp_ready_on_ports", None);
    site.server.until_ready(&old.iter().chain([&new]).collect::<Vec<_>>()).await;
    let order = site.server.ready_order();
    let position = order.iter().position(|port| *port == new["id"]).unwrap();
    // In the first batch of those after the refusals.
    let before = order.iter().take(position).filter(|port| old.iter().any(|old| old["id"] == **port)).count();
    assert!(before < 64, "{before} old ports before the new one");
}

#[tokio::test]
async fn dnsmasq_that_dies_is_started_again() {
    let (site, network, _) = one_network().await;
    site.host.kill(&network);
    site.host.until("it runs again", |host| host.of(&network).dnsmasq.is_some()).await;
    assert_eq!(site.host.count(|op| *op == Op::StartDnsmasq), 2);
    // And watched again.
    site.host.kill(&network);
    site.host.until("it runs again", |host| host.of(&network).dnsmasq.is_some()).await;
}

#[tokio::test]
async fn dnsmasq_that_is_restarted_did_not_die() {
    let (site, network, _) = one_network().await;
    let (watched, seen) = (Arc::new(Mutex::new(Vec::new())), Arc::clone(&site.agent));
    let looks = Arc::clone(&watched);
    site.host.at_stop(move || looks.lock().unwrap().push(seen.watched.lock().unwrap().len()));
    let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
    site.server.tell_subnet(&network, &subnet).await;
    site.host.until("the restart", |host| host.count(|op| *op == Op::StartDnsmasq) == 2).await;
    assert_eq!(*watched.lock().unwrap(), [0], "nobody waits for an end that is on purpose");
    // The new one is watched.
    site.host.kill(&network);
    site.host.until("it runs again", |host| host.of(&network).dnsmasq.is_some()).await;
}

#[tokio::test]
async fn one_bad_network_does_not_stop_others() {
    let (site, (bad, good)) = Site::start(FakeHost::default(), settings(), |server| {
        let make = |cidr| {
            let network = server.network();
            server.subnet(&network, cidr, json!({}));
            network
        };
        let (bad, good) = (make("192.0.2.0/24"), make("198.51.100.0/24"));
        // Unreadable parts of one are dropped; the rest of it is served.
        server.port(&bad, json!({"mac_address": "nonsense"}));
        server.port(&bad, json!({"fixed_ips": [{"subnet_id": "x", "ip_address": "y"}]}));
        (bad, good)
    })
    .await;
    site.host.until("both run", |host| host.of(&bad).dnsmasq.is_some() && host.of(&good).dnsmasq.is_some()).await;
    // Steps that fail are tried again, with more and more time between; the other network goes on.
    site.host.fail(&bad, 2);
    let waiting = site.server.boot(&bad).await;
    let port = site.server.boot(&good).await;
    site.server.until_ready(&[&port]).await;
    assert!(!site.server.is_ready(&waiting));
    site.server.until_ready(&[&waiting]).await;
}

#[tokio::test]
async fn dhcp_memory_when_server_is_down() {
    let (site, network, _) = one_network().await;
    tokio::time::pause();
    let before = site.host.of(&network);
    site.server.bus.set_down(true);
    site.agent.request_sync();
    // Half an hour of it.
    let start = tokio::time::Instant::now();
    while start.elapsed() < Duration::from_secs(1800) {
        tokio::time::advance(Duration::from_secs(1)).await;
        tokio::task::yield_now().await;
    }
    let tries = site.server.bus.sent_as("get_active_networks_info").len();
    assert!((10..400).contains(&tries), "{tries} tries in half an hour");
    assert_eq!(site.host.of(&network), before, "the data plane is left alone");
    site.server.bus.set_down(false);
    let answered = site.server.calls("get_active_networks_info");
    site.server.bus.until("the sync on return", |_| site.server.calls("get_active_networks_info") > answered).await;
    let port = site.server.boot(&network).await;
    site.server.until_ready(&[&port]).await;
    assert_eq!(site.server.calls("get_active_networks_info"), answered + 1, "one sync on return");
    assert_eq!(site.host.of(&network).dnsmasq, before.dnsmasq);
}

#[tokio::test]
async fn leftovers_go_only_after_a_complete_sync() {
    let (mut site, network, _) = one_network().await;
    let gone = site.server.network();
    site.server.subnet(&gone, "198.51.100.0/24", json!({}));
    site.server.tell_network(&gone).await;
    site.host.until("it runs", |host| host.of(&gone).dnsmasq.is_some()).await;
    site.stop().await;
    site.server.delete_network(&gone);
    // The server cannot tell for now: nothing may be taken down.
    site.server.raise("get_active_networks_info", Some("DBConnectionError"));
    let done = site.host.done().len();
    site.restart(settings()).await;
    let asked = site.server.calls("get_active_networks_info");
    site.server.bus.until("a second try", |_| site.server.calls("get_active_networks_info") > asked).await;
    assert_eq!(site.host.done().len(), done);
    site.server.raise("get_active_networks_info", None);
    site.host.until("it is gone", |host| host.of(&gone) == Observed::default()).await;
    assert!(site.host.of(&network).dnsmasq.is_some());
}

#[tokio::test]
async fn a_server_that_fails_in_between_gets_a_sync_when_it_is_back() {
    let (site, network, _) = one_network().await;
    site.server.bus.set_down(true);
    let port = site.server.port(&network, json!({}));
    let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
    // Both messages are lost, and a third one finds the server away.
    site.server.bus.set_down(false);
    site.server.raise("get_network_info", Some("MessagingTimeout"));
    site.server.tell_subnet(&network, &subnet).await;
    site.server.raise("get_network_info", None);
    site.server.until_ready(&[&port]).await;
    assert_eq!(site.host.of(&network).namespace, Namespace::Present);
}

#[tokio::test]
async fn no_free_address_is_no_reason_to_hurry() {
    let (site, network) = Site::start(FakeHost::default(), settings(), |server| {
        server.raise("create_dhcp_port", Some("IpAddressGenerationFailure"));
        let network = server.network();
        server.subnet(&network, "192.0.2.0/30", json!({}));
        network
    })
    .await;
    site.server.bus.until("the first try", |_| site.server.calls("create_dhcp_port") == 1).await;
    // A change of the subnet is worth another try at once.
    site.server.raise("create_dhcp_port", None);
    let payload = json!({"subnet": {"id": "s", "network_id": &*network}, "priority": 3});
    site.server.cast("subnet_update_end", payload).await;
    site.host.until("it runs", |host| host.of(&network).dnsmasq.is_some()).await;
    assert_eq!(site.server.calls("create_dhcp_port"), 2);
}

#[tokio::test]
async fn long_reloads_and_starts_are_relieved() {
    let (site, network, _) = one_network().await;
    assert!(site.host.reliefs().is_empty(), "small networks need none");
    // As if this machine were very slow.
    let tuning = super::Tuning { client_wait: Duration::ZERO, ..super::tuning() };
    let mut site = site.with_tuning(tuning);
    site.restart(settings()).await;
    let port = site.server.boot(&network).await;
    site.server.until_ready(&[&port]).await;
    assert_eq!(site.host.reliefs(), [true, false]);
    let done: Vec<Op> = site.host.done().into_iter().map(|(_, op)| op).collect();
    assert!(matches!(done[done.len() - 2..], [Op::WriteFiles, Op::Reload { .. }]));
    let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
    site.server.tell_subnet(&network, &subnet).await;
    site.host.until("the restart is over", |host| host.reliefs() == [true, false, true, false]).await;
    let starts = site.host.count(|op| *op == Op::StartDnsmasq);
    assert_eq!(starts, 2);
}

#[tokio::test]
async fn rpc_large_messages_are_asked_for_in_pages() {
    for (pages, expected) in [(true, 3), (false, 1)] {
        let (server, _listener) = FakeServer::start().await;
        if !pages {
            server.knows_no_pages();
        }
        let networks: std::collections::BTreeSet<Id> = (0..1200).map(|_| server.network()).collect();
        let found = super::plugin(&server).active_networks().await.unwrap();
        let found: std::collections::BTreeSet<Id> = found.into_iter().map(|network| network.id).collect();
        assert_eq!(found, networks);
        assert_eq!(server.calls("get_active_networks_info"), expected);
    }
}
