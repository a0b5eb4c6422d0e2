//! Which subnets of a network a port may have addresses of. Pure.

use schema::Fault;

use super::{Holder, Subnet, Wanted, faults, owner};

/// The answer of [`candidates`].
#[derive(Debug)]
pub enum Candidates<'s> {
    /// Those reserved for the port's owner first, then in the order given. None if the network has no subnet at all.
    Subnets(Vec<&'s Subnet>),
    /// It depends on the host, which is not known yet.
    Deferred,
}

/// Chooses among all subnets of the network. With a host: those on segments that it reaches and those on no segment. Without a
/// host and with `wanted`: those on the segment of what is wanted. Without both: those on no segment.
pub fn candidates<'s>(
    all: &'s [Subnet],
    holder: &Holder<'_>,
    wanted: Option<&[Wanted]>,
) -> Result<Candidates<'s>, Fault> {
    let serving: Vec<&Subnet> = all.iter().filter(|subnet| subnet.serves(holder.device_owner)).collect();
    let mut found = match (holder.host, wanted) {
        ("", Some(wanted)) => on_segment_of(&serving, wanted, holder.device_owner == owner::DISTRIBUTED)?,
        ("", None) => serving.iter().copied().filter(|subnet| subnet.segment_id.is_none()).collect(),
        _ => serving.iter().copied().filter(|subnet| subnet.segment_id.is_none() || subnet.reachable).collect(),
    };
    if !found.is_empty() {
        found.sort_by_key(|subnet| subnet.service_types.is_empty());
        return Ok(Candidates::Subnets(found));
    }
    if !holder.host.is_empty() && all.iter().any(|subnet| subnet.segment_id.is_some()) {
        return Err(faults::host_not_connected(holder.host, holder.network_id));
    }
    if all.is_empty() {
        return Ok(Candidates::Subnets(Vec::new()));
    }
    if serving.is_empty() {
        return Err(faults::no_matching_subnet(holder.network_id, holder.device_owner));
    }
    Ok(Candidates::Deferred)
}

fn on_segment_of<'s>(serving: &[&'s Subnet], wanted: &[Wanted], many_segments: bool) -> Result<Vec<&'s Subnet>, Fault> {
    let mut segments: Vec<Option<&str>> = Vec::new();
    for wanted in wanted {
        let subnet = match (&wanted.subnet_id, wanted.ip) {
            (Some(id), _) => serving.iter().find(|subnet| subnet.id == *id),
            (None, Some(ip)) => serving.iter().find(|subnet| subnet.cidr.contains(&ip)),
            (None, None) => continue,
        };
        // What fits no subnet is refused later, with a better reason.
        let Some(subnet) = subnet else { return Ok(serving.to_vec()) };
        let segment = subnet.segment_id.as_deref();
        if !segments.contains(&segment) {
            segments.push(segment);
        }
    }
    if many_segments {
        return Ok(serving.to_vec());
    }
    if segments.len() > 1 {
        return Err(faults::different_segments());
    }
    let segment = segments.first().copied().flatten();
    Ok(serving.iter().copied().filter(|subnet| subnet.segment_id.as_deref() == segment).collect())
}
