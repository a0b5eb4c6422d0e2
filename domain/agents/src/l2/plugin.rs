use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use messaging::RemoteFault;
use network::port::{ADMIN_STATE_UP, HOST, STATUS, provisioning};
use policy::Context;
use resource::{Op, System, is_last_attempt};
use rpc::api::{Encoded, Nothing};
use rpc::l2::{
    Device, DeviceDetails, DeviceDown, DeviceList, DeviceState, DevicesDetails, L2Plugin, TunnelEndpoint,
    TunnelNotifier, Tunnels,
};
use rpc::view::{NetworkView, PortView};
use schema::{Fault, Record, Value};

use super::details;
use crate::dhcp::{in_txn, list};
use crate::view::{remote, to_json};

/// Answers agents that wire devices.
pub struct Plugin {
    pub system: Arc<System>,
    pub tunnels: TunnelNotifier,
    pub refresh: Arc<dyn Refresh>,
    /// Who hears of ports that are wired where they are not bound.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
}

/// A port was wired on a host that it is not bound to, or not yet: a live migration.
#[async_trait]
pub trait Elsewhere: Send + Sync {
    async fn wired(&self, op: &mut Op<'_>, port: &Record, host: &str) -> Result<(), Fault>;
}

/// Who keeps forwarding tables on hosts, and fills them again when an agent asks for it.
#[async_trait]
pub trait Refresh: Send + Sync {
    /// An agent lost what it knew: it is told of everything on these ports' networks again.
    async fn refresh(&self, op: &mut Op<'_>, host: &str, ports: &[Record]) -> Result<(), Fault>;
}

/// Tunnel types and the tables of their endpoints.
fn endpoint_table(tunnel_type: &str) -> Option<&'static str> {
    match tunnel_type {
        "vxlan" => Some("ml2_vxlan_endpoints"),
        "gre" => Some("ml2_gre_endpoints"),
        "geneve" => Some("ml2_geneve_endpoints"),
        _ => None,
    }
}

/// IANA's ports (RFC 7348, RFC 8926); GRE has none.
fn udp_port(tunnel_type: &str) -> Option<u16> {
    match tunnel_type {
        "vxlan" => Some(4789),
        "geneve" => Some(6081),
        _ => None,
    }
}

impl Plugin {
    /// Details, and BUILD for those whose wiring begins now.
    async fn ask(&self, devices: &[Device], host: Option<&str>) -> Result<Vec<DeviceDetails>, Fault> {
        in_txn!(self, |op| {
            async {
                let ports = details::ports(op, devices).await?;
                let details = details::details(op, devices, &ports, host).await?;
                for detail in &details {
                    let (DeviceState::Bound(_), Some(port)) = (&detail.state, ports.get(&detail.device)) else {
                        continue;
                    };
                    begin(op, port, host).await?;
                }
                Ok(details)
            }
            .await
        })
    }

    async fn report(
        &self,
        up: &[Device],
        down: &[Device],
        host: Option<&str>,
        refresh: bool,
    ) -> Result<DeviceList, Fault> {
        in_txn!(self, |op| {
            async {
                let mut list = DeviceList::default();
                let ports = details::ports(op, up).await?;
                let mut wired: Vec<Record> = Vec::new();
                for device in up {
                    match (ports.get(device.name()), host) {
                        (Some(port), _) if is_here(port, host) => {
                            provisioning::complete(op, port, provisioning::L2).await?;
                            wired.push(port.clone());
                        }
                        (Some(port), Some(host)) => {
                            if let Some(elsewhere) = &self.elsewhere {
                                elsewhere.wired(op, port, host).await?;
                            }
                        }
                        _ => {}
                    }
                    list.devices_up.push(device.clone());
                }
                if let (true, Some(host)) = (refresh, host) {
                    self.refresh.refresh(op, host, &wired).await?;
                }
                let ports = details::ports(op, down).await?;
                for device in down {
                    let port = ports.get(device.name());
                    if let Some(port) = port.filter(|port| is_here(port, host)) {
                        end(op, port).await?;
                    }
                    list.devices_down.push(DeviceDown { device: device.name().to_owned(), exists: port.is_some() });
                }
                Ok(list)
            }
            .await
        })
    }

    async fn sync(&self, ip: IpAddr, tunnel_type: &str, host: Option<&str>) -> Result<Tunnels, Fault> {
        let Some(table) = endpoint_table(tunnel_type) else {
            return Err(Fault::invalid_input(format!(
                "Invalid input for operation: network_type value '{tunnel_type}' not supported."
            )));
        };
        let (tunnels, replaced) = in_txn!(self, |op| {
            async {
                let address = ip.to_string();
                let mut replaced: Vec<String> = Vec::new();
                // A host has one endpoint of a type, and an address one host.
                if let Some(host) = host {
                    let sql = format!("SELECT ip_address FROM {table} WHERE host = ? AND ip_address <> ?");
                    let rows = op.txn.query(&sql, &[host.into(), address.as_str().into()]).await?;
                    replaced.extend(rows.iter().map(|row| row.text(0)));
                    let sql = format!("DELETE FROM {table} WHERE (host = ? AND ip_address <> ?) OR (ip_address = ? AND (host IS NULL OR host <> ?))");
                    let args = [host.into(), address.as_str().into(), address.as_str().into(), host.into()];
                    op.txn.execute(&sql, &args).await?;
                }
                let mut row: Vec<(&str, store::Value)> = vec![("ip_address", address.as_str().into()), ("host", host.into())];
                if let Some(port) = udp_port(tunnel_type) {
                    row.push(("udp_port", i64::from(port).into()));
                }
                // Geneve has no port column.
                if tunnel_type == "geneve" {
                    row.retain(|(column, _)| *column != "udp_port");
                }
                op.txn.insert_if_absent(table, &row).await?;
                let rows = op.txn.query(&format!("SELECT ip_address, host FROM {table} ORDER BY ip_address"), &[]).await?;
                let tunnels = rows
                    .iter()
                    .filter_map(|row| {
                        let udp_port = (tunnel_type == "vxlan").then(|| udp_port(tunnel_type)).flatten();
                        Some(TunnelEndpoint { ip_address: row.text(0).parse().ok()?, udp_port, host: row.opt_text(1) })
                    })
                    .collect();
                Ok((Tunnels { tunnels }, replaced))
            }
            .await
        })?;
        let context = messaging::Context::admin();
        let news = async {
            self.tunnels.tunnel_update(&context, ip, tunnel_type.to_owned()).await?;
            for old in replaced.iter().filter_map(|old| old.parse().ok()) {
                self.tunnels.tunnel_delete(&context, old, tunnel_type.to_owned()).await?;
            }
            Ok::<(), messaging::TransportError>(())
        };
        if let Err(error) = news.await {
            tracing::warn!(%error, "the agents could not be told of a tunnel endpoint; they hear of it at their next sync");
        }
        Ok(tunnels)
    }
}

/// Whether the port's active binding is on the host that speaks.
fn is_here(port: &Record, host: Option<&str>) -> bool {
    host.is_none_or(|host| port.get(HOST) == Some(host))
}

/// Wiring begins. A port that is ACTIVE stays so: its agent looks at it again after a restart while its traffic flows.
async fn begin(op: &mut Op<'_>, port: &Record, host: Option<&str>) -> Result<(), Fault> {
    if !is_here(port, host) {
        return Ok(());
    }
    let status = match (port.get(ADMIN_STATE_UP), port.get(STATUS)) {
        (Some(true), Some("ACTIVE")) => return Ok(()),
        (Some(true), _) => "BUILD",
        _ => "DOWN",
    };
    provisioning::set_status(op, port, status).await?;
    Ok(())
}

/// The device is gone from its host: it has to be wired again before the port is ACTIVE.
async fn end(op: &mut Op<'_>, port: &Record) -> Result<(), Fault> {
    provisioning::add(op, port.shared_id, provisioning::L2).await?;
    provisioning::set_status(op, port, "DOWN").await?;
    Ok(())
}

#[async_trait]
impl L2Plugin for Plugin {
    async fn get_device_details(
        &self,
        _context: &messaging::Context,
        device: Device,
        _agent_id: Option<String>,
        host: Option<String>,
    ) -> Result<DeviceDetails, RemoteFault> {
        let details = self.ask(std::slice::from_ref(&device), host.as_deref()).await.map_err(|fault| remote(&fault))?;
        Ok(details
            .into_iter()
            .next()
            .unwrap_or(DeviceDetails { device: device.name().to_owned(), state: DeviceState::Unknown }))
    }

    async fn get_devices_details_list(
        &self,
        _context: &messaging::Context,
        devices: Vec<Device>,
        _agent_id: Option<String>,
        host: Option<String>,
    ) -> Result<Vec<DeviceDetails>, RemoteFault> {
        self.ask(&devices, host.as_deref()).await.map_err(|fault| remote(&fault))
    }

    async fn get_devices_details_list_and_failed_devices(
        &self,
        _context: &messaging::Context,
        devices: Vec<Device>,
        _agent_id: Option<String>,
        host: Option<String>,
    ) -> Result<DevicesDetails, RemoteFault> {
        match self.ask(&devices, host.as_deref()).await {
            Ok(devices) => Ok(DevicesDetails { devices, failed_devices: Vec::new() }),
            Err(fault) => {
                tracing::warn!(error = &fault as &dyn std::error::Error, "device details failed; the agent asks again");
                Ok(DevicesDetails { devices: Vec::new(), failed_devices: devices })
            }
        }
    }

    async fn get_network_details(
        &self,
        _context: &messaging::Context,
        network: String,
        _agent_id: Option<String>,
        _host: Option<String>,
    ) -> Result<Encoded<NetworkView>, RemoteFault> {
        let result: Result<Value, Fault> = async {
            let context = Context::internal();
            let mut txn = self.system.store.read().await?;
            let mut op = Op::new(&mut txn, &context, &self.system);
            Ok(to_json(&op.get("network", &network).await?))
        }
        .await;
        result.map(Encoded::json).map_err(|fault| remote(&fault))
    }

    async fn update_device_down(
        &self,
        _context: &messaging::Context,
        device: Device,
        _agent_id: Option<String>,
        host: Option<String>,
    ) -> Result<DeviceDown, RemoteFault> {
        let list = self
            .report(&[], std::slice::from_ref(&device), host.as_deref(), false)
            .await
            .map_err(|fault| remote(&fault))?;
        let down = list.devices_down.into_iter().next();
        Ok(down.unwrap_or(DeviceDown { device: device.name().to_owned(), exists: false }))
    }

    async fn update_device_up(
        &self,
        _context: &messaging::Context,
        device: Device,
        _agent_id: Option<String>,
        host: Option<String>,
    ) -> Result<Nothing, RemoteFault> {
        self.report(&[device], &[], host.as_deref(), false).await.map_err(|fault| remote(&fault))?;
        Ok(Nothing)
    }

    async fn update_device_list(
        &self,
        _context: &messaging::Context,
        devices_up: Vec<Device>,
        devices_down: Vec<Device>,
        _agent_id: Option<String>,
        host: Option<String>,
        refresh_tunnels: bool,
    ) -> Result<DeviceList, RemoteFault> {
        match self.report(&devices_up, &devices_down, host.as_deref(), refresh_tunnels).await {
            Ok(list) => Ok(list),
            Err(fault) => {
                tracing::warn!(
                    error = &fault as &dyn std::error::Error,
                    "reports of devices failed; the agent repeats them"
                );
                Ok(DeviceList {
                    failed_devices_up: devices_up,
                    failed_devices_down: devices_down,
                    ..DeviceList::default()
                })
            }
        }
    }

    async fn tunnel_sync(
        &self,
        _context: &messaging::Context,
        tunnel_ip: IpAddr,
        tunnel_type: String,
        host: Option<String>,
    ) -> Result<Tunnels, RemoteFault> {
        self.sync(tunnel_ip, &tunnel_type, host.as_deref()).await.map_err(|fault| remote(&fault))
    }

    async fn get_ports_by_vnic_type_and_host(
        &self,
        _context: &messaging::Context,
        vnic_type: String,
        host: String,
    ) -> Result<Encoded<Vec<PortView>>, RemoteFault> {
        let mut filters = serde_json::Map::new();
        filters.insert("binding:host_id".into(), Value::from(host));
        let ports = list(&self.system, "port", filters).await.map_err(|fault| remote(&fault))?;
        let ports = ports.into_iter().filter(|port| port["binding:vnic_type"] == vnic_type.as_str()).collect();
        Ok(Encoded::json(Value::Array(ports)))
    }
}
