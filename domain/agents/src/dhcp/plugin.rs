use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use messaging::RemoteFault;
use network::port::provisioning;
use policy::Context;
use resource::{Condition, Op, Query, System, is_last_attempt};
use rpc::api::{Encoded, Nothing};
use rpc::dhcp::{DhcpPlugin, MORE, MetadataPlugin, NetworkInfo, PortBody};
use rpc::view::{NetworkView, PortView};
use schema::{Fault, Record, Value};
use serde_json::{Map, json};

use super::{RESERVED_PORT, Scheduler, device_id};
use crate::view::{remote, to_json};

/// Answers DHCP agents.
pub struct Plugin {
    pub system: Arc<System>,
    pub scheduler: Arc<Scheduler>,
}

/// Runs an operation in a write transaction, again when another was in the way.
macro_rules! in_txn {
    ($self:ident, |$op:ident| $body:block) => {{
        let context = Context::internal();
        let mut attempt = 0;
        loop {
            let result: Result<_, Fault> = async {
                let mut txn = $self.system.store.write().await?;
                let mut op = Op::new(&mut txn, &context, &$self.system);
                let $op = &mut op;
                let done: Result<_, Fault> = $body;
                let value = done?;
                txn.commit().await?;
                Ok(value)
            }
            .await;
            match result {
                Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
                result => break result,
            }
        }
    }};
}
pub(crate) use in_txn;

/// A part of the networks of an agent.
struct Page {
    /// Networks at most; at least 1.
    limit: usize,
    /// The last one of the page before.
    marker: Option<String>,
}

/// Ports of all networks of a page, unless its only network has more: some 6 MB of the 16 MiB that a broker takes.
const PORTS_OF_PAGE: i64 = 5000;

/// How many of the first networks fit into a page.
async fn fit(op: &mut Op<'_>, ids: &[String]) -> Result<usize, Fault> {
    let condition = Condition::one_of("network_id", ids.iter().map(|id| id.as_str().into()).collect());
    let sql = format!("SELECT network_id, COUNT(*) FROM ports WHERE {} GROUP BY network_id", condition.sql);
    let rows = op.txn.query(&sql, &condition.args).await?;
    let counts: HashMap<String, i64> = rows.iter().map(|row| (row.text(0), row.int(1))).collect();
    let mut sum = 0;
    let fits = ids.iter().take_while(|id| {
        sum += counts.get(*id).copied().unwrap_or(0);
        sum <= PORTS_OF_PAGE
    });
    Ok(fits.count().max(1))
}

fn by_network(records: Vec<Record>) -> HashMap<String, Vec<Value>> {
    let mut lists: HashMap<String, Vec<Value>> = HashMap::new();
    for record in &records {
        lists.entry(record.text("network_id").to_owned()).or_default().push(to_json(record));
    }
    lists
}

/// Segments by network, with the hosts that reach them, as agents of routed networks get them.
async fn segments(op: &mut Op<'_>, condition: Condition) -> Result<HashMap<String, Vec<Value>>, Fault> {
    let sql = format!(
        "SELECT id, network_id, name, network_type, physical_network, segmentation_id, is_dynamic, segment_index, host \
         FROM networksegments LEFT JOIN segmenthostmappings ON segmenthostmappings.segment_id = networksegments.id \
         WHERE {} ORDER BY segment_index, id, host",
        condition.sql
    );
    let mut lists: HashMap<String, Vec<Value>> = HashMap::new();
    for row in &op.txn.query(&sql, &condition.args).await? {
        let list = lists.entry(row.text(1)).or_default();
        if list.last().is_none_or(|last| last["id"] != row.text(0)) {
            list.push(json!({
                "id": row.text(0), "network_id": row.text(1), "name": row.opt_text(2), "network_type": row.text(3),
                "physical_network": row.opt_text(4), "segmentation_id": row.opt_int(5), "is_dynamic": row.bool(6),
                "segment_index": row.int(7), "hosts": [],
            }));
        }
        let hosts = list.last_mut().and_then(|last| last["hosts"].as_array_mut());
        if let (Some(hosts), Some(host)) = (hosts, row.opt_text(8)) {
            hosts.push(host.into());
        }
    }
    Ok(lists)
}

impl Plugin {
    /// Networks with their subnets and ports, as agents get them.
    async fn infos(&self, op: &mut Op<'_>, ids: &[String], only_dhcp: bool, host: &str) -> Result<Vec<Value>, Fault> {
        let set: Vec<store::Value> = ids.iter().map(|id| id.as_str().into()).collect();
        let of = |column: &str| Condition::one_of(column, set.clone());
        let networks = of("id");
        let sql =
            format!("SELECT id, project_id, admin_state_up, mtu FROM networks WHERE {} ORDER BY id", networks.sql);
        let networks = op.txn.query(&sql, &networks.args).await?;
        let mut subnets = op.find("subnet", of("subnets.network_id")).await?;
        if only_dhcp {
            subnets.retain(|subnet| subnet.value("enable_dhcp") == Some(&Value::Bool(true)));
        }
        let routed = subnets.iter().any(|subnet| subnet.has("segment_id"));
        let mut segments = if routed { segments(op, of("network_id")).await? } else { HashMap::new() };
        let mut ports = by_network(op.find("port", of("ports.network_id")).await?);
        let mut subnets = by_network(subnets);
        Ok(networks
            .iter()
            .map(|row| {
                let id = row.text(0);
                let mut local = subnets.remove(&id).unwrap_or_default();
                let mut far = Vec::new();
                let mut of_network = Vec::new();
                if local.iter().any(|subnet| !subnet["segment_id"].is_null()) {
                    of_network = segments.remove(&id).unwrap_or_default();
                    local.retain(|subnet| !subnet["segment_id"].is_null());
                    let reached = |segment: &Value| {
                        segment["hosts"].as_array().is_some_and(|hosts| hosts.iter().any(|other| other == host))
                    };
                    let here = |subnet: &Value| {
                        of_network.iter().any(|segment| segment["id"] == subnet["segment_id"] && reached(segment))
                    };
                    (local, far) = local.into_iter().partition(here);
                }
                let mut info = json!({
                    "id": id,
                    "project_id": row.opt_text(1).unwrap_or_default(),
                    "admin_state_up": row.bool(2),
                    "mtu": row.int(3),
                    "subnets": local,
                    "non_local_subnets": far,
                    "ports": ports.remove(&id).unwrap_or_default(),
                });
                if !of_network.is_empty() {
                    info["segments"] = of_network.into();
                }
                info
            })
            .collect())
    }

    async fn active_networks(&self, host: &str, only_dhcp: bool, page: Option<&Page>) -> Result<Vec<Value>, Fault> {
        let marker = page.and_then(|page| page.marker.as_deref());
        if marker.is_none() {
            in_txn!(self, |op| { async { self.scheduler.fill(op, host).await }.await })?;
        }
        let context = Context::internal();
        let mut txn = self.system.store.read().await?;
        let mut op = Op::new(&mut txn, &context, &self.system);
        let sql = "SELECT networks.id FROM networks JOIN networkdhcpagentbindings ON networkdhcpagentbindings.network_id = networks.id \
                   JOIN agents ON agents.id = networkdhcpagentbindings.dhcp_agent_id \
                   WHERE agents.agent_type = 'DHCP agent' AND agents.host = ? AND networks.admin_state_up = ? \
                   AND (agents.admin_state_up = ? OR ?) AND networks.id > ? ORDER BY networks.id";
        let down_too: store::Value = self.scheduler.settings.serve_with_admin_state_down.into();
        let args = [host.into(), true.into(), true.into(), down_too, marker.unwrap_or_default().into()];
        let rows = op.txn.query(sql, &args).await?;
        let mut ids: Vec<String> = rows.iter().map(|row| row.text(0)).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let all = ids.len();
        if let Some(page) = page {
            ids.truncate(page.limit);
            let count = fit(&mut op, &ids).await?;
            ids.truncate(count);
        }
        let mut infos = self.infos(&mut op, &ids, only_dhcp, host).await?;
        if let Some(last) = infos.last_mut().filter(|_| ids.len() < all) {
            last[MORE] = true.into();
        }
        Ok(infos)
    }

    /// The body of an agent's request as the API takes it, with what the server decides.
    fn port_body(port: &PortBody, host: &str) -> Result<Map<String, Value>, Fault> {
        let Value::Object(mut body) = serde_json::to_value(&port.port).map_err(Fault::internal)? else {
            return Err(Fault::bad_request("The port of a DHCP agent is not an object."));
        };
        // What the agent read of the port and sends back is no wish.
        for name in ["id", "status", "created_at", "updated_at", "revision_number", "dns_assignment", "tenant_id"] {
            body.remove(name);
        }
        body.insert("binding:host_id".into(), host.into());
        Ok(body)
    }

    async fn exists(&self, op: &mut Op<'_>, subnets: &[String]) -> Result<bool, Fault> {
        for subnet in subnets {
            let sql = "SELECT 1 FROM subnets WHERE id = ?";
            if op.txn.query_one(sql, &[subnet.as_str().into()]).await?.is_none() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn create(&self, port: &PortBody, host: &str) -> Result<Option<Value>, Fault> {
        let mut body = Plugin::port_body(port, host)?;
        body.insert("device_owner".into(), "network:dhcp".into());
        let wanted: Vec<String> = port.port.fixed_ips.iter().flatten().map(|ip| ip.subnet_id.clone()).collect();
        in_txn!(self, |op| {
            async {
                if !self.exists(op, &wanted).await? {
                    return Ok(None);
                }
                let given = op.given_create("port", Value::Object(body.clone()))?;
                let network = given.record.text("network_id").to_owned();
                let device = given.record.text("device_id").to_owned();
                // An agent that did not hear our answer asks again: it gets the port that it has.
                let condition = Condition::new(
                    "ports.network_id = ? AND ports.device_id = ? AND ports.device_owner = 'network:dhcp'",
                    vec![network.into(), device.into()],
                );
                if let Some(port) = op.find("port", condition).await?.first() {
                    return Ok(Some(to_json(port)));
                }
                let created = op.create("port", vec![given]).await?;
                Ok(created.first().map(to_json))
            }
            .await
        })
        .or_else(|fault: Fault| match fault.kind() {
            // What the agent asks for went meanwhile; it hears of that by other news.
            "NetworkNotFound" | "SubnetNotFound" | "InvalidInput" => Ok(None),
            _ => Err(fault),
        })
    }

    async fn update(&self, id: &str, port: &PortBody, host: &str) -> Result<Option<Value>, Fault> {
        let mut body = Plugin::port_body(port, host)?;
        body.remove("network_id");
        body.remove("project_id");
        let wanted: Vec<String> = port.port.fixed_ips.iter().flatten().map(|ip| ip.subnet_id.clone()).collect();
        in_txn!(self, |op| {
            async {
                let Some(old) = op.try_get("port", id).await? else { return Ok(None) };
                let network = old.text("network_id").to_owned();
                let own = device_id(&network, host);
                // A port that another agent took over is not this one's any more.
                // That of one segment of a routed network has the segment's number behind.
                let device = old.text("device_id");
                if device != RESERVED_PORT && !device.starts_with(&own) {
                    return Ok(None);
                }
                let hosting = self.scheduler.hosting(op, &network).await?;
                if !hosting.iter().any(|agent| agent.host == host) {
                    let message = format!(
                        "Network {network} could not be found for the DHCP agent on {host}, which does not host it."
                    );
                    return Err(Fault::not_found("NetworkNotFound", message));
                }
                if !self.exists(op, &wanted).await? {
                    return Ok(None);
                }
                let model = old.model().clone();
                let mut object = body.clone();
                object.retain(|name, _| model.attr(name).is_some_and(|attr| attr.put));
                let given = op.given_update("port", Value::Object(object))?;
                let new = op.update("port", id, &given).await?;
                Ok(Some(to_json(&new)))
            }
            .await
        })
    }
}

#[async_trait]
impl DhcpPlugin for Plugin {
    async fn get_active_networks_info(
        &self,
        _context: &messaging::Context,
        host: String,
        enable_dhcp_filter: bool,
        limit: Option<u32>,
        marker: Option<String>,
    ) -> Result<Encoded<Vec<NetworkInfo>>, RemoteFault> {
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let page = limit.map(|limit| Page { limit: limit.max(1), marker });
        let infos = self.active_networks(&host, enable_dhcp_filter, page.as_ref()).await;
        let infos = infos.map_err(|fault| remote(&fault))?;
        Ok(Encoded::json(Value::Array(infos)))
    }

    async fn get_network_info(
        &self,
        _context: &messaging::Context,
        network_id: String,
        host: String,
    ) -> Result<Encoded<Option<NetworkInfo>>, RemoteFault> {
        let result: Result<Option<Value>, Fault> = async {
            let context = Context::internal();
            let mut txn = self.system.store.read().await?;
            let mut op = Op::new(&mut txn, &context, &self.system);
            Ok(self.infos(&mut op, &[network_id], true, &host).await?.pop())
        }
        .await;
        result.map(|info| Encoded::json(info.unwrap_or(Value::Null))).map_err(|fault| remote(&fault))
    }

    async fn create_dhcp_port(
        &self,
        _context: &messaging::Context,
        port: PortBody,
        host: String,
    ) -> Result<Encoded<Option<PortView>>, RemoteFault> {
        let port = self.create(&port, &host).await.map_err(|fault| remote(&fault))?;
        Ok(Encoded::json(port.unwrap_or(Value::Null)))
    }

    async fn update_dhcp_port(
        &self,
        _context: &messaging::Context,
        port_id: String,
        port: PortBody,
        host: String,
    ) -> Result<Encoded<Option<PortView>>, RemoteFault> {
        let port = self.update(&port_id, &port, &host).await.map_err(|fault| remote(&fault))?;
        Ok(Encoded::json(port.unwrap_or(Value::Null)))
    }

    async fn release_dhcp_port(
        &self,
        _context: &messaging::Context,
        network_id: String,
        device_id: String,
        host: String,
    ) -> Result<Nothing, RemoteFault> {
        let result: Result<(), Fault> = in_txn!(self, |op| {
            async {
                let condition = Condition::new(
                    "ports.network_id = ? AND ports.device_id = ? AND ports.device_owner = 'network:dhcp'",
                    vec![network_id.as_str().into(), device_id.as_str().into()],
                );
                for port in op.find("port", condition).await? {
                    tracing::debug!(port.id = port.id(), host, "the DHCP agent released its port");
                    op.delete("port", &port).await?;
                }
                Ok(())
            }
            .await
        });
        result.map(|()| Nothing).map_err(|fault| remote(&fault))
    }

    async fn get_dhcp_port(
        &self,
        _context: &messaging::Context,
        port_id: String,
    ) -> Result<Encoded<Option<PortView>>, RemoteFault> {
        let result: Result<Value, Fault> = async {
            let context = Context::internal();
            let mut txn = self.system.store.read().await?;
            let mut op = Op::new(&mut txn, &context, &self.system);
            Ok(to_json(&op.get("port", &port_id).await?))
        }
        .await;
        result.map(Encoded::json).map_err(|fault| remote(&fault))
    }

    async fn dhcp_ready_on_ports(
        &self,
        _context: &messaging::Context,
        port_ids: Vec<String>,
    ) -> Result<Nothing, RemoteFault> {
        let result: Result<(), Fault> = in_txn!(self, |op| {
            async {
                let ids = port_ids.iter().map(|id| id.as_str().into()).collect();
                for port in op.find("port", Condition::one_of("ports.id", ids)).await? {
                    provisioning::complete(op, &port, provisioning::DHCP).await?;
                }
                Ok(())
            }
            .await
        });
        result.map(|()| Nothing).map_err(|fault| remote(&fault))
    }

    async fn get_networks(
        &self,
        _context: &messaging::Context,
        filters: Option<Map<String, Value>>,
        _fields: Option<Vec<String>>,
    ) -> Result<Encoded<Vec<NetworkView>>, RemoteFault> {
        let list = list(&self.system, "network", filters.unwrap_or_default()).await.map_err(|fault| remote(&fault))?;
        Ok(Encoded::json(Value::Array(list)))
    }
}

/// DHCP agents ask it as well, for ports of metadata services on their networks.
#[async_trait]
impl MetadataPlugin for Plugin {
    async fn get_ports(
        &self,
        _context: &messaging::Context,
        filters: Map<String, Value>,
    ) -> Result<Encoded<Vec<PortView>>, RemoteFault> {
        let list = list(&self.system, "port", filters).await.map_err(|fault| remote(&fault))?;
        Ok(Encoded::json(Value::Array(list)))
    }
}

/// Lists objects by the filters of a message: each attribute with its accepted values.
pub(crate) async fn list(system: &System, name: &str, filters: Map<String, Value>) -> Result<Vec<Value>, Fault> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut query = Query::default();
    for (name, values) in filters {
        let values = match &values {
            Value::Array(values) => values.iter().map(text).collect(),
            Value::Null => continue,
            other => vec![text(other)],
        };
        query.filters.push((name, values));
    }
    let context = Context::internal();
    let mut txn = system.store.read().await?;
    let mut op = Op::new(&mut txn, &context, system);
    Ok(op.list(name, &query).await?.iter().map(to_json).collect())
}
