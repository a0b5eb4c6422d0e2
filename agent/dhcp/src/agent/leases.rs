//! Which leases have no owner any more.
//!
//! Reference: `_release_unused_leases` in `neutron/agent/linux/dhcp.py`.

use std::collections::HashMap;
use std::net::IpAddr;

use types::Mac;

use crate::files::{Leases, client_id};
use crate::host::{Release, octets};
use crate::model::{Network, Port};

/// Leases to give back: of addresses that no port has, that went to a port with another MAC, or that were taken with
/// another client id than the one now set on the port. `old_hosts` is the hosts file that dnsmasq goes by so far; it
/// tells whom an IPv6 lease was for.
///
/// A guest that sends a client id although its port sets none is right to do so and keeps its lease.
pub fn stale(leases: &Leases, old_hosts: &str, network: &Network) -> Vec<Release> {
    if leases.leases.is_empty() {
        return Vec::new();
    }
    let owners: HashMap<IpAddr, &Port> =
        network.ports.values().flat_map(|port| port.addresses().map(move |ip| (ip, port))).collect();
    let old: HashMap<IpAddr, Mac> =
        if leases.leases.keys().any(IpAddr::is_ipv6) { host_macs(old_hosts) } else { HashMap::new() };
    let server = leases.server_id.as_deref().and_then(octets);
    let stale = leases.leases.values().filter_map(|lease| {
        let owner = owners.get(&lease.ip);
        let client = lease.client_id.as_deref().and_then(octets);
        match lease.ip {
            IpAddr::V4(ip) => {
                let mac = lease.mac?;
                let wanted = owner.and_then(|port| client_id(port)).map(client_octets);
                let kept = owner.is_some_and(|port| port.mac == mac)
                    && (wanted.is_none() || client.is_none() || wanted == client);
                (!kept).then_some(Release::V4 { ip, mac, client_id: client })
            }
            IpAddr::V6(ip) => {
                let kept = owner.is_some_and(|port| old.get(&lease.ip).is_none_or(|mac| *mac == port.mac));
                let iaid = lease.iaid.as_deref()?.trim_start_matches('T').parse().ok()?;
                (!kept).then_some(Release::V6 { ip, client: client?, server: server.clone()?, iaid })
            }
        }
    });
    stale.collect()
}

/// MAC by address, from a hosts file.
fn host_macs(hosts: &str) -> HashMap<IpAddr, Mac> {
    let lines = hosts.lines().filter_map(|line| Some((line.split_once(',')?.0.parse::<Mac>().ok()?, line)));
    lines
        .flat_map(|(mac, line)| {
            let fields = line.split(',').skip(1);
            fields.filter_map(move |field| Some((field.trim_matches(['[', ']']).parse().ok()?, mac)))
        })
        .collect()
}

/// The octets that dnsmasq takes `id:<text>` for: hexadecimal with colons, or the text itself.
fn client_octets(text: &str) -> Vec<u8> {
    match octets(text) {
        Some(octets) if text.contains(':') => octets,
        _ => text.as_bytes().to_vec(),
    }
}
