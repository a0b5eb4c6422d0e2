//! The agent whole, in namespaces, against a fake server. Names that begin with `lb_` are cases of `cases.jsonl`.

mod fake;
mod server;
mod tunnels;
mod vlan;
mod wiring;

use std::{thread::JoinHandle, time::Duration};

use linux::{Netns, Program};
use testkit::lab::{Host, Lab, Machine};

use fake::Port;

/// A host with an address for tunnels on a device of its own.
fn host(lab: &Lab, name: &str) -> Host {
    let host = lab.host(name);
    let outside = lab.host(&format!("{name}-far"));
    lab.cable(&host, "p1", &outside, "p1");
    host.address("p1", "192.0.2.10/24");
    host
}

const INI: &str = "[VXLAN]\nlocal_ip = 192.0.2.10\nl2_population = true\n\
                   [LINUX_BRIDGE]\nphysical_interface_mappings = physnet1:p1\n";

/// A machine on a port, with the port's address.
fn plug(lab: &Lab, host: &Host, port: &Port) -> Machine {
    let machine = lab.machine(host, &port.tap(), &port.tap(), port.mac);
    machine.address(&format!("{}/24", port.ip));
    machine
}

/// The name of the bridge that a device is in.
fn bridge_of(host: &Host, device: &str) -> Option<String> {
    let link = host.handle().link(device).unwrap()?;
    Some(host.handle().link(link.master?).unwrap()?.name)
}

fn exists(host: &Host, device: &str) -> bool {
    host.handle().link(device).unwrap().is_some()
}

fn sh(namespace: &Netns, script: &str) -> String {
    crate::testing::sh(namespace, script)
}

/// Pings in the background, one every 10 ms.
struct Pinger(JoinHandle<String>);

impl Pinger {
    fn start(from: &Netns, to: impl ToString, count: u32) -> Self {
        let (ip, count, namespace) = (to.to_string(), count.to_string(), from.clone());
        Self(std::thread::spawn(move || {
            let arguments = ["-i", "0.01", "-W", "1", "-q", "-c", &count, &ip];
            let ping = Program::new("ping").args(arguments).netns(&namespace);
            ping.run(Duration::from_secs(60)).unwrap().stdout
        }))
    }

    /// How many were lost, and in how many sent.
    fn lost(self) -> (u32, u32) {
        let said = self.0.join().unwrap();
        let number = |before: &str| {
            let words: Vec<&str> = said.split_whitespace().collect();
            let at = words.iter().position(|word| word.starts_with(before)).unwrap_or_else(|| panic!("{said}"));
            words[at - 1].parse::<u32>().unwrap_or_else(|_| panic!("{said}"))
        };
        let sent: u32 = number("packets");
        (sent - number("received"), sent)
    }
}
