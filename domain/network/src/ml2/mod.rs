//! The seams of the layer-2 plugin: [`TypeDriver`]s own the segmentation ids of one network type, [`MechanismDriver`]s realise
//! networks and ports on hosts. [`Ml2`] holds both lists in the order of the configuration.
//!
//! Reproduces neutron/plugins/ml2/managers.py and neutron_lib/plugins/ml2/api.py. Unlike there, binding is decided inside the
//! transaction that asks for it: it is a pure function of the host's agents and the network's segments.

mod mech;
mod segment;

pub use mech::{AgentView, BindingRequest, Bound, MechanismDriver, PortChange};
pub use segment::{Segment, TypeDriver};

use std::sync::Arc;

use resource::Op;
use schema::{Fault, Value};

use crate::settings::Settings;

pub struct Ml2 {
    pub settings: Arc<Settings>,
    pub types: Vec<Arc<dyn TypeDriver>>,
    pub mechanisms: Vec<Arc<dyn MechanismDriver>>,
}

/// Names of the three provider attributes.
pub const NETWORK_TYPE: &str = "provider:network_type";
pub const PHYSICAL_NETWORK: &str = "provider:physical_network";
pub const SEGMENTATION_ID: &str = "provider:segmentation_id";

impl Ml2 {
    /// The driver of a network type, or 400 for one that is not configured.
    pub fn type_driver(&self, network_type: &str) -> Result<&Arc<dyn TypeDriver>, Fault> {
        self.types.iter().find(|driver| driver.network_type() == network_type).ok_or_else(|| {
            let known: Vec<&str> = self.types.iter().map(|driver| driver.network_type()).collect();
            Fault::invalid_input(format!(
                "Invalid input for operation: network_type value '{network_type}' not supported; this cloud has {}.",
                known.join(", ")
            ))
        })
    }

    /// Reads a segment from provider attributes and lets its driver check it.
    pub fn provider_segment(&self, get: impl Fn(&str) -> Option<Value>) -> Result<Segment, Fault> {
        let text =
            |name: &str| get(name).and_then(|value| value.as_str().map(str::to_owned)).filter(|text| !text.is_empty());
        let Some(network_type) = text(NETWORK_TYPE) else {
            return Err(Fault::invalid_input("Invalid input for operation: network_type required."));
        };
        let segment = Segment {
            id: String::new(),
            network_type,
            physical_network: text(PHYSICAL_NETWORK),
            segmentation_id: get(SEGMENTATION_ID).and_then(|value| value.as_i64()),
        };
        self.type_driver(&segment.network_type)?.validate(&segment)?;
        Ok(segment)
    }

    /// Takes what a checked provider segment names, and fills in what it leaves open.
    pub async fn reserve(&self, op: &mut Op<'_>, segment: &Segment) -> Result<Segment, Fault> {
        self.type_driver(&segment.network_type)?.reserve(op, segment).await
    }

    /// A segment of the first configured tenant type that has one left.
    pub async fn allocate(&self, op: &mut Op<'_>, external: bool) -> Result<Segment, Fault> {
        let types = match &self.settings.external_network_type {
            Some(network_type) if external => std::slice::from_ref(network_type),
            _ => self.settings.tenant_network_types.as_slice(),
        };
        for network_type in types {
            if let Some(segment) = self.type_driver(network_type)?.allocate(op).await? {
                return Ok(segment);
            }
        }
        let message = format!(
            "Unable to create the network. No tenant network is available for allocation: every range of {} is used up.",
            types.join(", ")
        );
        Err(Fault::new(503, "NoNetworkAvailable", message))
    }

    /// Gives a segment back; a type whose driver is gone has nothing to give back to.
    pub async fn release(&self, op: &mut Op<'_>, segment: &Segment) -> Result<(), Fault> {
        match self.type_driver(&segment.network_type) {
            Ok(driver) => driver.release(op, segment).await,
            Err(_) => Ok(()),
        }
    }

    /// The largest MTU that all of the segments carry, bytes.
    pub fn max_mtu(&self, segments: &[Segment]) -> i64 {
        segments
            .iter()
            .filter_map(|segment| {
                self.type_driver(&segment.network_type).ok()?.mtu(segment.physical_network.as_deref())
            })
            .min()
            .unwrap_or(self.settings.global_physnet_mtu)
    }
}
