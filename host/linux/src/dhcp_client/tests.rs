use super::*;
use crate::{
    Handle, LinkSpec, Mac,
    addr::{self, AddOptions},
    link::set,
    sysctl::{Sysctl, ipv6},
    testing::host,
};

const SOON: Duration = Duration::from_secs(30);

struct Wire {
    server: Netns,
    client: Netns,
    guest: Handle,
    directory: tempfile::TempDir,
    dnsmasq: Option<Process>,
}

impl Wire {
    /// A server's and a client's namespace with a cable between, and dnsmasq on the server's end.
    fn new(arguments: &[&str]) -> Self {
        let (server, handle) = host();
        let (client, guest) = host();
        Sysctl::in_netns(&client).set(&ipv6("default", "accept_dad"), "0").unwrap();
        let spec = LinkSpec::veth("dhcp0", "eth0").up().peer_netns(&client).peer_mac(Mac([2, 0, 0, 0, 0, 7]));
        let index = handle.link_add(&spec).unwrap();
        guest.link_set(set("eth0").up()).unwrap();
        for net in ["192.0.2.1/24", "2001:db8::1/64"] {
            let options = AddOptions { no_dad: true, ..AddOptions::default() };
            handle.run(addr::add(index, net.parse().unwrap(), options)).unwrap();
        }
        let mut wire = Self { server, client, guest, directory: tempfile::tempdir().unwrap(), dnsmasq: None };
        let leases = format!("--dhcp-leasefile={}", wire.directory.path().join("leases").display());
        let pid = format!("--pid-file={}", wire.directory.path().join("pid").display());
        let common = ["--conf-file=/dev/null", "--port=0", "--no-ping", "--interface=dhcp0", "--bind-interfaces"];
        let program = Program::new("dnsmasq").args(common).args([leases, pid]).args(arguments).netns(&wire.server);
        program.check(SOON).unwrap();
        wire.dnsmasq = Process::adopt(&wire.directory.path().join("pid"), "dnsmasq").unwrap();
        wire
    }

    fn dhcp(&self) -> DhcpClient {
        DhcpClient::new(&self.client, "eth0", &self.directory.path().join("guest"))
    }

    fn leases(&self) -> String {
        fs::read_to_string(self.directory.path().join("leases")).unwrap_or_default()
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        for family in [Family::V4, Family::V6] {
            self.dhcp().stop(family).ok();
        }
        if let Some(dnsmasq) = &self.dnsmasq {
            dnsmasq.terminate(SOON).ok();
        }
    }
}

#[test]
fn ipv4_address_routes_and_mtu() {
    let wire = Wire::new(&[
        "--dhcp-range=192.0.2.0,static,120",
        "--dhcp-host=02:00:00:00:00:07,192.0.2.77",
        "--dhcp-option=option:router,192.0.2.1",
        "--dhcp-option=option:classless-static-route,203.0.113.0/24,192.0.2.9,0.0.0.0/0,192.0.2.1",
        "--dhcp-option=26,1450",
    ]);
    let lease = wire.dhcp().acquire(Family::V4, SOON).unwrap();
    assert_eq!(lease.net, "192.0.2.77/24".parse().unwrap());
    assert_eq!((lease.value("mtu"), lease.value("server"), lease.value("seconds")), ("1450", "192.0.2.1", "120"));
    let eth0 = wire.guest.link("eth0").unwrap().unwrap();
    assert_eq!(eth0.mtu, 1450);
    assert!(wire.guest.addresses(Some(eth0.index)).unwrap().iter().any(|a| a.net == lease.net));
    let routes = wire.guest.routes(Some(eth0.index)).unwrap();
    let gateway = |net: &str| routes.iter().find(|r| r.net == net.parse().unwrap()).and_then(|r| r.gateway);
    assert_eq!(gateway("203.0.113.0/24"), Some("192.0.2.9".parse().unwrap()));
    assert_eq!(gateway("0.0.0.0/0"), Some("192.0.2.1".parse().unwrap()));

    // Asked again, the running client's lease is given.
    let first = wire.dhcp().running(Family::V4).unwrap().unwrap().pid();
    assert_eq!(wire.dhcp().acquire(Family::V4, SOON).unwrap(), lease);
    assert_eq!(wire.dhcp().running(Family::V4).unwrap().unwrap().pid(), first);
    assert!(wire.leases().contains("192.0.2.77"));
    wire.dhcp().stop(Family::V4).unwrap();
    assert!(wire.dhcp().running(Family::V4).unwrap().is_none());
    assert_eq!(wire.dhcp().lease(Family::V4), None);
}

#[test]
fn ipv6_address() {
    let wire = Wire::new(&["--dhcp-range=2001:db8::100,2001:db8::100,64,120"]);
    let lease = wire.dhcp().acquire(Family::V6, SOON).unwrap();
    assert_eq!(lease.net, "2001:db8::100/64".parse().unwrap());
    let addresses = wire.guest.addresses(None).unwrap();
    assert!(addresses.iter().any(|a| a.net == lease.net && !a.tentative()), "{addresses:?}");
    assert!(wire.leases().contains("2001:db8::100"));
}

#[test]
fn nobody_answers() {
    let wire = Wire::new(&["--dhcp-range=192.0.2.0,static,120"]);
    let error = wire.dhcp().acquire(Family::V4, Duration::from_millis(300)).unwrap_err();
    assert_eq!((error.kind(), error.object()), (ErrorKind::TimedOut, "eth0"));
    assert!(wire.dhcp().running(Family::V4).unwrap().is_some());
}
