//! `leases`: dnsmasq's own file, which the agent seeds before a start and reads to find leases to release.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::net::IpAddr;

use types::Mac;

use crate::model::{Network, V6Mode};

/// One lease of the file. For IPv4 `mac` is set, for IPv6 `iaid`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Leased address.
    pub ip: IpAddr,
    /// Ethernet address of the client (IPv4).
    pub mac: Option<Mac>,
    /// Identity association (IPv6), decimal; with a `T` in front for temporary addresses.
    pub iaid: Option<String>,
    /// Client id (IPv4) or client DUID (IPv6), octets in hexadecimal with colons; `None` for `*`.
    pub client_id: Option<String>,
}

/// A leases file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leases {
    /// The server's DUID (IPv6).
    pub server_id: Option<String>,
    /// Leases by address.
    pub leases: BTreeMap<IpAddr, Lease>,
}

impl Leases {
    /// Reads the file; lines that are no lease are passed over.
    pub fn parse(text: &str) -> Leases {
        let mut leases = Leases::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            match fields.as_slice() {
                ["duid", duid] => {
                    leases.server_id.get_or_insert_with(|| (*duid).to_owned());
                }
                [_expiry, whose, ip, _name, client] => {
                    let Ok(ip) = ip.trim_matches(['[', ']']).parse::<IpAddr>() else { continue };
                    // An ARP type other than Ethernet's may stand in front: `06-aa:bb:…`.
                    let mac = ip.is_ipv4().then(|| whose.rsplit_once('-').map_or(*whose, |(_, mac)| mac).parse().ok());
                    leases.leases.insert(
                        ip,
                        Lease {
                            ip,
                            mac: mac.flatten(),
                            iaid: ip.is_ipv6().then(|| (*whose).to_owned()),
                            client_id: (*client != "*").then(|| (*client).to_owned()),
                        },
                    );
                }
                _ => {}
            }
        }
        leases
    }
}

/// The file that a dnsmasq starts with. Every IPv4 address that a port may lease is in it, without end: dnsmasq would
/// refuse to renew a lease it has not heard of, after a move from another host or a restart. IPv6 leases cannot be made
/// up (the client's IAID is unknown), so those in the `existing` file stay while their port does.
pub fn initial_leases(network: &Network, existing: &str) -> String {
    let mut out = String::new();
    for line in existing.lines().filter(|line| line.starts_with("duid ")).take(1) {
        out.push_str(line);
        out.push('\n');
    }
    let mut kept: BTreeMap<IpAddr, &str> = BTreeMap::new();
    for line in existing.lines() {
        if let [_, _, ip, _, _] = line.split(' ').collect::<Vec<_>>().as_slice()
            && let Ok(ip @ IpAddr::V6(_)) = ip.parse()
        {
            kept.insert(ip, line);
        }
    }
    let served: HashSet<_> = network
        .all_subnets()
        .filter(|subnet| subnet.enable_dhcp)
        .filter(|subnet| !matches!(subnet.address_mode, Some(V6Mode::Slaac | V6Mode::Stateless)))
        .map(|subnet| &subnet.id)
        .collect();
    for port in network.ports.values().filter(|port| port.needs_host()) {
        for fixed in port.fixed_ips.iter().filter(|fixed| served.contains(&fixed.subnet_id)) {
            match (fixed.ip, kept.get(&fixed.ip)) {
                (IpAddr::V4(ip), _) => {
                    // Writing to a String cannot fail.
                    let _ = writeln!(out, "0 {} {ip} * *", port.mac);
                }
                (IpAddr::V6(_), Some(line)) => {
                    out.push_str(line);
                    out.push('\n');
                }
                (IpAddr::V6(_), None) => {}
            }
        }
    }
    out
}
