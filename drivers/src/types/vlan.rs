use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use network::ml2::{Segment, TypeDriver};
use network::settings::Settings;
use resource::Op;
use schema::Fault;
use store::{Txn, Value};
use types::VlanId;

use super::VlanRanges;
use super::flat::physical_mtu;

/// 802.1Q networks. `ml2_vlan_allocations` has a row per id of the configured ranges; a compare-and-swap on `allocated` takes it. Ids
/// outside the ranges are for administrators: their row is made when they are taken and removed when they are released.
pub struct Vlan {
    ranges: VlanRanges,
    settings: Arc<Settings>,
}

impl Vlan {
    pub fn new(ranges: VlanRanges, settings: Arc<Settings>) -> Vlan {
        Vlan { ranges, settings }
    }

    fn in_range(&self, physical_network: &str, id: i64) -> bool {
        self.ranges
            .get(physical_network)
            .is_some_and(|ranges| ranges.iter().any(|(min, max)| (*min..=*max).contains(&id)))
    }

    fn segment(physical_network: &str, id: i64) -> Segment {
        Segment {
            id: String::new(),
            network_type: "vlan".into(),
            physical_network: Some(physical_network.into()),
            segmentation_id: Some(id),
        }
    }

    /// Takes a free id of the ranges; a random one of the first few, so that parallel requests seldom want the same.
    async fn take_any(&self, op: &mut Op<'_>, physical_network: Option<&str>) -> Result<Option<Segment>, Fault> {
        let names: Vec<&str> = match physical_network {
            Some(name) => vec![name],
            None => self.ranges.keys().map(String::as_str).collect(),
        };
        for name in names {
            loop {
                let sql =
                    "SELECT vlan_id FROM ml2_vlan_allocations WHERE physical_network = ? AND allocated = ? LIMIT 32";
                let free = op.txn.query(sql, &[name.into(), false.into()]).await?;
                if free.is_empty() {
                    break;
                }
                let id = free[rand::random_range(0..free.len())].int(0);
                if take(op, name, id).await? {
                    return Ok(Some(Vlan::segment(name, id)));
                }
            }
        }
        Ok(None)
    }
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

    async fn initialize(&self, txn: &mut Txn) -> Result<(), Fault> {
        let rows = txn.query("SELECT physical_network, vlan_id, allocated FROM ml2_vlan_allocations", &[]).await?;
        let mut known = HashSet::new();
        for row in &rows {
            let (name, id) = (row.text(0), row.int(1));
            // An id that left the ranges goes as soon as nobody uses it.
            if !row.bool(2) && !self.in_range(&name, id) {
                let sql =
                    "DELETE FROM ml2_vlan_allocations WHERE physical_network = ? AND vlan_id = ? AND allocated = ?";
                txn.execute(sql, &[name.as_str().into(), id.into(), false.into()]).await?;
            } else {
                known.insert((name, id));
            }
        }
        let mut missing = Vec::new();
        for (name, ranges) in &self.ranges {
            for id in ranges.iter().flat_map(|(min, max)| *min..=*max) {
                if known.insert((name.clone(), id)) {
                    missing.push(vec![name.as_str().into(), Value::Int(id), Value::Bool(false)]);
                }
            }
        }
        txn.insert_many("ml2_vlan_allocations", &["physical_network", "vlan_id", "allocated"], missing).await?;
        Ok(())
    }

    fn is_partial(&self, segment: &Segment) -> bool {
        segment.segmentation_id.is_none()
    }

    fn validate(&self, segment: &Segment) -> Result<(), Fault> {
        let wrong = |text: String| Fault::invalid_input(format!("Invalid input for operation: {text}."));
        match (&segment.physical_network, segment.segmentation_id) {
            (Some(name), _) if !self.ranges.contains_key(name) => Err(wrong(format!(
                "physical_network '{name}' unknown for VLAN provider network; add it to network_vlan_ranges"
            ))),
            (Some(_), Some(id)) if VlanId::new(id).is_none() => {
                Err(wrong(format!("segmentation_id out of range ({} through {}), got {id}", VlanId::MIN, VlanId::MAX)))
            }
            (Some(name), None) if self.ranges.get(name).is_none_or(Vec::is_empty) => Err(wrong(format!(
                "physical network {name} requires segmentation_id to be specified when creating a provider network"
            ))),
            (None, Some(_)) => Err(wrong("segmentation_id requires physical_network for VLAN provider network".into())),
            _ => Ok(()),
        }
    }

    async fn reserve(&self, op: &mut Op<'_>, segment: &Segment) -> Result<Segment, Fault> {
        let name = segment.physical_network.as_deref();
        let Some((name, id)) = name.zip(segment.segmentation_id) else {
            return self.take_any(op, name).await?.ok_or_else(|| {
                Fault::new(503, "NoNetworkAvailable", "Unable to create the network. No tenant network is available for allocation: every VLAN of the ranges is in use.")
            });
        };
        let row = [("physical_network", name.into()), ("vlan_id", id.into()), ("allocated", true.into())];
        if take(op, name, id).await? || op.txn.insert_if_absent("ml2_vlan_allocations", &row).await? {
            return Ok(Vlan::segment(name, id));
        }
        let message = format!("Unable to create the network. The VLAN {id} on physical network {name} is in use.");
        Err(Fault::conflict("VlanIdInUse", message))
    }

    async fn allocate(&self, op: &mut Op<'_>) -> Result<Option<Segment>, Fault> {
        self.take_any(op, None).await
    }

    async fn release(&self, op: &mut Op<'_>, segment: &Segment) -> Result<(), Fault> {
        let Some((name, id)) = segment.physical_network.as_deref().zip(segment.segmentation_id) else { return Ok(()) };
        let args = [name.into(), id.into()];
        if self.in_range(name, id) {
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
