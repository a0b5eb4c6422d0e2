//! Descriptions of devices to be created.

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{
        BridgeStpState, InfoBridge, InfoData, InfoKind, InfoVeth, InfoVlan, InfoVxlan, LinkAttribute, LinkFlags,
        LinkInfo, LinkMessage, VxlanDf,
    },
};

use super::{Error, check_name};
use types::Mac;

use crate::{error::ErrorKind, netlink::Request, netns::Netns};

/// A device to be created. Start with [`LinkSpec::veth`], [`LinkSpec::bridge`]…, refine, then
/// [`Handle::link_add`](crate::Handle::link_add) or [`add`] for a batch.
#[derive(Debug, Clone)]
pub struct LinkSpec {
    common: Common,
    kind: NewKind,
}

#[derive(Debug, Clone, Default)]
struct Common {
    name: String,
    mac: Option<Mac>,
    mtu: Option<u32>,
    up: bool,
    group: Option<u32>,
    namespace: Option<Netns>,
}

#[derive(Debug, Clone)]
enum NewKind {
    Veth { peer: Box<Common> },
    Bridge { forward_delay: u32, stp: bool, multicast_snooping: Option<bool>, ageing: Option<u32> },
    Vlan { parent: u32, id: u16 },
    Vxlan(Box<VxlanSpec>),
    Dummy,
}

/// The outer don't-fragment bit of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Df {
    /// Never set.
    #[default]
    Unset,
    /// Always set.
    Set,
    /// As on the inner packet (IPv4).
    Inherit,
}

impl Df {
    pub(super) fn from_kernel(value: u8) -> Self {
        match value {
            1 => Self::Set,
            2 => Self::Inherit,
            _ => Self::Unset,
        }
    }
}

/// Settings of a VXLAN device; `None` leaves the kernel's default.
#[derive(Debug, Clone, Default)]
pub struct VxlanSpec {
    /// VXLAN network identifier, 0 to 16777215.
    pub vni: u32,
    /// Where unknown destinations are flooded: a multicast group (needs `dev`), or one remote address.
    pub group: Option<IpAddr>,
    /// Source address of the outer packets.
    pub local: Option<IpAddr>,
    /// Index of the device the outer packets leave through.
    pub dev: Option<u32>,
    /// Time to live of the outer packets.
    pub ttl: Option<u8>,
    /// Type of service of the outer packets; 1 takes the inner one.
    pub tos: Option<u8>,
    /// UDP destination port. The kernel's default is 8472, from before IANA gave 4789.
    pub port: Option<u16>,
    /// UDP source ports, first and last.
    pub source_ports: Option<(u16, u16)>,
    /// Whether sources of received packets are learned (kernel's default: yes).
    pub learning: Option<bool>,
    /// Whether ARP and neighbour solicitations are answered from the neighbour table.
    pub proxy: bool,
    /// Whether unknown addresses raise events.
    pub l2_miss: bool,
    /// Whether unknown IP neighbours raise events.
    pub l3_miss: bool,
    /// Seconds that a learned address lives.
    pub ageing: Option<u32>,
    /// The outer don't-fragment bit.
    pub df: Option<Df>,
}

impl LinkSpec {
    fn new(name: &str, kind: NewKind) -> Self {
        Self { common: Common { name: name.to_owned(), ..Common::default() }, kind }
    }

    /// A pair of connected devices; the other methods refine the first, `peer_*` the second.
    ///
    /// The peer is created down: the kernel cannot bring it up before it is connected. Set it up afterwards, through
    /// a handle of its namespace.
    pub fn veth(name: &str, peer: &str) -> Self {
        Self::new(name, NewKind::Veth { peer: Box::new(Common { name: peer.to_owned(), ..Common::default() }) })
    }

    /// A bridge that forwards at once: forward delay 0, no spanning tree.
    pub fn bridge(name: &str) -> Self {
        let kind = NewKind::Bridge { forward_delay: 0, stp: false, multicast_snooping: None, ageing: None };
        Self::new(name, kind)
    }

    /// A VLAN (802.1Q) of the device with index `parent`; `id` from 1 to 4094.
    pub fn vlan(name: &str, parent: u32, id: u16) -> Self {
        Self::new(name, NewKind::Vlan { parent, id })
    }

    /// A VXLAN tunnel.
    pub fn vxlan(name: &str, spec: VxlanSpec) -> Self {
        Self::new(name, NewKind::Vxlan(Box::new(spec)))
    }

    /// A device that drops what it is sent.
    pub fn dummy(name: &str) -> Self {
        Self::new(name, NewKind::Dummy)
    }

    /// The name it will have.
    pub fn name(&self) -> &str {
        &self.common.name
    }

    /// Its link-layer address (else random).
    pub fn mac(mut self, mac: Mac) -> Self {
        self.common.mac = Some(mac);
        self
    }

    /// Its MTU in bytes.
    pub fn mtu(mut self, bytes: u32) -> Self {
        self.common.mtu = Some(bytes);
        self
    }

    /// Created up.
    pub fn up(mut self) -> Self {
        self.common.up = true;
        self
    }

    /// Created in a group.
    pub fn group(mut self, group: u32) -> Self {
        self.common.group = Some(group);
        self
    }

    /// Created in another namespace than the socket's.
    pub fn netns(mut self, namespace: &Netns) -> Self {
        self.common.namespace = Some(namespace.clone());
        self
    }

    /// The veth peer's link-layer address.
    pub fn peer_mac(self, mac: Mac) -> Self {
        self.peer(|peer| peer.mac = Some(mac))
    }

    /// The veth peer's MTU.
    pub fn peer_mtu(self, bytes: u32) -> Self {
        self.peer(|peer| peer.mtu = Some(bytes))
    }

    /// Creates the veth peer directly in another namespace.
    pub fn peer_netns(self, namespace: &Netns) -> Self {
        self.peer(|peer| peer.namespace = Some(namespace.clone()))
    }

    fn peer(mut self, refine: impl FnOnce(&mut Common)) -> Self {
        if let NewKind::Veth { peer } = &mut self.kind {
            refine(peer);
        }
        self
    }

    /// Whether a bridge sends multicast only to who asked for it (kernel's default: yes).
    pub fn multicast_snooping(mut self, on: bool) -> Self {
        if let NewKind::Bridge { multicast_snooping, .. } = &mut self.kind {
            *multicast_snooping = Some(on);
        }
        self
    }

    /// How long a bridge remembers a learned address, in hundredths of a second; 0: it floods everything.
    pub fn ageing(mut self, centiseconds: u32) -> Self {
        if let NewKind::Bridge { ageing, .. } = &mut self.kind {
            *ageing = Some(centiseconds);
        }
        self
    }

    fn fault(&self) -> Option<Error> {
        let name = &self.common.name;
        let invalid = |why: &str| Some(Error::new(ErrorKind::Invalid, "create", name.clone(), why));
        let own = check_name("create", name).err();
        own.or_else(|| match &self.kind {
            NewKind::Veth { peer } => check_name("create", &peer.name).err(),
            NewKind::Vlan { id, .. } if !(1..=4094).contains(id) => invalid("a VLAN id is from 1 to 4094"),
            NewKind::Vxlan(spec) if spec.vni >= 1 << 24 => invalid("a VXLAN identifier is from 0 to 16777215"),
            NewKind::Vxlan(spec) if spec.dev.is_none() && spec.group.is_some_and(|g| g.is_multicast()) => {
                invalid("a multicast group needs the device to send through")
            }
            _ => None,
        })
    }
}

/// The request that creates a device; `Exists` when the name is taken, `Unsupported` when the kernel lacks the kind.
pub fn add(spec: &LinkSpec) -> Request {
    let mut message = spec.common.message();
    let mut held = spec.common.namespace.clone().into_iter().collect::<Vec<_>>();
    let (kind, data) = match &spec.kind {
        NewKind::Veth { peer } => {
            held.extend(peer.namespace.clone());
            (InfoKind::Veth, Some(InfoData::Veth(InfoVeth::Peer(peer.message()))))
        }
        NewKind::Bridge { forward_delay, stp, multicast_snooping, ageing } => {
            let stp = if *stp { BridgeStpState::KernelStp } else { BridgeStpState::Disabled };
            let mut data = vec![InfoBridge::ForwardDelay(*forward_delay), InfoBridge::StpState(stp)];
            data.extend(multicast_snooping.map(InfoBridge::MulticastSnooping));
            data.extend(ageing.map(InfoBridge::AgeingTime));
            (InfoKind::Bridge, Some(InfoData::Bridge(data)))
        }
        NewKind::Vlan { parent, id } => {
            message.attributes.push(LinkAttribute::Link(*parent));
            (InfoKind::Vlan, Some(InfoData::Vlan(vec![InfoVlan::Id(*id)])))
        }
        NewKind::Vxlan(spec) => (InfoKind::Vxlan, Some(InfoData::Vxlan(spec.data()))),
        NewKind::Dummy => (InfoKind::Dummy, None),
    };
    let mut info = vec![LinkInfo::Kind(kind)];
    info.extend(data.map(LinkInfo::Data));
    message.attributes.push(LinkAttribute::LinkInfo(info));
    let flags = NLM_F_CREATE | NLM_F_EXCL;
    Request::new(RouteNetlinkMessage::NewLink(message), flags, "create", spec.name()).fault(spec.fault()).holding(held)
}

impl Common {
    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(self.name.clone()));
        message.attributes.extend(self.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())));
        message.attributes.extend(self.mtu.map(LinkAttribute::Mtu));
        message.attributes.extend(self.group.map(LinkAttribute::Group));
        message.attributes.extend(self.namespace.as_ref().map(|ns| LinkAttribute::NetNsFd(ns.raw_fd())));
        if self.up {
            message.header.flags |= LinkFlags::Up;
            message.header.change_mask |= LinkFlags::Up;
        }
        message
    }
}

impl VxlanSpec {
    fn data(&self) -> Vec<InfoVxlan> {
        let mut data = vec![InfoVxlan::Id(self.vni)];
        data.extend(self.group.map(|ip| match ip {
            IpAddr::V4(v4) => InfoVxlan::Group(v4),
            IpAddr::V6(v6) => InfoVxlan::Group6(v6),
        }));
        data.extend(self.local.map(|ip| match ip {
            IpAddr::V4(v4) => InfoVxlan::Local(v4),
            IpAddr::V6(v6) => InfoVxlan::Local6(v6),
        }));
        data.extend(self.dev.map(InfoVxlan::Link));
        data.extend(self.ttl.map(InfoVxlan::Ttl));
        data.extend(self.tos.map(InfoVxlan::Tos));
        data.extend(self.port.map(InfoVxlan::Port));
        data.extend(self.source_ports.map(InfoVxlan::PortRange));
        data.extend(self.learning.map(InfoVxlan::Learning));
        data.extend(self.ageing.map(InfoVxlan::Ageing));
        data.extend(self.proxy.then_some(InfoVxlan::Proxy(true)));
        data.extend(self.l2_miss.then_some(InfoVxlan::L2Miss(true)));
        data.extend(self.l3_miss.then_some(InfoVxlan::L3Miss(true)));
        data.extend(self.df.map(|df| {
            InfoVxlan::Df(match df {
                Df::Unset => VxlanDf::Unset,
                Df::Set => VxlanDf::Set,
                Df::Inherit => VxlanDf::Inherit,
            })
        }));
        data
    }
}
