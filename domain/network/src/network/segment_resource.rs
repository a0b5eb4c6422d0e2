//! `/segments`: the segments of networks as objects of their own, which administrators name, add and remove, and which subnets
//! of routed networks belong to.
//!
//! Reproduces neutron/services/segments (extension `segment`).

use std::sync::Arc;

use async_trait::async_trait;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Attr, Default, Extension, Fault, Kind, Record, Resource, Value, Verbs};

use super::{NUMBER, extension, faults, segments};
use crate::ml2::{Ml2, NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID, Segment};
use crate::standard::{CREATED, DESCRIPTION, ID, REVISION, UPDATED};

pub static SEGMENT: Resource = Resource {
    name: "segment",
    plural: "segments",
    path: "segments",
    table: "networksegments",
    key: "id",
    shared: Some("networksegments"),
    not_found: "SegmentNotFound",
    owner: None,
    verbs: Verbs::ALL,
    quota: None,
    extension: Some(&SEGMENT_EXT),
    attrs: &[
        ID,
        Attr::new("network_id", Kind::Uuid).required(),
        Attr::new("name", Kind::Name { max: 255 }).nullable().post().put().default(Default::Null),
        DESCRIPTION,
        Attr::new("physical_network", Kind::Text { max: 64 }).post(),
        Attr::new("network_type", Kind::Text { max: 32 }).required(),
        Attr::new("segmentation_id", NUMBER).post().no_filter(),
        REVISION,
        CREATED,
        UPDATED,
        // Accepted and forgotten: the network's owner owns it.
        Attr::new("project_id", Kind::Text { max: 255 }).post().hidden().computed().no_filter(),
        // Its place among the segments of its network.
        Attr::new("segment_index", NUMBER).hidden().no_filter().no_sort(),
    ],
};

extension!(SEGMENT_EXT, "segment", "Segment", "Segments of networks as objects", "2016-02-24T17:00:00-00:00");
extension!(
    STANDARD_ATTR,
    "standard-attr-segment",
    "Standard Attribute Segment Extension",
    "Segments have descriptions, times and revisions",
    "2018-04-09T10:00:00-00:00"
);

/// Announced with the resource.
pub static EXTENSIONS: &[&Extension] = &[&STANDARD_ATTR];

pub struct Segments {
    pub ml2: Arc<Ml2>,
}

#[async_trait]
impl Behaviour for Segments {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let record = &mut given.record;
        let network = op.get_visible("network", record.text("network_id")).await?;
        let given = |name: &str| {
            let own = match name {
                NETWORK_TYPE => "network_type",
                PHYSICAL_NETWORK => "physical_network",
                SEGMENTATION_ID => "segmentation_id",
                _ => return None,
            };
            record.value(own).cloned()
        };
        let wanted = self.ml2.provider_segment(op, given).await?;
        let max = self.ml2.max_mtu(std::slice::from_ref(&wanted));
        if network.value("mtu").and_then(Value::as_i64).is_some_and(|mtu| mtu > max) {
            return Err(faults::mtu_too_big(max));
        }
        let taken = self.ml2.reserve(op, &wanted, network.project()).await?;
        let last = "SELECT MAX(segment_index) FROM networksegments WHERE network_id = ?";
        let last = op.txn.query_one(last, &[network.id().into()]).await?.and_then(|row| row.opt_int(0));
        record.set("physical_network", taken.physical_network);
        record.set("segmentation_id", taken.segmentation_id);
        record.set("segment_index", last.map_or(0, |last| last + 1));
        Ok(())
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        let segment = Segment {
            id: record.id().to_owned(),
            network_type: record.text("network_type").to_owned(),
            physical_network: record.value("physical_network").and_then(Value::as_str).map(str::to_owned),
            segmentation_id: None,
        };
        segments::map_hosts(op, &segment).await
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let id: store::Value = record.id().into();
        let sql = "SELECT id FROM subnets WHERE segment_id = ? ORDER BY id";
        let subnets: Vec<String> =
            op.txn.query(sql, std::slice::from_ref(&id)).await?.iter().map(|row| row.text(0)).collect();
        if !subnets.is_empty() {
            let why = format!("it still has the subnet(s) {}", subnets.join(", "));
            return Err(faults::segment_in_use(record.id(), &why));
        }
        let on_it = "ports.id IN (SELECT port_id FROM ml2_port_binding_levels WHERE segment_id = ?)";
        let bound = op.find("port", Condition::new(on_it, vec![id])).await?;
        // Ports that the server made for its DHCP agents go along.
        if bound.iter().any(|port| port.text("device_owner") != "network:dhcp") {
            let why = format!("{} port(s) are bound to it", bound.len());
            return Err(faults::segment_in_use(record.id(), &why));
        }
        for port in &bound {
            op.delete("port", port).await?;
        }
        for segment in segments::of_network_with_dynamic(op, record.text("network_id")).await? {
            if segment.id == record.id() {
                self.ml2.release(op, &segment).await?;
            }
        }
        Ok(())
    }
}
