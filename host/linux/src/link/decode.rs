//! Reading `RTM_NEWLINK` messages.

use std::net::IpAddr;

use nix::libc;

use super::spec::Df;
use types::Mac;

use crate::netlink::wire::{attributes, ip, mac, text, u8_of, u16_be, u16_of, u32_of};

const HEADER: usize = 16;

/// A network device as the kernel shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Number of the device in its namespace.
    pub index: u32,
    /// Name, at most 15 bytes.
    pub name: String,
    /// What drives it, with what is particular to that.
    pub kind: Kind,
    /// Link-layer address; `None` for devices without an Ethernet address.
    pub mac: Option<Mac>,
    /// Bytes of payload per frame.
    pub mtu: u32,
    /// Index of the bridge (or bond…) it is a port of.
    pub master: Option<u32>,
    /// Index of the device it is stacked on (VLAN, not VXLAN: see [`VxlanInfo::dev`]) or of its veth peer. When `peer_netns` is set, the index
    /// is that of another namespace.
    pub parent: Option<u32>,
    /// This namespace's number for the namespace of `parent`, when that is another one.
    pub peer_netns: Option<i32>,
    /// `IFF_UP`: administratively up.
    pub up: bool,
    /// `IFF_LOWER_UP`: has a carrier.
    pub carrier: bool,
    /// All `IFF_*` flags.
    pub flags: u32,
    /// Operational state (RFC 2863).
    pub state: OperState,
    /// Group, 0 unless set.
    pub group: u32,
    /// Free text, empty unless set.
    pub alias: String,
    /// IPv6 is switched off on it (`disable_ipv6`), or the kernel has none.
    pub ipv6_disabled: bool,
}

/// The driver of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// No driver that can be asked for: hardware, or `lo`.
    Plain,
    /// One end of a pair.
    Veth,
    /// A bridge.
    Bridge {
        /// Seconds in listening and learning, times 100.
        forward_delay: u32,
        /// Whether spanning tree runs.
        stp: bool,
        /// Seconds that a learned address lives, times 100.
        ageing: u32,
        /// Whether multicast is sent only to who asked for it.
        multicast_snooping: bool,
    },
    /// A VLAN of the device `Link::parent`.
    Vlan {
        /// VLAN id, 1 to 4094.
        id: u16,
        /// 0x8100 (802.1Q) or 0x88a8 (802.1ad).
        protocol: u16,
    },
    /// A VXLAN tunnel.
    Vxlan(Box<VxlanInfo>),
    /// Sends to nowhere.
    Dummy,
    /// Tun or tap.
    Tun,
    /// Another driver, by its name.
    Other(String),
}

impl Kind {
    /// The name that `ip -d link` shows; empty for [`Kind::Plain`].
    pub fn name(&self) -> &str {
        match self {
            Self::Plain => "",
            Self::Veth => "veth",
            Self::Bridge { .. } => "bridge",
            Self::Vlan { .. } => "vlan",
            Self::Vxlan(_) => "vxlan",
            Self::Dummy => "dummy",
            Self::Tun => "tun",
            Self::Other(name) => name,
        }
    }
}

/// What a VXLAN device is set to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VxlanInfo {
    /// VXLAN network identifier, 0 to 16777215.
    pub vni: u32,
    /// Where unknown destinations are flooded: a multicast group, or one remote address.
    pub group: Option<IpAddr>,
    /// Source address of the outer packets.
    pub local: Option<IpAddr>,
    /// Index of the device the outer packets leave through.
    pub dev: Option<u32>,
    /// Time to live of the outer packets; 0: the default, or 1 for multicast.
    pub ttl: u8,
    /// Type of service of the outer packets; 1: taken from the inner one.
    pub tos: u8,
    /// UDP destination port.
    pub port: u16,
    /// UDP source ports, first and last.
    pub source_ports: (u16, u16),
    /// Whether sources of received packets are learned.
    pub learning: bool,
    /// Whether ARP and neighbour solicitations are answered from the neighbour table.
    pub proxy: bool,
    /// Whether unknown addresses raise events.
    pub l2_miss: bool,
    /// Whether unknown IP neighbours raise events.
    pub l3_miss: bool,
    /// Seconds that a learned address lives.
    pub ageing: u32,
    /// The outer don't-fragment bit.
    pub df: Df,
}

/// Operational state of RFC 2863, as `ip link` prints it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperState {
    /// The driver does not say (tun, lo).
    Unknown,
    /// Some part is missing.
    NotPresent,
    /// Down.
    Down,
    /// Down because of what it is stacked on.
    LowerLayerDown,
    /// In a test.
    Testing,
    /// Waits for something external.
    Dormant,
    /// Carries packets.
    Up,
}

impl Link {
    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let header = payload.get(..HEADER)?;
        let flags = u32_of(&header[8..]);
        let mut link = Self {
            index: u32_of(&header[4..]),
            name: String::new(),
            kind: Kind::Plain,
            mac: None,
            mtu: 0,
            master: None,
            parent: None,
            peer_netns: None,
            up: flags & libc::IFF_UP as u32 != 0,
            carrier: flags & libc::IFF_LOWER_UP as u32 != 0,
            flags,
            state: OperState::Unknown,
            group: 0,
            alias: String::new(),
            ipv6_disabled: true,
        };
        for (kind, value) in attributes(&payload[HEADER..]) {
            match kind {
                libc::IFLA_IFNAME => link.name = text(value),
                libc::IFLA_ADDRESS => link.mac = mac(value),
                libc::IFLA_MTU => link.mtu = u32_of(value),
                libc::IFLA_MASTER => link.master = Some(u32_of(value)),
                libc::IFLA_LINK => link.parent = Some(u32_of(value)).filter(|index| *index != 0),
                libc::IFLA_LINK_NETNSID => link.peer_netns = Some(u32_of(value) as i32),
                libc::IFLA_OPERSTATE => link.state = state(u8_of(value)),
                libc::IFLA_GROUP => link.group = u32_of(value),
                libc::IFLA_IFALIAS => link.alias = text(value),
                libc::IFLA_LINKINFO => link.kind = decode_kind(value),
                libc::IFLA_AF_SPEC => link.ipv6_disabled = ipv6_disabled(value),
                _ => {}
            }
        }
        // A loopback's address is six zeroes; that is no address.
        if flags & libc::IFF_LOOPBACK as u32 != 0 {
            link.mac = None;
        }
        (!link.name.is_empty()).then_some(link)
    }
}

/// From the per-family part: `IFLA_INET6_CONF` is an array of 32-bit settings in the order of `linux/ipv6.h`.
fn ipv6_disabled(families: &[u8]) -> bool {
    const INET6_CONF: u16 = 2;
    const DEVCONF_DISABLE_IPV6: usize = 26;
    let find = |bytes, wanted: u16| attributes(bytes).find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let Some(settings) = find(families, libc::AF_INET6 as u16).and_then(|inet6| find(inet6, INET6_CONF)) else {
        return true;
    };
    settings.get(DEVCONF_DISABLE_IPV6 * 4..).is_none_or(|rest| u32_of(rest) != 0)
}

fn state(value: u8) -> OperState {
    match value {
        1 => OperState::NotPresent,
        2 => OperState::Down,
        3 => OperState::LowerLayerDown,
        4 => OperState::Testing,
        5 => OperState::Dormant,
        6 => OperState::Up,
        _ => OperState::Unknown,
    }
}

fn decode_kind(info: &[u8]) -> Kind {
    let (mut name, mut data): (String, &[u8]) = (String::new(), &[]);
    for (kind, value) in attributes(info) {
        match kind {
            libc::IFLA_INFO_KIND => name = text(value),
            libc::IFLA_INFO_DATA => data = value,
            _ => {}
        }
    }
    match &*name {
        "" => Kind::Plain,
        "veth" => Kind::Veth,
        "dummy" => Kind::Dummy,
        "tun" => Kind::Tun,
        "bridge" => decode_bridge(data),
        "vlan" => decode_vlan(data),
        "vxlan" => Kind::Vxlan(Box::new(decode_vxlan(data))),
        _ => Kind::Other(name),
    }
}

fn decode_bridge(data: &[u8]) -> Kind {
    let (mut forward_delay, mut stp, mut ageing, mut multicast_snooping) = (0, false, 0, false);
    for (kind, value) in attributes(data) {
        match kind {
            1 => forward_delay = u32_of(value),
            4 => ageing = u32_of(value),
            5 => stp = u32_of(value) != 0,
            23 => multicast_snooping = u8_of(value) != 0,
            _ => {}
        }
    }
    Kind::Bridge { forward_delay, stp, ageing, multicast_snooping }
}

fn decode_vlan(data: &[u8]) -> Kind {
    let (mut id, mut protocol) = (0, 0x8100);
    for (kind, value) in attributes(data) {
        match kind {
            1 => id = u16_of(value),
            5 => protocol = u16_be(value),
            _ => {}
        }
    }
    Kind::Vlan { id, protocol }
}

/// Numbers are `IFLA_VXLAN_*` of `linux/if_link.h`.
fn decode_vxlan(data: &[u8]) -> VxlanInfo {
    let mut info = VxlanInfo::default();
    for (kind, value) in attributes(data) {
        match kind {
            1 => info.vni = u32_of(value),
            2 | 16 => info.group = ip(value).filter(|ip| !ip.is_unspecified()),
            3 => info.dev = Some(u32_of(value)).filter(|index| *index != 0),
            4 | 17 => info.local = ip(value).filter(|ip| !ip.is_unspecified()),
            5 => info.ttl = u8_of(value),
            6 => info.tos = u8_of(value),
            7 => info.learning = u8_of(value) != 0,
            8 => info.ageing = u32_of(value),
            10 if value.len() >= 4 => info.source_ports = (u16_be(value), u16_be(&value[2..])),
            11 => info.proxy = u8_of(value) != 0,
            13 => info.l2_miss = u8_of(value) != 0,
            14 => info.l3_miss = u8_of(value) != 0,
            15 => info.port = u16_be(value),
            29 => info.df = Df::from_kernel(u8_of(value)),
            _ => {}
        }
    }
    info
}
