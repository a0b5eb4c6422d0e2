//! `host` and `addn_hosts`: a line for each address of each port that wants one.

use std::collections::HashMap;
use std::fmt::Write;
use std::net::IpAddr;

use super::client_id;
use crate::model::{FixedIp, Id, Network, Port, Subnet, V6Mode};
use crate::settings::Settings;

/// Only DHCPv6 exchanges match lines with this tag, so that an IPv4 client does not pick an IPv6 line
/// (dnsmasq 2.81 and later).
const V6_TAG: &str = "tag:dhcpv6,";

/// Subnets by id, for the look-ups per address.
pub(super) struct Lookup<'a>(HashMap<&'a str, &'a Subnet>);

impl<'a> Lookup<'a> {
    pub(super) fn new(network: &'a Network) -> Lookup<'a> {
        Lookup(network.all_subnets().map(|subnet| (&*subnet.id, subnet)).collect())
    }

    pub(super) fn get(&self, id: &Id) -> Option<&'a Subnet> {
        self.0.get(&**id).copied()
    }

    fn mode(&self, fixed: &FixedIp) -> Option<V6Mode> {
        self.get(&fixed.subnet_id).filter(|subnet| !subnet.is_v4())?.address_mode
    }
}

/// Names of an address: short, and full.
pub(super) fn names(settings: &Settings, port: &Port, ip: IpAddr) -> (String, String) {
    let given = port.dns_assignment.iter().find(|names| names.ip == ip);
    if let Some(given) = given
        && is_name(&given.hostname)
        && is_name(&given.fqdn)
    {
        return (given.hostname.clone(), given.fqdn.clone());
    }
    let hostname = format!("host-{}", ip.to_string().replace(['.', ':'], "-"));
    let fqdn = match settings.dns_domain.as_str() {
        "" => hostname.clone(),
        domain => format!("{hostname}.{domain}"),
    };
    (hostname, fqdn)
}

/// Whether the text may stand as a name in a line: the server checks names too, but rows may be older than its checks.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
}

/// Addresses of a port in the order dnsmasq needs: those of stateless subnets first. dnsmasq takes the last line of a
/// MAC address first, and a line without an address would make it refuse an IPv4 client.
fn ordered<'a>(port: &'a Port, subnets: &Lookup) -> Vec<&'a FixedIp> {
    let mut fixed: Vec<&FixedIp> = port.fixed_ips.iter().collect();
    fixed.sort_by_key(|fixed| subnets.mode(fixed) != Some(V6Mode::Stateless));
    fixed
}

/// The `host` file.
pub(super) fn host_file(settings: &Settings, network: &Network) -> String {
    let subnets = Lookup::new(network);
    let mut out = String::with_capacity(network.ports.len() * 96);
    for port in network.ports.values().filter(|port| port.needs_host()) {
        let mut stateful: Vec<(&Id, Vec<IpAddr>)> = Vec::new();
        for fixed in ordered(port, &subnets) {
            let mode = subnets.mode(fixed);
            if settings.addr6_list && mode == Some(V6Mode::Stateful) {
                match stateful.iter_mut().find(|(id, _)| **id == fixed.subnet_id) {
                    Some((_, ips)) => ips.push(fixed.ip),
                    None => stateful.push((&fixed.subnet_id, vec![fixed.ip])),
                }
                continue;
            }
            host_line(&mut out, settings, &subnets, port, &fixed.subnet_id, &[fixed.ip]);
        }
        for (subnet_id, ips) in stateful {
            host_line(&mut out, settings, &subnets, port, subnet_id, &ips);
        }
    }
    out
}

fn host_line(out: &mut String, settings: &Settings, subnets: &Lookup, port: &Port, subnet_id: &Id, ips: &[IpAddr]) {
    // An address of a subnet that is not served (or not known here) gets no line.
    let Some(subnet) = subnets.get(subnet_id).filter(|subnet| subnet.enable_dhcp) else { return };
    let Some(&first) = ips.first() else { return };
    let (id, mac) = (&port.id, port.mac);
    let tag = if subnet.is_v4() { "" } else { V6_TAG };
    let has_options = !port.extra_options.is_empty();
    match subnet.address_mode {
        Some(V6Mode::Slaac) => return,
        Some(V6Mode::Stateless) => {
            if has_options {
                line(out, format_args!("{mac},{tag}set:port-{id}"));
            }
            return;
        }
        Some(V6Mode::Stateful) | None => {}
    }
    let (_, fqdn) = names(settings, port, first);
    let ips: Vec<String> = ips.iter().map(|ip| bracketed(*ip)).collect();
    let ips = ips.join(",");
    match client_id(port) {
        Some(client) if port.extra_options.len() > 1 => {
            line(out, format_args!("{mac},{tag}id:{client},{fqdn},{ips},set:port-{id}"));
        }
        Some(client) => line(out, format_args!("{mac},{tag}id:{client},{fqdn},{ips}")),
        None if has_options => line(out, format_args!("{mac},{tag}{fqdn},{ips},set:port-{id}")),
        None => line(out, format_args!("{mac},{tag}{fqdn},{ips}")),
    }
}

/// The `addn_hosts` file: names resolve here even for addresses that another dnsmasq leased or that nobody leases.
pub(super) fn addn_hosts_file(settings: &Settings, network: &Network) -> String {
    let subnets = Lookup::new(network);
    let mut out = String::with_capacity(network.ports.len() * 80);
    for port in network.ports.values().filter(|port| port.needs_host()) {
        for fixed in ordered(port, &subnets) {
            let (hostname, fqdn) = names(settings, port, fixed.ip);
            // The full name first: it is the answer to reverse queries.
            line(&mut out, format_args!("{}\t{fqdn} {hostname}", fixed.ip));
        }
    }
    out
}

/// IPv6 addresses in brackets, or dnsmasq takes them for MAC addresses.
pub(super) fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

fn line(out: &mut String, text: std::fmt::Arguments) {
    // Writing to a String cannot fail.
    let _ = out.write_fmt(text);
    out.push('\n');
}
