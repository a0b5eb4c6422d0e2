//! Who is behind which tunnel end: the table that l2 population keeps for one network.
//!
//! It is learned from the server's messages and, after a restart, from the device itself: the entries found there
//! keep working until the server says otherwise. Reproduces `fdb_add`, `fdb_remove` and `_fdb_chg_ip` of
//! `linuxbridge_neutron_agent.py` and `l2population_rpc.py`, except that a message about a network unknown here
//! no longer ends the treatment of the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use types::Mac;

use crate::model::Link;

/// A port's address as messages say it; the all-zero MAC stands for "flood to this agent".
pub type Entry = (Mac, IpAddr);

/// The forwarding table of one network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forwarding {
    flood: BTreeSet<IpAddr>,
    unicast: BTreeMap<Mac, IpAddr>,
    neighbours: BTreeMap<IpAddr, Mac>,
    /// Found on the device at start and not yet confirmed by the server.
    adopted: BTreeSet<(Mac, IpAddr)>,
}

impl Forwarding {
    /// Tunnel ends that get broadcast, multicast and unknown destinations.
    pub fn flood(&self) -> &BTreeSet<IpAddr> {
        &self.flood
    }

    /// The tunnel end of each known MAC.
    pub fn unicast(&self) -> &BTreeMap<Mac, IpAddr> {
        &self.unicast
    }

    /// The MAC of each known address.
    pub fn neighbours(&self) -> &BTreeMap<IpAddr, Mac> {
        &self.neighbours
    }

    /// Takes over what a device already forwards.
    pub fn adopt(&mut self, link: &Link) {
        for (mac, remotes) in &link.forwarding {
            for remote in remotes {
                let new = match mac.is_zero() {
                    true => self.flood.insert(*remote),
                    false => !self.unicast.contains_key(mac) && self.unicast.insert(*mac, *remote).is_none(),
                };
                if new {
                    self.adopted.insert((*mac, *remote));
                }
            }
        }
        for (ip, mac) in &link.neighbours {
            self.neighbours.entry(*ip).or_insert(*mac);
        }
    }

    /// Entries of several agents, by the agents' addresses.
    ///
    /// The server names an agent's flood entry together with all of that agent's ports, and several agents only in
    /// a picture of the whole network: what was adopted and is missing there is gone.
    pub fn add(&mut self, agents: &[(IpAddr, Vec<Entry>)]) {
        for (agent, entries) in agents {
            for (mac, ip) in entries {
                self.adopted.remove(&(*mac, *agent));
                if mac.is_zero() {
                    self.flood.insert(*agent);
                    continue;
                }
                if let Some(before) = self.unicast.insert(*mac, *agent) {
                    self.adopted.remove(&(*mac, before));
                }
                self.neighbours.insert(*ip, *mac);
            }
        }
        let whole = agents.len() > 1;
        let complete = |agent: &IpAddr| {
            whole || agents.iter().any(|(a, entries)| a == agent && entries.iter().any(|(mac, _)| mac.is_zero()))
        };
        let stale: Vec<_> = self.adopted.iter().filter(|(_, agent)| complete(agent)).copied().collect();
        for (mac, agent) in stale {
            self.forget(mac, agent);
        }
    }

    /// Takes entries of several agents out; an entry that has meanwhile moved to another agent stays.
    pub fn remove(&mut self, agents: &[(IpAddr, Vec<Entry>)]) {
        for (agent, entries) in agents {
            let elsewhere: BTreeSet<Mac> = entries
                .iter()
                .map(|(mac, _)| *mac)
                .filter(|mac| self.unicast.get(mac).is_some_and(|holder| holder != agent))
                .collect();
            for (mac, ip) in entries {
                self.adopted.remove(&(*mac, *agent));
                if mac.is_zero() {
                    self.flood.remove(agent);
                } else if !elsewhere.contains(mac) {
                    self.unicast.remove(mac);
                    if self.neighbours.get(ip) == Some(mac) {
                        self.neighbours.remove(ip);
                    }
                }
            }
        }
    }

    /// A port's addresses changed; its place did not.
    pub fn change_addresses(&mut self, before: &[Entry], after: &[Entry]) {
        for (mac, ip) in before {
            if self.neighbours.get(ip) == Some(mac) {
                self.neighbours.remove(ip);
            }
        }
        for (mac, ip) in after.iter().filter(|(mac, _)| !mac.is_zero()) {
            self.neighbours.insert(*ip, *mac);
        }
    }

    fn forget(&mut self, mac: Mac, agent: IpAddr) {
        self.adopted.remove(&(mac, agent));
        if mac.is_zero() {
            self.flood.remove(&agent);
        } else if self.unicast.get(&mac) == Some(&agent) {
            self.unicast.remove(&mac);
            self.neighbours.retain(|_, holder| *holder != mac);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Host, Kind, Link, Op, Tunnel};

    fn mac(last: u8) -> Mac {
        Mac([0xfa, 0x16, 0x3e, 0, 0, last])
    }

    fn ip(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn port(last: u8) -> Entry {
        (mac(last), IpAddr::from([10, 0, 0, last]))
    }

    const FLOOD: Entry = (Mac::ZERO, IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));

    #[test]
    fn floods_once_per_agent_and_places_each_mac_once() {
        let mut table = Forwarding::default();
        table.add(&[(ip(1), vec![FLOOD, port(1)])]);
        table.add(&[(ip(2), vec![FLOOD, port(2)])]);
        table.add(&[(ip(2), vec![port(1)])]);
        assert_eq!(table.flood(), &[ip(1), ip(2)].into());
        assert_eq!(table.unicast(), &[(mac(1), ip(2)), (mac(2), ip(2))].into());
    }

    #[test]
    fn a_removal_that_comes_after_the_move_takes_nothing() {
        let mut table = Forwarding::default();
        table.add(&[(ip(1), vec![FLOOD, port(1)])]);
        table.add(&[(ip(2), vec![FLOOD, port(1)])]);
        table.remove(&[(ip(1), vec![FLOOD, port(1)])]);
        assert_eq!(table.unicast(), &[(mac(1), ip(2))].into());
        assert_eq!(table.neighbours(), &[(port(1).1, mac(1))].into());
        assert_eq!(table.flood(), &[ip(2)].into());
    }

    #[test]
    fn a_port_with_two_addresses_leaves_with_both() {
        let mut table = Forwarding::default();
        let second = (mac(1), "2001:db8::1".parse().unwrap());
        table.add(&[(ip(1), vec![port(1), second])]);
        assert_eq!(table.neighbours().len(), 2);
        table.remove(&[(ip(1), vec![port(1), second])]);
        assert_eq!(table, Forwarding::default());
    }

    #[test]
    fn changed_addresses_change_neighbours_only() {
        let mut table = Forwarding::default();
        table.add(&[(ip(1), vec![port(1)])]);
        let after = (mac(1), ip(77));
        table.change_addresses(&[port(1)], &[after]);
        assert_eq!(table.neighbours(), &[(ip(77), mac(1))].into());
        assert_eq!(table.unicast(), &[(mac(1), ip(1))].into());
    }

    #[test]
    fn adopted_entries_work_on_until_the_server_draws_the_whole_picture() {
        let tunnel = Tunnel {
            vni: 1,
            lower: Some("lo".into()),
            local: None,
            group: None,
            port: 8472,
            source_ports: (0, 0),
            ttl: None,
            tos: None,
            proxy: false,
        };
        let mut host = Host::default();
        host.links.insert("lo".into(), Link::new(1, Kind::Other));
        let name = || "vxlan-1".to_owned();
        host.apply(&Op::AddVxlan { name: name(), tunnel }).unwrap();
        for last in [1, 2, 3] {
            host.apply(&Op::AppendFlood { name: name(), remote: ip(last) }).unwrap();
            host.apply(&Op::ReplaceForwarding { name: name(), mac: mac(last), remote: ip(last) }).unwrap();
            host.apply(&Op::ReplaceNeighbour { name: name(), ip: port(last).1, mac: mac(last) }).unwrap();
        }

        let mut table = Forwarding::default();
        table.adopt(&host.links["vxlan-1"]);
        assert_eq!(table.flood().len(), 3);
        // A single port says nothing of the others.
        table.add(&[(ip(2), vec![port(4)])]);
        assert_eq!(table.unicast().len(), 4);
        // An agent's flood entry comes with all of its ports: port 2 is gone.
        table.add(&[(ip(2), vec![FLOOD, port(4)])]);
        assert_eq!(table.unicast(), &[(mac(1), ip(1)), (mac(3), ip(3)), (mac(4), ip(2))].into());
        // Several agents make a picture of the network: agent 3 is gone.
        table.add(&[(ip(1), vec![FLOOD, port(1)]), (ip(2), vec![FLOOD, port(4)])]);
        assert_eq!(table.flood(), &[ip(1), ip(2)].into());
        assert_eq!(table.unicast(), &[(mac(1), ip(1)), (mac(4), ip(2))].into());
    }
}
