use std::sync::Arc;

use async_trait::async_trait;
use network::ml2::{Pool, Segment, TypeDriver};
use network::settings::Settings;
use resource::Op;
use schema::Fault;

/// Untagged networks: one per physical network, its row in `ml2_flat_allocations` is the key.
pub struct Flat {
    /// None allows any name.
    names: Option<Vec<String>>,
    settings: Arc<Settings>,
}

impl Flat {
    pub fn new(names: &[String], settings: Arc<Settings>) -> Flat {
        let any = names.iter().any(|name| name == "*");
        Flat { names: (!any).then(|| names.to_vec()), settings }
    }
}

/// 400 for a segmentation id where the type has none.
pub(super) fn refuse_id(segment: &Segment) -> Result<(), Fault> {
    match segment.segmentation_id {
        Some(id) => Err(Fault::invalid_input(format!(
            "Invalid input for operation: segmentation_id {id} specified for {} network; leave it out.",
            segment.network_type
        ))),
        None => Ok(()),
    }
}

/// MTU of a physical network, bytes.
pub(super) fn physical_mtu(settings: &Settings, physical_network: Option<&str>) -> Option<i64> {
    let own = physical_network.and_then(|name| settings.physical_network_mtus.get(name)).copied();
    let mtu = own.unwrap_or(settings.global_physnet_mtu);
    (mtu > 0).then_some(mtu)
}

#[async_trait]
impl TypeDriver for Flat {
    fn network_type(&self) -> &'static str {
        "flat"
    }

    fn is_partial(&self, _segment: &Segment) -> bool {
        false
    }

    fn validate(&self, segment: &Segment, _pools: &[Pool]) -> Result<(), Fault> {
        let Some(name) = &segment.physical_network else {
            return Err(Fault::invalid_input(
                "Invalid input for operation: physical_network required for flat provider network.",
            ));
        };
        if let Some(names) = &self.names
            && !names.contains(name)
        {
            return Err(Fault::invalid_input(format!(
                "Invalid input for operation: physical_network '{name}' unknown for flat provider network; add it to flat_networks."
            )));
        }
        refuse_id(segment)
    }

    async fn reserve(&self, op: &mut Op<'_>, segment: &Segment) -> Result<Segment, Fault> {
        let name = segment.physical_network.as_deref().unwrap_or_default();
        if op.txn.insert_if_absent("ml2_flat_allocations", &[("physical_network", name.into())]).await? {
            return Ok(segment.clone());
        }
        let message = format!("Unable to create the flat network. Physical network {name} is in use.");
        Err(Fault::conflict("FlatNetworkInUse", message))
    }

    async fn allocate(
        &self,
        _op: &mut Op<'_>,
        _physical_network: Option<&str>,
        _pools: &[Pool],
    ) -> Result<Option<Segment>, Fault> {
        // Only administrators name physical networks.
        Ok(None)
    }

    async fn release(&self, op: &mut Op<'_>, segment: &Segment, _pools: &[Pool]) -> Result<(), Fault> {
        let name = segment.physical_network.as_deref().unwrap_or_default();
        op.txn.execute("DELETE FROM ml2_flat_allocations WHERE physical_network = ?", &[name.into()]).await?;
        Ok(())
    }

    fn mtu(&self, physical_network: Option<&str>) -> Option<i64> {
        physical_mtu(&self.settings, physical_network)
    }
}
