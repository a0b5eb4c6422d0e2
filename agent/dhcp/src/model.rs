//! What the agent knows of a network: the part of a `get_network_info` reply that DHCP needs, typed and small.
//!
//! Replies and event payloads are read leniently: an unreadable port, subnet or address is dropped with a warning
//! and never takes the rest of the network with it. Identifiers become parts of paths and of lines that dnsmasq reads,
//! so an identifier that is not made of hexadecimal digits and hyphens is refused here, once.
//!
//! Reference: `neutron/api/rpc/handlers/dhcp_rpc.py` (what is sent), `neutron/agent/linux/dhcp.py` (what is read).

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use serde_json::Value;
use types::Mac;

/// Owner of the ports this agent (and its peers) make for themselves.
pub const OWNER_DHCP: &str = "network:dhcp";
/// Device id of a DHCP port whose agent died: the next agent of the network takes it over.
pub const RESERVED_DHCP_PORT: &str = "reserved_dhcp_port";
/// Owner of ports of distributed services; OVN's metadata port is one.
pub const OWNER_DISTRIBUTED: &str = "network:distributed";

/// Owners whose ports need no line in the hosts file and cause no reload
/// (neutron-lib `DHCP_CONFIG_NOT_REQUIRED_OWNERS`).
const OWNERS_WITHOUT_HOST: [&str; 4] =
    ["network:router_ha_interface", "network:floatingip", OWNER_DHCP, OWNER_DISTRIBUTED];

/// Owners of router interfaces (neutron-lib `ROUTER_INTERFACE_OWNERS`).
const ROUTER_OWNERS: [&str; 3] =
    ["network:router_interface", "network:ha_router_replicated_interface", "network:router_interface_distributed"];

/// Identifier of a network, subnet or port: 1 to 36 hexadecimal digits and hyphens.
pub type Id = Arc<str>;

/// Reads an identifier; `None` when it could not safely stand in a path, a device name or a line of a file.
pub fn id(text: &str) -> Option<Id> {
    let fits = (1..=36).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    fits.then(|| Arc::from(text))
}

/// How clients of an IPv6 subnet get their addresses (`ipv6_address_mode`, `ipv6_ra_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum V6Mode {
    /// From router advertisements, without DHCP.
    Slaac,
    /// Addresses from router advertisements, options by DHCPv6.
    Stateless,
    /// Addresses and options by DHCPv6.
    Stateful,
}

impl V6Mode {
    fn parse(text: &str) -> Option<V6Mode> {
        match text {
            "slaac" => Some(V6Mode::Slaac),
            "dhcpv6-stateless" => Some(V6Mode::Stateless),
            "dhcpv6-stateful" => Some(V6Mode::Stateful),
            _ => None,
        }
    }
}

/// A static route handed to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostRoute {
    /// Where to.
    pub destination: IpNet,
    /// Through whom.
    pub nexthop: IpAddr,
}

/// A subnet of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    /// Subnet id.
    pub id: Id,
    /// Address range.
    pub cidr: IpNet,
    /// Whether DHCP serves it.
    pub enable_dhcp: bool,
    /// Default gateway, if it has one.
    pub gateway_ip: Option<IpAddr>,
    /// Routes for clients.
    pub host_routes: Vec<HostRoute>,
    /// Name servers for clients, in the order of preference; `0.0.0.0` or `::` alone means "announce none".
    pub dns_nameservers: Vec<IpAddr>,
    /// IPv6 only.
    pub address_mode: Option<V6Mode>,
    /// IPv6 only.
    pub ra_mode: Option<V6Mode>,
    /// Whether its prefix is delegated from outside (pool `prefix_delegation`).
    pub prefix_delegation: bool,
    /// Segment that it belongs to, on routed networks.
    pub segment_id: Option<Id>,
}

impl Subnet {
    /// Whether it is an IPv4 subnet.
    pub fn is_v4(&self) -> bool {
        self.cidr.addr().is_ipv4()
    }

    fn from_json(value: &Value) -> Option<Subnet> {
        let cidr: IpNet = text(value, "cidr")?.parse().ok()?;
        let same_family = |ip: &IpAddr| ip.is_ipv4() == cidr.addr().is_ipv4();
        let mode = |key| text(value, key).and_then(V6Mode::parse);
        Some(Subnet {
            id: id(text(value, "id")?)?,
            cidr,
            enable_dhcp: value["enable_dhcp"].as_bool().unwrap_or(false),
            gateway_ip: text(value, "gateway_ip").and_then(|ip| ip.parse().ok()).filter(same_family),
            host_routes: items(value, "host_routes", |route| {
                let destination: IpNet = text(route, "destination")?.parse().ok()?;
                let nexthop: IpAddr = text(route, "nexthop")?.parse().ok()?;
                (same_family(&destination.addr()) && same_family(&nexthop))
                    .then_some(HostRoute { destination, nexthop })
            }),
            dns_nameservers: items(value, "dns_nameservers", |server| {
                // The address alone, or a row with the address in it: both have been on the wire.
                let address = server.as_str().or_else(|| text(server, "address"))?;
                address.parse().ok().filter(same_family)
            }),
            address_mode: mode("ipv6_address_mode"),
            ra_mode: mode("ipv6_ra_mode"),
            prefix_delegation: text(value, "subnetpool_id") == Some("prefix_delegation"),
            segment_id: text(value, "segment_id").and_then(id),
        })
    }
}

/// An address of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedIp {
    /// Subnet it was taken from.
    pub subnet_id: Id,
    /// The address.
    pub ip: IpAddr,
}

/// The names that the server gave to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsAssignment {
    /// The address.
    pub ip: IpAddr,
    /// Short name.
    pub hostname: String,
    /// Full name, often with a final dot.
    pub fqdn: String,
}

/// An extra DHCP option of a port, as the tenant wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraOption {
    /// Name or number, perhaps with `tag:…,` in front.
    pub name: String,
    /// Value, may be empty.
    pub value: String,
    /// 4 or 6 (anything else applies to no port).
    pub ip_version: u8,
}

/// A port of the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    /// Port id.
    pub id: Id,
    /// Network it belongs to.
    pub network_id: Id,
    /// Ethernet address.
    pub mac: Mac,
    /// Who made it, for example `compute:nova`; empty when unknown.
    pub device_owner: String,
    /// The device it belongs to.
    pub device_id: String,
    /// Host it is bound to; empty when not bound.
    pub host: String,
    /// Administrative state.
    pub admin_state_up: bool,
    /// Grows with each change on the server; 0 when unknown.
    pub revision: i64,
    /// Addresses in the server's order.
    pub fixed_ips: Vec<FixedIp>,
    /// Names.
    pub dns_assignment: Vec<DnsAssignment>,
    /// Extra DHCP options.
    pub extra_options: Vec<ExtraOption>,
}

impl Port {
    /// Reads a port of a reply or of an event payload.
    pub fn from_json(value: &Value) -> Option<Port> {
        let owned = |key| text(value, key).unwrap_or_default().to_owned();
        Some(Port {
            id: id(text(value, "id")?)?,
            network_id: id(text(value, "network_id")?)?,
            mac: text(value, "mac_address")?.parse().ok()?,
            device_owner: owned("device_owner"),
            device_id: owned("device_id"),
            host: owned("binding:host_id"),
            admin_state_up: value["admin_state_up"].as_bool().unwrap_or(true),
            revision: value["revision_number"].as_i64().unwrap_or(0),
            fixed_ips: fixed_ips(value),
            dns_assignment: items(value, "dns_assignment", |names| {
                Some(DnsAssignment {
                    ip: text(names, "ip_address")?.parse().ok()?,
                    hostname: text(names, "hostname")?.to_owned(),
                    fqdn: text(names, "fqdn")?.to_owned(),
                })
            }),
            extra_options: items(value, "extra_dhcp_opts", |option| {
                let name = &option["opt_name"];
                Some(ExtraOption {
                    name: name.as_str().map(str::to_owned).or_else(|| name.as_u64().map(|n| n.to_string()))?,
                    value: text(option, "opt_value").unwrap_or_default().to_owned(),
                    ip_version: option["ip_version"].as_u64().map_or(4, |v| u8::try_from(v).unwrap_or(0)),
                })
            }),
        })
    }

    /// Whether clients may ask for its addresses by DHCP, or names be asked for it.
    pub fn needs_host(&self) -> bool {
        !OWNERS_WITHOUT_HOST.contains(&self.device_owner.as_str())
    }

    /// Whether it is a router's interface on the network.
    pub fn is_router_interface(&self) -> bool {
        ROUTER_OWNERS.contains(&self.device_owner.as_str())
    }

    /// Addresses of the port.
    pub fn addresses(&self) -> impl Iterator<Item = IpAddr> + '_ {
        self.fixed_ips.iter().map(|fixed| fixed.ip)
    }
}

/// A network with all that DHCP for it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Network id.
    pub id: Id,
    /// Project that owns it; new DHCP ports belong to the same.
    pub project_id: String,
    /// Administrative state; DHCP stops when down.
    pub admin_state_up: bool,
    /// MTU in octets; 0 when unknown.
    pub mtu: u32,
    /// Subnets that this host serves, by id.
    pub subnets: Vec<Subnet>,
    /// Subnets of other segments, whose clients come through relays.
    pub non_local_subnets: Vec<Subnet>,
    /// Ports by id: files come out in one order whatever order the server sends.
    pub ports: BTreeMap<Id, Port>,
}

impl Network {
    /// Reads one network of a `get_network_info` or `get_active_networks_info` reply.
    /// `None` when there is no usable id.
    pub fn from_json(value: &Value) -> Option<Network> {
        let network_id = id(text(value, "id")?)?;
        let subnets = |key| {
            let mut subnets = items(value, key, Subnet::from_json);
            subnets.sort_by(|a, b| a.id.cmp(&b.id));
            subnets
        };
        let ports = items(value, "ports", Port::from_json);
        let (local, far) = on_one_segment(value, subnets("subnets"), subnets("non_local_subnets"));
        Some(Network {
            project_id: text(value, "project_id").or_else(|| text(value, "tenant_id")).unwrap_or_default().to_owned(),
            admin_state_up: value["admin_state_up"].as_bool().unwrap_or(true),
            mtu: value["mtu"].as_u64().and_then(|mtu| u32::try_from(mtu).ok()).unwrap_or(0),
            subnets: local,
            non_local_subnets: far,
            ports: ports.into_iter().map(|port| (port.id.clone(), port)).collect(),
            id: network_id,
        })
    }

    /// Local subnets, then those of other segments.
    pub fn all_subnets(&self) -> impl Iterator<Item = &Subnet> {
        self.subnets.iter().chain(&self.non_local_subnets)
    }

    /// Whether DHCP has anything to serve here.
    pub fn wants_dhcp(&self) -> bool {
        self.admin_state_up && self.subnets.iter().any(|subnet| subnet.enable_dhcp)
    }

    /// Whether no router of ours has the gateway address of the subnet.
    pub fn is_isolated(&self, subnet: &Subnet) -> bool {
        !self.ports.values().filter(|port| port.is_router_interface()).any(|port| {
            port.fixed_ips.iter().any(|fixed| fixed.subnet_id == subnet.id && Some(fixed.ip) == subnet.gateway_ip)
        })
    }

    /// The address of OVN's metadata port on the subnet, when that port exists.
    pub fn ovn_metadata_ip(&self, subnet: &Subnet) -> Option<IpAddr> {
        let device_id = format!("ovnmeta-{}", self.id);
        self.ports
            .values()
            .find(|port| port.device_owner == OWNER_DISTRIBUTED && port.device_id == device_id)?
            .fixed_ips
            .iter()
            .find(|fixed| fixed.subnet_id == subnet.id)
            .map(|fixed| fixed.ip)
    }
}

/// Subnets to serve, and those of other segments. The agent has one port on a network, and that is on one segment; of several segments
/// that the host reaches, it is on the first of the network that has DHCP, so that later segments do not take it away.
fn on_one_segment(value: &Value, local: Vec<Subnet>, mut far: Vec<Subnet>) -> (Vec<Subnet>, Vec<Subnet>) {
    let order: Vec<&str> =
        value["segments"].as_array().into_iter().flatten().filter_map(|segment| text(segment, "id")).collect();
    let place = |id: &Id| (order.iter().position(|other| **other == **id).unwrap_or(order.len()), id.clone());
    let served = local.iter().filter(|subnet| subnet.enable_dhcp);
    let Some(first) = served.filter_map(|subnet| subnet.segment_id.clone()).min_by_key(place) else {
        return (local, far);
    };
    let (here, others): (Vec<Subnet>, Vec<Subnet>) =
        local.into_iter().partition(|subnet| subnet.segment_id.as_ref() == Some(&first));
    if let Some(other) = others.iter().find(|subnet| subnet.enable_dhcp) {
        tracing::warn!(subnet.id = %other.id, segment.id = %first, "This host reaches several segments of a network; DHCP is on one of them");
    }
    far.extend(others);
    far.sort_by(|a, b| a.id.cmp(&b.id));
    (here, far)
}

/// Reads `fixed_ips` of a port or of a delete event.
pub fn fixed_ips(value: &Value) -> Vec<FixedIp> {
    items(value, "fixed_ips", |fixed| {
        Some(FixedIp { subnet_id: id(text(fixed, "subnet_id")?)?, ip: text(fixed, "ip_address")?.parse().ok()? })
    })
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The readable items of a list; the others are dropped with a warning.
fn items<T>(value: &Value, key: &str, read: impl Fn(&Value) -> Option<T>) -> Vec<T> {
    let Some(list) = value.get(key).and_then(Value::as_array) else { return Vec::new() };
    list.iter()
        .filter_map(|item| {
            let read = read(item);
            if read.is_none() {
                tracing::warn!(%key, %item, "Dropped an entry that could not be read");
            }
            read
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_several_segments_the_first_is_served() {
        let id = |n: u32| format!("{n:08}-0000-4000-8000-000000000000");
        let subnet = |n: u32, segment: u32, dhcp: bool| {
            json!({"id": id(n), "network_id": id(99), "segment_id": id(segment), "cidr": format!("10.0.{n}.0/24"), "ip_version": 4,
                   "enable_dhcp": dhcp, "gateway_ip": null})
        };
        let segments: Vec<Value> = [13, 11, 12].iter().map(|n| json!({"id": id(*n)})).collect();
        let info = |subnets: Vec<Value>| json!({"id": id(99), "subnets": subnets, "non_local_subnets": [subnet(1, 14, true)], "segments": segments});
        let read = |subnets: Vec<Value>| {
            let network = Network::from_json(&info(subnets)).unwrap();
            let ids = |list: &[Subnet]| list.iter().map(|subnet| subnet.id.to_string()).collect::<Vec<_>>();
            (ids(&network.subnets), ids(&network.non_local_subnets))
        };
        let both = vec![subnet(2, 11, true), subnet(3, 12, true), subnet(4, 11, true)];
        assert_eq!(read(both), (vec![id(2), id(4)], vec![id(1), id(3)]));
        // One without DHCP does not take it away.
        assert_eq!(read(vec![subnet(2, 13, false), subnet(3, 12, true)]), (vec![id(3)], vec![id(1), id(2)]));
        assert_eq!(read(vec![subnet(3, 12, true)]), (vec![id(3)], vec![id(1)]));
    }
}
