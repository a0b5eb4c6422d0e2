//! `opts`: options of subnets by `tag:subnet-<id>`, of ports by `tag:port-<id>`.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::hosts::bracketed;
use super::{is_client_id, one_line};
use crate::model::{Id, Network, OWNER_DHCP, Subnet, V6Mode};
use crate::settings::Settings;

/// Where instances ask for metadata.
const METADATA_CIDR: &str = "169.254.169.254/32";
/// Microsoft's number for classless static routes; old Windows ignores option 121.
const WINDOWS_STATIC_ROUTE: &str = "249";

/// The `opts` file. No line break after the last line, as the reference leaves it.
pub(super) fn opts_file(settings: &Settings, network: &Network, dhcp_port: Option<&Id>) -> String {
    let mut lines = Vec::new();
    let mut without_servers = BTreeSet::new();
    for subnet in network.all_subnets() {
        if !subnet.enable_dhcp || (!subnet.is_v4() && subnet.address_mode == Some(V6Mode::Slaac)) {
            continue;
        }
        if subnet.dns_nameservers.is_empty() {
            without_servers.insert(&subnet.id);
        }
        subnet_lines(&mut lines, settings, network, subnet, dhcp_port);
    }
    port_lines(&mut lines, network);
    own_server_lines(&mut lines, network, &without_servers);
    lines.join("\n")
}

fn subnet_lines(lines: &mut Vec<String>, settings: &Settings, network: &Network, subnet: &Subnet, port: Option<&Id>) {
    let tag = format!("subnet-{}", subnet.id);
    let mut push = |option: &str, value: Option<&str>| lines.extend(format(subnet.is_v4(), &tag, option, value));

    match subnet.dns_nameservers.as_slice() {
        [] => {}
        // The unspecified address alone: announce no server at all.
        [only] if only.is_unspecified() => push("dns-server", None),
        servers => push("dns-server", Some(&addresses(servers))),
    }
    if !subnet.is_v4() {
        if !settings.dns_domain.is_empty() {
            push("domain-search", Some(&settings.dns_domain));
        }
        return;
    }

    let mut gateway = subnet.gateway_ip;
    let mut routes = Vec::new();
    for route in &subnet.host_routes {
        if route.destination.prefix_len() == 0 {
            gateway = gateway.or(Some(route.nexthop));
        } else {
            routes.push(format!("{},{}", route.destination, route.nexthop));
        }
    }
    if let Some(via) = metadata_route(settings, network, subnet, gateway, port) {
        routes.push(format!("{METADATA_CIDR},{via}"));
    }
    // The other IPv4 subnets of the same wire are reached directly.
    for other in network.all_subnets() {
        if other.is_v4() && other.cidr != subnet.cidr && other.segment_id == subnet.segment_id {
            routes.insert(0, format!("{},0.0.0.0", other.cidr));
        }
    }
    if !routes.is_empty() {
        // Clients that understand option 121 ignore option 3 (RFC 3442), so the default route stands in both.
        if let Some(gateway) = gateway {
            routes.push(format!("0.0.0.0/0,{gateway}"));
        }
        let routes = routes.join(",");
        push("classless-static-route", Some(&routes));
        push(WINDOWS_STATIC_ROUTE, Some(&routes));
    }
    push("router", gateway.map(|ip| ip.to_string()).as_deref());
}

/// Through whom instances of the subnet reach the metadata address: OVN's metadata port; this agent, when it serves
/// metadata there; or the router.
fn metadata_route(
    settings: &Settings,
    network: &Network,
    subnet: &Subnet,
    gateway: Option<IpAddr>,
    dhcp_port: Option<&Id>,
) -> Option<IpAddr> {
    if let Some(ovn) = network.ovn_metadata_ip(subnet) {
        return Some(ovn);
    }
    let isolated = network.is_isolated(subnet);
    if settings.force_metadata || (isolated && settings.isolated_metadata) {
        let own = network.ports.get(dhcp_port?)?;
        // Only subnets that this host has an address on.
        network.subnets.iter().find(|local| local.id == subnet.id)?;
        return own.fixed_ips.iter().find(|fixed| fixed.subnet_id == subnet.id).map(|fixed| fixed.ip);
    }
    if isolated { None } else { gateway }
}

fn port_lines(lines: &mut Vec<String>, network: &Network) {
    for port in network.ports.values() {
        for option in port.extra_options.iter().filter(|option| !is_client_id(&option.name)) {
            let v4 = option.ip_version == 4;
            let applies = (v4 || option.ip_version == 6) && port.addresses().any(|ip| ip.is_ipv4() == v4);
            let line =
                applies.then(|| format(v4, &format!("port-{}", port.id), &option.name, Some(&option.value))).flatten();
            if line.is_none() {
                tracing::info!(port.id = %port.id, option = ?option.name, version = option.ip_version,
                    "Left out a DHCP option: its name is not one, or no address of the port is of its IP version");
            }
            lines.extend(line);
        }
    }
}

/// With several agents on a network, all of them are announced as name servers of the subnets that have none of their
/// own; one alone announces itself.
fn own_server_lines(lines: &mut Vec<String>, network: &Network, without_servers: &BTreeSet<&Id>) {
    let mut servers: BTreeMap<&Id, BTreeSet<IpAddr>> = BTreeMap::new();
    for port in network.ports.values().filter(|port| port.device_owner == OWNER_DHCP) {
        for fixed in port.fixed_ips.iter().filter(|fixed| without_servers.contains(&fixed.subnet_id)) {
            servers.entry(&fixed.subnet_id).or_default().insert(fixed.ip);
        }
    }
    for (subnet_id, ips) in servers {
        for v4 in [true, false] {
            let ips: Vec<IpAddr> = ips.iter().copied().filter(|ip| ip.is_ipv4() == v4).collect();
            if ips.len() > 1 {
                lines.extend(format(v4, &format!("subnet-{subnet_id}"), "dns-server", Some(&addresses(&ips))));
            }
        }
    }
}

fn addresses(ips: &[IpAddr]) -> String {
    ips.iter().map(|ip| bracketed(*ip)).collect::<Vec<_>>().join(",")
}

/// One line: `tag:<tag>[,tag:…],option:<name>[,value]`. `None` when the name is not a name or number, with or without
/// tags in front: anything else could turn into another option.
fn format(v4: bool, tag: &str, name: &str, value: Option<&str>) -> Option<String> {
    let name = one_line(name);
    let (extra, option) = match name.rsplit_once(',') {
        Some((tags, option)) => (Some(tags), option),
        None => (None, name),
    };
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    let is_tag =
        |text: &str| text.strip_prefix("tag:").is_some_and(|tag| is_word(tag.strip_prefix('!').unwrap_or(tag)));
    if !is_word(option) || !extra.is_none_or(|tags| tags.split(',').all(is_tag)) {
        return None;
    }
    // dnsmasq wants numbers bare for IPv4, and everything marked for IPv6.
    let kind = match (v4, option.bytes().all(|b| b.is_ascii_digit())) {
        (true, true) => "",
        (true, false) => "option:",
        (false, _) => "option6:",
    };
    let mut line = format!("tag:{tag},");
    if let Some(tags) = extra {
        line.push_str(tags);
        line.push(',');
    }
    line.push_str(kind);
    line.push_str(option);
    if let Some(value) = value.map(one_line).filter(|value| !value.is_empty()) {
        line.push(',');
        line.push_str(value);
    }
    Some(line)
}
