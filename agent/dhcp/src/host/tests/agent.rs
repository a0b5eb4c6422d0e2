//! The agent on a real host: what guests get, and what restarts and deaths do to them.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::time::{Duration, Instant};

use linux::{Netns, Process, proc};
use serde_json::{Value, json};

use super::{Bench, blocking, eventually, inside, shared};
use crate::agent::tests::server::{FakeServer, ip_of};
use crate::host::namespace;
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
        assert_eq!(lease.ip(), IpAddr::V4(ip_of(&ports[0])));
        assert_eq!((lease.value("router"), lease.value("mtu")), ("192.0.2.1", "1450"));

        // The device is as the reference makes it.
        let own = site.server.dhcp_ports(&network)[0].clone();
        let handle = inside(&network);
        let device = handle.link(crate::plan::device_name(own["id"].as_str().unwrap()).as_str()).unwrap().unwrap();
        assert_eq!(device.mac.unwrap().to_string(), own["mac_address"].as_str().unwrap());
        assert_eq!((device.mtu, device.up), (1450, true));
        let inner = Netns::open(&namespace(&network)).unwrap();
        assert!(!linux::offload::tx_checksum(&inner, &device.name).unwrap(), "packets have their checksums");
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
        assert_eq!(lease.ip(), IpAddr::V4(ip_of(&port)));
        assert_eq!(bench.pid(&network), pid);
    });
}

#[test]
fn the_namespace_is_the_references() {
    let mut bench = Bench::new();
    bench.settings.isolated_metadata = true;
    bench.run(|| async {
        let (_site, network) = bench
            .site(|server| {
                let network = server.network();
                server.subnet(&network, "10.79.0.0/24", json!({}));
                server.subnet(&network, "10.80.0.0/24", json!({"gateway_ip": null}));
                let mode = json!({"ipv6_address_mode": "dhcpv6-stateful", "ipv6_ra_mode": "dhcpv6-stateful"});
                server.subnet(&network, "2001:db8:7a::/120", mode);
                network
            })
            .await;
        eventually("dnsmasq runs", || !bench.file(&network, "pid").is_empty()).await;
        let handle = inside(&network);
        let name = bench.file(&network, "interface");
        let index = handle.index(name.as_str()).unwrap();
        let addresses: Vec<String> = handle.addresses(Some(index)).unwrap().iter().map(|a| a.net.to_string()).collect();
        for wanted in
            ["10.79.0.2/24", "10.80.0.2/24", "169.254.169.254/32", "2001:db8:7a::1/120", "fe80::a9fe:a9fe/128"]
        {
            assert!(addresses.iter().any(|address| address == wanted), "{wanted} not in {addresses:?}");
        }
        assert!(handle.addresses(Some(index)).unwrap().iter().all(|address| !address.tentative()));
        let gateway = |v4| handle.default_route(v4, Some(index)).unwrap().unwrap().gateway.unwrap().to_string();
        assert_eq!((gateway(true), gateway(false)), ("10.79.0.1".into(), "2001:db8:7a::".into()));
        assert!(bench.file(&network, "opts").contains("169.254.169.254/32,10.79.0.2"));
    });
}

#[test]
fn dhcp_agent_restart_keeps_dataplane_on_a_real_host() {
    let bench = Bench::new();
    bench.run(|| async {
        let make = |server: &FakeServer| {
            (0..20).map(|n| network_with_ports(server, &format!("10.0.{n}.0/24"), 5)).collect::<Vec<_>>()
        };
        let (mut site, networks) = bench.site(make).await;
        for (network, _) in &networks {
            eventually("dnsmasq runs", || !bench.file(network, "pid").is_empty()).await;
        }
        let all: Vec<&Value> = networks.iter().flat_map(|(_, ports)| ports).collect();
        site.server.until_ready(&all).await;
        let (network, ports) = &networks[0];
        let machine = shared(bench.machine(&site.server, network, &ports[0]));
        let client = machine.clone();
        blocking(move || client.lease_v4()).await;
        let state = || {
            let of = |network: &Id| (bench.pid(network), bench.file(network, "host"), bench.file(network, "interface"));
            networks.iter().map(|(network, _)| of(network)).collect::<Vec<_>>()
        };
        let before = state();
        let server_ip = ip_of(&site.server.dhcp_ports(network)[0]);
        site.stop().await;
        let client = machine.clone();
        blocking(move || client.ping(server_ip)).await;
        site.restart(bench.settings.clone()).await;
        let port = site.server.boot(&networks[19].0).await;
        site.server.until_ready(&[&port]).await;
        let mut after = state();
        assert!(after[19].1.contains(port["mac_address"].as_str().unwrap()));
        after[19].1.clone_from(&before[19].1);
        assert_eq!(after, before);
        // Leases of before are renewed by the process of before.
        blocking(move || {
            machine.dhcp().stop(linux::dhcp_client::Family::V4).unwrap();
            machine.lease_v4()
        })
        .await;
    });
}

#[test]
fn dnsmasq_that_is_killed_is_back_and_serves() {
    let bench = Bench::new();
    bench.run(|| async {
        let (site, (network, ports)) = bench.site(|server| network_with_ports(server, "192.0.2.0/24", 1)).await;
        site.server.until_ready(&[&ports[0]]).await;
        let old = bench.pid(&network);
        let process = Process::open(old).unwrap().unwrap();
        process.terminate(Duration::ZERO).unwrap();
        let running = || {
            let pid = bench.pid(&network);
            pid != old && Process::open(pid).unwrap().is_some()
        };
        eventually("another one runs", running).await;
        let machine = bench.machine(&site.server, &network, &ports[0]);
        let lease = blocking(move || machine.lease_v4()).await;
        assert_eq!(lease.ip(), IpAddr::V4(ip_of(&ports[0])));
    });
}

#[test]
fn dhcp_stale_netns_file() {
    let bench = Bench::new();
    bench.run(|| async {
        let bench = &bench;
        let stale = |server: &FakeServer| {
            let made = network_with_ports(server, "192.0.2.0/24", 1);
            std::fs::create_dir_all("/run/netns").unwrap();
            std::fs::write(format!("/run/netns/{}", namespace(&made.0)), "").unwrap();
            made
        };
        let (site, (network, ports)) = bench.site(stale).await;
        site.server.until_ready(&[&ports[0]]).await;
        assert!(Netns::exists(&namespace(&network)));
        let taps = || {
            let links = bench.host.handle().links().unwrap();
            links.iter().filter(|link| link.name.starts_with("tap")).count()
        };
        assert_eq!(taps(), 1);

        // Plugging that fails half-way takes its device back, however often it is tried.
        let driver = crate::host::LinuxBridge::new(bench.host.netns()).unwrap();
        let own = site.server.dhcp_ports(&network)[0].clone();
        let device = crate::plan::Device {
            port_id: crate::model::id(own["id"].as_str().unwrap()).unwrap(),
            name: "ns-taken".into(),
            tap: "tapfails".into(),
            mac: "fa:16:3e:00:00:99".parse().unwrap(),
            mtu: 1450,
            addresses: Default::default(),
            gateways: Vec::new(),
        };
        let inner = Netns::open(&namespace(&network)).unwrap();
        inner.handle().unwrap().link_add(&linux::LinkSpec::veth("ns-taken", "ns-taken2")).unwrap();
        for _ in 0..20 {
            use crate::host::InterfaceDriver;
            driver.plug(&device, &inner).unwrap_err();
        }
        assert_eq!(taps(), 1);
        // And devices of nobody in the namespace are removed with the next look.
        let port = site.server.boot(&network).await;
        site.server.until_ready(&[&port]).await;
        assert!(inner.handle().unwrap().link("ns-taken").unwrap().is_none());
    });
}

#[test]
fn dhcp_dnsmasq_graceful_restart() {
    let bench = Bench::new();
    bench.run(|| async {
        let (site, (network, ports)) = bench.site(|server| network_with_ports(server, "192.0.2.0/24", 1)).await;
        site.server.until_ready(&[&ports[0]]).await;
        let old = bench.pid(&network);
        let server_ip = ip_of(&site.server.dhcp_ports(&network)[0]);
        let inner = Netns::open(&namespace(&network)).unwrap();
        let dial =
            || inner.run(|| TcpStream::connect_timeout(&(server_ip, 53).into(), Duration::from_secs(5))).unwrap();
        let mut held = dial().unwrap();
        assert!(answers(&mut held), "dnsmasq answers over TCP, by a child of its own");

        let subnet = site.server.subnet(&network, "198.51.100.0/24", json!({}));
        site.server.tell_subnet(&network, &subnet).await;
        eventually("a new process", || bench.pid(&network) != old).await;
        let pid_file = format!("--pid-file={}", bench.settings.confs.join(&*network).join("pid").display());
        let ours = |args: &[String]| args.contains(&pid_file);
        eventually("one dnsmasq", || proc::find(ours).unwrap().len() == 1).await;
        let mut again = dial().unwrap();
        assert!(answers(&mut again));
        drop(held);
    });
}

/// Whether a name server answers a question for `version.bind` over the connection.
fn answers(connection: &mut TcpStream) -> bool {
    connection.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut query = vec![0, 0, 0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    query.extend(b"\x07version\x04bind\x00\x00\x10\x00\x03");
    query[1] = (query.len() - 2) as u8;
    connection.write_all(&query).unwrap();
    let mut head = [0; 4];
    connection.read_exact(&mut head).is_ok() && head[2..] == [0x12, 0x34]
}

#[test]
fn dhcp_namespace_lifetime_on_a_real_host() {
    let bench = Bench::new();
    bench.run(|| async {
        let (site, (first, _)) = bench.site(|server| network_with_ports(server, "192.0.2.0/24", 1)).await;
        let others: Vec<(Id, Vec<Value>)> =
            (0..50).map(|n| network_with_ports(&site.server, &format!("10.0.{n}.0/24"), 1)).collect();
        let start = Instant::now();
        for (network, _) in &others {
            site.server.tell_network(network).await;
        }
        let ports: Vec<&Value> = others.iter().flat_map(|(_, ports)| ports).collect();
        site.server.until_ready(&ports).await;
        eprintln!("50 networks in {:?}", start.elapsed());
        for (network, _) in &others {
            assert_eq!(site.server.dhcp_ports(network).len(), 1);
            assert!(Netns::exists(&namespace(network)));
            assert!(Process::open(bench.pid(network)).unwrap().is_some());
        }

        site.server.delete_network(&first);
        site.server.cast("network_delete_end", json!({"network_id": &*first, "priority": 2})).await;
        eventually("the first is gone", || !Netns::exists(&namespace(&first))).await;
        eventually("its files are gone", || !bench.settings.confs.join(&*first).exists()).await;
        let (second, _) = &others[0];
        for method in ["admin down", "admin up"] {
            let up = method == "admin up";
            site.server.set_network(second, "admin_state_up", json!(up));
            let payload = json!({"network": {"id": &**second, "admin_state_up": up}, "priority": 1});
            site.server.cast("network_update_end", payload).await;
            eventually(method, || Netns::exists(&namespace(second)) == up).await;
        }
        assert!(others[1..].iter().all(|(network, _)| Netns::exists(&namespace(network))));
    });
}

#[test]
fn dhcp_slow_agent_holds_ports_down() {
    let bench = Bench::new();
    bench.run(|| async {
        let make = |server: &FakeServer| {
            (0..50).map(|n| network_with_ports(server, &format!("10.0.{n}.0/24"), 2)).collect::<Vec<_>>()
        };
        let (site, networks) = bench.site(make).await;
        let old: Vec<&Value> = networks.iter().flat_map(|(_, ports)| ports).collect();
        site.server.until_ready(&old).await;
        let start = Instant::now();
        let mut ports = Vec::new();
        for n in 0..200 {
            ports.push(site.server.boot(&networks[n % 50].0).await);
        }
        let mut times = Vec::new();
        for port in &ports {
            site.server.until_ready(&[port]).await;
            times.push(start.elapsed());
        }
        times.sort();
        eprintln!("200 ports on 50 networks: p50 {:?}, p95 {:?}", times[100], times[190]);
        assert!(times[190] < Duration::from_secs(10), "{:?}", times[190]);
    });
}

#[test]
fn cleanup_leaves_nothing() {
    let bench = Bench::new();
    bench.run(|| async {
        let (mut site, (network, ports)) = bench.site(|server| network_with_ports(server, "192.0.2.0/24", 1)).await;
        site.server.until_ready(&[&ports[0]]).await;
        let pid = bench.pid(&network);
        site.stop().await;
        let state = bench.host.directory().display();
        let text = format!("[DEFAULT]\nhost = net1\nstate_path = {state}\ninterface_driver = linuxbridge\n");
        let loader = runtime::options::loader().declare(crate::OPTIONS).text("dhcp_agent.ini", &text);
        let config = loader.load().unwrap();
        let host = bench.host.netns().clone();
        assert_eq!(blocking(move || crate::cleanup(&config, &host).unwrap()).await, Vec::<String>::new());
        assert!(!Netns::exists(&namespace(&network)));
        assert!(Process::open(pid).unwrap().is_none_or(|process| !process.is_alive()));
        assert!(!bench.settings.confs.join(&*network).exists());
        let left = bench.host.handle().links().unwrap();
        assert_eq!(left.iter().filter(|link| link.name.starts_with("tap")).count(), 0);
    });
}

#[test]
fn state_that_dnsmasq_cannot_read_as_another_user() {
    let mut bench = Bench::new();
    let private = bench.host.directory().join("private");
    std::fs::create_dir(&private).unwrap();
    std::fs::set_permissions(&private, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    bench.settings.confs = private.join("dhcp");
    bench.settings.as_root = crate::settings::needs_root(&bench.settings.confs);
    assert!(bench.settings.as_root);
    bench.run(|| async {
        let (site, (network, _)) = bench.site(|server| network_with_ports(server, "192.0.2.0/24", 0)).await;
        eventually("dnsmasq runs", || !bench.file(&network, "pid").is_empty()).await;
        // Of a reload, which happens after dnsmasq has become another user.
        let port = site.server.boot(&network).await;
        site.server.until_ready(&[&port]).await;
        let machine = bench.machine(&site.server, &network, &port);
        let lease = blocking(move || machine.lease_v4()).await;
        assert_eq!(lease.ip(), IpAddr::V4(ip_of(&port)));
    });
}
