//! Networks, subnets and ports as JSON in RPC: the dictionaries that the server's plugin makes for them, the same as in the
//! REST API but with every attribute.
//!
//! Attributes that agents read are fields. All others are kept in `extra`, so that nothing is lost on the way and a newer
//! server may send more. Identifiers are text, since a device may be named by anything.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use types::{IpNet, Mac};

/// Attributes that no field holds.
pub type Extra = Map<String, Value>;

/// An address of a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FixedIp {
    pub subnet_id: String,
    pub ip_address: IpAddr,
}

/// An address asked for: any of the subnet, or a given one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedIpRequest {
    pub subnet_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip_address: Option<IpAddr>,
}

/// A DHCP option of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtraDhcpOpt {
    /// Name or number as dnsmasq takes it, e.g. `bootfile-name` or `150`.
    pub opt_name: String,
    pub opt_value: Option<String>,
    /// 4 or 6.
    #[serde(default = "four")]
    pub ip_version: u8,
}

fn four() -> u8 {
    4
}

/// The name under which an address of a port is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DnsAssignment {
    pub ip_address: IpAddr,
    pub hostname: String,
    /// With the final dot.
    pub fqdn: String,
}

/// Further addresses that a port may send from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressPair {
    pub mac_address: Mac,
    /// An address or a prefix, as the user wrote it.
    pub ip_address: String,
}

/// A port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortView {
    pub id: String,
    #[serde(default)]
    pub name: String,
    pub network_id: String,
    #[serde(default)]
    pub project_id: String,
    pub mac_address: Mac,
    #[serde(default = "yes")]
    pub admin_state_up: bool,
    #[serde(default)]
    pub status: String,
    #[serde(default)]
    pub device_id: String,
    #[serde(default)]
    pub device_owner: String,
    #[serde(default)]
    pub fixed_ips: Vec<FixedIp>,
    #[serde(default)]
    pub extra_dhcp_opts: Vec<ExtraDhcpOpt>,
    #[serde(default)]
    pub allowed_address_pairs: Vec<AddressPair>,
    #[serde(default)]
    pub security_groups: Vec<String>,
    #[serde(rename = "binding:host_id", default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
    #[serde(rename = "binding:vif_type", default, skip_serializing_if = "Option::is_none")]
    pub vif_type: Option<String>,
    #[serde(rename = "binding:vnic_type", default, skip_serializing_if = "Option::is_none")]
    pub vnic_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_security_enabled: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_name: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_assignment: Vec<DnsAssignment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_domain: Option<String>,
    /// Grows with every change; a message with a smaller one than known is stale.
    #[serde(default)]
    pub revision_number: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

fn yes() -> bool {
    true
}

/// A range of addresses, both ends included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolView {
    pub start: IpAddr,
    pub end: IpAddr,
}

/// A route that hosts of the subnet are told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteView {
    pub destination: IpNet,
    pub nexthop: IpAddr,
}

/// A subnet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubnetView {
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub project_id: String,
    pub network_id: String,
    /// 4 or 6.
    pub ip_version: u8,
    pub cidr: IpNet,
    pub gateway_ip: Option<IpAddr>,
    #[serde(default = "yes")]
    pub enable_dhcp: bool,
    /// `slaac`, `dhcpv6-stateful`, `dhcpv6-stateless`, or none.
    pub ipv6_ra_mode: Option<String>,
    pub ipv6_address_mode: Option<String>,
    #[serde(default)]
    pub allocation_pools: Vec<PoolView>,
    #[serde(default)]
    pub host_routes: Vec<RouteView>,
    #[serde(default)]
    pub dns_nameservers: Vec<IpAddr>,
    #[serde(default)]
    pub subnetpool_id: Option<String>,
    #[serde(default)]
    pub segment_id: Option<String>,
    #[serde(default)]
    pub revision_number: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkView {
    pub id: String,
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub project_id: String,
    #[serde(default = "yes")]
    pub admin_state_up: bool,
    #[serde(default)]
    pub status: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Identifiers of its subnets.
    #[serde(default)]
    pub subnets: Vec<String>,
    #[serde(default)]
    pub shared: bool,
    #[serde(rename = "router:external", default, skip_serializing_if = "Option::is_none")]
    pub external: Option<bool>,
    #[serde(rename = "provider:network_type", default, skip_serializing_if = "Option::is_none")]
    pub network_type: Option<String>,
    /// Outer `None`: not told. Inner: has none.
    #[serde(
        rename = "provider:physical_network",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "told"
    )]
    pub physical_network: Option<Option<String>>,
    #[serde(
        rename = "provider:segmentation_id",
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "told"
    )]
    pub segmentation_id: Option<Option<u32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_security_enabled: Option<bool>,
    #[serde(default)]
    pub revision_number: u64,
    #[serde(flatten)]
    pub extra: Extra,
}

/// For fields that may be absent or null, with different meaning: absent stays `None`, null becomes `Some(None)`.
pub(crate) fn told<'de, T: Deserialize<'de>, D: serde::Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}
