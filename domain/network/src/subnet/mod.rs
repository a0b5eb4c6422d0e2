//! Subnets: a prefix on a network with gateway, pools, and what DHCP and router advertisements say.
//!
//! No two subnets of a network overlap, also when they are made at once (`place`); the prefix is given, or taken from a subnet
//! pool ([`crate::subnetpool`]). Their addresses are kept by [`crate::ipam`].
//!
//! Reproduces the subnets of neutron/db/db_base_plugin_v2.py and neutron/db/ipam_backend_mixin.py.

mod behaviour;
mod check;
mod delete;
mod faults;
mod load;
mod place;
mod ports;
mod segment;

pub use behaviour::Subnets;
pub use load::{NETWORK_PROJECT, NETWORK_SHARED};

use schema::{Attr, Default, Extension, Fault, Field, Key, Kind, Resource, Value, Verbs};

use types::cidr;

use crate::network::extension;
use crate::standard::{CREATED, DESCRIPTION, ID, NAME, PROJECT, REVISION, UPDATED};

pub const NETWORK_ID: Key<&str> = Key::new("network_id");
pub const IP_VERSION: Key<i64> = Key::new("ip_version");
pub const CIDR: Key<&str> = Key::new("cidr");
pub const GATEWAY_IP: Key<std::net::IpAddr> = Key::new("gateway_ip");
pub const ENABLE_DHCP: Key<bool> = Key::new("enable_dhcp");
pub const RA_MODE: Key<&str> = Key::new("ipv6_ra_mode");
pub const ADDRESS_MODE: Key<&str> = Key::new("ipv6_address_mode");
pub const SUBNETPOOL_ID: Key<&str> = Key::new("subnetpool_id");
pub const SEGMENT_ID: Key<&str> = Key::new("segment_id");
pub const ALLOCATION_POOLS: Key<&[Value]> = Key::new("allocation_pools");
pub const DNS_NAMESERVERS: Key<&[Value]> = Key::new("dns_nameservers");
pub const HOST_ROUTES: Key<&[Value]> = Key::new("host_routes");
pub const SERVICE_TYPES: Key<&[Value]> = Key::new("service_types");
pub const PREFIXLEN: Key<i64> = Key::new("prefixlen");
pub const USE_DEFAULT_SUBNETPOOL: Key<bool> = Key::new("use_default_subnetpool");

const POOL: &[Field] = &[Field::new("start", Kind::Ip).required(), Field::new("end", Kind::Ip).required()];
const ROUTE: &[Field] =
    &[Field::new("destination", Kind::Custom(destination)).required(), Field::new("nexthop", Kind::Ip).required()];
const MODES: Kind = Kind::OneOf(&["slaac", "dhcpv6-stateful", "dhcpv6-stateless"]);

/// Versions of IP.
pub(crate) const IP_VERSIONS: Kind = Kind::OneOfInts(&[4, 6]);

/// A prefix; a bare address is that of one host.
fn prefix(value: Value) -> Result<Value, Fault> {
    let net = value.as_str().and_then(cidr::parse);
    net.map(|net| Value::from(net.to_string()))
        .ok_or_else(|| faults::invalid(format!("{value} is not in a CIDR format")))
}

/// Ranges of addresses.
fn pools(value: Value) -> Result<Value, Fault> {
    if !value.as_array().is_some_and(|pools| pools.iter().all(Value::is_object)) {
        return Err(faults::invalid(
            "Invalid data format for allocation pools; send a list of objects with start and end",
        ));
    }
    let list = Kind::List { of: &Kind::Object(POOL), unique: false };
    list.convert(value).map_err(|why| Fault::bad_request(format!("Invalid input for allocation_pools. Reason: {why}.")))
}

/// The destination of a route: a prefix without host bits.
fn destination(value: Value) -> Result<Value, String> {
    match value.as_str() {
        Some(text) if cidr::is_exact(text) => Kind::Cidr.convert(value),
        _ => Err(format!("{value} is not a prefix, or has host bits set")),
    }
}

fn subnetpool_id(value: Value) -> Result<Value, String> {
    match value.as_str() {
        Some(crate::ipam::PREFIX_DELEGATION) => Ok(value),
        _ => Kind::Uuid.convert(value),
    }
}

/// A list of device owners, each once.
fn service_types(value: Value) -> Result<Value, Fault> {
    let items = match value {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        _ => return Err(Fault::bad_request("Invalid input for service_types. Reason: it must be a list.")),
    };
    for (index, item) in items.iter().enumerate() {
        if items[..index].contains(item) {
            return Err(faults::service_type_doubled(item));
        }
        check::service_type(item)?;
    }
    Ok(Value::Array(items))
}

pub static SUBNET: Resource = Resource {
    name: "subnet",
    plural: "subnets",
    path: "subnets",
    table: "subnets",
    key: "id",
    shared: Some("subnets"),
    not_found: "SubnetNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("subnet"),
    extension: None,
    attrs: &[
        ID,
        NAME,
        PROJECT,
        Attr::new("network_id", Kind::Uuid).required(),
        Attr::new("ip_version", IP_VERSIONS).required(),
        Attr::new("subnetpool_id", Kind::Custom(subnetpool_id)).nullable().post(),
        Attr::new("enable_dhcp", Kind::Bool).post().put().default(Default::Bool(true)),
        Attr::new("ipv6_ra_mode", MODES).nullable().post(),
        Attr::new("ipv6_address_mode", MODES).nullable().post(),
        Attr::new("gateway_ip", Kind::Ip).nullable().post().put(),
        Attr::new("cidr", Kind::Judged(prefix)).nullable().post(),
        Attr::new("allocation_pools", Kind::Judged(pools)).nullable().post().put().no_filter().child(
            "ipallocationpools",
            "subnet_id",
            &[("start", "first_ip"), ("end", "last_ip")],
            "",
            false,
        ),
        Attr::new("host_routes", Kind::List { of: &Kind::Object(ROUTE), unique: true })
            .nullable()
            .post()
            .put()
            .no_filter()
            .child(
                "subnetroutes",
                "subnet_id",
                &[("destination", "destination"), ("nexthop", "nexthop")],
                "destination, nexthop",
                true,
            ),
        Attr::new("dns_nameservers", Kind::List { of: &Kind::Ip, unique: true })
            .nullable()
            .post()
            .put()
            .no_filter()
            .child("dnsnameservers", "subnet_id", &[("", "address")], "\"order\"", false),
        DESCRIPTION,
        Attr::new("router:external", Kind::Bool).computed(),
        Attr::new("service_types", Kind::Judged(service_types)).nullable().post().put().no_filter().child(
            "subnet_service_types",
            "subnet_id",
            &[("", "service_type")],
            "service_type",
            true,
        ),
        Attr::new("dns_publish_fixed_ip", Kind::Bool)
            .post()
            .put()
            .default(Default::Bool(false))
            .side_written("subnet_dns_publish_fixed_ips", "subnet_id", "dns_publish_fixed_ip", Default::Bool(false))
            .no_filter()
            .no_sort(),
        Attr::new("segment_id", Kind::Uuid).nullable().post().put().default(Default::Null).enforce_get(),
        Attr::new("shared", Kind::Bool).computed().hidden(),
        Attr::new(NETWORK_PROJECT, Kind::Text { max: 255 }).computed().hidden().no_filter(),
        Attr::new(NETWORK_SHARED, Kind::Bool).computed().hidden().no_filter(),
        Attr::new("prefixlen", Kind::Int { min: 0, max: i64::MAX }).post().computed().hidden().no_filter(),
        Attr::new("use_default_subnetpool", Kind::Bool)
            .post()
            .default(Default::Bool(false))
            .computed()
            .hidden()
            .no_filter(),
        // The reference counts from 0 here.
        REVISION.default(Default::Int(0)),
        CREATED,
        UPDATED,
    ],
};

extension!(
    SUBNET_ALLOCATION,
    "subnet_allocation",
    "Subnet Allocation",
    "Prefixes of subnets may come from subnet pools",
    "2015-03-30T10:00:00-00:00"
);
extension!(
    DEFAULT_SUBNETPOOLS,
    "default-subnetpools",
    "Default Subnetpools",
    "A subnet pool for those who name none",
    "2016-02-18T18:00:00-00:00"
);
extension!(
    SERVICE_TYPES_EXT,
    "subnet-service-types",
    "Subnet service types",
    "Subnets that are kept for ports of some device owners",
    "2016-03-15T18:00:00-00:00"
);
extension!(
    DNS_PUBLISH,
    "subnet-dns-publish-fixed-ip",
    "Subnet DNS publish fixed IP",
    "Whether fixed IPs of a subnet are published in an external DNS",
    "2019-05-24T10:00:00-00:00"
);
extension!(
    EXTERNAL,
    "subnet-external-network",
    "Subnet belongs to an external network",
    "Subnets say whether their network is external",
    "2024-02-05T18:00:00-00:00"
);
extension!(
    SEGMENT_WRITABLE,
    "subnet-segmentid-writable",
    "Subnet SegmentID (writable)",
    "The segment of a subnet may be set later",
    "2018-03-12T00:00:00-00:00"
);

/// Announced with the resource.
pub static EXTENSIONS: &[&Extension] =
    &[&SUBNET_ALLOCATION, &DEFAULT_SUBNETPOOLS, &SERVICE_TYPES_EXT, &DNS_PUBLISH, &EXTERNAL, &SEGMENT_WRITABLE];

#[cfg(test)]
mod tests;
