//! The seams of the layer-2 plugin: [`TypeDriver`]s own the segmentation ids of one network type, [`MechanismDriver`]s realise
//! networks and ports on hosts. [`Ml2`] holds both lists in the order of the configuration.
//!
//! Reproduces neutron/plugins/ml2/managers.py and neutron_lib/plugins/ml2/api.py. Unlike there, binding is decided inside the
//! transaction that asks for it: it is a pure function of the host's agents and the network's segments.

mod mech;
mod segment;

pub use mech::{AgentView, BindingRequest, Bound, MechanismDriver, PortChange};
pub use segment::{Pool, Segment, TypeDriver};

use std::borrow::Cow;
use std::sync::Arc;

use resource::Op;
use schema::{Fault, Value};
use store::Txn;

use crate::segment_range::stored;
use crate::settings::Settings;

/// Where the ids of the types come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranges {
    /// From the configuration.
    Configured,
    /// From the table `network_segment_ranges`, which the configuration only fills with defaults.
    Stored,
}

pub struct Ml2 {
    pub settings: Arc<Settings>,
    pub ranges: Ranges,
    pub types: Vec<Arc<dyn TypeDriver>>,
    pub mechanisms: Vec<Arc<dyn MechanismDriver>>,
}

/// Names of the three provider attributes.
pub const NETWORK_TYPE: &str = "provider:network_type";
pub const PHYSICAL_NETWORK: &str = "provider:physical_network";
pub const SEGMENTATION_ID: &str = "provider:segmentation_id";

fn none_left(types: &str) -> Fault {
    let message = format!(
        "Unable to create the network. No tenant network is available for allocation: every range of {types} is used up."
    );
    Fault::new(503, "NoNetworkAvailable", message)
}

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

    /// All ids of a type.
    async fn pools<'a>(&self, op: &mut Op<'_>, driver: &'a dyn TypeDriver) -> Result<Cow<'a, [Pool]>, Fault> {
        match self.ranges {
            Ranges::Configured => Ok(driver.configured().into()),
            Ranges::Stored => Ok(stored::all(op.txn, driver).await?.into()),
        }
    }

    /// Ids of a type for a network of the project, those to take first in front.
    async fn choices<'a>(
        &self,
        op: &mut Op<'_>,
        driver: &'a dyn TypeDriver,
        project: &str,
    ) -> Result<Vec<Cow<'a, [Pool]>>, Fault> {
        match self.ranges {
            Ranges::Configured => Ok(vec![driver.configured().into()]),
            Ranges::Stored if driver.limits().is_none() => Ok(vec![Cow::Borrowed(&[])]),
            Ranges::Stored => {
                let [own, shared] = stored::of_project(op.txn, driver.network_type(), project).await?;
                Ok(vec![own.into(), shared.into()])
            }
        }
    }

    /// Fills the tables of the types at start.
    pub async fn start(&self, txn: &mut Txn) -> Result<(), Fault> {
        for driver in &self.types {
            match self.ranges {
                Ranges::Configured => driver.sync(txn, driver.configured()).await?,
                Ranges::Stored => {
                    stored::set_defaults(txn, driver.as_ref()).await?;
                    let pools = stored::all(txn, driver.as_ref()).await?;
                    driver.sync(txn, &pools).await?;
                }
            }
        }
        Ok(())
    }

    /// Brings the ids of a type in line with the stored ranges, which changed.
    pub async fn ranges_changed(&self, op: &mut Op<'_>, network_type: &str) -> Result<(), Fault> {
        let driver = self.type_driver(network_type)?;
        let pools = stored::all(op.txn, driver.as_ref()).await?;
        driver.sync(op.txn, &pools).await
    }

    /// Lets the driver of the segment's type check it.
    pub async fn validate(&self, op: &mut Op<'_>, segment: &Segment) -> Result<(), Fault> {
        let driver = self.type_driver(&segment.network_type)?.as_ref();
        let pools = self.pools(op, driver).await?;
        driver.validate(segment, &pools)
    }

    /// Reads a segment from provider attributes and lets its driver check it.
    pub async fn provider_segment(
        &self,
        op: &mut Op<'_>,
        get: impl Fn(&str) -> Option<Value>,
    ) -> Result<Segment, Fault> {
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
        self.validate(op, &segment).await?;
        Ok(segment)
    }

    /// Takes what a checked provider segment names, and fills in what it leaves open from what the project may have.
    pub async fn reserve(&self, op: &mut Op<'_>, segment: &Segment, project: &str) -> Result<Segment, Fault> {
        let driver = self.type_driver(&segment.network_type)?;
        if !driver.is_partial(segment) {
            return driver.reserve(op, segment).await;
        }
        let physical_network = segment.physical_network.as_deref();
        match self.take(op, driver.as_ref(), physical_network, project).await? {
            Some(taken) => Ok(taken),
            None => Err(none_left(&segment.network_type)),
        }
    }

    async fn take(
        &self,
        op: &mut Op<'_>,
        driver: &dyn TypeDriver,
        physical_network: Option<&str>,
        project: &str,
    ) -> Result<Option<Segment>, Fault> {
        for pools in self.choices(op, driver, project).await? {
            if let Some(segment) = driver.allocate(op, physical_network, &pools).await? {
                return Ok(Some(segment));
            }
        }
        Ok(None)
    }

    /// A segment of the first configured tenant type that has one left for the project.
    pub async fn allocate(&self, op: &mut Op<'_>, external: bool, project: &str) -> Result<Segment, Fault> {
        let types = match &self.settings.external_network_type {
            Some(network_type) if external => std::slice::from_ref(network_type),
            _ => self.settings.tenant_network_types.as_slice(),
        };
        for network_type in types {
            let driver = self.type_driver(network_type)?;
            if let Some(segment) = self.take(op, driver.as_ref(), None, project).await? {
                return Ok(segment);
            }
        }
        Err(none_left(&types.join(", ")))
    }

    /// Gives a segment back; a type whose driver is gone has nothing to give back to.
    pub async fn release(&self, op: &mut Op<'_>, segment: &Segment) -> Result<(), Fault> {
        match self.type_driver(&segment.network_type) {
            Ok(driver) => {
                let pools = self.pools(op, driver.as_ref()).await?;
                driver.release(op, segment, &pools).await
            }
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
