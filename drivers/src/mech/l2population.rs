//! L2 population: every agent is told behind which tunnel endpoint each port of its networks is, so that overlay networks need
//! neither multicast nor flooding to learn it.
//!
//! Reproduces neutron/plugins/ml2/drivers/l2pop/mech_driver.py. A port is announced when it becomes ACTIVE and withdrawn when it goes DOWN,
//! moves or is deleted. The first port of a network on a host makes the others flood to it, and the host gets all that they have.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use agents::l2::Refresh;
use agents::rpc_context;
use async_trait::async_trait;
use messaging::Bus;
use network::ml2::{MechanismDriver, PortChange};
use network::port::{HOST, STATUS, fixed_ips};
use resource::{Condition, Op};
use rpc::l2pop::{ChangedIps, Entries, FdbEntries, IpChange, L2popNotifier, PortInfo};
use schema::{Fault, Record};
use serde_json::Value;
use types::Mac;

pub struct L2Population {
    notifier: L2popNotifier,
}

/// A host's tunnel endpoint and the segment of a network there.
struct Place {
    endpoint: IpAddr,
    network_type: String,
    segmentation_id: Option<u32>,
}

fn infos(port: &Record) -> Vec<PortInfo> {
    let mac = port.text("mac_address").parse().unwrap_or(Mac::ZERO);
    fixed_ips(port).into_iter().map(|fixed| PortInfo(mac, fixed.ip)).collect()
}

fn host(port: &Record) -> &str {
    port.get(HOST).unwrap_or_default()
}

impl L2Population {
    pub fn new(bus: Bus) -> Arc<L2Population> {
        Arc::new(L2Population { notifier: L2popNotifier::new(bus) })
    }

    /// Tunnel endpoints of hosts, as their agents report them, for a network type.
    async fn endpoints(
        &self,
        op: &mut Op<'_>,
        hosts: Vec<store::Value>,
        network_type: &str,
    ) -> Result<BTreeMap<String, IpAddr>, Fault> {
        let condition = Condition::one_of("host", hosts);
        let sql = format!(
            "SELECT host, configurations FROM agents WHERE agent_type IN ('Linux bridge agent', 'Open vSwitch agent') AND {}",
            condition.sql
        );
        let mut endpoints = BTreeMap::new();
        for row in op.txn.query(&sql, &condition.args).await? {
            let configurations: Value = serde_json::from_str(&row.text(1)).unwrap_or(Value::Null);
            let types = configurations.get("l2pop_network_types").or_else(|| configurations.get("tunnel_types"));
            let serves =
                types.and_then(Value::as_array).is_some_and(|types| types.iter().any(|own| own == network_type));
            let endpoint = configurations.get("tunneling_ip").and_then(Value::as_str).and_then(|ip| ip.parse().ok());
            if let (true, Some(endpoint)) = (serves, endpoint) {
                endpoints.insert(row.text(0), endpoint);
            }
        }
        Ok(endpoints)
    }

    /// Where a port is, if it is behind a tunnel endpoint at all.
    async fn place(&self, op: &mut Op<'_>, port: &Record, host: &str) -> Result<Option<Place>, Fault> {
        if host.is_empty() {
            return Ok(None);
        }
        // Not by the binding: it is gone or another by now when a port moved or was deleted.
        let segments = network::network::segments::of_network(op, port.text("network_id")).await?;
        for segment in segments {
            let endpoints = self.endpoints(op, vec![host.into()], &segment.network_type).await?;
            if let Some(endpoint) = endpoints.get(host) {
                return Ok(Some(Place {
                    endpoint: *endpoint,
                    segmentation_id: segment.segmentation_id.and_then(|id| u32::try_from(id).ok()),
                    network_type: segment.network_type,
                }));
            }
        }
        Ok(None)
    }

    /// Ports of a network that are ACTIVE, with their hosts.
    async fn active(&self, op: &mut Op<'_>, network: &str) -> Result<Vec<Record>, Fault> {
        let condition = Condition::new(
            "ports.network_id = ? AND ports.status = 'ACTIVE' AND ml2_port_bindings.host <> ''",
            vec![network.into()],
        );
        op.find("port", condition).await
    }

    fn entries(port: &Record, place: &Place, infos: Vec<PortInfo>) -> FdbEntries {
        let entries = Entries {
            segment_id: place.segmentation_id,
            network_type: place.network_type.clone(),
            ports: BTreeMap::from([(place.endpoint, infos)]),
        };
        FdbEntries::from([(port.text("network_id").to_owned(), entries)])
    }

    fn add(&self, op: &mut Op<'_>, entries: FdbEntries, host: Option<&str>) {
        let notifier = match host {
            Some(host) => self.notifier.server(host),
            None => self.notifier.everyone(),
        };
        let context = rpc_context(op.context);
        let named = host.map(str::to_owned);
        op.txn.after_commit("add_fdb_entries", async move {
            if let Err(error) = notifier.add_fdb_entries(&context, entries, named).await {
                tracing::warn!(%error, "forwarding entries could not be sent; agents get them at their next sync");
            }
        });
    }

    fn remove(&self, op: &mut Op<'_>, entries: FdbEntries) {
        let notifier = self.notifier.everyone();
        let context = rpc_context(op.context);
        op.txn.after_commit("remove_fdb_entries", async move {
            if let Err(error) = notifier.remove_fdb_entries(&context, entries, None).await {
                tracing::warn!(%error, "forwarding entries could not be withdrawn; agents do so at their next sync");
            }
        });
    }

    /// All that a host needs to know of a network: one flood entry and the addresses of each other endpoint.
    async fn tell_all(
        &self,
        op: &mut Op<'_>,
        port: &Record,
        here: &str,
        place: &Place,
        active: &[Record],
    ) -> Result<(), Fault> {
        let mut hosts: Vec<store::Value> = active.iter().map(|other| host(other).into()).collect();
        hosts.dedup();
        let endpoints = self.endpoints(op, hosts, &place.network_type).await?;
        let mut ports: BTreeMap<IpAddr, Vec<PortInfo>> = BTreeMap::new();
        for other in active.iter().filter(|other| host(other) != here) {
            if let Some(endpoint) = endpoints.get(host(other)) {
                ports.entry(*endpoint).or_insert_with(|| vec![PortInfo::FLOOD]).extend(infos(other));
            }
        }
        if !ports.is_empty() {
            let entries =
                Entries { segment_id: place.segmentation_id, network_type: place.network_type.clone(), ports };
            self.add(op, FdbEntries::from([(port.text("network_id").to_owned(), entries)]), Some(here));
        }
        Ok(())
    }

    async fn up(&self, op: &mut Op<'_>, port: &Record, refresh: bool) -> Result<(), Fault> {
        let here = host(port).to_owned();
        let Some(place) = self.place(op, port, &here).await? else { return Ok(()) };
        let active = self.active(op, port.text("network_id")).await?;
        let others_here = active.iter().filter(|other| host(other) == here && other.id() != port.id()).count();
        let mut announced = infos(port);
        if others_here == 0 || refresh {
            self.tell_all(op, port, &here, &place, &active).await?;
            announced.insert(0, PortInfo::FLOOD);
        }
        self.add(op, L2Population::entries(port, &place, announced), None);
        Ok(())
    }

    async fn down(&self, op: &mut Op<'_>, port: &Record) -> Result<(), Fault> {
        let here = host(port).to_owned();
        let Some(place) = self.place(op, port, &here).await? else { return Ok(()) };
        let active = self.active(op, port.text("network_id")).await?;
        let mut withdrawn = infos(port);
        if !active.iter().any(|other| host(other) == here && other.id() != port.id()) {
            withdrawn.insert(0, PortInfo::FLOOD);
        }
        self.remove(op, L2Population::entries(port, &place, withdrawn));
        Ok(())
    }

    async fn addresses_changed(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        let (before, after) = (infos(old), infos(new));
        let gone: Vec<PortInfo> = before.iter().filter(|info| !after.contains(info)).copied().collect();
        let come: Vec<PortInfo> = after.iter().filter(|info| !before.contains(info)).copied().collect();
        if gone.is_empty() && come.is_empty() {
            return Ok(());
        }
        let Some(place) = self.place(op, new, host(old)).await? else { return Ok(()) };
        let change = BTreeMap::from([(place.endpoint, IpChange { before: gone, after: come })]);
        let changed = ChangedIps { chg_ip: BTreeMap::from([(new.text("network_id").to_owned(), change)]) };
        let notifier = self.notifier.everyone();
        let context = rpc_context(op.context);
        op.txn.after_commit("update_fdb_entries", async move {
            if let Err(error) = notifier.update_fdb_entries(&context, changed, None).await {
                tracing::warn!(%error, "changed addresses could not be sent; agents get them at their next sync");
            }
        });
        Ok(())
    }
}

#[async_trait]
impl MechanismDriver for L2Population {
    fn name(&self) -> &'static str {
        "l2population"
    }

    async fn port_changed(&self, op: &mut Op<'_>, change: PortChange<'_>) -> Result<(), Fault> {
        let is_active = |port: &Record| port.get(STATUS) == Some("ACTIVE");
        match (change.old, change.new) {
            (Some(old), Some(new)) => {
                let moved = host(old) != host(new);
                match (is_active(old), is_active(new)) {
                    (false, true) => self.up(op, new, false).await,
                    (true, false) => self.down(op, old).await,
                    (true, true) if moved => {
                        self.down(op, old).await?;
                        self.up(op, new, false).await
                    }
                    (true, true) => self.addresses_changed(op, old, new).await,
                    (false, false) => Ok(()),
                }
            }
            (Some(old), None) if is_active(old) => self.down(op, old).await,
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl Refresh for L2Population {
    async fn refresh(&self, op: &mut Op<'_>, host: &str, ports: &[Record]) -> Result<(), Fault> {
        let mut done: Vec<&str> = Vec::new();
        for port in ports {
            let network = port.text("network_id");
            if done.contains(&network) {
                continue;
            }
            done.push(network);
            if let Some(place) = self.place(op, port, host).await? {
                let active = self.active(op, network).await?;
                self.tell_all(op, port, host, &place, &active).await?;
            }
        }
        Ok(())
    }
}
