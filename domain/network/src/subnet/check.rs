//! Checks of a subnet that need nothing but the subnet. Pure.

use std::net::IpAddr;

use schema::{Fault, Record, Value};
use types::{IpNet, cidr};

use super::{ADDRESS_MODE, DNS_NAMESERVERS, HOST_ROUTES, RA_MODE, faults};
use crate::ipam;
use crate::settings::Settings;

fn version_of(ip: IpAddr) -> i64 {
    if ip.is_ipv4() { 4 } else { 6 }
}

fn family(version: i64, of: i64, name: &str, text: &str) -> Result<(), Fault> {
    if version == of {
        return Ok(());
    }
    Err(faults::invalid(format!("{name} '{text}' does not match the ip_version '{version}'")))
}

/// The prefix itself. `delegated`: the provisional one of a delegated prefix.
pub fn prefix(net: &IpNet, version: i64, delegated: bool) -> Result<(), Fault> {
    family(version, cidr::version(net), "cidr", &net.to_string())?;
    if net.prefix_len() == 0 {
        return Err(faults::invalid("0 is not allowed as CIDR prefix length"));
    }
    if version == 6 && net.network().is_unspecified() && !delegated {
        return Err(faults::invalid("IPv6 subnet '::' is not supported"));
    }
    Ok(())
}

/// Prefixes that DHCP cannot serve.
pub fn dhcp(net: &IpNet) -> Result<(), Fault> {
    let longest = match net {
        IpNet::V4(_) => 30,
        IpNet::V6(_) => 126,
    };
    if net.prefix_len() > longest {
        let why = format!(
            "the prefix length of {net} is incompatible with DHCP; use at most /{longest}, or set enable_dhcp to false"
        );
        return Err(faults::invalid(why));
    }
    let network = net.network();
    let what = if network.is_multicast() {
        "Multicast"
    } else if network.is_loopback() {
        "Loopback"
    } else if network.is_ipv4() && network.is_unspecified() {
        "First IP '0.0.0.0' of"
    } else {
        return Ok(());
    };
    Err(faults::invalid(format!("{what} IP subnet {net} is not supported if enable_dhcp is True")))
}

/// The gateway may be outside of the prefix (then it is on the link), but not its network or broadcast address.
pub fn gateway(gateway: IpAddr, version: i64, net: Option<&IpNet>) -> Result<(), Fault> {
    family(version, version_of(gateway), "gateway_ip", &gateway.to_string())?;
    match net {
        Some(IpNet::V4(net)) if gateway == net.network() || gateway == net.broadcast() => Err(faults::invalid(
            format!("Gateway {gateway} is not valid on subnet {net}: it is its network or broadcast address"),
        )),
        _ => Ok(()),
    }
}

/// Nameservers and routes: their number and family. `subnet_id` is for messages.
pub fn lists(record: &Record, version: i64, subnet_id: &str, settings: &Settings) -> Result<(), Fault> {
    let nameservers = record.get(DNS_NAMESERVERS).unwrap_or_default();
    if nameservers.len() > settings.max_dns_nameservers {
        return Err(faults::too_many_nameservers(subnet_id, settings.max_dns_nameservers));
    }
    for address in nameservers.iter().filter_map(Value::as_str) {
        if let Ok(ip) = address.parse::<IpAddr>() {
            family(version, version_of(ip), "dns_nameserver", address)?;
        }
    }
    let routes = record.get(HOST_ROUTES).unwrap_or_default();
    if routes.len() > settings.max_subnet_host_routes {
        return Err(faults::too_many_routes(subnet_id, settings.max_subnet_host_routes));
    }
    for route in routes {
        let text = |name: &str| route.get(name).and_then(Value::as_str).unwrap_or_default();
        if let Ok(ip) = text("nexthop").parse::<IpAddr>() {
            family(version, version_of(ip), "nexthop", text("nexthop"))?;
        }
        if let Some(net) = cidr::parse(text("destination")) {
            family(version, cidr::version(&net), "destination", text("destination"))?;
        }
    }
    Ok(())
}

/// IPv6 modes of a new subnet.
pub fn modes(record: &Record, version: i64, enable_dhcp: bool) -> Result<(), Fault> {
    let (ra, address) = (record.get(RA_MODE), record.get(ADDRESS_MODE));
    if version == 4 {
        return match (ra, address) {
            (Some(_), _) => Err(faults::invalid("ipv6_ra_mode is not valid when ip_version is 4")),
            (_, Some(_)) => Err(faults::invalid("ipv6_address_mode is not valid when ip_version is 4")),
            _ => Ok(()),
        };
    }
    if (ra.is_some() || address.is_some()) && !enable_dhcp {
        return Err(faults::invalid(
            "ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False",
        ));
    }
    match (ra, address) {
        (Some(ra), Some(address)) if ra != address => Err(faults::invalid(format!(
            "ipv6_ra_mode set to '{ra}' with ipv6_address_mode set to '{address}' is not valid. If both attributes are set, they \
             must be the same value"
        ))),
        _ => Ok(()),
    }
}

/// Automatic addresses have a 64-bit interface identifier (RFC 4291, appendix A), so the prefix must have the other 64 bits.
pub fn automatic(record: &Record, net: &IpNet) -> Result<(), Fault> {
    if is_automatic(record) && net.prefix_len() != 64 {
        return Err(faults::invalid(format!(
            "Invalid CIDR {net} for IPv6 address mode. EUI-64 addresses require the prefix to be /64"
        )));
    }
    Ok(())
}

pub fn is_automatic(record: &Record) -> bool {
    ipam::is_automatic(record.get(RA_MODE), record.get(ADDRESS_MODE))
}

/// A delegated prefix needs automatic addresses.
pub fn delegation(record: &Record, version: i64) -> Result<(), Fault> {
    if version != 6 {
        return Err(faults::bad("Prefix Delegation can only be used with IPv6 subnets"));
    }
    let automatic = |mode: Option<&str>| matches!(mode, Some("slaac" | "dhcpv6-stateless"));
    if !automatic(record.get(RA_MODE)) {
        return Err(faults::bad("IPv6 RA Mode must be SLAAC or Stateless for Prefix Delegation"));
    }
    if !automatic(record.get(ADDRESS_MODE)) {
        return Err(faults::bad("IPv6 Address Mode must be SLAAC or Stateless for Prefix Delegation"));
    }
    Ok(())
}

/// Service types are device owners. The reference means to ask for `compute:`, but takes everything that begins with one of these
/// letters (validate_subnet_service_types of neutron_lib); what it let in must still go in.
pub fn service_type(item: &Value) -> Result<(), Fault> {
    let Some(text) = item.as_str() else { return Err(faults::service_type_no_text(item)) };
    let is_owner = ["network:", "neutron:"].iter().any(|prefix| text.starts_with(prefix))
        || text.starts_with(['c', 'o', 'm', 'p', 'u', 't', 'e', ':']);
    if !is_owner || text.chars().count() > 255 {
        return Err(faults::service_type_unknown(text));
    }
    Ok(())
}

/// The smallest packets that every link must carry: RFC 791 and RFC 8200, bytes.
pub fn mtu(network_id: &str, mtu: i64, version: i64) -> Result<(), Fault> {
    let minimum = if version == 6 { 1280 } else { 68 };
    if mtu == 0 || mtu >= minimum {
        return Ok(());
    }
    let message = format!(
        "MTU of network {network_id} is {mtu}, less than the {minimum} bytes that IPv{version} needs; raise the network's MTU first."
    );
    Err(Fault::conflict("NetworkMTUSubnetConflict", message))
}
