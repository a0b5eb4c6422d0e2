//! Leases of real clients: kept while their ports are there, given back when not.

use std::net::IpAddr;

use linux::dhcp_client::Family;
use serde_json::{Value, json};

use super::{Bench, blocking, eventually, shared};
use crate::agent::tests::server::{FakeServer, ip_of};
use crate::model::Id;

fn stateful() -> Value {
    json!({"ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful"})
}

fn network(server: &FakeServer, v6: bool) -> (Id, Value, Value) {
    let network = server.network();
    server.subnet(&network, "192.0.2.0/24", json!({}));
    if v6 {
        server.subnet(&network, "2001:db8:7a::/64", stateful());
    }
    let (a, b) = (server.port(&network, json!({})), server.port(&network, json!({})));
    (network, a, b)
}

fn lease_of<'a>(leases: &'a str, ip: &IpAddr) -> Option<&'a str> {
    leases.lines().find(|line| line.split(' ').nth(2) == Some(&ip.to_string()))
}

#[test]
fn dhcp_client_id_leases() {
    let bench = Bench::new();
    bench.run(|| async {
        let (site, (network, first, second)) = bench.site(|server| network(server, false)).await;
        site.server.until_ready(&[&first, &second]).await;
        // udhcpc sends 01 and its MAC as client id, as Windows does; the port says nothing of it.
        let machine = shared(bench.machine(&site.server, &network, &first));
        let client = machine.clone();
        let ip = blocking(move || client.lease_v4().ip()).await;
        let mac = first["mac_address"].as_str().unwrap();
        let lease = || lease_of(&bench.file(&network, "leases"), &ip).map(str::to_owned);
        eventually("the lease is noted", || lease().is_some_and(|line| line.ends_with(&format!("01:{mac}")))).await;

        // Other ports come and go: the lease stays as it is, the other port's is given back.
        let other = site.server.boot(&network).await;
        site.server.until_ready(&[&other]).await;
        let gone = site.server.delete_port(second["id"].as_str().unwrap());
        let gone_ip = IpAddr::V4(ip_of(&gone));
        assert!(lease_of(&bench.file(&network, "leases"), &gone_ip).is_some(), "seeded at the start");
        let kept = lease();
        site.server.tell_port_gone(&gone).await;
        let released = || lease_of(&bench.file(&network, "leases"), &gone_ip).is_none();
        eventually("the deleted port's lease is given back", released).await;
        // dnsmasq writes its file in place: a look in the middle of that shows a part of it.
        eventually("the lease is as it was", || lease() == kept).await;

        // With another client id set on the port the lease of the old one goes.
        let options = json!([{"opt_name": "client-id", "opt_value": "01:02:03", "ip_version": 4}]);
        let changed = site.server.set_port(first["id"].as_str().unwrap(), "extra_dhcp_opts", options);
        site.server.cast("port_update_end", json!({"port": changed, "priority": 6})).await;
        eventually("the old lease is given back", || lease() != kept).await;
        drop(machine);
    });
}

#[test]
fn a_lease_that_no_port_knows_is_given_back() {
    let bench = Bench::new();
    bench.run(|| async {
        let (mut site, (network, first, _)) = bench.site(|server| network(server, false)).await;
        site.server.until_ready(&[&first]).await;
        let machine = bench.machine(&site.server, &network, &first);
        let ip = blocking(move || machine.lease_v4().ip()).await;
        // The port is deleted while the agent is not there to hear of it.
        site.stop().await;
        site.server.delete_port(first["id"].as_str().unwrap());
        site.restart(bench.settings.clone()).await;
        let released = || lease_of(&bench.file(&network, "leases"), &ip).is_none();
        eventually("the lease is given back", released).await;
    });
}

#[test]
fn dhcp_v6_leases_survive_restarts() {
    let bench = Bench::new();
    bench.run(|| async {
        let (mut site, (network, first, _)) = bench.site(|server| network(server, true)).await;
        site.server.until_ready(&[&first]).await;
        let wanted: IpAddr = first["fixed_ips"][1]["ip_address"].as_str().unwrap().parse().unwrap();
        let machine = shared(bench.machine(&site.server, &network, &first));
        let client = machine.clone();
        let ip = blocking(move || client.lease_v6().ip()).await;
        assert_eq!(ip, wanted);
        let line = || lease_of(&bench.file(&network, "leases"), &ip).map(str::to_owned);
        let identity = |line: Option<String>| {
            line.map(|line| line.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default()
        };
        let duid = || bench.file(&network, "leases").lines().find(|line| line.starts_with("duid ")).map(str::to_owned);
        eventually("the lease is noted", || line().is_some() && duid().is_some()).await;
        let (lease, server) = (identity(line()), duid());

        // The agent restarts; then dnsmasq does, for a new subnet.
        site.restart(bench.settings.clone()).await;
        let old = bench.pid(&network);
        let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
        site.server.tell_subnet(&network, &subnet).await;
        eventually("a new process", || bench.pid(&network) != old).await;
        eventually("the lease is still there", || identity(line()) == lease).await;
        assert_eq!(duid(), server);
        assert!(!bench.file(&network, "leases").contains('['));
        let client = machine.clone();
        let again = blocking(move || {
            client.dhcp().stop(Family::V6).unwrap();
            client.lease_v6().ip()
        });
        assert_eq!(again.await, ip);

        // The port goes, and the lease with it: by a release, and for good by the next start.
        let gone = site.server.delete_port(first["id"].as_str().unwrap());
        site.server.tell_port_gone(&gone).await;
        eventually("the lease is given back", || line().is_none()).await;
        drop(machine);
    });
}

#[test]
fn guests_lease_both_families_and_options() {
    let bench = Bench::new();
    bench.run(|| async {
        let prepare = |server: &FakeServer| {
            let network = server.network();
            let routes = json!([{"destination": "198.51.100.0/24", "nexthop": "192.0.2.254"}]);
            server.subnet(&network, "192.0.2.0/24", json!({"host_routes": routes, "dns_nameservers": ["192.0.2.53"]}));
            server.subnet(&network, "2001:db8:7a::/64", stateful());
            let options = json!([{"opt_name": "mtu", "opt_value": "1400", "ip_version": 4}]);
            let port = server.port(&network, json!({"extra_dhcp_opts": options}));
            (network, port)
        };
        let (site, (network, port)) = bench.site(prepare).await;
        site.server.until_ready(&[&port]).await;
        let machine = shared(bench.machine(&site.server, &network, &port));
        let client = machine.clone();
        let (v4, v6) = blocking(move || (client.lease_v4(), client.lease_v6())).await;
        assert_eq!(v4.ip(), IpAddr::V4(ip_of(&port)));
        assert_eq!(v6.ip().to_string(), port["fixed_ips"][1]["ip_address"].as_str().unwrap());
        assert_eq!(v4.value("dns"), "192.0.2.53");
        assert!(v4.value("routes").contains("198.51.100.0/24"), "{v4:?}");
        drop(machine);
    });
}
