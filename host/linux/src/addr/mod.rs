//! IP addresses of devices.

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope},
};
use nix::libc;
use types::IpNet;

use crate::{
    error::{Idempotent, Result},
    netlink::{
        Handle, Request,
        wire::{attributes, ip, text, u32_of},
    },
};

const HEADER: usize = 8;

/// An address of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Index of the device.
    pub index: u32,
    /// The address with the length of its prefix (host bits kept).
    pub net: IpNet,
    /// Where it is valid.
    pub scope: Scope,
    /// IPv4 label, mostly the device's name; empty for IPv6.
    pub label: String,
    /// `IFA_F_*` flags.
    pub flags: u32,
}

/// Where an address is valid, or how far a route's destination is (`RT_SCOPE_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Everywhere.
    #[default]
    Global,
    /// On the site (IPv6, deprecated).
    Site,
    /// On the link.
    Link,
    /// On the host.
    Host,
    /// Another number.
    Other(u8),
}

impl Scope {
    pub(crate) fn from_kernel(value: u8) -> Self {
        match value {
            0 => Self::Global,
            200 => Self::Site,
            253 => Self::Link,
            254 => Self::Host,
            other => Self::Other(other),
        }
    }

    pub(crate) fn to_kernel(self) -> u8 {
        match self {
            Self::Global => 0,
            Self::Site => 200,
            Self::Link => 253,
            Self::Host => 254,
            Self::Other(other) => other,
        }
    }
}

impl Address {
    /// Whether duplicate address detection still runs (IPv6): no packet is sent from it yet.
    pub fn tentative(&self) -> bool {
        self.flags & AddressFlags::Tentative.bits() != 0 && !self.dad_failed()
    }

    /// Whether somebody else on the link has it (IPv6).
    pub fn dad_failed(&self) -> bool {
        self.flags & AddressFlags::Dadfailed.bits() != 0
    }

    /// Whether it was set by hand; else it came from a router's announcement and may expire.
    pub fn permanent(&self) -> bool {
        self.flags & AddressFlags::Permanent.bits() != 0
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let header = payload.get(..HEADER)?;
        let (mut local, mut address) = (None, None);
        let mut found = (String::new(), u32::from(header[2]));
        for (kind, value) in attributes(&payload[HEADER..]) {
            match kind {
                libc::IFA_LOCAL => local = ip(value),
                libc::IFA_ADDRESS => address = ip(value),
                libc::IFA_LABEL => found.0 = text(value),
                libc::IFA_FLAGS => found.1 = u32_of(value),
                _ => {}
            }
        }
        // On a point-to-point device IFA_ADDRESS is the other end.
        let net = IpNet::new(local.or(address)?, header[1]).ok()?;
        let scope = Scope::from_kernel(header[3]);
        Some(Self { index: u32_of(&header[4..]), net, scope, label: found.0, flags: found.1 })
    }
}

/// How an address is added beyond the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddOptions {
    /// Usable at once, without asking the link whether it is taken (IPv6).
    pub no_dad: bool,
    /// No route to its prefix.
    pub no_prefix_route: bool,
    /// Where it is valid.
    pub scope: Scope,
}

/// The request that adds an address (IPv4 with its broadcast address); `Exists` when the device has it.
pub fn add(index: u32, net: IpNet, options: AddOptions) -> Request {
    let mut message = message(index, net);
    message.header.scope = AddressScope::from(options.scope.to_kernel());
    if let IpNet::V4(v4) = net
        && v4.prefix_len() < 31
        && !v4.addr().is_loopback()
    {
        message.attributes.push(AddressAttribute::Broadcast(v4.broadcast()));
    }
    let mut flags = AddressFlags::empty();
    flags.set(AddressFlags::Nodad, options.no_dad && net.addr().is_ipv6());
    flags.set(AddressFlags::Noprefixroute, options.no_prefix_route);
    if !flags.is_empty() {
        message.attributes.push(AddressAttribute::Flags(flags));
    }
    let object = format!("{net} to device {index}");
    Request::new(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL, "add address", object)
}

/// As [`add`], but an existing one is changed to these options.
pub fn replace(index: u32, net: IpNet, options: AddOptions) -> Request {
    let mut request = add(index, net, options);
    request.set_flags(NLM_F_CREATE | NLM_F_REPLACE);
    request
}

/// The request that removes an address; `NotFound` when the device does not have it.
pub fn delete(index: u32, net: IpNet) -> Request {
    let object = format!("{net} from device {index}");
    Request::new(RouteNetlinkMessage::DelAddress(message(index, net)), 0, "remove address", object)
}

fn message(index: u32, net: IpNet) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(net.addr());
    message.header.index = index;
    message.header.prefix_len = net.prefix_len();
    message.attributes = vec![AddressAttribute::Local(net.addr()), AddressAttribute::Address(net.addr())];
    message
}

pub(crate) fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

impl Handle {
    /// The addresses of one device, or of all with `None`, both families; `NotFound` when there is no such device.
    pub fn addresses(&self, index: Option<u32>) -> Result<Vec<Address>> {
        let mut message = AddressMessage::default();
        message.header.index = index.unwrap_or(0);
        let object = index.map_or("all devices".to_owned(), |index| format!("device {index}"));
        let raws = self.dump(RouteNetlinkMessage::GetAddress(message), "list addresses of", &object)?;
        let all = raws.iter().filter_map(|raw| Address::decode(&raw.payload));
        // Kernels before 5.0 do not filter.
        Ok(all.filter(|address| index.is_none_or(|index| address.index == index)).collect())
    }

    /// Adds an address; `false` when the device has it already.
    pub fn address_add(&self, index: u32, net: IpNet) -> Result<bool> {
        self.run(add(index, net, AddOptions::default())).or_exists()
    }

    /// Removes an address; `false` when the device did not have it.
    pub fn address_delete(&self, index: u32, net: IpNet) -> Result<bool> {
        self.run(delete(index, net)).or_missing()
    }
}
