use async_trait::async_trait;
use resource::Op;
use schema::{Fault, Record, Value};

use super::Segment;

/// What binding needs to know of an agent.
#[derive(Clone, Debug)]
pub struct AgentView {
    pub agent_type: String,
    pub host: String,
    pub alive: bool,
    pub configurations: Value,
}

/// A port that wants to be realised on a host.
#[derive(Debug)]
pub struct BindingRequest<'a> {
    pub port: &'a Record,
    pub host: &'a str,
    pub vnic_type: &'a str,
    pub segments: &'a [Segment],
    /// Agents on the host.
    pub agents: &'a [AgentView],
}

/// A binding that a driver offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    pub segment: Segment,
    /// `bridge`, `ovs`…
    pub vif_type: &'static str,
    pub vif_details: Value,
}

/// How a port changed, for drivers that tell others.
#[derive(Debug)]
pub struct PortChange<'a> {
    pub old: Option<&'a Record>,
    /// None if it was removed.
    pub new: Option<&'a Record>,
}

/// Realises networks and ports on hosts. Hooks run inside the transaction; what must follow the commit goes to the outbox.
#[async_trait]
pub trait MechanismDriver: Send + Sync {
    /// The name in `[ml2] mechanism_drivers`.
    fn name(&self) -> &'static str;

    /// What this driver makes of a port on a host; None if it cannot. Pure.
    fn bind(&self, request: &BindingRequest<'_>) -> Option<Bound> {
        let _ = request;
        None
    }

    /// False for a vnic type that this driver never binds.
    fn supports_vnic(&self, vnic_type: &str) -> bool {
        let _ = vnic_type;
        false
    }

    async fn network_changed(&self, op: &mut Op<'_>, old: Option<&Record>, new: Option<&Record>) -> Result<(), Fault> {
        let _ = (op, old, new);
        Ok(())
    }

    async fn subnet_changed(&self, op: &mut Op<'_>, old: Option<&Record>, new: Option<&Record>) -> Result<(), Fault> {
        let _ = (op, old, new);
        Ok(())
    }

    async fn port_changed(&self, op: &mut Op<'_>, change: PortChange<'_>) -> Result<(), Fault> {
        let _ = (op, change);
        Ok(())
    }
}
