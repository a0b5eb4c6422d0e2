//! Hosts made of namespaces.
//!
//! A [`Host`] has a network of its own and a `/run` of its own, so that named namespaces, pid files and devices of two
//! hosts do not meet, and nothing of the machine is touched. Agents are run in one by [`Host::run`] (in process, on a
//! thread in there) or started there as programs. A [`Machine`] stands for a virtual machine: a namespace behind a
//! tap-like device of a host, with a real DHCP client. All is gone when the [`Lab`] is dropped, with the processes in it.
//!
//! ```ignore
//! let lab = Lab::new();
//! let (a, b) = (lab.host("a"), lab.host("b"));
//! lab.cable(&a, "eth0", &b, "eth0");
//! a.address("eth0", "192.0.2.1/24");
//! b.address("eth0", "192.0.2.2/24");
//! a.ping("192.0.2.2");
//! ```

use std::{
    fs::File,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use linux::{
    Handle, IpNet, LinkSpec, Mac, Netns, Program,
    addr::{self, AddOptions},
    dhcp_client::{DhcpClient, Family, Lease},
    link, proc,
    sysctl::{Sysctl, ipv6},
};
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, setns, unshare},
};

/// The longest that anything in a laboratory takes.
const SOON: Duration = Duration::from_secs(30);
const ROOT: &str = "a laboratory of namespaces needs root: run the tests with `make test`, or under `sudo`";

/// Hosts and machines that live as long as this value.
#[derive(Debug)]
pub struct Lab {
    directory: tempfile::TempDir,
    hosts: Mutex<Vec<Host>>,
    machines: Mutex<Vec<Netns>>,
}

/// A host of a laboratory.
#[derive(Debug, Clone)]
pub struct Host {
    name: String,
    network: Netns,
    mounts: Arc<File>,
    directory: PathBuf,
    handle: Handle,
}

/// A machine behind a device of a host.
#[derive(Debug, Clone)]
pub struct Machine {
    name: String,
    network: Netns,
    handle: Handle,
    dhcp: DhcpClient,
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}

impl Lab {
    /// An empty laboratory.
    ///
    /// # Panics
    /// Without root, saying so.
    pub fn new() -> Self {
        assert!(nix::unistd::geteuid().is_root(), "{ROOT}");
        let directory = tempfile::Builder::new().prefix("lab-").tempdir().expect("a temporary directory");
        Self { directory, hosts: Mutex::default(), machines: Mutex::default() }
    }

    /// A new host, with `lo` up and nothing else.
    pub fn host(&self, name: &str) -> Host {
        let directory = self.directory.path().join(name);
        std::fs::create_dir_all(&directory).expect("a directory for the host");
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).expect(ROOT);
            let private = MsFlags::MS_PRIVATE | MsFlags::MS_REC;
            mount(None::<&str>, "/", None::<&str>, private, None::<&str>).expect("private mounts");
            mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::empty(), None::<&str>).expect("a /run of its own");
            // So that /sys/class/net shows the host's devices; where that is forbidden, nothing of ours reads it.
            let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>);
            let mounts = File::open("/proc/thread-self/ns/mnt").expect("the mount namespace");
            (Netns::current().expect("the network namespace"), mounts)
        });
        let (network, mounts) = made.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let handle = network.handle().expect("a socket in the host");
        handle.link_set(link::set("lo").up()).expect("lo up");
        let host = Host { name: name.to_owned(), network, mounts: Arc::new(mounts), directory, handle };
        self.hosts.lock().unwrap_or_else(PoisonError::into_inner).push(host.clone());
        host
    }

    /// Connects two hosts; both ends are up.
    pub fn cable(&self, a: &Host, device_a: &str, b: &Host, device_b: &str) {
        let spec = LinkSpec::veth(device_a, device_b).up().peer_netns(&b.network);
        a.handle.link_add(&spec).expect("a cable");
        b.handle.link_set(link::set(device_b).up()).expect("the other end up");
    }

    /// A machine whose network card has this address, behind a new device `tap` of a host, which is left up and in no
    /// bridge, as a hypervisor leaves it. The card is up; no address is asked for yet.
    pub fn machine(&self, host: &Host, name: &str, tap: &str, mac: Mac) -> Machine {
        let network = Netns::anonymous().expect(ROOT);
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).push(network.clone());
        let handle = network.handle().expect("a socket in the machine");
        // Nobody else has its addresses: without the detection they are usable at once.
        Sysctl::in_netns(&network).set(&ipv6("default", "accept_dad"), "0").expect("no address detection");
        handle.link_set(link::set("lo").up()).expect("lo up");
        let spec = LinkSpec::veth(tap, "eth0").up().peer_netns(&network).peer_mac(mac);
        host.handle.link_add(&spec).expect("the machine's device");
        handle.link_set(link::set("eth0").up()).expect("eth0 up");
        let dhcp = DhcpClient::new(&network, "eth0", &host.directory.join(name));
        Machine { name: name.to_owned(), network, handle, dhcp }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Devices go with their namespace, and that with its last process.
        for machine in self.machines.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            kill_all_in(&machine);
        }
        for host in self.hosts.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            host.delete_namespaces();
            kill_all_in(&host.network);
        }
    }
}

fn kill_all_in(namespace: &Netns) {
    let me = std::process::id() as i32;
    for process in proc::find_in_netns(namespace).unwrap_or_default() {
        if process.pid() != me {
            let _ = process.terminate(Duration::from_millis(500));
        }
    }
}

impl Host {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its network namespace.
    pub fn netns(&self) -> &Netns {
        &self.network
    }

    /// A netlink socket in it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// A directory of its own for state files, removed with the laboratory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Runs a closure on a thread that is on this host: its network, its `/run`. Threads and processes that it starts
    /// are there too, so a tokio runtime must be built inside.
    ///
    /// # Panics
    /// With the closure's panic.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let thread = scope.spawn(|| {
                self.network.enter().expect("into the host's network");
                // A thread can only change its mounts when it shares its root directory with no other.
                unshare(CloneFlags::CLONE_FS).expect("a root directory of its own");
                setns(&*self.mounts, CloneFlags::CLONE_NEWNS).expect("into the host's mounts");
                work()
            });
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Adds an address to a device, usable at once.
    pub fn address(&self, device: &str, net: &str) {
        add_address(&self.handle, device, net);
    }

    /// Makes a bridge and puts devices into it.
    pub fn bridge(&self, name: &str, ports: &[&str]) {
        let bridge = self.handle.link_add(&LinkSpec::bridge(name).up()).expect("a bridge");
        for port in ports {
            self.handle.link_set(link::set(*port).master(bridge)).expect("a port of the bridge");
        }
    }

    /// Ends the named namespaces of this host with the processes in them, as a reboot would.
    pub fn delete_namespaces(&self) {
        self.run(|| {
            for name in Netns::list().unwrap_or_default() {
                if let Ok(namespace) = Netns::open(&name) {
                    kill_all_in(&namespace);
                }
                let _ = Netns::delete(&name);
            }
        });
    }

    /// Whether an address answers, within 1 s.
    pub fn reaches(&self, ip: impl ToString) -> bool {
        reaches(&self.network, &ip.to_string())
    }

    /// Waits until an address answers.
    #[track_caller]
    pub fn ping(&self, ip: impl ToString) {
        let ip = ip.to_string();
        crate::eventually(SOON, || self.reaches(&ip).then_some(()).ok_or_else(|| format!("{ip} does not answer")));
    }
}

impl Machine {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its network namespace.
    pub fn netns(&self) -> &Netns {
        &self.network
    }

    /// A netlink socket in it.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Its DHCP clients.
    pub fn dhcp(&self) -> &DhcpClient {
        &self.dhcp
    }

    /// Gets an address by DHCP for IPv4.
    ///
    /// # Panics
    /// When no server gives one within 30 s.
    #[track_caller]
    pub fn lease_v4(&self) -> Lease {
        self.dhcp.acquire(Family::V4, SOON).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    /// Gets an address by DHCPv6.
    ///
    /// # Panics
    /// When no server gives one within 30 s.
    #[track_caller]
    pub fn lease_v6(&self) -> Lease {
        self.dhcp.acquire(Family::V6, SOON).unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }

    /// Adds an address to its card by hand.
    pub fn address(&self, net: &str) {
        add_address(&self.handle, "eth0", net);
    }

    /// The addresses of its card that others can use.
    pub fn addresses(&self) -> Vec<IpAddr> {
        let index = self.handle.index("eth0").expect("the machine's card");
        let all = self.handle.addresses(Some(index)).expect("the card's addresses");
        all.into_iter().filter(|a| a.scope == addr::Scope::Global).map(|a| a.net.addr()).collect()
    }

    /// Whether an address answers, within 1 s.
    pub fn reaches(&self, ip: impl ToString) -> bool {
        reaches(&self.network, &ip.to_string())
    }

    /// Waits until an address answers.
    #[track_caller]
    pub fn ping(&self, ip: impl ToString) {
        let ip = ip.to_string();
        crate::eventually(SOON, || self.reaches(&ip).then_some(()).ok_or_else(|| format!("{ip} does not answer")));
    }

    /// Ends its processes and its network, as switching it off: its device on the host goes too, a moment later.
    pub fn off(self) {
        kill_all_in(&self.network);
        let _ = self.handle.link_delete("eth0");
    }
}

fn add_address(handle: &Handle, device: &str, net: &str) {
    let net: IpNet = net.parse().unwrap_or_else(|e| panic!("{net}: {e}"));
    let index = handle.index(device).expect("the device");
    handle.run(addr::add(index, net, AddOptions { no_dad: true, ..AddOptions::default() })).expect("the address");
}

fn reaches(network: &Netns, ip: &str) -> bool {
    let ping = Program::new("ping").args(["-n", "-q", "-c", "1", "-W", "1", ip]).netns(network);
    ping.run(SOON).expect("the program ping").success()
}

#[cfg(test)]
mod tests {
    use super::*;
    use linux::{Process, dhcp_client::Family};

    #[test]
    fn two_hosts_and_a_cable() {
        let lab = Lab::new();
        let (a, b) = (lab.host("a"), lab.host("b"));
        lab.cable(&a, "eth0", &b, "eth7");
        a.address("eth0", "192.0.2.1/24");
        b.address("eth7", "192.0.2.2/24");
        a.address("eth0", "2001:db8::1/64");
        b.address("eth7", "2001:db8::2/64");
        a.ping("192.0.2.2");
        b.ping("2001:db8::1");
        assert!(!a.reaches("192.0.2.9"));

        // Named namespaces of one host are not those of another, nor of the machine.
        a.run(|| Netns::create("same-name").unwrap());
        assert!(a.run(|| Netns::exists("same-name")));
        assert!(!b.run(|| Netns::exists("same-name")));
        assert!(!Netns::exists("same-name"));
        let devices = a.run(|| std::fs::read_dir("/sys/class/net").unwrap().count());
        assert_eq!(devices, a.handle().links().unwrap().len());
        a.delete_namespaces();
        assert!(!a.run(|| Netns::exists("same-name")));
    }

    #[test]
    fn machines_lease_and_ping_over_a_bridge() {
        let lab = Lab::new();
        let host = lab.host("a");
        let one = lab.machine(&host, "one", "tap1", Mac([2, 0, 0, 0, 0, 1]));
        let two = lab.machine(&host, "two", "tap2", Mac([2, 0, 0, 0, 0, 2]));
        host.bridge("br0", &["tap1", "tap2"]);
        host.address("br0", "192.0.2.1/24");
        let directory = host.directory().display().to_string();
        let dnsmasq = host.run(|| {
            let program = Program::new("dnsmasq")
                .args(["--conf-file=/dev/null", "--port=0", "--no-ping", "--interface=br0"])
                .args([
                    "--dhcp-range=192.0.2.10,192.0.2.20".to_owned(),
                    format!("--dhcp-leasefile={directory}/leases"),
                    format!("--pid-file={directory}/pid"),
                ]);
            program.check(SOON).unwrap();
            Process::adopt(&host.directory().join("pid"), "dnsmasq").unwrap().unwrap()
        });
        let lease = two.lease_v4();
        assert_eq!(two.addresses(), [lease.ip()]);
        one.lease_v4();
        one.ping(lease.ip());
        let client = two.dhcp().running(Family::V4).unwrap().unwrap();
        two.off();
        assert!(!client.is_alive());
        crate::eventually(SOON, || host.handle().link("tap2").unwrap().is_none());
        let inside = host.run(|| {
            let namespace = Netns::create("inside").unwrap();
            Program::new("sleep").arg("1000").netns(&namespace).detach().unwrap()
        });
        let other = one.dhcp().running(Family::V4).unwrap().unwrap();
        drop(lab);
        assert!(!other.is_alive() && !dnsmasq.is_alive() && !inside.is_alive());
    }
}
