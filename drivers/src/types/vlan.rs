use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use network::ml2::{Pool, Segment, TypeDriver};
use network::settings::Settings;
use resource::{Condition, Op};
use schema::Fault;
use store::{Txn, Value};
use types::VlanId;

use super::flat::physical_mtu;
use super::{VlanRanges, parts};

/// 802.1Q networks. `ml2_vlan_allocations` has a row per id of the ranges; a compare-and-swap on `allocated` takes it. Ids outside
/// the ranges are for administrators: their row is made when they are taken and removed when they are released.
pub struct Vlan {
    pools: Vec<Pool>,
    settings: Arc<Settings>,
}

impl Vlan {
    pub fn new(ranges: VlanRanges, settings: Arc<Settings>) -> Vlan {
        let pool = |(name, ranges)| Pool { physical_network: Some(name), ranges, whole: true };
        Vlan { pools: ranges.into_iter().map(pool).collect(), settings }
    }
}

fn segment(physical_network: &str, id: i64) -> Segment {
    Segment {
        id: String::new(),
        network_type: "vlan".into(),
        physical_network: Some(physical_network.into()),
        segmentation_id: Some(id),
    }
}

fn of<'a>(pools: &'a [Pool], physical_network: &str) -> Option<&'a Pool> {
    pools.iter().find(|pool| pool.physical_network.as_deref() == Some(physical_network))
}

/// Takes a free id of a pool; a random one of the first few, so that parallel requests seldom want the same.
async fn take_any(op: &mut Op<'_>, name: &str, pool: &Pool) -> Result<Option<Segment>, Fault> {
    for part in parts(pool, "vlan_id") {
        let sql = format!(
            "SELECT vlan_id FROM ml2_vlan_allocations WHERE physical_network = ? AND allocated = ? AND {} LIMIT 32",
            part.sql
        );
        let mut args = vec![name.into(), false.into()];
        args.extend(part.args);
        loop {
            let free = op.txn.query(&sql, &args).await?;
            if free.is_empty() {
                break;
            }
            let id = free[rand::random_range(0..free.len())].int(0);
            if take(op, name, id).await? {
                return Ok(Some(segment(name, id)));
            }
        }
    }
    Ok(None)
}

async fn take(op: &mut Op<'_>, physical_network: &str, id: i64) -> Result<bool, Fault> {
    let sql =
        "UPDATE ml2_vlan_allocations SET allocated = ? WHERE physical_network = ? AND vlan_id = ? AND allocated = ?";
    let args = [true.into(), physical_network.into(), id.into(), false.into()];
    Ok(op.txn.execute(sql, &args).await? == 1)
}

#[async_trait]
impl TypeDriver for Vlan {
    fn network_type(&self) -> &'static str {
        "vlan"
    }

    fn configured(&self) -> &[Pool] {
        &self.pools
    }

    fn limits(&self) -> Option<(i64, i64)> {
        Some((VlanId::MIN, VlanId::MAX))
    }

    async fn sync(&self, txn: &mut Txn, pools: &[Pool]) -> Result<(), Fault> {
        let rows = txn.query("SELECT physical_network, vlan_id, allocated FROM ml2_vlan_allocations", &[]).await?;
        let mut known = HashSet::new();
        for row in &rows {
            let (name, id) = (row.text(0), row.int(1));
            // An id that left the ranges goes as soon as nobody uses it.
            if !row.bool(2) && !pools.iter().any(|pool| pool.contains(Some(&name), id)) {
                let sql =
                    "DELETE FROM ml2_vlan_allocations WHERE physical_network = ? AND vlan_id = ? AND allocated = ?";
                txn.execute(sql, &[name.as_str().into(), id.into(), false.into()]).await?;
            } else {
                known.insert((name, id));
            }
        }
        let mut missing = Vec::new();
        for pool in pools {
            let Some(name) = &pool.physical_network else { continue };
            for id in pool.ranges.iter().flat_map(|(min, max)| *min..=*max) {
                if known.insert((name.clone(), id)) {
                    missing.push(vec![name.as_str().into(), Value::Int(id), Value::Bool(false)]);
                }
            }
        }
        txn.insert_many("ml2_vlan_allocations", &["physical_network", "vlan_id", "allocated"], missing).await?;
        Ok(())
    }

    async fn free(&self, txn: &mut Txn, pools: &[Pool]) -> Result<Vec<(Option<String>, i64)>, Fault> {
        let wanted = Condition::any(
            pools
                .iter()
                .flat_map(|pool| {
                    let on = Condition::new("physical_network = ?", vec![pool.physical_network.clone().into()]);
                    parts(pool, "vlan_id").into_iter().map(move |part| Condition::all(vec![on.clone(), part]))
                })
                .collect(),
        );
        let sql = format!(
            "SELECT physical_network, vlan_id FROM ml2_vlan_allocations WHERE allocated = ? AND {} ORDER BY 1, 2",
            wanted.sql
        );
        let mut args = vec![false.into()];
        args.extend(wanted.args);
        Ok(txn.query(&sql, &args).await?.iter().map(|row| (row.opt_text(0), row.int(1))).collect())
    }

    fn is_partial(&self, segment: &Segment) -> bool {
        segment.segmentation_id.is_none()
    }

    fn validate(&self, segment: &Segment, pools: &[Pool]) -> Result<(), Fault> {
        let wrong = |text: String| Fault::invalid_input(format!("Invalid input for operation: {text}."));
        match (&segment.physical_network, segment.segmentation_id) {
            (Some(name), _) if of(pools, name).is_none() => Err(wrong(format!(
                "physical_network '{name}' unknown for VLAN provider network; add it to network_vlan_ranges"
            ))),
            (Some(_), Some(id)) if VlanId::new(id).is_none() => {
                Err(wrong(format!("segmentation_id out of range ({} through {}), got {id}", VlanId::MIN, VlanId::MAX)))
            }
            (Some(name), None) if of(pools, name).is_none_or(|pool| pool.ranges.is_empty()) => Err(wrong(format!(
                "physical network {name} requires segmentation_id to be specified when creating a provider network"
            ))),
            (None, Some(_)) => Err(wrong("segmentation_id requires physical_network for VLAN provider network".into())),
            _ => Ok(()),
        }
    }

    async fn reserve(&self, op: &mut Op<'_>, wanted: &Segment) -> Result<Segment, Fault> {
        let Some((name, id)) = wanted.physical_network.as_deref().zip(wanted.segmentation_id) else {
            return Err(Fault::internal("a VLAN segment without network or id is not reserved but allocated"));
        };
        let row = [("physical_network", name.into()), ("vlan_id", id.into()), ("allocated", true.into())];
        if take(op, name, id).await? || op.txn.insert_if_absent("ml2_vlan_allocations", &row).await? {
            return Ok(segment(name, id));
        }
        let message = format!("Unable to create the network. The VLAN {id} on physical network {name} is in use.");
        Err(Fault::conflict("VlanIdInUse", message))
    }

    async fn allocate(
        &self,
        op: &mut Op<'_>,
        physical_network: Option<&str>,
        pools: &[Pool],
    ) -> Result<Option<Segment>, Fault> {
        for pool in pools {
            let Some(name) = pool.physical_network.as_deref() else { continue };
            if physical_network.is_none_or(|wanted| wanted == name)
                && let Some(taken) = take_any(op, name, pool).await?
            {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    async fn release(&self, op: &mut Op<'_>, segment: &Segment, pools: &[Pool]) -> Result<(), Fault> {
        let Some((name, id)) = segment.physical_network.as_deref().zip(segment.segmentation_id) else { return Ok(()) };
        let args = [name.into(), id.into()];
        if pools.iter().any(|pool| pool.contains(Some(name), id)) {
            let sql = "UPDATE ml2_vlan_allocations SET allocated = ? WHERE physical_network = ? AND vlan_id = ?";
            op.txn.execute(sql, &[false.into(), name.into(), id.into()]).await?;
        } else {
            op.txn
                .execute("DELETE FROM ml2_vlan_allocations WHERE physical_network = ? AND vlan_id = ?", &args)
                .await?;
        }
        Ok(())
    }

    fn mtu(&self, physical_network: Option<&str>) -> Option<i64> {
        let physical = physical_mtu(&self.settings, physical_network);
        match self.settings.path_mtu {
            path if path > 0 => Some(physical.map_or(path, |mtu| mtu.min(path))),
            _ => physical,
        }
    }
}
