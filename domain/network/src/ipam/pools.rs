//! Allocation pools of a subnet: derived from its prefix, or given and checked. Pure.

use std::net::IpAddr;

use schema::{Fault, Value};
use serde_json::json;
use types::{IpNet, IpRange, from_number, number};

/// The addresses that pools may hold: without network and broadcast address for IPv4 prefixes up to /30, without the lowest
/// address for IPv6 (but a single address is one to hold).
pub fn bounds(cidr: &IpNet) -> IpRange {
    let (mut first, mut last) = (number(cidr.network()), number(cidr.broadcast()));
    match cidr {
        IpNet::V4(net) if net.prefix_len() <= 30 => {
            first += 1;
            last -= 1;
        }
        IpNet::V6(net) if net.prefix_len() < 128 => first += 1,
        _ => {}
    }
    IpRange { first: from_number(first, cidr.addr()), last: from_number(last, cidr.addr()) }
}

/// All of the prefix but the gateway, ascending.
pub fn derived(cidr: &IpNet, gateway: Option<IpAddr>) -> Vec<IpRange> {
    let all = bounds(cidr);
    let single = cidr.network() == cidr.broadcast();
    let Some(gateway) = gateway.filter(|gateway| all.contains(*gateway) && !single) else { return vec![all] };
    let n = number(gateway);
    let mut pools = Vec::new();
    if all.first < gateway {
        pools.push(IpRange { first: all.first, last: from_number(n - 1, gateway) });
    }
    if gateway < all.last {
        pools.push(IpRange { first: from_number(n + 1, gateway), last: all.last });
    }
    pools
}

/// Reads `allocation_pools` of a request; the objects are well formed.
pub fn read(value: &[Value]) -> Result<Vec<IpRange>, Fault> {
    value
        .iter()
        .map(|pool| {
            let end = |name: &str| pool.get(name).and_then(Value::as_str).and_then(|text| text.parse::<IpAddr>().ok());
            let range = end("start").zip(end("end")).and_then(|(start, end)| IpRange::new(start, end));
            range.ok_or_else(|| {
                let message = format!("The allocation pool {pool} is not valid: start must not be after end.");
                Fault::new(400, "InvalidAllocationPool", message)
            })
        })
        .collect()
}

/// As `allocation_pools` of an answer.
pub fn write(pools: &[IpRange]) -> Value {
    pools.iter().map(|pool| json!({"start": pool.first.to_string(), "end": pool.last.to_string()})).collect()
}

fn shown(pool: &IpRange) -> String {
    format!("{}-{}", pool.first, pool.last)
}

/// Pools must be in the prefix and apart from each other.
pub fn check(pools: &[IpRange], cidr: &IpNet) -> Result<(), Fault> {
    let bounds = bounds(cidr);
    for pool in pools {
        if pool.first.is_ipv4() != bounds.first.is_ipv4() {
            let message = format!("The allocation pool {} is not of the address family of {cidr}.", shown(pool));
            return Err(Fault::new(400, "InvalidAllocationPool", message));
        }
        if pool.first < bounds.first || pool.last > bounds.last {
            let message = format!(
                "The allocation pool {} spans beyond the subnet cidr {cidr}; its addresses are {}.",
                shown(pool),
                shown(&bounds)
            );
            return Err(Fault::new(400, "OutOfBoundsAllocationPool", message));
        }
    }
    let mut sorted = pools.to_vec();
    sorted.sort();
    match sorted.windows(2).find(|pair| pair[0].overlaps(&pair[1])) {
        None => Ok(()),
        Some(pair) => Err(Fault::conflict(
            "OverlappingAllocationPools",
            format!(
                "Found overlapping allocation pools {} and {} for subnet {cidr}.",
                shown(&pair[0]),
                shown(&pair[1])
            ),
        )),
    }
}

/// The gateway must be in none of the pools.
pub fn check_gateway(pools: &[IpRange], gateway: IpAddr) -> Result<(), Fault> {
    match pools.iter().find(|pool| pool.contains(gateway)) {
        None => Ok(()),
        Some(pool) => Err(Fault::conflict(
            "GatewayConflictWithAllocationPools",
            format!("Gateway ip {gateway} conflicts with allocation pool {}; leave it out of the pools.", shown(pool)),
        )),
    }
}
