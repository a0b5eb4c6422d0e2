//! Subnets on segments of a routed network. Same rules as _validate_segment of neutron/db/ipam_backend_mixin.py.

use std::collections::HashSet;

use resource::Op;
use schema::Fault;

use super::faults;
use crate::ipam::owner;

struct Segment {
    network_id: String,
    is_dynamic: bool,
}

async fn find(op: &mut Op<'_>, segment_id: &str) -> Result<Segment, Fault> {
    let sql = "SELECT network_id, is_dynamic FROM networksegments WHERE id = ?";
    let row = op.txn.query_one(sql, &[segment_id.into()]).await?;
    let row = row.ok_or_else(|| faults::segment_not_found(segment_id))?;
    Ok(Segment { network_id: row.text(0), is_dynamic: row.bool(1) })
}

/// Segments of the network's subnets; subnets for routed service ports do not count.
async fn of_subnets(op: &mut Op<'_>, network_id: &str) -> Result<Vec<Option<String>>, Fault> {
    let sql = "SELECT s.segment_id FROM subnets s WHERE s.network_id = ? AND NOT EXISTS \
               (SELECT 1 FROM subnet_service_types t WHERE t.subnet_id = s.id AND t.service_type = ?)";
    let rows = op.txn.query(sql, &[network_id.into(), owner::ROUTED.into()]).await?;
    Ok(rows.iter().map(|row| row.opt_text(0)).collect())
}

fn check_mixed(network_id: &str, segments: &HashSet<Option<String>>) -> Result<(), Fault> {
    if segments.contains(&None) && segments.len() > 1 {
        return Err(faults::segments_mixed(network_id));
    }
    Ok(())
}

fn check_own(network_id: &str, segment_id: &str, segment: &Segment) -> Result<(), Fault> {
    if segment.network_id != network_id {
        return Err(faults::segment_elsewhere(network_id, segment_id));
    }
    if segment.is_dynamic {
        return Err(faults::segment_dynamic());
    }
    Ok(())
}

/// For a subnet that is not stored yet.
pub async fn check_new(
    op: &mut Op<'_>,
    network_id: &str,
    segment_id: Option<&str>,
    service_types: &[&str],
) -> Result<(), Fault> {
    let segment = match segment_id {
        Some(id) => Some((id, find(op, id).await?)),
        None => None,
    };
    let mut segments: HashSet<Option<String>> = of_subnets(op, network_id).await?.into_iter().collect();
    if !service_types.contains(&owner::ROUTED) {
        segments.insert(segment_id.map(str::to_owned));
    }
    check_mixed(network_id, &segments)?;
    match segment {
        Some((id, segment)) => check_own(network_id, id, &segment),
        None => Ok(()),
    }
}

/// For a stored subnet that gets another segment.
pub async fn check_change(
    op: &mut Op<'_>,
    network_id: &str,
    old: Option<&str>,
    new: Option<&str>,
) -> Result<(), Fault> {
    let all = of_subnets(op, network_id).await?;
    let segments: HashSet<Option<String>> = all.iter().cloned().collect();
    check_mixed(network_id, &segments)?;
    if old != new {
        if all.len() > 1 {
            return Err(faults::segments_mixed(network_id));
        }
        if !segments.contains(&None) && !segments.contains(&new.map(str::to_owned)) {
            return Err(faults::segment_fixed());
        }
        let sql = "SELECT COUNT(*) FROM networksegments WHERE network_id = ?";
        let count = op.txn.query_one(sql, &[network_id.into()]).await?.map_or(0, |row| row.int(0));
        if count > 1 {
            return Err(faults::many_segments(network_id));
        }
    }
    match new {
        Some(id) => check_own(network_id, id, &find(op, id).await?),
        None => Ok(()),
    }
}
