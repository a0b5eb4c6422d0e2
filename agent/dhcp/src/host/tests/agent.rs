//! The agent on a real host.

use serde_json::{Value, json};

use super::{Bench, blocking, inside, shared};
use crate::agent::tests::server::{FakeServer, ip_of};
use crate::model::Id;

fn network_with_ports(server: &FakeServer, cidr: &str, ports: usize) -> (Id, Vec<Value>) {
    let network = server.network();
    server.subnet(&network, cidr, json!({}));
    let ports = (0..ports).map(|_| server.port(&network, json!({}))).collect();
    (network, ports)
}

#[test]
fn a_guest_gets_its_lease_and_the_next_one_too() {
    let bench = Bench::new();
    bench.run(|| async {
        let (site, (network, ports)) = bench.site(|server| network_with_ports(server, "192.0.2.0/24", 1)).await;
        site.server.until_ready(&[&ports[0]]).await;
        let machine = shared(bench.machine(&site.server, &network, &ports[0]));
        let client = machine.clone();
        let lease = blocking(move || client.lease_v4()).await;
        assert_eq!(lease.ip(), std::net::IpAddr::V4(ip_of(&ports[0])));

        // The device is as the reference makes it.
        let own = site.server.dhcp_ports(&network)[0].clone();
        let handle = inside(&network);
        let device = handle.link(crate::plan::device_name(own["id"].as_str().unwrap()).as_str()).unwrap().unwrap();
        assert_eq!(device.mac.unwrap().to_string(), own["mac_address"].as_str().unwrap());
        assert_eq!((device.mtu, device.up), (1450, true));
        assert!(handle.link("lo").unwrap().unwrap().up);
        let route = handle.default_route(true, Some(device.index)).unwrap().unwrap();
        assert_eq!(route.gateway.unwrap().to_string(), "192.0.2.1");
        let server_ip = ip_of(&own);
        let client = machine.clone();
        blocking(move || client.ping(server_ip)).await;

        // A port made now: no restart, a reload, a lease.
        let pid = bench.pid(&network);
        let port = site.server.boot(&network).await;
        site.server.until_ready(&[&port]).await;
        let machine = bench.machine(&site.server, &network, &port);
        let lease = blocking(move || machine.lease_v4()).await;
        assert_eq!(lease.ip(), std::net::IpAddr::V4(ip_of(&port)));
        assert_eq!(bench.pid(&network), pid);
    });
}
