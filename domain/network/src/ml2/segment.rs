use async_trait::async_trait;
use resource::Op;
use schema::{Fault, Value};
use store::Txn;

/// A network segment: one broadcast domain of a physical or overlay network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// UUID; empty before it is stored.
    pub id: String,
    pub network_type: String,
    pub physical_network: Option<String>,
    /// VLAN id, VNI or tunnel key; None for types that have none.
    pub segmentation_id: Option<i64>,
}

impl Segment {
    /// As the three provider attributes.
    pub fn to_provider(&self) -> Value {
        serde_json::json!({
            super::NETWORK_TYPE: self.network_type,
            super::PHYSICAL_NETWORK: self.physical_network,
            super::SEGMENTATION_ID: self.segmentation_id,
        })
    }
}

/// Owns the segmentation ids of one network type. A reservation rests on a key or a compare-and-swap, never on reading first.
#[async_trait]
pub trait TypeDriver: Send + Sync {
    fn network_type(&self) -> &'static str;

    /// Brings the allocation table in line with the configured ranges; ids in use stay allocated.
    async fn initialize(&self, txn: &mut Txn) -> Result<(), Fault>;

    /// True if the segment leaves something open that `reserve` has to choose.
    fn is_partial(&self, segment: &Segment) -> bool;

    /// 400 if the segment names what this type does not have, or lacks what it needs.
    fn validate(&self, segment: &Segment) -> Result<(), Fault>;

    /// Takes exactly this segment, or one that fits a partial one.
    async fn reserve(&self, op: &mut Op<'_>, segment: &Segment) -> Result<Segment, Fault>;

    /// Takes any free segment for a project's network; None if there is none left.
    async fn allocate(&self, op: &mut Op<'_>) -> Result<Option<Segment>, Fault>;

    async fn release(&self, op: &mut Op<'_>, segment: &Segment) -> Result<(), Fault>;

    /// Bytes left for a frame's payload; None where the type sets no limit.
    fn mtu(&self, physical_network: Option<&str>) -> Option<i64>;
}
