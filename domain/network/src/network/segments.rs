//! The segments of a network: rows of `networksegments`.

use resource::{Op, new_id};
use schema::Fault;
use store::{Row, Value};

use crate::ml2::Segment;

const COLUMNS: &str = "id, network_type, physical_network, segmentation_id, network_id";

fn from_row(row: &Row) -> Segment {
    Segment {
        id: row.text(0),
        network_type: row.text(1),
        physical_network: row.opt_text(2),
        segmentation_id: row.opt_int(3),
    }
}

/// Stores a reserved segment; the result has its id.
pub async fn add(op: &mut Op<'_>, network: &str, segment: &Segment, index: usize) -> Result<Segment, Fault> {
    let now = op.txn.now();
    let standard = [
        ("resource_type", "networksegments".into()),
        ("created_at", Value::Time(now)),
        ("updated_at", Value::Time(now)),
        ("revision_number", 0.into()),
    ];
    let shared_id = op.txn.insert_id("standardattributes", &standard).await?;
    let id = new_id();
    let row = [
        ("id", id.as_str().into()),
        ("network_id", network.into()),
        ("network_type", segment.network_type.as_str().into()),
        ("physical_network", segment.physical_network.clone().into()),
        ("segmentation_id", segment.segmentation_id.into()),
        ("is_dynamic", false.into()),
        ("segment_index", (index as i64).into()),
        ("standard_attr_id", shared_id.into()),
    ];
    op.txn.insert("networksegments", &row).await?;
    let stored = Segment { id, ..segment.clone() };
    map_hosts(op, &stored).await?;
    Ok(stored)
}

/// Notes which hosts reach a new segment, by what their agents reported; later reports keep it up.
pub async fn map_hosts(op: &mut Op<'_>, segment: &Segment) -> Result<(), Fault> {
    let Some(physical) = segment.physical_network.as_deref() else { return Ok(()) };
    let rows = op.txn.query("SELECT host, configurations FROM agents", &[]).await?;
    for row in &rows {
        let reported: serde_json::Value = serde_json::from_str(row.str(1)).unwrap_or_default();
        let reaches = ["bridge_mappings", "interface_mappings", "device_mappings"]
            .iter()
            .any(|mappings| reported.get(mappings).is_some_and(|mappings| mappings.get(physical).is_some()));
        if reaches {
            let row = [("segment_id", segment.id.as_str().into()), ("host", row.text(0).into())];
            op.txn.insert_if_absent("segmenthostmappings", &row).await?;
        }
    }
    Ok(())
}

/// The segments of a network, in their order.
pub async fn of_network(op: &mut Op<'_>, network: &str) -> Result<Vec<Segment>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM networksegments WHERE network_id = ? AND is_dynamic = ? ORDER BY segment_index, id"
    );
    let rows = op.txn.query(&sql, &[network.into(), false.into()]).await?;
    Ok(rows.iter().map(from_row).collect())
}

/// All segments of these networks, with the network's id first.
pub async fn of_networks(op: &mut Op<'_>, networks: Vec<Value>) -> Result<Vec<(String, Segment)>, Fault> {
    let condition = resource::Condition::one_of("network_id", networks);
    let sql = format!(
        "SELECT {COLUMNS} FROM networksegments WHERE is_dynamic = ? AND {} ORDER BY segment_index, id",
        condition.sql
    );
    let mut args = vec![Value::Bool(false)];
    args.extend(condition.args);
    let rows = op.txn.query(&sql, &args).await?;
    Ok(rows.iter().map(|row| (row.text(4), from_row(row))).collect())
}

/// Also those that drivers made on the fly.
pub async fn of_network_with_dynamic(op: &mut Op<'_>, network: &str) -> Result<Vec<Segment>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM networksegments WHERE network_id = ? ORDER BY segment_index, id");
    let rows = op.txn.query(&sql, &[network.into()]).await?;
    Ok(rows.iter().map(from_row).collect())
}
