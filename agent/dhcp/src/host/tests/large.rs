//! Large networks: dnsmasq is busy for seconds with its files, and clients must not notice.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linux::{LinkSpec, Netns, proc};
use nix::sys::socket::{setsockopt, sockopt};
use serde_json::{Value, json};
use types::Mac;

use super::{Bench, blocking, eventually};
use crate::agent::tests::server::FakeServer;
use crate::model::Id;

/// A network with a /16 and this many guests, each with a lease (seeded).
fn large(server: &FakeServer, ports: usize) -> (Id, Vec<Value>) {
    let network = server.network();
    let subnet = server.subnet(&network, "10.0.0.0/16", json!({}));
    let port = |n: usize| {
        let ip = Ipv4Addr::new(10, 0, (n / 250 + 1) as u8, (n % 250) as u8);
        server.port(&network, json!({"fixed_ips": [{"subnet_id": subnet, "ip_address": ip.to_string()}]}))
    };
    (network.clone(), (0..ports).map(port).collect())
}

/// Asks for offers as the clients with these MACs, one after the other, and tells the longest time without an answer.
fn probe(namespace: &Netns, macs: &[Mac], stop: &AtomicBool) -> (usize, Duration) {
    let socket = namespace
        .run(|| {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 68)).unwrap();
            setsockopt(&socket.as_fd(), sockopt::BindToDevice, &"eth0".into()).unwrap();
            socket.set_broadcast(true).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
            socket
        })
        .unwrap();
    let (mut answers, mut silence, mut last) = (0, Duration::ZERO, Instant::now());
    let mut buffer = [0; 2048];
    let begin = Instant::now();
    for (n, mac) in macs.iter().cycle().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        // Forty clients a second; each costs dnsmasq a look at every host.
        let next = begin + Duration::from_millis(25) * n as u32;
        if let Some(wait) = next.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(wait);
        }
        // DISCOVER, answered by broadcast.
        let mut packet = vec![1, 1, 6, 0];
        packet.extend((n as u32).to_be_bytes());
        packet.extend([0, 0, 0x80, 0]);
        packet.extend([0; 16]);
        packet.extend(mac.0);
        packet.extend([0; 10 + 192]);
        packet.extend([99, 130, 83, 99, 53, 1, 1, 255]);
        packet.resize(300, 0);
        socket.send_to(&packet, (Ipv4Addr::BROADCAST, 67)).unwrap();
        if socket.recv(&mut buffer).is_ok_and(|len| len > 240 && buffer[0] == 2) {
            answers += 1;
            silence = silence.max(last.elapsed());
            last = Instant::now();
        }
    }
    (answers, silence.max(last.elapsed()))
}

/// Ports of the network: the measured ten thousand with `PORTS=10000`, and fewer by default, to be done in seconds.
fn size() -> usize {
    std::env::var("PORTS").ok().and_then(|ports| ports.parse().ok()).unwrap_or(4_000)
}

#[test]
fn ten_thousand_ports_do_not_stop_dhcp() {
    let size = size();
    let bench = Bench::new();
    bench.run(|| async {
        let (site, (network, ports)) = bench.site(|server| large(server, size)).await;
        site.server.until_ready_within(Duration::from_secs(90), &[&ports[0], &ports[size - 1]]).await;
        let pid = bench.pid(&network);
        assert_eq!(bench.file(&network, "host").lines().count(), size);

        // Somebody who asks without end.
        let guest = Netns::anonymous().unwrap();
        let spec = LinkSpec::veth("probe", "eth0").up().peer_netns(&guest);
        bench.host.handle().link_add(&spec).unwrap();
        guest.handle().unwrap().link_set(linux::link::set("eth0").up()).unwrap();
        bench.wire(&site.server, &network);
        bench.host.handle().link_master("probe", super::bridge(&network).as_str()).unwrap();
        let macs: Vec<Mac> =
            ports.iter().step_by(97).map(|port| port["mac_address"].as_str().unwrap().parse().unwrap()).collect();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let asking = tokio::spawn(blocking(move || probe(&guest, &macs, &stopped)));

        let start = Instant::now();
        let subnet = site.server.dhcp_ports(&network)[0]["fixed_ips"][0]["subnet_id"].clone();
        let mut new = Vec::new();
        for n in 0..5 {
            let fixed_ips = json!([{"subnet_id": subnet, "ip_address": format!("10.0.200.{n}")}]);
            let port = site.server.port(&network, json!({"fixed_ips": fixed_ips}));
            site.server.tell_port(&port).await;
            new.push(port);
        }
        site.server.until_ready_within(Duration::from_secs(90), &new.iter().collect::<Vec<_>>()).await;
        let took = start.elapsed();
        stop.store(true, Ordering::Relaxed);
        let (answers, silence) = asking.await.unwrap();
        eprintln!("5 ports among {size}: ready after {took:?}; {answers} answers, none for {silence:?} at most");
        assert!(answers > 10);
        // Nearly all of the time is dnsmasq reading its files. On an idle machine the silence is below 50 ms; on a busy
        // one everything takes longer alike.
        assert!(silence < took / 3, "{silence:?} of {took:?}");
        assert_eq!(bench.pid(&network), pid, "the same process");
        let pid_file = format!("--pid-file={}", bench.settings.confs.join(&*network).join("relief.pid").display());
        eventually("the second one is gone", || proc::find(|args| args.contains(&pid_file)).unwrap().is_empty()).await;
        assert!(!bench.settings.confs.join(&*network).join("relief.leases").exists());
    });
}
