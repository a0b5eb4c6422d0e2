//! What should be on this host, as far as the server has said.

use std::collections::{BTreeMap, BTreeSet};

use crate::forwarding::Forwarding;

/// The state that plans aim at. Devices and networks are added as their details come from the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Desired {
    /// By network id. A network without devices is known (its forwarding entries are kept) but not built.
    pub networks: BTreeMap<String, Network>,
    /// By device name.
    pub devices: BTreeMap<String, Device>,
    /// Networks to take down: id and, where it was known, the segment. Removed from here once nothing is left.
    pub deleted: BTreeMap<String, Option<Segment>>,
    /// Devices to take out of their bridges (the port is gone or bound elsewhere).
    pub unplugged: BTreeSet<String>,
}

/// A network with its segment on this host.
#[derive(Debug, Clone, PartialEq)]
pub struct Network {
    pub segment: Segment,
    /// Bytes; servers of old do not say.
    pub mtu: Option<u32>,
    pub forwarding: Forwarding,
}

/// How a network reaches other hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// Not at all.
    Local,
    /// Untagged on a physical network.
    Flat { physical: String },
    /// Tagged on a physical network.
    Vlan { physical: String, id: u32 },
    /// Tunnelled.
    Vxlan { vni: u32 },
}

/// A port that has a device here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Network id.
    pub network: String,
    pub admin_up: bool,
    /// Whether the agent may plug it. Instances' devices are plugged by the hypervisor's driver, and doing it before
    /// that would make that fail (`EBUSY`), so for these it stays false for a while.
    pub plug: bool,
}

impl Desired {
    /// Networks that have a device here and thus must be built.
    pub fn used_networks(&self) -> BTreeSet<&str> {
        self.devices.values().map(|device| device.network.as_str()).collect()
    }
}
