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

/// Segmentation ids that may be given out, of one physical network where the type has such.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    pub physical_network: Option<String>,
    /// First and last ids. None of them: administrators name every id themselves.
    pub ranges: Vec<(i64, i64)>,
    /// These are all ids that the type has rows for, so that any free row will do.
    pub whole: bool,
}

impl Pool {
    pub fn contains(&self, physical_network: Option<&str>, id: i64) -> bool {
        self.physical_network.as_deref() == physical_network
            && self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&id))
    }
}

/// Owns the segmentation ids of one network type. A reservation rests on a key or a compare-and-swap, never on reading first.
#[async_trait]
pub trait TypeDriver: Send + Sync {
    fn network_type(&self) -> &'static str;

    /// The ids that the configuration gives this type; nothing for types without ids.
    fn configured(&self) -> &[Pool] {
        &[]
    }

    /// Smallest and largest id that a range may have; None for types without ids.
    fn limits(&self) -> Option<(i64, i64)> {
        None
    }

    /// Brings the allocation table in line with these ids; ids in use stay allocated.
    async fn sync(&self, txn: &mut Txn, pools: &[Pool]) -> Result<(), Fault> {
        let _ = (txn, pools);
        Ok(())
    }

    /// Ids of these pools that nobody has, with their physical network.
    async fn free(&self, txn: &mut Txn, pools: &[Pool]) -> Result<Vec<(Option<String>, i64)>, Fault> {
        let _ = (txn, pools);
        Ok(Vec::new())
    }

    /// True if the segment leaves something open that `allocate` has to choose.
    fn is_partial(&self, segment: &Segment) -> bool;

    /// 400 if the segment names what this type does not have, or lacks what it needs.
    fn validate(&self, segment: &Segment, pools: &[Pool]) -> Result<(), Fault>;

    /// Takes exactly this segment, which is not partial.
    async fn reserve(&self, op: &mut Op<'_>, segment: &Segment) -> Result<Segment, Fault>;

    /// Takes any free segment of these pools, if given on that physical network; None if there is none left.
    async fn allocate(
        &self,
        op: &mut Op<'_>,
        physical_network: Option<&str>,
        pools: &[Pool],
    ) -> Result<Option<Segment>, Fault>;

    /// Gives a segment back to these pools, or forgets it if they do not have its id.
    async fn release(&self, op: &mut Op<'_>, segment: &Segment, pools: &[Pool]) -> Result<(), Fault>;

    /// Bytes left for a frame's payload; None where the type sets no limit.
    fn mtu(&self, physical_network: Option<&str>) -> Option<i64>;
}
