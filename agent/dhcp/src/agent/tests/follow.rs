//! Following the server's news.

use serde_json::{Value, json};

use super::server::{FakeServer, ip_of};
use super::{Site, one_network, settings};
use crate::host::fake::FakeHost;
use crate::model::Id;
use crate::plan::{Namespace, Observed, Op};

fn hosts(site: &Site<FakeHost>, network: &Id) -> String {
    site.host.of(network).files.map(|files| files.host).unwrap_or_default()
}

fn is_reload(op: &Op) -> bool {
    matches!(op, Op::Reload { .. })
}

#[tokio::test]
async fn a_network_is_put_in_place_and_its_ports_are_reported() {
    let (site, network, port) = one_network().await;
    let seen = site.host.of(&network);
    assert_eq!(seen.namespace, Namespace::Present);
    assert!(seen.dnsmasq.is_some());
    assert!(hosts(&site, &network).contains(&ip_of(&port).to_string()));
    let [own] = &site.server.dhcp_ports(&network)[..] else { panic!("one DHCP port") };
    assert!(own["device_id"].as_str().unwrap().ends_with(&format!("-{network}")));
    assert_eq!(seen.interface.unwrap(), "ns-".to_owned() + &own["id"].as_str().unwrap()[..11]);
}

#[tokio::test]
async fn new_ports_cost_one_reload_and_no_question() {
    let (site, network, _) = one_network().await;
    let asked = site.server.calls("get_network_info");
    let port = site.server.boot(&network).await;
    site.server.until_ready(&[&port]).await;
    assert!(hosts(&site, &network).contains(&ip_of(&port).to_string()));
    assert_eq!(site.host.count(is_reload), 1);
    assert_eq!(site.server.calls("get_network_info"), asked, "the message has all that is needed");

    // A burst: however many rounds, far fewer than ports, and every port is ready.
    let mut ports = Vec::new();
    for _ in 0..100 {
        ports.push(site.server.boot(&network).await);
    }
    site.server.until_ready(&ports.iter().collect::<Vec<_>>()).await;
    assert!(site.host.count(is_reload) < 50, "{} reloads", site.host.count(is_reload));
    assert_eq!(hosts(&site, &network).lines().count(), 102);
}

#[tokio::test]
async fn a_new_network_and_subnet_are_followed() {
    let (site, first, _) = one_network().await;
    let network = site.server.network();
    site.server.tell_network(&network).await;
    site.server
        .bus
        .until("the question", |sent| sent.iter().filter(|s| s.method() == "get_network_info").count() > 0)
        .await;
    let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
    site.server.tell_subnet(&network, &subnet).await;
    site.host.until("dnsmasq runs", |host| host.of(&network).dnsmasq.is_some()).await;

    // A second subnet: the port gets an address there, dnsmasq is restarted with its range.
    let second = site.server.subnet(&network, "203.0.113.0/24", json!({}));
    site.server.tell_subnet(&network, &second).await;
    let ranged = |host: &FakeHost| {
        let dnsmasq = host.of(&network).dnsmasq;
        dnsmasq.is_some_and(|dnsmasq| dnsmasq.args.iter().any(|arg| arg.contains("203.0.113.0")))
    };
    site.host.until("the second range", ranged).await;
    assert_eq!(site.server.dhcp_ports(&network)[0]["fixed_ips"].as_array().unwrap().len(), 2);

    // Without subnets there is nothing to serve: all of it goes, the other network stays.
    for subnet in [subnet, second] {
        site.server.delete_subnet(&network, &subnet);
        let payload = json!({"subnet_id": subnet, "network_id": &*network, "priority": 4});
        site.server.cast("subnet_delete_end", payload).await;
    }
    site.host.until("it is gone", |host| host.of(&network) == Observed::default()).await;
    site.server.bus.until("the port is given back", |_| site.server.dhcp_ports(&network).is_empty()).await;
    assert!(site.host.of(&first).dnsmasq.is_some());
}

#[tokio::test]
async fn admin_state_down_stops_and_up_starts() {
    let (site, network, _) = one_network().await;
    site.server.set_network(&network, "admin_state_up", json!(false));
    let payload = json!({"network": {"id": &*network, "admin_state_up": false}, "priority": 1});
    site.server.cast("network_update_end", payload.clone()).await;
    site.host.until("it is gone", |host| host.of(&network).namespace == Namespace::Missing).await;
    site.server.set_network(&network, "admin_state_up", json!(true));
    site.server.cast("network_update_end", payload).await;
    site.host.until("it is back", |host| host.of(&network).dnsmasq.is_some()).await;
}

#[tokio::test]
async fn dhcp_namespace_lifetime() {
    let (site, (first, others)) = Site::start(FakeHost::default(), settings(), |server: &FakeServer| {
        let network = |n: usize| {
            let network = server.network();
            server.subnet(&network, &format!("10.{n}.0.0/24"), json!({}));
            network
        };
        (network(0), (1..=50).map(network).collect::<Vec<_>>())
    })
    .await;
    for network in others.iter().chain([&first]) {
        site.host.until("dnsmasq runs", |host| host.of(network).dnsmasq.is_some()).await;
        assert_eq!(site.server.dhcp_ports(network).len(), 1);
    }
    site.server.delete_network(&first);
    site.server.cast("network_delete_end", json!({"network_id": &*first, "priority": 2})).await;
    site.host.until("the first is gone", |host| host.of(&first) == Observed::default()).await;
    assert!(others.iter().all(|network| site.host.of(network).dnsmasq.is_some()));
    site.host.until("it is forgotten", |_| site.agent.counts().networks == 50).await;
}

#[tokio::test]
async fn dhcp_ip_reuse_order() {
    let (site, network, old) = one_network().await;
    let ip = ip_of(&old);
    let calls = (site.server.calls("get_network_info"), site.server.calls("get_active_networks_info"));
    for _ in 0..200 {
        site.server.boot(&network).await;
    }
    // The new port's message overtakes the old one's.
    let old = site.server.delete_port(old["id"].as_str().unwrap());
    let fixed_ips = old["fixed_ips"].clone();
    let new = site.server.port(&network, json!({"fixed_ips": fixed_ips}));
    site.server.tell_port(&new).await;
    site.server.tell_port_gone(&old).await;
    site.server.tell_port(&new).await;
    site.server.until_ready(&[&new]).await;
    let hosts = hosts(&site, &network);
    let lines: Vec<&str> = hosts.lines().filter(|line| line.ends_with(&format!(",{ip}"))).collect();
    let [line] = lines[..] else { panic!("one line for {ip}, not {lines:?}") };
    assert!(line.starts_with(new["mac_address"].as_str().unwrap()));
    let now = (site.server.calls("get_network_info"), site.server.calls("get_active_networks_info"));
    assert_eq!(now, calls, "nothing was asked again");
}

#[tokio::test]
async fn a_deleted_port_stays_deleted() {
    let (site, network, port) = one_network().await;
    let old = site.server.delete_port(port["id"].as_str().unwrap());
    site.server.tell_port_gone(&old).await;
    site.host.until("its line is gone", |_| hosts(&site, &network).is_empty()).await;
    // Late news of it, and of another one that shows that they were handled.
    site.server.tell_port(&old).await;
    let other = site.server.boot(&network).await;
    site.server.until_ready(&[&other]).await;
    assert_eq!(hosts(&site, &network).lines().count(), 1);
}

#[tokio::test]
async fn older_news_do_not_undo_newer() {
    let (site, network, port) = one_network().await;
    let id = port["id"].as_str().unwrap();
    let newer = site.server.set_port(id, "mac_address", json!("fa:16:3e:99:99:99"));
    site.server.cast("port_update_end", json!({"port": newer})).await;
    site.server.cast("port_update_end", json!({"port": port})).await;
    let other = site.server.boot(&network).await;
    site.server.until_ready(&[&other]).await;
    assert!(hosts(&site, &network).contains("fa:16:3e:99:99:99"));
}

#[tokio::test]
async fn dhcp_skip_network_ports() {
    let (site, network, _) = one_network().await;
    let done = site.host.done().len();
    for owner in ["network:router_ha_interface", "network:dhcp", "network:floatingip", "network:distributed"] {
        let port = site.server.port(&network, json!({"device_owner": owner}));
        site.server.tell_port(&port).await;
        site.server.tell_port_gone(&port).await;
    }
    // A message that needs a round of its own shows that the others are through; its steps are its own reload.
    let port = site.server.boot(&network).await;
    site.server.until_ready(&[&port]).await;
    let new: Vec<Op> = site.host.done().into_iter().skip(done).map(|(_, op)| op).collect();
    assert!(matches!(new[..], [Op::WriteFiles, Op::Reload { .. }]), "{new:?}");
    assert_eq!(hosts(&site, &network).lines().count(), 2);
}

#[tokio::test]
async fn dhcp_port_change_follow() {
    let (mut site, network, _) = one_network().await;
    let own = || site.server.dhcp_ports(&network)[0].clone();
    let before = own();
    site.restart(settings()).await;
    let own = || site.server.dhcp_ports(&network)[0].clone();
    let port = site.server.boot(&network).await;
    site.server.until_ready(&[&port]).await;
    assert_eq!(own()["fixed_ips"], before["fixed_ips"], "the same address after a restart");

    let fixed_ips = json!([{"subnet_id": before["fixed_ips"][0]["subnet_id"], "ip_address": "192.0.2.77"}]);
    let changed = site.server.set_port(before["id"].as_str().unwrap(), "fixed_ips", fixed_ips);
    site.server.cast("port_update_end", json!({"port": changed})).await;
    let has = |host: &FakeHost| {
        let addresses = host.of(&network).devices.first().map(|device| device.addresses.clone()).unwrap_or_default();
        addresses.iter().map(|address| address.net.to_string()).collect::<Vec<_>>() == ["192.0.2.77/24"]
    };
    site.host.until("the device has the new address", has).await;

    // Messages without addresses are no trouble.
    let gone = json!({"port_id": "b0000000-0000-4000-8000-00000000ffff", "network_id": &*network});
    site.server.cast("port_delete_end", gone).await;
    site.server.cast("port_update_end", json!({"port": {"id": before["id"]}})).await;
    let port = site.server.boot(&network).await;
    site.server.until_ready(&[&port]).await;
}

#[tokio::test]
async fn an_own_port_deleted_by_hand_is_made_again() {
    let (site, network, _) = one_network().await;
    let own = site.server.dhcp_ports(&network)[0].clone();
    site.server.delete_port(own["id"].as_str().unwrap());
    site.server.tell_port_gone(&own).await;
    let renewed = |host: &FakeHost| {
        let old = format!("ns-{}", &own["id"].as_str().unwrap()[..11]);
        let seen = host.of(&network);
        seen.devices.len() == 1
            && seen.interface.is_some_and(|name| name.len() == old.len())
            && site.server.dhcp_ports(&network).len() == 1
    };
    site.host.until("a new port", renewed).await;
    assert_ne!(site.server.dhcp_ports(&network)[0]["id"], own["id"]);
}

#[tokio::test]
async fn a_reserved_port_is_taken_over() {
    let (site, (network, reserved)) = Site::start(FakeHost::default(), settings(), |server| {
        let network = server.network();
        server.subnet(&network, "192.0.2.0/24", json!({}));
        let rest = json!({"device_owner": "network:dhcp", "device_id": "reserved_dhcp_port"});
        let reserved = server.port(&network, rest);
        (network, reserved)
    })
    .await;
    site.host.until("dnsmasq runs", |host| host.of(&network).dnsmasq.is_some()).await;
    let [own] = &site.server.dhcp_ports(&network)[..] else { panic!("no second port") };
    assert_eq!((&own["id"], &own["fixed_ips"]), (&reserved["id"], &reserved["fixed_ips"]));
}

#[tokio::test]
async fn dhcp_agent_failover_leaves_the_port_to_the_other_agent() {
    let (site, network, _) = one_network().await;
    // While this agent was thought dead, another one took the network and its port.
    site.server.set_foreign(&network, true);
    let own = site.server.dhcp_ports(&network)[0].clone();
    site.server.set_port(own["id"].as_str().unwrap(), "device_id", json!("dhcpother"));
    site.agent.request_sync();
    site.host.until("it is gone here", |host| host.of(&network) == Observed::default()).await;
    let [port] = &site.server.dhcp_ports(&network)[..] else { panic!("exactly one DHCP port") };
    assert_eq!(port["device_id"], "dhcpother");
    // And when it hears of the network before it syncs.
    let (site, network, _) = one_network().await;
    let own = site.server.dhcp_ports(&network)[0].clone();
    let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
    site.server.set_foreign(&network, true);
    site.server.tell_subnet(&network, &subnet).await;
    site.host.until("it is gone here", |host| host.of(&network) == Observed::default()).await;
    drop(own);
}

#[tokio::test]
async fn port_provisioning_blocks_of_ports_seen_first_in_a_refresh() {
    let (site, network, _) = one_network().await;
    // The port's own message is lost; a subnet's refresh shows it.
    let port: Value = site.server.port(&network, json!({}));
    let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
    site.server.tell_subnet(&network, &subnet).await;
    site.server.until_ready(&[&port]).await;
}
