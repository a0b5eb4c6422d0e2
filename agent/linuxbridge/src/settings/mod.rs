//! What the operator decides: sections `[LINUX_BRIDGE]`, `[VXLAN]` and `[AGENT]` of `linuxbridge_agent.ini`, checked.

mod options;

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use types::IpNet;

pub use options::{Behaviour, OPTIONS, SettingsError, read, read_mappings};

/// The kernel's own VXLAN port, from before IANA gave 4789; used when `udp_dstport` is not set.
pub const DEFAULT_VXLAN_PORT: u16 = 8472;
/// The kernel's code for a TOS that is copied from the inner packet.
pub const TOS_INHERIT: u8 = 1;

/// The part of the configuration that decides what devices look like.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Physical network → interface, from `physical_interface_mappings`.
    pub interface_mappings: BTreeMap<String, String>,
    /// Physical network → the operator's bridge, from `bridge_mappings`.
    pub bridge_mappings: BTreeMap<String, String>,
    /// Absent with `enable_vxlan = false`.
    pub vxlan: Option<Vxlan>,
}

/// Section `[VXLAN]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vxlan {
    /// The address of this host's end of every tunnel.
    pub local_ip: IpAddr,
    /// A multicast group, or a range of which each VNI takes one.
    pub group: Option<IpNet>,
    /// Groups for ranges of VNIs, which win over `group`.
    pub ranges: Vec<GroupRange>,
    /// 0 to 255; the kernel's choice when absent.
    pub ttl: Option<u8>,
    /// The outer TOS; [`TOS_INHERIT`] copies the inner one.
    pub tos: Option<u8>,
    /// UDP destination port.
    pub port: u16,
    /// UDP source ports, lowest and highest; 0, 0 leaves them to the kernel.
    pub source_ports: (u16, u16),
    /// Forwarding entries come from the server, and nothing is flooded by multicast.
    pub l2_population: bool,
    /// Answer ARP from permanent neighbour entries (only with `l2_population`).
    pub arp_responder: bool,
}

/// One of `multicast_ranges`: `<group>:<first VNI>:<last VNI>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRange {
    pub group: IpAddr,
    pub first: u32,
    pub last: u32,
}

impl Settings {
    /// Whether a bridge is one that the agent made and may change, and not the operator's.
    pub fn owns_bridge(&self, name: &str) -> bool {
        name.starts_with(crate::names::BRIDGE_PREFIX) && !self.bridge_mappings.values().any(|b| b == name)
    }
}

impl Vxlan {
    /// Bytes that the tunnel adds to a frame: outer IP, UDP, VXLAN and inner Ethernet headers.
    pub fn overhead(&self) -> u32 {
        if self.local_ip.is_ipv4() { 50 } else { 70 }
    }

    /// The multicast group that floods a VNI; none with l2 population.
    ///
    /// A range of groups is spread over VNIs by their low bits, so that all agents choose alike.
    pub fn group_of(&self, vni: u32) -> Option<IpAddr> {
        if self.l2_population {
            return None;
        }
        if let Some(range) = self.ranges.iter().find(|r| (r.first..=r.last).contains(&vni)) {
            return Some(range.group);
        }
        match self.group? {
            IpNet::V4(net) => {
                let group = u32::from(net.network()) + (vni & u32::from(net.hostmask()));
                Some(IpAddr::V4(Ipv4Addr::from(group)))
            }
            IpNet::V6(net) => {
                let group = u128::from(net.network()) + (u128::from(vni) & u128::from(net.hostmask()));
                Some(IpAddr::V6(Ipv6Addr::from(group)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vxlan(group: &str) -> Vxlan {
        Vxlan {
            local_ip: "192.0.2.1".parse().unwrap(),
            group: Some(group.parse().unwrap()),
            ranges: vec![GroupRange { group: "239.1.1.1".parse().unwrap(), first: 10, last: 20 }],
            ttl: None,
            tos: None,
            port: DEFAULT_VXLAN_PORT,
            source_ports: (0, 0),
            l2_population: false,
            arp_responder: false,
        }
    }

    #[test]
    fn a_vni_takes_its_group_from_the_low_bits_of_a_range() {
        let group = |net: &str, vni| vxlan(net).group_of(vni).unwrap().to_string();
        assert_eq!(group("224.0.0.1/32", 77), "224.0.0.1");
        assert_eq!(group("239.0.0.0/8", 0x010203), "239.1.2.3");
        assert_eq!(group("239.5.0.0/24", 0x010203), "239.5.0.3");
        assert_eq!(group("ff05::/112", 0x12345), "ff05::2345");
        assert_eq!(group("239.0.0.0/8", 15), "239.1.1.1");
    }

    #[test]
    fn l2_population_floods_no_group() {
        assert_eq!(Vxlan { l2_population: true, ..vxlan("239.0.0.0/8") }.group_of(5), None);
    }

    #[test]
    fn a_mapped_bridge_is_the_operators_whatever_its_name() {
        let settings = Settings {
            bridge_mappings: [("physnet1".to_owned(), "brq-mine".to_owned())].into(),
            ..Settings::default()
        };
        assert!(!settings.owns_bridge("brq-mine"));
        assert!(!settings.owns_bridge("br-ex"));
        assert!(settings.owns_bridge("brq86349e14-ea"));
    }
}
