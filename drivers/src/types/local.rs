use async_trait::async_trait;
use network::ml2::{Pool, Segment, TypeDriver};
use resource::Op;
use schema::Fault;

/// Networks that stay within one host; nothing to allocate.
pub struct Local;

fn segment() -> Segment {
    Segment { id: String::new(), network_type: "local".into(), physical_network: None, segmentation_id: None }
}

#[async_trait]
impl TypeDriver for Local {
    fn network_type(&self) -> &'static str {
        "local"
    }

    fn is_partial(&self, _segment: &Segment) -> bool {
        false
    }

    fn validate(&self, segment: &Segment, _pools: &[Pool]) -> Result<(), Fault> {
        super::flat::refuse_id(segment)?;
        match &segment.physical_network {
            Some(name) => Err(Fault::invalid_input(format!(
                "Invalid input for operation: physical_network '{name}' specified for local network; leave it out."
            ))),
            None => Ok(()),
        }
    }

    async fn reserve(&self, _op: &mut Op<'_>, _segment: &Segment) -> Result<Segment, Fault> {
        Ok(segment())
    }

    async fn allocate(
        &self,
        _op: &mut Op<'_>,
        _physical_network: Option<&str>,
        _pools: &[Pool],
    ) -> Result<Option<Segment>, Fault> {
        Ok(Some(segment()))
    }

    async fn release(&self, _op: &mut Op<'_>, _segment: &Segment, _pools: &[Pool]) -> Result<(), Fault> {
        Ok(())
    }

    fn mtu(&self, _physical_network: Option<&str>) -> Option<i64> {
        None
    }
}
