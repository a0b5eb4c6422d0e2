//! The answers, from the tables. The number of statements does not grow with the ports, groups or members.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;

use network::port::{DEVICE_OWNER, fixed_ips};
use resource::{Condition, Op};
use rpc::security_groups::{FilteredDevice, GroupsOfDevices, Members, Rule};
use schema::{Fault, Record, Value};
use serde_json::json;

/// ICMPv6 router advertisement (RFC 4861, 4.2).
const ROUTER_ADVERTISEMENT: u32 = 134;

/// Ports of DHCP servers and clients (RFC 2131, RFC 8415), and where answers go to beside the port's own addresses.
const DHCP: [(&str, u32, u32, &str); 2] = [("IPv4", 67, 68, "255.255.255.255/32"), ("IPv6", 547, 546, "fe80::/64")];

fn family(address: &str) -> &'static str {
    if address.contains(':') { "IPv6" } else { "IPv4" }
}

/// An address with the length of its family.
fn whole(address: &str) -> String {
    match address.contains('/') {
        true => address.to_owned(),
        false if address.contains(':') => format!("{address}/128"),
        false => format!("{address}/32"),
    }
}

fn groups_of(port: &Record) -> Vec<String> {
    let list = port.value("security_groups").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// A port as firewalls see it, with what every port may receive.
fn device(name: &str, port: &Record) -> Result<FilteredDevice, Fault> {
    let addresses: Vec<IpAddr> = fixed_ips(port).into_iter().map(|fixed| fixed.ip).collect();
    let device = json!({
        "id": port.id(),
        "device": name,
        "mac_address": port.text("mac_address"),
        "network_id": port.text("network_id"),
        "device_owner": port.text("device_owner"),
        "allowed_address_pairs": port.value("allowed_address_pairs"),
        "port_security_enabled": port.value("port_security_enabled").and_then(Value::as_bool).unwrap_or(true),
        "name": port.text("name"),
        "project_id": port.project(),
        "status": port.text("status"),
        "admin_state_up": port.value("admin_state_up"),
        "device_id": port.text("device_id"),
    });
    let mut device: FilteredDevice = serde_json::from_value(device).map_err(Fault::internal)?;
    device.security_group_rules = provided(&addresses);
    device.fixed_ips = addresses;
    device.security_groups = groups_of(port);
    Ok(device)
}

/// Router advertisements for ports with an IPv6 address, and answers of DHCP servers to the port's own addresses.
fn provided(addresses: &[IpAddr]) -> Vec<Rule> {
    let ingress =
        |ethertype: &str| Rule { direction: "ingress".to_owned(), ethertype: ethertype.to_owned(), ..Rule::default() };
    let mut rules = Vec::new();
    if addresses.iter().any(IpAddr::is_ipv6) {
        rules.push(Rule {
            protocol: Some("ipv6-icmp".to_owned()),
            source_port_range_min: Some(ROUTER_ADVERTISEMENT),
            ..ingress("IPv6")
        });
    }
    for (ethertype, server, client, elsewhere) in DHCP {
        let own = addresses.iter().map(IpAddr::to_string).filter(|address| family(address) == ethertype);
        for to in own.map(|address| whole(&address)).chain([elsewhere.to_owned()]) {
            rules.push(Rule {
                protocol: Some("udp".to_owned()),
                port_range_min: Some(client),
                port_range_max: Some(client),
                source_port_range_min: Some(server),
                source_port_range_max: Some(server),
                dest_ip_prefix: Some(to),
                ..ingress(ethertype)
            });
        }
    }
    rules
}

/// The ports that are filtered, by id. The cloud's own are trusted.
fn devices(ports: &HashMap<String, Record>) -> Result<BTreeMap<String, FilteredDevice>, Fault> {
    ports
        .iter()
        .filter(|(_, port)| !port.get(DEVICE_OWNER).unwrap_or_default().starts_with("network:"))
        .map(|(name, port)| Ok((port.id().to_owned(), device(name, port)?)))
        .collect()
}

fn prefix_of(text: &str) -> String {
    types::cidr::parse(text).map_or_else(|| text.to_owned(), |net| net.to_string())
}

/// Rules by group; groups without rules are there too.
async fn rules(op: &mut Op<'_>, groups: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<Rule>>, Fault> {
    let mut by_group: BTreeMap<String, Vec<Rule>> = groups.iter().map(|id| (id.clone(), Vec::new())).collect();
    if groups.is_empty() {
        return Ok(by_group);
    }
    let ids = groups.iter().map(|id| id.as_str().into()).collect();
    let condition = Condition::one_of("r.security_group_id", ids);
    let sql = format!(
        "SELECT r.security_group_id, r.direction, r.ethertype, r.protocol, r.port_range_min, r.port_range_max, \
         r.remote_ip_prefix, r.remote_group_id, r.remote_address_group_id, g.stateful FROM securitygrouprules r \
         JOIN securitygroups g ON g.id = r.security_group_id WHERE {} ORDER BY r.id",
        condition.sql
    );
    for row in op.txn.query(&sql, &condition.args).await? {
        let number = |column| row.opt_int(column).and_then(|number| u32::try_from(number).ok());
        let group = row.text(0);
        let mut rule = Rule {
            direction: row.opt_text(1).unwrap_or_default(),
            ethertype: row.opt_text(2).unwrap_or_default(),
            protocol: row.opt_text(3),
            port_range_min: number(4),
            port_range_max: number(5),
            remote_group_id: row.opt_text(7),
            remote_address_group_id: row.opt_text(8),
            security_group_id: Some(group.clone()),
            stateful: Some(row.bool(9)),
            ..Rule::default()
        };
        let prefix = row.opt_text(6).filter(|prefix| !prefix.is_empty()).map(|prefix| prefix_of(&prefix));
        if rule.direction == "egress" {
            rule.dest_ip_prefix = prefix
        } else {
            rule.source_ip_prefix = prefix
        }
        by_group.entry(group).or_default().push(rule);
    }
    Ok(by_group)
}

/// Addresses by group and address group, each with the MAC address that it is used with, if that is not the port's own.
type Addresses = HashMap<String, BTreeSet<(String, Option<String>)>>;

async fn members(
    op: &mut Op<'_>,
    groups: &BTreeSet<&str>,
    address_groups: &BTreeSet<&str>,
) -> Result<Addresses, Fault> {
    let mut found = Addresses::new();
    let ids = |set: &BTreeSet<&str>| -> Vec<store::Value> { set.iter().map(|id| (*id).into()).collect() };
    if !groups.is_empty() {
        let condition = Condition::one_of("b.security_group_id", ids(groups));
        for (columns, table) in
            [("a.ip_address, NULL", "ipallocations"), ("a.ip_address, a.mac_address", "allowedaddresspairs")]
        {
            let sql = format!(
                "SELECT b.security_group_id, {columns} FROM securitygroupportbindings b \
                 JOIN {table} a ON a.port_id = b.port_id WHERE {}",
                condition.sql
            );
            for row in op.txn.query(&sql, &condition.args).await? {
                found.entry(row.text(0)).or_default().insert((row.text(1), row.opt_text(2)));
            }
        }
    }
    if !address_groups.is_empty() {
        let condition = Condition::one_of("address_group_id", ids(address_groups));
        let sql = format!("SELECT address_group_id, address FROM address_associations WHERE {}", condition.sql);
        for row in op.txn.query(&sql, &condition.args).await? {
            found.entry(row.text(0)).or_default().insert((row.text(1), None));
        }
    }
    Ok(found)
}

/// Everything about some ports.
struct Whole {
    devices: BTreeMap<String, FilteredDevice>,
    rules: BTreeMap<String, Vec<Rule>>,
    members: Addresses,
}

async fn whole_of(op: &mut Op<'_>, ports: &HashMap<String, Record>) -> Result<Whole, Fault> {
    let devices = devices(ports)?;
    let groups: BTreeSet<String> = devices.values().flat_map(|device| device.security_groups.iter().cloned()).collect();
    let rules = rules(op, &groups).await?;
    let all = || rules.values().flatten();
    let remotes = all().filter_map(|rule| rule.remote_group_id.as_deref()).collect();
    let addresses = all().filter_map(|rule| rule.remote_address_group_id.as_deref()).collect();
    let members = members(op, &remotes, &addresses).await?;
    Ok(Whole { devices, rules, members })
}

fn note(list: &mut Vec<String>, id: Option<&String>) {
    if let Some(id) = id
        && !list.contains(id)
    {
        list.push(id.clone());
    }
}

/// Groups once, and devices that refer to them.
pub async fn groups(op: &mut Op<'_>, ports: &HashMap<String, Record>) -> Result<GroupsOfDevices, Fault> {
    let Whole { mut devices, mut rules, members } = whole_of(op, ports).await?;
    for device in devices.values_mut() {
        for rule in device.security_groups.iter().filter_map(|group| rules.get(group)).flatten() {
            note(&mut device.security_group_source_groups, rule.remote_group_id.as_ref());
            note(&mut device.security_group_remote_address_groups, rule.remote_address_group_id.as_ref());
        }
    }
    // Only the families that a rule asks for.
    let mut sg_member_ips: BTreeMap<String, Members> = BTreeMap::new();
    for rule in rules.values_mut().flatten() {
        let remote = rule.remote_group_id.as_ref().or(rule.remote_address_group_id.as_ref());
        if let Some(remote) = remote {
            sg_member_ips.entry(remote.clone()).or_default().entry(rule.ethertype.clone()).or_default();
        }
        // The key says it.
        rule.security_group_id = None;
    }
    for (remote, by_family) in &mut sg_member_ips {
        for (address, mac) in members.get(remote).into_iter().flatten() {
            if let Some(list) = by_family.get_mut(family(address)) {
                list.push((address.clone(), mac.clone()));
            }
        }
    }
    Ok(GroupsOfDevices { security_groups: rules, sg_member_ips, devices })
}

/// The old form: each device with all its rules, those with a remote group written out for each of its addresses.
pub async fn written_out(
    op: &mut Op<'_>,
    ports: &HashMap<String, Record>,
) -> Result<BTreeMap<String, FilteredDevice>, Fault> {
    let Whole { mut devices, rules, members } = whole_of(op, ports).await?;
    for device in devices.values_mut() {
        let own: BTreeSet<String> = device.fixed_ips.iter().map(IpAddr::to_string).collect();
        let mut all = Vec::new();
        for rule in device.security_groups.iter().filter_map(|group| rules.get(group)).flatten() {
            let mut rule = rule.clone();
            rule.stateful = None;
            note(&mut device.security_group_source_groups, rule.remote_group_id.as_ref());
            note(&mut device.security_group_remote_address_groups, rule.remote_address_group_id.as_ref());
            let Some(remote) = rule.remote_group_id.as_ref().or(rule.remote_address_group_id.as_ref()) else {
                all.push(rule);
                continue;
            };
            let addresses: BTreeSet<&String> = members.get(remote).into_iter().flatten().map(|(ip, _)| ip).collect();
            for address in addresses {
                if own.contains(address) || family(address) != rule.ethertype {
                    continue;
                }
                let mut rule = rule.clone();
                let prefix = Some(prefix_of(&whole(address)));
                if rule.direction == "egress" {
                    rule.dest_ip_prefix = prefix
                } else {
                    rule.source_ip_prefix = prefix
                }
                all.push(rule);
            }
        }
        all.append(&mut device.security_group_rules);
        device.security_group_rules = all;
    }
    Ok(devices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_hears_its_dhcp_servers() {
        let rules = provided(&["192.0.2.5".parse().unwrap(), "2001:db8::5".parse().unwrap()]);
        let to: Vec<&str> = rules.iter().filter_map(|rule| rule.dest_ip_prefix.as_deref()).collect();
        assert_eq!(to, ["192.0.2.5/32", "255.255.255.255/32", "2001:db8::5/128", "fe80::/64"]);
        assert_eq!(rules[0].source_port_range_min, Some(134));
        assert!(rules.iter().all(|rule| rule.direction == "ingress"));
        // Nothing is advertised to a port without IPv6.
        assert_eq!(provided(&["192.0.2.5".parse().unwrap()]).len(), 3);
    }
}
