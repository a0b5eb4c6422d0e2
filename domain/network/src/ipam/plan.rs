//! What to take and what to give back. Pure.

use std::collections::HashSet;
use std::net::IpAddr;

use schema::Fault;

use super::subnets::PROVISIONAL_PREFIX;
use super::{FixedIp, Holder, Subnet, Wanted, faults, owner};

/// One address to take.
#[derive(Debug, PartialEq, Eq)]
pub enum Ask<'s> {
    Exact {
        subnet: &'s Subnet,
        ip: IpAddr,
    },
    /// Any free one, of the first subnet that has one.
    AnyOf(Vec<&'s Subnet>),
}

/// Why an explicit wish is not an ask.
#[derive(Debug)]
pub enum Refusal {
    Fault(Fault),
    /// A subnet that is not among the candidates; it may be of another network, or not exist.
    Elsewhere(String),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        Refusal::Fault(fault)
    }
}

/// Without any wish: an address of the IPv4 subnets, and one of the IPv6 subnets that are not automatic.
pub fn one_of_each_family<'s>(found: &[&'s Subnet]) -> Vec<Ask<'s>> {
    let (v4, v6): (Vec<&Subnet>, Vec<&Subnet>) =
        found.iter().copied().filter(|subnet| !subnet.is_automatic()).partition(|subnet| subnet.is_ipv4());
    [v4, v6].into_iter().filter(|subnets| !subnets.is_empty()).map(Ask::AnyOf).collect()
}

/// The EUI-64 addresses of automatic subnets, except where the port has or asks for something already.
pub fn automatic<'s>(
    found: &[&'s Subnet],
    holder: &Holder<'_>,
    asks: &[Ask<'_>],
    handled: &HashSet<&str>,
) -> Vec<Ask<'s>> {
    if owner::is_router_interface_or_snat(holder.device_owner) {
        return Vec::new();
    }
    let asked = |subnet: &Subnet, ip: IpAddr| {
        asks.iter().any(|ask| matches!(ask, Ask::Exact { subnet: of, ip: exact } if of.id == subnet.id && *exact == ip))
    };
    found
        .iter()
        .copied()
        .filter(|subnet| subnet.is_automatic() && !handled.contains(subnet.id.as_str()))
        .filter_map(|subnet| Some((subnet, subnet.eui64(holder.mac)?)))
        .filter(|(subnet, ip)| !asked(subnet, *ip))
        .map(|(subnet, ip)| Ask::Exact { subnet, ip })
        .collect()
}

/// Wishes as asks.
pub fn explicit<'s>(holder: &Holder<'_>, wanted: &[Wanted], found: &[&'s Subnet]) -> Result<Vec<Ask<'s>>, Refusal> {
    let mut asks: Vec<Ask<'s>> = Vec::new();
    for wish in wanted {
        let subnet = subnet_of(holder, wish, found)?;
        let provisional = subnet.delegated && subnet.cidr.to_string() == PROVISIONAL_PREFIX;
        match wish.ip {
            Some(ip) if !provisional => {
                if subnet.is_automatic()
                    && !owner::is_router_interface(holder.device_owner)
                    && subnet.eui64(holder.mac) != Some(ip)
                {
                    return Err(faults::automatic_subnet(ip, &subnet.id).into());
                }
                let ask = Ask::Exact { subnet, ip };
                if asks.contains(&ask) {
                    return Err(faults::twice(ip).into());
                }
                asks.push(ask);
            }
            // Automatic subnets give an address to every port, named or not.
            _ if subnet.is_automatic() && !owner::is_router_interface_or_snat(holder.device_owner) => {}
            _ => asks.push(Ask::AnyOf(vec![subnet])),
        }
    }
    Ok(asks)
}

fn subnet_of<'s>(holder: &Holder<'_>, wish: &Wanted, found: &[&'s Subnet]) -> Result<&'s Subnet, Refusal> {
    match (&wish.subnet_id, wish.ip) {
        (None, None) => Err(faults::neither_subnet_nor_address().into()),
        _ if found.is_empty() => match &wish.subnet_id {
            // An unknown subnet is worth a 404 even here.
            Some(id) => Err(Refusal::Elsewhere(id.clone())),
            None => Err(faults::no_subnets(holder.network_id).into()),
        },
        (Some(id), ip) => {
            let Some(subnet) = found.iter().copied().find(|subnet| subnet.id == *id) else {
                return Err(Refusal::Elsewhere(id.clone()));
            };
            match ip {
                Some(ip) if !subnet.admits(ip, holder.device_owner) => {
                    Err(faults::invalid_for_subnet(ip, &subnet.id, subnet.cidr).into())
                }
                _ => Ok(subnet),
            }
        }
        (None, Some(ip)) => found
            .iter()
            .copied()
            .find(|subnet| subnet.admits(ip, holder.device_owner))
            .ok_or_else(|| faults::invalid_for_network(ip, holder.network_id).into()),
    }
}

/// The difference between what a port has and what is wanted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Change {
    pub add: Vec<Wanted>,
    pub keep: Vec<FixedIp>,
    pub remove: Vec<FixedIp>,
}

impl Change {
    /// What the port will have, as wishes, for the choice of the segment.
    pub fn anchors(&self) -> Vec<Wanted> {
        let kept =
            self.keep.iter().map(|fixed| Wanted { subnet_id: Some(fixed.subnet_id.clone()), ip: Some(fixed.ip) });
        self.add.iter().cloned().chain(kept).collect()
    }
}

/// Matches wishes with addresses: by address first, then by subnet. EUI-64 addresses matched by subnet are taken anew, because a
/// delegated prefix may have changed; elsewhere automatic addresses stay although nobody wants them.
pub fn change(all: &[Subnet], holder: &Holder<'_>, old: &[FixedIp], wanted: Vec<Wanted>) -> Change {
    let subnet = |id: &str| all.iter().find(|subnet| subnet.id == id);
    let mut change = Change::default();
    let mut rest: Vec<FixedIp> = old.to_vec();
    let mut by_subnet = Vec::new();
    for wish in wanted {
        let same = |fixed: &FixedIp| {
            Some(fixed.ip) == wish.ip && wish.subnet_id.as_ref().is_none_or(|id| *id == fixed.subnet_id)
        };
        match wish.ip {
            None => by_subnet.push(wish),
            Some(_) => match rest.iter().position(same) {
                Some(position) => change.keep.push(rest.remove(position)),
                None => change.add.push(wish),
            },
        }
    }
    let mut released = Vec::new();
    for wish in by_subnet {
        let position = rest.iter().position(|fixed| Some(&fixed.subnet_id) == wish.subnet_id.as_ref());
        match position.map(|position| rest.remove(position)) {
            None => change.add.push(wish),
            Some(fixed) if subnet(&fixed.subnet_id).is_some_and(|subnet| subnet.delegated) => {
                change.add.push(wish);
                released.push(fixed);
            }
            Some(fixed) => change.keep.push(fixed),
        }
    }
    for fixed in rest.into_iter().chain(released) {
        let automatic = subnet(&fixed.subnet_id).is_some_and(|subnet| subnet.is_automatic() && !subnet.delegated);
        if automatic && !owner::is_router_interface_or_snat(holder.device_owner) {
            change.keep.push(fixed);
        } else {
            change.remove.push(fixed);
        }
    }
    change
}
