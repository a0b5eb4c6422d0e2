//! VLAN networks with real tagged frames, in a kernel that has 802.1Q. The physical interface is a tap device whose other
//! end is this test: a switch that reads and writes frames as they are on the wire.

use std::{
    fs::File,
    io::{Read, Write},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use linux::{link, tap::TapSpec};
use testkit::{eventually, lab::Lab};
use types::Mac;

use super::{
    bridge_of, exists,
    fake::{Port, SOON, World, network, port},
    plug, sh,
};

const INI: &str = "[VXLAN]\nenable_vxlan = false\n[LINUX_BRIDGE]\nphysical_interface_mappings = physnet1:trunk\n";
const SWITCH: Mac = Mac([2, 0, 0, 0, 0, 1]);

/// The other end of the trunk.
struct Wire {
    file: File,
    frames: Receiver<Vec<u8>>,
}

impl Wire {
    fn attach(file: File) -> Self {
        let (sender, frames) = channel();
        let mut reader = file.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut frame = [0; 2048];
            while let Ok(length) = reader.read(&mut frame) {
                if sender.send(frame[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { file, frames }
    }

    /// Asks in a VLAN who has an address.
    fn ask(&mut self, vlan: u16, ip: [u8; 4]) {
        let mut frame = [0xff; 6].to_vec();
        frame.extend(SWITCH.0);
        frame.extend([0x81, 0x00]);
        frame.extend(vlan.to_be_bytes());
        frame.extend([0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]);
        frame.extend(SWITCH.0);
        frame.extend([10, 0, 0, 250]);
        frame.extend([0; 6]);
        frame.extend(ip);
        self.file.write_all(&frame).unwrap();
    }

    /// The next answer to a question of ours: its VLAN, and whose address it is.
    fn answer(&self) -> Option<(u16, Mac, [u8; 4])> {
        while let Ok(frame) = self.frames.recv_timeout(Duration::from_secs(5)) {
            // Tagged, ARP, a reply, to us.
            if frame.len() >= 46 && frame[..6] == SWITCH.0 && frame[12..14] == [0x81, 0] && frame[16..18] == [8, 6] {
                let tag = u16::from_be_bytes([frame[14], frame[15]]) & 0xfff;
                return Some((tag, Mac(frame[6..12].try_into().unwrap()), frame[32..36].try_into().unwrap()));
            }
        }
        None
    }
}

#[test]
fn lb_vlan_frames_are_tagged_and_networks_apart() {
    if kernel::inside() {
        return tagged_and_apart();
    }
    let uml = kernel::Uml::new(&["8021q", "bridge", "veth", "tun", "ipv6"]);
    uml.run_test("agent::tests::vlan::lb_vlan_frames_are_tagged_and_networks_apart");
}

fn vlan_port(n: u8, vlan: u32) -> Port {
    Port {
        network: network(vlan),
        network_type: "vlan",
        physical: Some("physnet1"),
        segmentation_id: Some(vlan),
        mtu: Some(1500),
        ..port(n, "a")
    }
}

fn tagged_and_apart() {
    let (lab, world) = (Lab::new(), World::new());
    let host = lab.host("a");
    let mut wire = Wire::attach(TapSpec::new("trunk").netns(host.netns()).attach().unwrap());
    host.handle().link_set(link::set("trunk").up()).unwrap();
    // The operator's own sub-interface, with an address.
    sh(host.netns(), "ip link add link trunk name trunk.102 type vlan id 102; ip link set trunk.102 up");
    host.address("trunk.102", "198.51.100.1/24");
    let agent = world.agent(&host, INI);

    let ports = [vlan_port(1, 100), vlan_port(2, 100), vlan_port(3, 101), vlan_port(4, 102)];
    let mut machines = Vec::new();
    for port in &ports {
        world.put(port);
        machines.push(plug(&lab, &host, port));
    }
    for port in &ports {
        world.wait(port, "ACTIVE");
    }
    for (port, vlan) in ports.iter().zip([100, 100, 101, 102]) {
        assert_eq!(bridge_of(&host, &format!("trunk.{vlan}")), Some(port.bridge()));
        assert_eq!(bridge_of(&host, &port.tap()), Some(port.bridge()));
    }

    // Frames of a VLAN reach the network's machines and come back with its tag.
    wire.ask(100, [10, 0, 0, 1]);
    assert_eq!(wire.answer(), Some((100, ports[0].mac, [10, 0, 0, 1])));
    wire.ask(100, [10, 0, 0, 2]);
    assert_eq!(wire.answer(), Some((100, ports[1].mac, [10, 0, 0, 2])));
    // Those of another VLAN do not: the first question stays without an answer, the second proves that it was heard.
    wire.ask(101, [10, 0, 0, 1]);
    wire.ask(101, [10, 0, 0, 3]);
    assert_eq!(wire.answer(), Some((101, ports[2].mac, [10, 0, 0, 3])));
    wire.ask(100, [10, 0, 0, 3]);
    wire.ask(100, [10, 0, 0, 1]);
    assert_eq!(wire.answer(), Some((100, ports[0].mac, [10, 0, 0, 1])));
    // Machines of one network reach each other, of two do not.
    machines[0].ping("10.0.0.2");
    assert!(!machines[0].reaches("10.0.0.3"));

    // The operator's address serves on the bridge meanwhile.
    let on = |device: &str| sh(host.netns(), &format!("ip -o -4 addr show dev {device}"));
    assert!(on(&ports[3].bridge()).contains("198.51.100.1/24"));
    let links = || -> Vec<(String, u32)> {
        let links = host.handle().links().unwrap();
        links.into_iter().map(|link| (link.name, link.index)).collect()
    };
    let before = links();
    world.stop(agent);
    let reports = world.book().reports.len();
    let _agent = world.agent(&host, INI);
    eventually(SOON, || world.book().reports.len() > reports);
    for port in &ports {
        world.wait(port, "ACTIVE");
    }
    assert_eq!(links(), before, "a restart makes nothing anew");

    // Deleted networks take along what the agent made; what had an address stays, with it.
    for vlan in [100, 101, 102] {
        world.network_deleted(&network(vlan));
    }
    eventually(SOON, || ports.iter().all(|port| !exists(&host, &port.bridge())));
    assert!(!exists(&host, "trunk.100") && !exists(&host, "trunk.101"));
    assert!(exists(&host, "trunk") && on("trunk.102").contains("198.51.100.1/24"));
}
