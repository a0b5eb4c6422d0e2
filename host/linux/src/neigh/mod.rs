//! Neighbours (which link-layer address has an IP address) and forwarding databases (through which port, or to which
//! remote tunnel end, a link-layer address is reached).
//!
//! The databases of a bridge and of a VXLAN device are different tables of the kernel, told apart by [`Table`].

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    neighbour::{NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState},
};
use nix::libc;
use types::Mac;

use crate::{
    addr::family,
    error::{Idempotent, Result},
    netlink::{
        Handle, Request,
        wire::{attributes, ip, mac, u16_be, u16_of, u32_of},
    },
};

const HEADER: usize = 12;
const NTF_SELF: u8 = 0x02;
const NTF_MASTER: u8 = 0x04;

/// An IP neighbour of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    /// Index of the device.
    pub index: u32,
    /// Its IP address.
    pub ip: IpAddr,
    /// Its link-layer address; `None` while unknown.
    pub mac: Option<Mac>,
    /// `NUD_*` bits.
    pub state: u16,
}

impl Neighbour {
    /// Whether it was set by hand and never expires.
    pub fn permanent(&self) -> bool {
        self.state & libc::NUD_PERMANENT != 0
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let header = payload.get(..HEADER)?;
        if !matches!(i32::from(header[0]), libc::AF_INET | libc::AF_INET6) {
            return None;
        }
        let (mut address, mut lladdr) = (None, None);
        for (kind, value) in attributes(&payload[HEADER..]) {
            match kind {
                libc::NDA_DST => address = ip(value),
                libc::NDA_LLADDR => lladdr = mac(value),
                _ => {}
            }
        }
        Some(Self { index: u32_of(&header[4..]), ip: address?, mac: lladdr, state: u16_of(&header[8..]) })
    }
}

/// Which forwarding database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// The device's own (`self`): for a VXLAN device, remote tunnel ends.
    Own,
    /// That of the bridge it is a port of (`master`).
    Master,
}

/// An entry of a forwarding database.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fdb {
    /// Index of the device: the bridge's port, or the VXLAN device.
    pub index: u32,
    /// Which table.
    pub table: Table,
    /// The address; all zeroes for where a VXLAN device floods what it does not know.
    pub mac: Mac,
    /// The remote tunnel end (VXLAN).
    pub dst: Option<IpAddr>,
    /// The VLAN, where the bridge filters by VLAN.
    pub vlan: Option<u16>,
    /// The remote UDP port, when not the device's (VXLAN).
    pub port: Option<u16>,
    /// The remote network identifier, when not the device's (VXLAN).
    pub vni: Option<u32>,
    /// Set by hand; else learned, and it ages.
    pub permanent: bool,
}

impl Fdb {
    /// A permanent entry of the device's own table.
    pub fn own(index: u32, mac: Mac) -> Self {
        let (dst, vlan, port, vni) = (None, None, None, None);
        Self { index, table: Table::Own, mac, dst, vlan, port, vni, permanent: true }
    }

    /// A permanent entry of the table of the bridge that the device is a port of.
    pub fn master(index: u32, mac: Mac) -> Self {
        Self { table: Table::Master, ..Self::own(index, mac) }
    }

    /// Where a VXLAN device sends a remote address to.
    pub fn remote(index: u32, mac: Mac, dst: IpAddr) -> Self {
        Self { dst: Some(dst), ..Self::own(index, mac) }
    }

    /// One of the places where a VXLAN device floods to: add it with [`fdb_append`].
    pub fn flood(index: u32, dst: IpAddr) -> Self {
        Self::remote(index, Mac::ZERO, dst)
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let header = payload.get(..HEADER)?;
        if i32::from(header[0]) != libc::AF_BRIDGE {
            return None;
        }
        let mut entry = Self::own(u32_of(&header[4..]), Mac::ZERO);
        if header[10] & NTF_SELF == 0 {
            entry.table = Table::Master;
        }
        let state = u16_of(&header[8..]);
        entry.permanent = state & (libc::NUD_PERMANENT | libc::NUD_NOARP) != 0;
        let mut found = false;
        for (kind, value) in attributes(&payload[HEADER..]) {
            match kind {
                libc::NDA_LLADDR => {
                    entry.mac = mac(value)?;
                    found = true;
                }
                libc::NDA_DST => entry.dst = ip(value),
                libc::NDA_VLAN => entry.vlan = Some(u16_of(value)),
                libc::NDA_PORT => entry.port = Some(u16_be(value)),
                libc::NDA_VNI => entry.vni = Some(u32_of(value)),
                _ => {}
            }
        }
        found.then_some(entry)
    }

    fn message(&self) -> NeighbourMessage {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = self.index;
        message.header.state = if self.permanent { NeighbourState::Permanent } else { NeighbourState::Reachable };
        message.header.flags = NeighbourFlags::from_bits_retain(match self.table {
            Table::Own => NTF_SELF,
            Table::Master => NTF_MASTER,
        });
        message.attributes.push(NeighbourAttribute::LinkLayerAddress(self.mac.0.to_vec()));
        message.attributes.extend(self.dst.map(|ip| NeighbourAttribute::Destination(ip.into())));
        message.attributes.extend(self.vlan.map(NeighbourAttribute::Vlan));
        message.attributes.extend(self.port.map(NeighbourAttribute::Port));
        message.attributes.extend(self.vni.map(NeighbourAttribute::Vni));
        message
    }

    fn text(&self) -> String {
        match self.dst {
            Some(dst) => format!("forwarding entry {} to {dst} on device {}", self.mac, self.index),
            None => format!("forwarding entry {} on device {}", self.mac, self.index),
        }
    }
}

/// The request that adds an entry; `Exists` when the address has one.
pub fn fdb_add(entry: &Fdb) -> Request {
    fdb_request(entry, NLM_F_CREATE | NLM_F_EXCL, "add")
}

/// The request that sets an address's only entry.
pub fn fdb_replace(entry: &Fdb) -> Request {
    fdb_request(entry, NLM_F_CREATE | NLM_F_REPLACE, "set")
}

/// The request that adds one more destination to an address: how a VXLAN device gets several places to flood to.
/// One that is there already is no error.
pub fn fdb_append(entry: &Fdb) -> Request {
    fdb_request(entry, NLM_F_CREATE | NLM_F_APPEND, "append")
}

fn fdb_request(entry: &Fdb, flags: u16, operation: &'static str) -> Request {
    Request::new(RouteNetlinkMessage::NewNeighbour(entry.message()), flags, operation, entry.text())
}

/// The request that deletes an entry: with a destination only that one, else all of the address.
pub fn fdb_delete(entry: &Fdb) -> Request {
    Request::new(RouteNetlinkMessage::DelNeighbour(entry.message()), 0, "delete", entry.text())
}

fn neighbour_message(index: u32, ip: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(ip);
    message.header.ifindex = index;
    message.attributes.push(NeighbourAttribute::Destination(ip.into()));
    message
}

/// The request that makes a permanent neighbour, in place of what is known of the address.
pub fn replace(index: u32, ip: IpAddr, mac: Mac) -> Request {
    let mut message = neighbour_message(index, ip);
    message.header.state = NeighbourState::Permanent;
    message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.0.to_vec()));
    let object = format!("neighbour {ip} on device {index}");
    Request::new(RouteNetlinkMessage::NewNeighbour(message), NLM_F_CREATE | NLM_F_REPLACE, "set", object)
}

/// The request that deletes a neighbour; `NotFound` when there is none.
pub fn delete(index: u32, ip: IpAddr) -> Request {
    let object = format!("neighbour {ip} on device {index}");
    Request::new(RouteNetlinkMessage::DelNeighbour(neighbour_message(index, ip)), 0, "delete", object)
}

impl Handle {
    /// The neighbours of one device, or of all, both families.
    pub fn neighbours(&self, index: Option<u32>) -> Result<Vec<Neighbour>> {
        let mut message = NeighbourMessage::default();
        // A strict kernel takes the device only as an attribute here.
        message.attributes.extend(index.map(NeighbourAttribute::IfIndex));
        let raws = self.dump(RouteNetlinkMessage::GetNeighbour(message), "list", "neighbours")?;
        let all = raws.iter().filter_map(|raw| Neighbour::decode(&raw.payload));
        Ok(all.filter(|entry| index.is_none_or(|index| entry.index == index)).collect())
    }

    /// Makes a permanent neighbour.
    pub fn neighbour_replace(&self, index: u32, ip: IpAddr, mac: Mac) -> Result<()> {
        self.run(replace(index, ip, mac))
    }

    /// Deletes a neighbour; `false` when there was none.
    pub fn neighbour_delete(&self, index: u32, ip: IpAddr) -> Result<bool> {
        self.run(delete(index, ip)).or_missing()
    }

    /// The forwarding entries of one device (both tables), or of all.
    pub fn fdb(&self, index: Option<u32>) -> Result<Vec<Fdb>> {
        let mut message = NeighbourMessage::default();
        message.header.family = AddressFamily::Bridge;
        message.header.ifindex = index.unwrap_or(0);
        let raws = self.dump(RouteNetlinkMessage::GetNeighbour(message), "list", "forwarding entries")?;
        let all = raws.iter().filter_map(|raw| Fdb::decode(&raw.payload));
        Ok(all.filter(|entry| index.is_none_or(|index| entry.index == index)).collect())
    }

    /// Deletes a forwarding entry; `false` when there was none.
    pub fn fdb_delete(&self, entry: &Fdb) -> Result<bool> {
        self.run(fdb_delete(entry)).or_missing()
    }
}
