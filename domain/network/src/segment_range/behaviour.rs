use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Fault, Record, Value};
use serde_json::Map;

use super::faults;
use crate::ml2::{Ml2, Pool};

pub struct SegmentRanges {
    pub ml2: Arc<Ml2>,
}

fn bounds(record: &Record) -> (i64, i64) {
    let number = |name: &str| record.value(name).and_then(Value::as_i64).unwrap_or_default();
    (number("minimum"), number("maximum"))
}

fn is_default(record: &Record) -> bool {
    record.value("default") == Some(&Value::Bool(true))
}

/// None for types without physical networks, whose ranges keep an empty text.
fn physical_network(record: &Record) -> Option<&str> {
    Some(record.text("physical_network")).filter(|name| !name.is_empty())
}

impl SegmentRanges {
    fn check_bounds(&self, record: &Record) -> Result<(), Fault> {
        let network_type = record.text("network_type");
        let driver = self.ml2.type_driver(network_type).map_err(|_| faults::type_not_supported(network_type))?;
        let Some((smallest, largest)) = driver.limits() else { return Err(faults::type_not_supported(network_type)) };
        // The columns of the reference's schema hold no more.
        let largest = largest.min(i32::MAX.into());
        let (first, last) = bounds(record);
        for id in [first, last] {
            if !(smallest..=largest).contains(&id) {
                let why = format!("{id} is not a valid {network_type} identifier, which are {smallest} to {largest}");
                return Err(faults::bad_range(network_type, (first, last), &why));
            }
        }
        if last < first {
            return Err(faults::bad_range(network_type, (first, last), "the end is less than the start"));
        }
        Ok(())
    }

    async fn check_overlap(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let network_type = record.text("network_type");
        // No key says that ranges do not overlap. Whoever makes or changes one writes to this row first, so one of two that do it at
        // once waits, or is refused and looks again.
        let sql = "UPDATE standardattributes SET revision_number = revision_number + 1 WHERE id = \
                   (SELECT MIN(standard_attr_id) FROM network_segment_ranges WHERE network_type = ? AND \"default\" = ?)";
        op.txn.execute(sql, &[network_type.into(), true.into()]).await?;
        let sql = "SELECT id FROM network_segment_ranges WHERE \"default\" = ? AND network_type = ? AND physical_network = ? \
                   AND id <> ? AND minimum <= ? AND maximum >= ? ORDER BY id";
        let (first, last) = bounds(record);
        let args = [
            false.into(),
            network_type.into(),
            record.text("physical_network").into(),
            record.id().into(),
            last.into(),
            first.into(),
        ];
        let others: Vec<String> = op.txn.query(sql, &args).await?.iter().map(|row| row.text(0)).collect();
        if others.is_empty() { Ok(()) } else { Err(faults::overlaps(&others)) }
    }

    /// The ids of the range that networks have.
    async fn used(&self, op: &mut Op<'_>, record: &Record) -> Result<Vec<i64>, Fault> {
        let (sql, args) = used_by(&[record]);
        let sql = format!("SELECT networksegments.segmentation_id {sql} ORDER BY 1");
        Ok(op.txn.query(&sql, &args).await?.iter().map(|row| row.int(0)).collect())
    }
}

/// The networks with ids of these ranges.
fn used_by(records: &[&Record]) -> (String, Vec<store::Value>) {
    let of_range = |record: &&Record| {
        let (first, last) = bounds(record);
        let mut parts = vec![
            Condition::new("networksegments.network_type = ?", vec![record.text("network_type").into()]),
            Condition::new("networksegments.segmentation_id BETWEEN ? AND ?", vec![first.into(), last.into()]),
        ];
        parts.push(match physical_network(record) {
            Some(name) => Condition::new("networksegments.physical_network = ?", vec![name.into()]),
            None => Condition::new("networksegments.physical_network IS NULL", Vec::new()),
        });
        Condition::all(parts)
    };
    let wanted = Condition::any(records.iter().map(of_range).collect());
    let sql =
        format!("FROM networksegments JOIN networks ON networks.id = networksegments.network_id WHERE {}", wanted.sql);
    (sql, wanted.args)
}

#[async_trait]
impl Behaviour for SegmentRanges {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let record = &mut given.record;
        let network_type = record.text("network_type").to_owned();
        let known = self.ml2.type_driver(&network_type).is_ok_and(|driver| driver.limits().is_some());
        if !known {
            return Err(faults::type_not_supported(&network_type));
        }
        self.check_bounds(record)?;
        match network_type.as_str() {
            "vlan" if physical_network(record).is_none() => return Err(faults::no_physical_network()),
            "vlan" => {}
            _ => record.set("physical_network", ""),
        }
        if record.value("shared") == Some(&Value::Bool(true)) {
            record.set("project_id", Value::Null);
        } else if record.text("project_id").is_empty() {
            return Err(faults::no_project());
        }
        record.set("default", false);
        self.check_overlap(op, record).await
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        self.ml2.ranges_changed(op, record.text("network_type")).await
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, _given: &Given) -> Result<(), Fault> {
        if is_default(old) {
            return Err(faults::read_only(old.id()));
        }
        if bounds(old) == bounds(new) {
            return Ok(());
        }
        let (first, last) = bounds(new);
        if let Some(outside) = self.used(op, old).await?.into_iter().find(|id| !(first..=last).contains(id)) {
            return Err(faults::referenced(old.id(), outside));
        }
        self.check_bounds(new)?;
        self.check_overlap(op, new).await?;
        // Before the answer is read, which lists the ids that are free.
        let sql = "UPDATE network_segment_ranges SET minimum = ?, maximum = ? WHERE id = ?";
        op.txn.execute(sql, &[first.into(), last.into(), old.id().into()]).await?;
        self.ml2.ranges_changed(op, new.text("network_type")).await
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        if is_default(record) {
            return Err(faults::read_only(record.id()));
        }
        match self.used(op, record).await?.first() {
            Some(id) => Err(faults::referenced(record.id(), *id)),
            None => Ok(()),
        }
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        // The driver may have left the configuration since.
        if self.ml2.type_driver(record.text("network_type")).is_err() {
            return Ok(());
        }
        self.ml2.ranges_changed(op, record.text("network_type")).await
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        if op.wants("used") && !records.is_empty() {
            let (sql, args) = used_by(&records.iter().collect::<Vec<_>>());
            let sql = format!(
                "SELECT networksegments.network_type, networksegments.physical_network, networksegments.segmentation_id, \
                 networks.project_id {sql} ORDER BY 3"
            );
            let rows = op.txn.query(&sql, &args).await?;
            for record in records.iter_mut() {
                let (first, last) = bounds(record);
                let network = physical_network(record).map(str::to_owned);
                let mut used = Map::new();
                for row in &rows {
                    let same = row.text(0) == record.text("network_type") && row.opt_text(1) == network;
                    if same && (first..=last).contains(&row.int(2)) {
                        used.insert(row.int(2).to_string(), row.opt_text(3).into());
                    }
                }
                record.set("used", Value::Object(used));
            }
        }
        if op.wants("available") {
            let mut pools: BTreeMap<String, Vec<Pool>> = BTreeMap::new();
            for record in records.iter() {
                let pool = Pool {
                    physical_network: physical_network(record).map(str::to_owned),
                    ranges: vec![bounds(record)],
                    whole: false,
                };
                pools.entry(record.text("network_type").to_owned()).or_default().push(pool);
            }
            let mut free = BTreeMap::new();
            for (network_type, pools) in pools {
                if let Ok(driver) = self.ml2.type_driver(&network_type) {
                    free.insert(network_type, driver.free(op.txn, &pools).await?);
                }
            }
            for record in records.iter_mut() {
                let (first, last) = bounds(record);
                let network = physical_network(record).map(str::to_owned);
                let ids: Vec<Value> = free
                    .get(record.text("network_type"))
                    .into_iter()
                    .flatten()
                    .filter(|(name, id)| *name == network && (first..=last).contains(id))
                    .map(|(_, id)| Value::from(*id))
                    .collect();
                record.set("available", ids);
            }
        }
        Ok(())
    }
}
