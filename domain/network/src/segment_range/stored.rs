//! The stored ranges as pools of ids.

use std::collections::BTreeMap;

use resource::new_id;
use schema::Fault;
use store::{Row, Txn, Value};

use crate::ml2::{Pool, TypeDriver};

/// Physical network (None for types without), first and last id.
type Range = (Option<String>, i64, i64);

const TABLE: &str = "network_segment_ranges";
const COLUMNS: &str = "physical_network, minimum, maximum";

fn range(row: &Row) -> Range {
    // Types without physical networks keep an empty text.
    (row.opt_text(0).filter(|name| !name.is_empty()), row.int(1), row.int(2))
}

/// One pool for each physical network.
fn pools(ranges: impl IntoIterator<Item = Range>) -> Vec<Pool> {
    let mut by_network: BTreeMap<Option<String>, Vec<(i64, i64)>> = BTreeMap::new();
    for (physical_network, first, last) in ranges {
        by_network.entry(physical_network).or_default().push((first, last));
    }
    let pool = |(physical_network, ranges)| Pool { physical_network, ranges, whole: false };
    by_network.into_iter().map(pool).collect()
}

/// All stored ranges of a type, and physical networks that are configured without a range.
pub async fn all(txn: &mut Txn, driver: &dyn TypeDriver) -> Result<Vec<Pool>, Fault> {
    if driver.limits().is_none() {
        return Ok(Vec::new());
    }
    let sql = format!("SELECT {COLUMNS} FROM {TABLE} WHERE network_type = ? ORDER BY 1, 2");
    let rows = txn.query(&sql, &[driver.network_type().into()]).await?;
    let mut pools = pools(rows.iter().map(range));
    for configured in driver.configured().iter().filter(|pool| pool.ranges.is_empty()) {
        if !pools.iter().any(|pool| pool.physical_network == configured.physical_network) {
            pools.push(configured.clone());
        }
    }
    Ok(pools)
}

/// The ids that a project may get: those of its own ranges, and those of shared ranges without what other projects have as their own.
pub async fn of_project(txn: &mut Txn, network_type: &str, project: &str) -> Result<[Vec<Pool>; 2], Fault> {
    let sql = format!("SELECT {COLUMNS}, shared, project_id FROM {TABLE} WHERE network_type = ? ORDER BY 1, 2");
    let rows = txn.query(&sql, &[network_type.into()]).await?;
    let (mut own, mut shared, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        match (row.bool(3), row.opt_text(4)) {
            (true, _) => shared.push(range(row)),
            (false, Some(owner)) if owner == project => own.push(range(row)),
            (false, _) => taken.push(range(row)),
        }
    }
    let shared = shared.into_iter().flat_map(|range| without(range, &taken));
    Ok([pools(own), pools(shared)])
}

/// What is left of a range without those of others.
pub(super) fn without((physical_network, first, last): Range, taken: &[Range]) -> Vec<Range> {
    let mut left = vec![(first, last)];
    for (_, from, to) in taken.iter().filter(|other| other.0 == physical_network) {
        left = left
            .into_iter()
            .flat_map(|(first, last)| [(first, last.min(from - 1)), (first.max(to + 1), last)])
            .filter(|(first, last)| first <= last)
            .collect();
    }
    left.into_iter().map(|(first, last)| (physical_network.clone(), first, last)).collect()
}

/// Makes the default ranges of a type those of the configuration. Servers that start at once store each of them once: a key refuses
/// the second.
pub async fn set_defaults(txn: &mut Txn, driver: &dyn TypeDriver) -> Result<(), Fault> {
    let Some(_) = driver.limits() else { return Ok(()) };
    let wanted: Vec<Range> = driver
        .configured()
        .iter()
        .flat_map(|pool| pool.ranges.iter().map(|(first, last)| (pool.physical_network.clone(), *first, *last)))
        .collect();
    let sql = format!("SELECT {COLUMNS}, standard_attr_id FROM {TABLE} WHERE network_type = ? AND \"default\" = ?");
    let rows = txn.query(&sql, &[driver.network_type().into(), true.into()]).await?;
    for row in rows.iter().filter(|row| !wanted.contains(&range(row))) {
        let sql = format!("DELETE FROM {TABLE} WHERE standard_attr_id = ?");
        txn.execute(&sql, &[row.int(3).into()]).await?;
        txn.execute("DELETE FROM standardattributes WHERE id = ?", &[row.int(3).into()]).await?;
    }
    for (physical_network, first, last) in wanted {
        if rows.iter().any(|row| range(row) == (physical_network.clone(), first, last)) {
            continue;
        }
        let now = txn.now();
        let standard = [
            ("resource_type", TABLE.into()),
            ("created_at", Value::Time(now)),
            ("updated_at", Value::Time(now)),
            ("revision_number", 0.into()),
        ];
        let shared_id = txn.insert_id("standardattributes", &standard).await?;
        let row = [
            ("id", new_id().into()),
            ("name", "".into()),
            ("default", true.into()),
            ("shared", true.into()),
            ("network_type", driver.network_type().into()),
            ("physical_network", physical_network.unwrap_or_default().into()),
            ("minimum", first.into()),
            ("maximum", last.into()),
            ("standard_attr_id", shared_id.into()),
        ];
        if !txn.insert_if_absent(TABLE, &row).await? {
            txn.execute("DELETE FROM standardattributes WHERE id = ?", &[shared_id.into()]).await?;
        }
    }
    Ok(())
}
