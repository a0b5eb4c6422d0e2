use std::sync::Arc;

use async_trait::async_trait;
use network::network::segments;
use network::port::HOST;
use network::port::bindings::Moves;
use resource::{Behaviour, Op};
use rpc::l2::{L2Notifier, NetworkNews, PortNews};
use schema::{Fault, Record, Value};

use crate::view::{rpc_context, to_json};

/// Tells the agents that wire devices what changed in networks and ports.
pub struct News {
    pub notifier: Arc<L2Notifier>,
    pub of: Of,
}

/// Which resource this one reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Networks,
    Ports,
}

/// Attributes of a port that an agent acts on.
const WIRED: [&str; 8] = [
    "admin_state_up",
    "binding:host_id",
    "binding:vif_type",
    "port_security_enabled",
    "security_groups",
    "allowed_address_pairs",
    "fixed_ips",
    "mac_address",
];

/// Several that hear of moves, in order.
pub struct AllMoves(pub Vec<Arc<dyn Moves>>);

#[async_trait]
impl Moves for AllMoves {
    async fn moved(&self, op: &mut Op<'_>, port: &Record, from: &str, to: &str) -> Result<(), Fault> {
        for one in &self.0 {
            one.moved(op, port, from, to).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl Moves for News {
    async fn moved(&self, op: &mut Op<'_>, port: &Record, from: &str, to: &str) -> Result<(), Fault> {
        let (context, notifier) = (rpc_context(op.context), self.notifier.clone());
        let (id, network) = (port.id().to_owned(), port.text("network_id").to_owned());
        let (from, to) = (from.to_owned(), to.to_owned());
        op.txn.after_commit("binding_activate", async move {
            let left = notifier.binding_deactivate(&context, id.clone(), from, Some(network)).await;
            if let Err(error) = left.and(notifier.binding_activate(&context, id, to).await) {
                tracing::warn!(%error, "the agents could not be told that a port moved to another host");
            }
        });
        Ok(())
    }
}

#[async_trait]
impl Behaviour for News {
    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        let differ = |names: &[&str]| names.iter().any(|name| old.value(name) != new.value(name));
        let context = rpc_context(op.context);
        let notifier = self.notifier.clone();
        let Value::Object(extra) = to_json(new) else { return Ok(()) };
        let id = new.id().to_owned();
        let mut extra = extra;
        extra.remove("id");
        match self.of {
            Of::Networks if differ(&["mtu", "admin_state_up"]) => {
                op.txn.after_commit("network_update", async move {
                    if let Err(error) = notifier.network_update(&context, NetworkNews { id, extra }).await {
                        tracing::warn!(%error, "the agents could not be told that a network changed");
                    }
                });
            }
            // Ports of no host are nobody's to wire.
            Of::Ports if differ(&WIRED) && (new.get(HOST) != Some("") || old.get(HOST) != Some("")) => {
                let segment = segments::of_network(op, new.text("network_id")).await?.into_iter().next();
                op.txn.after_commit("port_update", async move {
                    let network_type = segment.as_ref().map(|segment| segment.network_type.clone());
                    let segmentation_id = segment
                        .as_ref()
                        .and_then(|segment| segment.segmentation_id)
                        .and_then(|id| u32::try_from(id).ok());
                    let physical_network = segment.and_then(|segment| segment.physical_network);
                    let port = PortNews { id, extra };
                    let told = notifier.port_update(&context, port, network_type, segmentation_id, physical_network);
                    if let Err(error) = told.await {
                        tracing::warn!(%error, "the agents could not be told that a port changed");
                    }
                });
            }
            _ => {}
        }
        Ok(())
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let context = rpc_context(op.context);
        let notifier = self.notifier.clone();
        let id = record.id().to_owned();
        match self.of {
            Of::Networks => op.txn.after_commit("network_delete", async move {
                if let Err(error) = notifier.network_delete(&context, id).await {
                    tracing::warn!(%error, "the agents could not be told that a network is gone");
                }
            }),
            Of::Ports if record.get(HOST) != Some("") => op.txn.after_commit("port_delete", async move {
                if let Err(error) = notifier.port_delete(&context, id).await {
                    tracing::warn!(%error, "the agents could not be told that a port is gone");
                }
            }),
            Of::Ports => {}
        }
        Ok(())
    }
}
