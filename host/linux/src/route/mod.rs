//! Routes of the main table (or another one).

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netlink_packet_core::{NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE};
use netlink_packet_route::{
    AddressFamily, RouteNetlinkMessage,
    route::{RouteAttribute, RouteFlags, RouteMessage, RouteProtocol, RouteScope, RouteType},
};
use nix::libc;
use types::IpNet;

use crate::{
    addr::{Scope, family},
    error::{Idempotent, Result},
    netlink::{
        Handle, Request,
        wire::{attributes, ip, u32_of},
    },
};

const HEADER: usize = 12;
/// The table that routes are in unless said otherwise (`RT_TABLE_MAIN`).
pub const MAIN_TABLE: u32 = 254;
/// A scope that, in a deletion, fits every route.
const ANY_SCOPE: u8 = 255;

/// A route, as it is or as it shall be. Start with [`Route::to`] or [`Route::default_via`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Destination; of length 0 for a default route.
    pub net: IpNet,
    /// The next hop; none when the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// Index of the device it leads through.
    pub dev: Option<u32>,
    /// Preference, lower first. Unset: 0 for IPv4, 1024 for IPv6.
    pub metric: Option<u32>,
    /// The source address of packets that start here.
    pub source: Option<IpAddr>,
    /// How far the destination is; `None` chooses link without and global with a gateway, as `ip route` does.
    pub scope: Option<Scope>,
    /// Who made it (`RTPROT_*`).
    pub protocol: Protocol,
    /// The gateway is taken to be on the link although no prefix of the device says so.
    pub onlink: bool,
    /// Routing table.
    pub table: u32,
}

/// Who made a route (`RTPROT_*` of `linux/rtnetlink.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// The kernel, for an address's prefix.
    Kernel,
    /// Somebody at boot, or `ip route` without saying.
    Boot,
    /// The administrator.
    Static,
    /// A router's announcement.
    Ra,
    /// A DHCP client.
    Dhcp,
    /// Another number.
    Other(u8),
}

impl Protocol {
    fn from_kernel(value: u8) -> Self {
        match value {
            2 => Self::Kernel,
            3 => Self::Boot,
            4 => Self::Static,
            9 => Self::Ra,
            16 => Self::Dhcp,
            other => Self::Other(other),
        }
    }

    fn to_kernel(self) -> u8 {
        match self {
            Self::Kernel => 2,
            Self::Boot => 3,
            Self::Static => 4,
            Self::Ra => 9,
            Self::Dhcp => 16,
            Self::Other(other) => other,
        }
    }
}

impl Route {
    /// A route to a prefix, whose host bits are dropped.
    pub fn to(net: IpNet) -> Self {
        Self {
            net: net.trunc(),
            gateway: None,
            dev: None,
            metric: None,
            source: None,
            scope: None,
            protocol: Protocol::Static,
            onlink: false,
            table: MAIN_TABLE,
        }
    }

    /// A default route of the gateway's family.
    pub fn default_via(gateway: IpAddr) -> Self {
        Self::to(default_net(gateway.is_ipv4())).via(gateway)
    }

    /// Its next hop.
    pub fn via(mut self, gateway: IpAddr) -> Self {
        self.gateway = Some(gateway);
        self
    }

    /// The index of its device.
    pub fn dev(mut self, index: u32) -> Self {
        self.dev = Some(index);
        self
    }

    /// Its preference, lower first.
    pub fn metric(mut self, metric: u32) -> Self {
        self.metric = Some(metric);
        self
    }

    /// The source address of packets that start here.
    pub fn source(mut self, address: IpAddr) -> Self {
        self.source = Some(address);
        self
    }

    /// How far its destination is.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Who makes it.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Takes the gateway to be on the link although no prefix of the device says so.
    pub fn onlink(mut self) -> Self {
        self.onlink = true;
        self
    }

    /// Its routing table.
    pub fn table(mut self, table: u32) -> Self {
        self.table = table;
        self
    }

    /// Whether it is a default route.
    pub fn is_default(&self) -> bool {
        self.net.prefix_len() == 0
    }

    fn message(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = family(self.net.addr());
        message.header.destination_prefix_length = self.net.prefix_len();
        message.header.table = u8::try_from(self.table).unwrap_or(0);
        if message.header.table == 0 {
            message.attributes.push(RouteAttribute::Table(self.table));
        }
        if !self.is_default() {
            message.attributes.push(RouteAttribute::Destination(self.net.addr().into()));
        }
        message.attributes.extend(self.gateway.map(|ip| RouteAttribute::Gateway(ip.into())));
        message.attributes.extend(self.dev.map(RouteAttribute::Oif));
        message.attributes.extend(self.metric.map(RouteAttribute::Priority));
        message.attributes.extend(self.source.map(|ip| RouteAttribute::PrefSource(ip.into())));
        if self.onlink {
            message.header.flags |= RouteFlags::Onlink;
        }
        message
    }

    fn new_request(&self, flags: u16, operation: &'static str) -> Request {
        let mut message = self.message();
        let scope = self.scope.unwrap_or(if self.gateway.is_some() || self.net.addr().is_ipv6() {
            Scope::Global
        } else {
            Scope::Link
        });
        message.header.scope = RouteScope::from(scope.to_kernel());
        message.header.protocol = RouteProtocol::from(self.protocol.to_kernel());
        message.header.kind = RouteType::Unicast;
        Request::new(RouteNetlinkMessage::NewRoute(message), flags, operation, self.text())
    }

    fn text(&self) -> String {
        let mut text = if self.is_default() { "default route".to_owned() } else { format!("route to {}", self.net) };
        if let Some(gateway) = self.gateway {
            text += &format!(" via {gateway}");
        }
        if let Some(index) = self.dev {
            text += &format!(" on device {index}");
        }
        text
    }

    pub(crate) fn decode(payload: &[u8]) -> Option<Self> {
        let header = payload.get(..HEADER)?;
        let v4 = match i32::from(header[0]) {
            libc::AF_INET => true,
            libc::AF_INET6 => false,
            _ => return None,
        };
        // Local, broadcast, unreachable… routes are not ways anywhere; cached ones are not configuration.
        let flags = u32_of(&header[8..]);
        if u8::from(RouteType::Unicast) != header[7] || flags & libc::RTM_F_CLONED != 0 {
            return None;
        }
        let mut route = Self::to(default_net(v4));
        route.table = u32::from(header[4]);
        route.protocol = Protocol::from_kernel(header[5]);
        route.scope = Some(Scope::from_kernel(header[6]));
        route.onlink = flags & RouteFlags::Onlink.bits() != 0;
        for (kind, value) in attributes(&payload[HEADER..]) {
            match kind {
                libc::RTA_DST => route.net = IpNet::new(ip(value)?, header[1]).ok()?,
                libc::RTA_GATEWAY => route.gateway = ip(value),
                libc::RTA_OIF => route.dev = Some(u32_of(value)),
                libc::RTA_PRIORITY => route.metric = Some(u32_of(value)),
                libc::RTA_PREFSRC => route.source = ip(value),
                libc::RTA_TABLE => route.table = u32_of(value),
                _ => {}
            }
        }
        Some(route)
    }
}

fn default_net(v4: bool) -> IpNet {
    let any = if v4 { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    IpNet::new(any, 0).expect("0 is a length of every prefix")
}

/// The request that adds a route; `Exists` when there is one to the destination with that metric, `Unreachable` when
/// the gateway is on no prefix of a device.
pub fn add(route: &Route) -> Request {
    route.new_request(NLM_F_CREATE | NLM_F_EXCL, "add")
}

/// The request that adds a route, or changes the one to the same destination with the same metric.
pub fn replace(route: &Route) -> Request {
    route.new_request(NLM_F_CREATE | NLM_F_REPLACE, "set")
}

/// The request that adds a route beside others to the same destination with the same metric.
pub fn append(route: &Route) -> Request {
    route.new_request(NLM_F_CREATE | NLM_F_APPEND, "append")
}

/// The request that deletes the first route that has the destination and whatever else is given of gateway, device
/// and metric; `NotFound` when there is none.
pub fn delete(route: &Route) -> Request {
    let mut message = route.message();
    message.header.scope = RouteScope::from(route.scope.map_or(ANY_SCOPE, Scope::to_kernel));
    Request::new(RouteNetlinkMessage::DelRoute(message), 0, "delete", route.text())
}

impl Handle {
    /// The routes of the main table, through one device or all, both families. Without the local and broadcast
    /// routes that the kernel makes for addresses.
    pub fn routes(&self, index: Option<u32>) -> Result<Vec<Route>> {
        let mut all = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = RouteMessage::default();
            message.header.address_family = family;
            let raws = match self.dump(RouteNetlinkMessage::GetRoute(message), "list", "routes") {
                Ok(raws) => raws,
                // A kernel without IPv6.
                Err(e) if e.kind() == crate::ErrorKind::Unsupported => continue,
                Err(e) => return Err(e),
            };
            all.extend(raws.iter().filter_map(|raw| Route::decode(&raw.payload)));
        }
        all.retain(|route| route.table == MAIN_TABLE && (index.is_none() || route.dev == index));
        Ok(all)
    }

    /// The preferred default route of a family, through one device or all.
    pub fn default_route(&self, v4: bool, index: Option<u32>) -> Result<Option<Route>> {
        let routes = self.routes(index)?.into_iter();
        let defaults = routes.filter(|route| route.is_default() && route.net.addr().is_ipv4() == v4);
        Ok(defaults.min_by_key(|route| route.metric.unwrap_or(0)))
    }

    /// Adds a route or changes the one to the same destination with the same metric.
    pub fn route_replace(&self, route: &Route) -> Result<()> {
        self.run(replace(route))
    }

    /// Deletes a route; `false` when there was none.
    pub fn route_delete(&self, route: &Route) -> Result<bool> {
        self.run(delete(route)).or_missing()
    }
}
