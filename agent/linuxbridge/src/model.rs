//! The host as the agent sees it, and the changes it can make: plain values, so that deciding needs no kernel.
//!
//! [`Host::apply`] says what a change does, with the kernel's rules that matter here (deleting a bridge frees its
//! ports, a full device name is taken, removing a link removes what stands on it). The planner works on such a copy,
//! and thus sees the effect of its own earlier steps.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use linux::route::Protocol;
use types::{IpNet, Mac};

/// Everything observed of one network namespace.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Host {
    pub links: BTreeMap<String, Link>,
}

/// One network interface.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Changes when a device is deleted and made again under its name.
    pub index: u32,
    pub kind: Kind,
    /// Administratively up.
    pub up: bool,
    /// Bytes.
    pub mtu: u32,
    pub mac: Option<Mac>,
    /// The bridge, bond or the like whose port it is.
    pub master: Option<String>,
    pub ipv6_disabled: bool,
    /// The network whose bridge it is, as the agent has labelled it: names hold only a part of the id.
    pub network: Option<String>,
    /// Addresses of global (on `lo`: or host) scope, with their host bits, in the kernel's order.
    pub addresses: Vec<IpNet>,
    /// Unicast routes through it that the kernel did not make by itself.
    pub routes: Vec<Route>,
    /// Permanent forwarding entries of a VXLAN device: who is behind which remote end.
    pub forwarding: BTreeMap<Mac, BTreeSet<IpAddr>>,
    /// Permanent neighbours.
    pub neighbours: BTreeMap<IpAddr, Mac>,
}

/// What a link is, with what the agent decides on.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Bridge {
        /// In hundredths of a second.
        forward_delay: u32,
        stp: bool,
    },
    Vlan {
        parent: Option<String>,
        id: u32,
    },
    Vxlan(Tunnel),
    /// Anything else; the agent does not care which.
    Other,
}

/// A VXLAN device.
#[derive(Debug, Clone, PartialEq)]
pub struct Tunnel {
    pub vni: u32,
    /// The interface that its packets leave by.
    pub lower: Option<String>,
    pub local: Option<IpAddr>,
    pub group: Option<IpAddr>,
    pub port: u16,
    /// Lowest and highest source port; 0, 0 is the kernel's choice.
    pub source_ports: (u16, u16),
    pub ttl: Option<u8>,
    pub tos: Option<u8>,
    /// Answers ARP and neighbour solicitations from its own table.
    pub proxy: bool,
}

/// A route of the main table, as it is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    pub destination: IpNet,
    pub via: Option<IpAddr>,
    /// `None` is the kernel's default for the family.
    pub metric: Option<u32>,
    pub source: Option<IpAddr>,
    /// The gateway is taken to be on the link although no prefix says so.
    pub onlink: bool,
    /// Who made it.
    pub protocol: Protocol,
}

/// One change to the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// A bridge without spanning tree and forward delay, down; with `mac` it keeps that address whatever its ports are.
    AddBridge {
        name: String,
        mac: Option<Mac>,
    },
    /// Says whose bridge it is.
    Label {
        name: String,
        network: String,
    },
    /// Keeps this address from now on, whatever its ports are.
    SetMac {
        name: String,
        mac: Mac,
    },
    /// Spanning tree off, forward delay 0.
    SetForwarding {
        name: String,
    },
    AddVlan {
        name: String,
        parent: String,
        id: u32,
    },
    AddVxlan {
        name: String,
        tunnel: Tunnel,
    },
    DeleteLink {
        name: String,
    },
    SetUp {
        name: String,
        up: bool,
    },
    SetMtu {
        name: String,
        mtu: u32,
    },
    /// `disabled` also withdraws the IPv6 addresses that the kernel chose.
    SetIpv6 {
        name: String,
        disabled: bool,
    },
    /// No IPv6 address by itself, and so no word of its own on the link, while IPv6 stays on.
    QuietIpv6 {
        name: String,
    },
    SetMaster {
        name: String,
        master: String,
    },
    ClearMaster {
        name: String,
    },
    AddAddress {
        name: String,
        address: IpNet,
    },
    DeleteAddress {
        name: String,
        address: IpNet,
    },
    AddRoute {
        name: String,
        route: Route,
    },
    DeleteRoute {
        name: String,
        route: Route,
    },
    /// One more remote end that gets what has no known place.
    AppendFlood {
        name: String,
        remote: IpAddr,
    },
    DeleteFlood {
        name: String,
        remote: IpAddr,
    },
    /// Whoever held the address before, learned or permanent.
    ReplaceForwarding {
        name: String,
        mac: Mac,
        remote: IpAddr,
    },
    DeleteForwarding {
        name: String,
        mac: Mac,
        remote: IpAddr,
    },
    ReplaceNeighbour {
        name: String,
        ip: IpAddr,
        mac: Mac,
    },
    DeleteNeighbour {
        name: String,
        ip: IpAddr,
        mac: Mac,
    },
}

/// Why the model refuses a change, as the kernel would.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("it is not there")]
    Missing,
    #[error("it is there already")]
    Exists,
    #[error("the value does not fit the device")]
    Invalid,
}

impl Kind {
    pub fn is_bridge(&self) -> bool {
        matches!(self, Kind::Bridge { .. })
    }
}

impl Link {
    /// A link that was just made.
    pub fn new(index: u32, kind: Kind) -> Self {
        Self {
            index,
            kind,
            up: false,
            mtu: 1500,
            mac: None,
            master: None,
            ipv6_disabled: false,
            network: None,
            addresses: Vec::new(),
            routes: Vec::new(),
            forwarding: BTreeMap::new(),
            neighbours: BTreeMap::new(),
        }
    }

    pub fn has_address(&self, ip: IpAddr) -> bool {
        self.addresses.iter().any(|a| a.addr() == ip)
    }
}

impl Host {
    pub fn link(&self, name: &str) -> Option<&Link> {
        self.links.get(name)
    }

    /// The interface that carries an address; of several, the one made first.
    pub fn holder_of(&self, ip: IpAddr) -> Option<(&String, &Link)> {
        self.links.iter().filter(|(_, link)| link.has_address(ip)).min_by_key(|(_, link)| link.index)
    }

    /// The ports of a bridge, in the order of their names.
    pub fn ports_of<'a>(&'a self, bridge: &'a str) -> impl Iterator<Item = (&'a String, &'a Link)> {
        self.links.iter().filter(move |(_, link)| link.master.as_deref() == Some(bridge))
    }

    /// Does one change.
    pub fn apply(&mut self, op: &Op) -> Result<(), Refusal> {
        match op {
            Op::AddBridge { name, mac } => {
                let kind = Kind::Bridge { forward_delay: 0, stp: false };
                self.add(name, kind)?.mac = *mac;
            }
            Op::AddVlan { name, parent, id } => {
                let mtu = self.links.get(parent).ok_or(Refusal::Missing)?.mtu;
                let kind = Kind::Vlan { parent: Some(parent.clone()), id: *id };
                if self.links.values().any(|link| link.kind == kind) {
                    return Err(Refusal::Exists);
                }
                self.add(name, kind)?.mtu = mtu;
            }
            Op::AddVxlan { name, tunnel } => {
                let lower = tunnel.lower.as_ref().and_then(|l| self.links.get(l)).ok_or(Refusal::Missing)?;
                let mtu = lower.mtu.saturating_sub(50);
                let same = |k: &Kind| matches!(k, Kind::Vxlan(t) if t.vni == tunnel.vni && t.port == tunnel.port);
                if self.links.values().any(|link| same(&link.kind)) {
                    return Err(Refusal::Exists);
                }
                self.add(name, Kind::Vxlan(tunnel.clone()))?.mtu = mtu;
            }
            Op::DeleteLink { name } => self.delete(name)?,
            Op::Label { name, network } => self.get(name)?.network = Some(network.clone()),
            Op::SetMac { name, mac } => self.get(name)?.mac = Some(*mac),
            Op::SetForwarding { name } => match &mut self.get(name)?.kind {
                Kind::Bridge { forward_delay, stp } => (*forward_delay, *stp) = (0, false),
                _ => return Err(Refusal::Invalid),
            },
            Op::SetUp { name, up } => self.get(name)?.up = *up,
            Op::SetMtu { name, mtu } => self.set_mtu(name, *mtu)?,
            Op::SetIpv6 { name, disabled } => self.get(name)?.ipv6_disabled = *disabled,
            Op::QuietIpv6 { name } => _ = self.get(name)?,
            Op::SetMaster { name, master } => {
                if !self.get(master)?.kind.is_bridge() || self.get(name)?.kind.is_bridge() {
                    return Err(Refusal::Invalid);
                }
                self.get(name)?.master = Some(master.clone());
            }
            Op::ClearMaster { name } => self.get(name)?.master = None,
            Op::AddAddress { name, address } => {
                let link = self.get(name)?;
                if link.addresses.contains(address) {
                    return Err(Refusal::Exists);
                }
                if link.ipv6_disabled && address.addr().is_ipv6() {
                    return Err(Refusal::Invalid);
                }
                link.addresses.push(*address);
            }
            Op::DeleteAddress { name, address } => {
                let addresses = &mut self.get(name)?.addresses;
                let at = addresses.iter().position(|a| a == address).ok_or(Refusal::Missing)?;
                addresses.remove(at);
            }
            Op::AddRoute { name, route } => {
                let link = self.get(name)?;
                if link.routes.contains(route) {
                    return Err(Refusal::Exists);
                }
                link.routes.push(*route);
            }
            Op::DeleteRoute { name, route } => {
                let routes = &mut self.get(name)?.routes;
                let at = routes.iter().position(|r| r == route).ok_or(Refusal::Missing)?;
                routes.remove(at);
            }
            Op::AppendFlood { name, remote } => {
                if !self.tunnel(name)?.forwarding.entry(Mac::ZERO).or_default().insert(*remote) {
                    return Err(Refusal::Exists);
                }
            }
            Op::ReplaceForwarding { name, mac, remote } => {
                self.tunnel(name)?.forwarding.insert(*mac, [*remote].into());
            }
            Op::DeleteFlood { name, remote } => self.forget(name, Mac::ZERO, *remote)?,
            Op::DeleteForwarding { name, mac, remote } => self.forget(name, *mac, *remote)?,
            Op::ReplaceNeighbour { name, ip, mac } => {
                if ip.is_ipv6() && self.get(name)?.ipv6_disabled {
                    return Err(Refusal::Invalid);
                }
                self.get(name)?.neighbours.insert(*ip, *mac);
            }
            Op::DeleteNeighbour { name, ip, .. } => {
                self.get(name)?.neighbours.remove(ip).ok_or(Refusal::Missing)?;
            }
        }
        Ok(())
    }

    fn get(&mut self, name: &str) -> Result<&mut Link, Refusal> {
        self.links.get_mut(name).ok_or(Refusal::Missing)
    }

    fn tunnel(&mut self, name: &str) -> Result<&mut Link, Refusal> {
        let link = self.get(name)?;
        if matches!(link.kind, Kind::Vxlan(_)) { Ok(link) } else { Err(Refusal::Invalid) }
    }

    fn add(&mut self, name: &str, kind: Kind) -> Result<&mut Link, Refusal> {
        if name.is_empty() || name.len() > crate::names::MAX_LENGTH {
            return Err(Refusal::Invalid);
        }
        if self.links.contains_key(name) {
            return Err(Refusal::Exists);
        }
        let index = self.links.values().map(|link| link.index).max().unwrap_or(0) + 1;
        Ok(self.links.entry(name.to_owned()).or_insert(Link::new(index, kind)))
    }

    fn delete(&mut self, name: &str) -> Result<(), Refusal> {
        self.links.remove(name).ok_or(Refusal::Missing)?;
        for link in self.links.values_mut() {
            if link.master.as_deref() == Some(name) {
                link.master = None;
            }
        }
        // The kernel removes VLAN and VXLAN devices with what they stand on.
        self.links.retain(|_, link| match &link.kind {
            Kind::Vlan { parent, .. } => parent.as_deref() != Some(name),
            Kind::Vxlan(tunnel) => tunnel.lower.as_deref() != Some(name),
            _ => true,
        });
        Ok(())
    }

    fn set_mtu(&mut self, name: &str, mtu: u32) -> Result<(), Refusal> {
        let link = self.links.get(name).ok_or(Refusal::Missing)?;
        let limit = match &link.kind {
            Kind::Vxlan(Tunnel { lower: Some(lower), local, .. }) => {
                let overhead = if local.is_some_and(|ip| ip.is_ipv6()) { 70 } else { 50 };
                self.links.get(lower).map_or(65535, |l| l.mtu.saturating_sub(overhead))
            }
            Kind::Vlan { parent: Some(parent), .. } => self.links.get(parent).map_or(65535, |l| l.mtu),
            _ => 65535,
        };
        if mtu > limit || mtu < 68 {
            return Err(Refusal::Invalid);
        }
        self.get(name)?.mtu = mtu;
        Ok(())
    }

    fn forget(&mut self, name: &str, mac: Mac, remote: IpAddr) -> Result<(), Refusal> {
        let forwarding = &mut self.tunnel(name)?.forwarding;
        let remotes = forwarding.get_mut(&mac).ok_or(Refusal::Missing)?;
        if !remotes.remove(&remote) {
            return Err(Refusal::Missing);
        }
        if remotes.is_empty() {
            forwarding.remove(&mac);
        }
        Ok(())
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::AddBridge { name, mac: None } => write!(f, "add bridge {name}"),
            Op::AddBridge { name, mac: Some(mac) } => write!(f, "add bridge {name} address {mac}"),
            Op::Label { name, network } => write!(f, "label {name} network {network}"),
            Op::SetMac { name, mac } => write!(f, "set {name} address {mac}"),
            Op::SetForwarding { name } => write!(f, "set bridge {name} stp off forward_delay 0"),
            Op::AddVlan { name, parent, id } => write!(f, "add vlan {name} on {parent} id {id}"),
            Op::AddVxlan { name, tunnel } => write!(f, "add vxlan {name} {tunnel}"),
            Op::DeleteLink { name } => write!(f, "delete link {name}"),
            Op::SetUp { name, up } => write!(f, "set {name} {}", if *up { "up" } else { "down" }),
            Op::SetMtu { name, mtu } => write!(f, "set {name} mtu {mtu}"),
            Op::SetIpv6 { name, disabled } => write!(f, "set {name} ipv6 {}", if *disabled { "off" } else { "on" }),
            Op::QuietIpv6 { name } => write!(f, "set {name} ipv6 quiet"),
            Op::SetMaster { name, master } => write!(f, "set {name} master {master}"),
            Op::ClearMaster { name } => write!(f, "set {name} nomaster"),
            Op::AddAddress { name, address } => write!(f, "add address {address} to {name}"),
            Op::DeleteAddress { name, address } => write!(f, "delete address {address} from {name}"),
            Op::AddRoute { name, route } => write!(f, "add route {route} dev {name}"),
            Op::DeleteRoute { name, route } => write!(f, "delete route {route} dev {name}"),
            Op::AppendFlood { name, remote } => write!(f, "append flood {name} dst {remote}"),
            Op::DeleteFlood { name, remote } => write!(f, "delete flood {name} dst {remote}"),
            Op::ReplaceForwarding { name, mac, remote } => write!(f, "replace fdb {name} {mac} dst {remote}"),
            Op::DeleteForwarding { name, mac, remote } => write!(f, "delete fdb {name} {mac} dst {remote}"),
            Op::ReplaceNeighbour { name, ip, mac } => write!(f, "replace neighbour {name} {ip} lladdr {mac}"),
            Op::DeleteNeighbour { name, ip, mac } => write!(f, "delete neighbour {name} {ip} lladdr {mac}"),
        }
    }
}

impl fmt::Display for Tunnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "id {}", self.vni)?;
        let words: [(&str, Option<String>); 5] = [
            ("dev", self.lower.clone()),
            ("local", self.local.map(|ip| ip.to_string())),
            ("group", self.group.map(|ip| ip.to_string())),
            ("ttl", self.ttl.map(|n| n.to_string())),
            ("tos", self.tos.map(|n| n.to_string())),
        ];
        for (word, value) in words {
            if let Some(value) = value {
                write!(f, " {word} {value}")?;
            }
        }
        write!(f, " dstport {}", self.port)?;
        if self.source_ports != (0, 0) {
            write!(f, " srcport {} {}", self.source_ports.0, self.source_ports.1)?;
        }
        f.write_str(if self.proxy { " proxy" } else { "" })
    }
}

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.destination.prefix_len() == 0 {
            f.write_str("default")?;
        } else {
            write!(f, "{}", self.destination)?;
        }
        if let Some(via) = self.via {
            write!(f, " via {via}")?;
        }
        if let Some(metric) = self.metric {
            write!(f, " metric {metric}")?;
        }
        Ok(())
    }
}
