//! Real namespaces, a real dnsmasq and real DHCP clients, in a laboratory of namespaces.

mod agent;
mod large;
mod leases;
mod packets;

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use linux::{Handle, LinkSpec, Netns, link};
use serde_json::Value;
use testkit::lab::{self, Lab, Machine};
use types::Mac;

use super::{LinuxBridge, LinuxHost};
use crate::agent::tests::Site;
use crate::agent::tests::server::{FakeServer, HOST};
use crate::model::Id;
use crate::settings::Settings;

/// A host of the laboratory with an agent's settings for it.
pub(crate) struct Bench {
    pub lab: Lab,
    pub host: lab::Host,
    pub settings: Settings,
}

impl Bench {
    pub fn new() -> Bench {
        // A failed test shows what the agent said.
        let _ = tracing_subscriber::fmt()
            .with_writer(std::io::stderr)
            .with_ansi(false)
            .with_env_filter("info,dhcp::agent::ready=warn")
            .try_init();
        let lab = Lab::new();
        let host = lab.host(HOST);
        // dnsmasq reads its files as an ordinary user.
        for dir in [host.directory(), host.directory().parent().unwrap()] {
            std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        let settings = Settings::new(HOST, host.directory());
        Bench { lab, host, settings }
    }

    /// Runs an asynchronous test on the host.
    pub fn run<F: Future<Output = ()>>(&self, test: impl FnOnce() -> F + Send) {
        self.host.run(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                tokio::time::timeout(Duration::from_secs(240), test()).await.expect("the test ends in time");
            });
        });
    }

    /// An agent on the host.
    pub async fn site<T>(&self, prepare: impl FnOnce(&FakeServer) -> T) -> (Site<LinuxHost>, T) {
        let driver = LinuxBridge::new(&Netns::current().unwrap()).unwrap();
        let host = LinuxHost::new(self.settings.clone(), Arc::new(driver));
        Site::start(host, self.settings.clone(), prepare).await
    }

    /// A machine with the port's MAC, wired to the DHCP port of its network by a bridge, as an L2 agent would.
    pub fn machine(&self, server: &FakeServer, network: &Id, port: &Value) -> Machine {
        let mac: Mac = port["mac_address"].as_str().unwrap().parse().unwrap();
        let tap = format!("vm{}", &port["id"].as_str().unwrap()[..8]);
        let machine = self.lab.machine(&self.host, &tap, &tap, mac);
        self.wire(server, network);
        let handle = self.host.handle();
        handle.link_master(tap.as_str(), bridge(network).as_str()).unwrap();
        machine
    }

    /// Puts the DHCP port's host end into the network's bridge.
    pub fn wire(&self, server: &FakeServer, network: &Id) {
        let handle = self.host.handle();
        let name = bridge(network);
        handle.link_ensure(&LinkSpec::bridge(&name).up()).unwrap();
        let own = &server.dhcp_ports(network)[0];
        let tap = crate::plan::tap_name(own["id"].as_str().unwrap());
        handle.link_master(tap.as_str(), name.as_str()).unwrap();
        handle.link_set(link::set(tap.as_str()).up()).unwrap();
    }

    pub fn pid(&self, network: &Id) -> i32 {
        let file = self.settings.confs.join(&**network).join("pid");
        std::fs::read_to_string(file).unwrap().trim().parse().unwrap()
    }

    pub fn file(&self, network: &Id, name: &str) -> String {
        std::fs::read_to_string(self.settings.confs.join(&**network).join(name)).unwrap_or_default()
    }
}

fn bridge(network: &Id) -> String {
    format!("brq{}", &network[..11])
}

/// A netlink socket in the network's namespace.
pub(crate) fn inside(network: &Id) -> Handle {
    Netns::open(&super::namespace(network)).unwrap().handle().unwrap()
}

/// Waits on the runtime, not on a thread of it.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let wait = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), wait).await.is_ok(), "not in time: {what}");
}

/// Runs what holds its thread (DHCP clients, pings) beside the runtime.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}

/// Keeps the machine for several blocking calls.
pub(crate) fn shared(machine: Machine) -> Arc<Machine> {
    Arc::new(machine)
}
