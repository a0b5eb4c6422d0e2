//! Where a subnet may be: apart from the other subnets of its network, out of the right pool.

use resource::Op;
use schema::Fault;
use types::{IpNet, cidr};

use super::faults;
use crate::ipam::PROVISIONAL_PREFIX;

/// What a subnet needs to know of its network.
#[derive(Clone, Debug)]
pub struct Network {
    pub mtu: i64,
    /// Its row in the shared attribute table.
    pub shared_id: i64,
}

pub async fn network(op: &mut Op<'_>, network_id: &str) -> Result<Network, Fault> {
    let sql = "SELECT mtu, standard_attr_id FROM networks WHERE id = ?";
    let row = op.txn.query_one(sql, &[network_id.into()]).await?;
    let row = row.ok_or_else(|| faults::network_not_found(network_id))?;
    Ok(Network { mtu: row.int(0), shared_id: row.int(1) })
}

/// Lets only one transaction at a time add a subnet to the network: the row names the last subnet added, and is changed only if it
/// still names the one that was read. The loser runs again. Works on every database, whatever its isolation.
pub async fn claim(op: &mut Op<'_>, network_id: &str, subnet_id: &str) -> Result<(), Fault> {
    let sql = "SELECT subnet_id FROM network_subnet_lock WHERE network_id = ?";
    let won = match op.txn.query_one(sql, &[network_id.into()]).await? {
        None => {
            let row = [("network_id", network_id.into()), ("subnet_id", subnet_id.into())];
            op.txn.insert_if_absent("network_subnet_lock", &row).await?
        }
        Some(row) => {
            let last = row.opt_text(0);
            let (condition, mut args) = match last {
                Some(last) => ("subnet_id = ?", vec![last.into()]),
                None => ("subnet_id IS NULL", vec![]),
            };
            let sql = format!("UPDATE network_subnet_lock SET subnet_id = ? WHERE network_id = ? AND {condition}");
            let mut all: Vec<store::Value> = vec![subnet_id.into(), network_id.into()];
            all.append(&mut args);
            op.txn.execute(&sql, &all).await? == 1
        }
    };
    if won {
        return Ok(());
    }
    Err(Fault::retry(format!("another subnet is being added to network {network_id}")))
}

/// Another subnet of the network.
#[derive(Clone, Debug)]
pub struct Neighbour {
    cidr: IpNet,
    subnetpool_id: Option<String>,
    /// Of its pool.
    address_scope_id: Option<String>,
}

/// The subnets of the network in one statement. Call [`claim`] first.
pub async fn neighbours(op: &mut Op<'_>, network_id: &str) -> Result<Vec<Neighbour>, Fault> {
    let sql = "SELECT s.cidr, s.subnetpool_id, p.address_scope_id FROM subnets s \
               LEFT JOIN subnetpools p ON p.id = s.subnetpool_id WHERE s.network_id = ?";
    let rows = op.txn.query(sql, &[network_id.into()]).await?;
    let neighbours = rows.iter().filter_map(|row| {
        Some(Neighbour {
            cidr: cidr::parse(row.str(0))?,
            subnetpool_id: row.opt_text(1),
            address_scope_id: row.opt_text(2),
        })
    });
    Ok(neighbours.collect())
}

/// 400 `InvalidInput` if the prefix shares an address with a neighbour's.
pub fn check_overlap(net: &IpNet, network_id: &str, neighbours: &[Neighbour]) -> Result<(), Fault> {
    let provisional = |net: &IpNet| net.to_string() == PROVISIONAL_PREFIX;
    if neighbours.iter().any(|other| !provisional(&other.cidr) && cidr::overlap(&other.cidr, net)) {
        return Err(faults::overlaps(net, network_id));
    }
    Ok(())
}

/// Subnets of a family on one network come from one pool; or from pools of one address scope.
pub fn check_affinity(
    version: i64,
    pool_id: Option<&str>,
    scope_id: Option<&str>,
    neighbours: &[Neighbour],
) -> Result<(), Fault> {
    let same_family = || neighbours.iter().filter(|other| cidr::version(&other.cidr) == version);
    let network_scope = same_family().find_map(|other| other.address_scope_id.as_deref());
    if network_scope.is_some() && pool_id.is_some() && network_scope != scope_id {
        return Err(faults::scope_affinity());
    }
    let conflict = match pool_id {
        Some(_) if network_scope.is_some() => false,
        Some(pool) => same_family().any(|other| other.subnetpool_id.as_deref() != Some(pool)),
        None => same_family().any(|other| other.subnetpool_id.is_some()),
    };
    if conflict { Err(faults::pool_affinity()) } else { Ok(()) }
}
