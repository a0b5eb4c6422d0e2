//! L2 agents (Linux bridge, Open vSwitch, and others) and server, both ways.
//!
//! Facts: neutron/plugins/ml2/rpc.py (server, 1.9; notifier), neutron/agent/rpc.py (what agents ask),
//! neutron/plugins/ml2/drivers/type_tunnel.py (tunnels), and of 2024.2 the Linux bridge agent.

use std::net::IpAddr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use types::Mac;

use crate::api::{Nothing, api};
use crate::topics;
use crate::view::{AddressPair, Extra, FixedIp, NetworkView, PortView};

/// How an agent names a device: a port id, an interface name such as `tap0123456789a`, a MAC address; SR-IOV agents give
/// MAC and PCI slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Device {
    Name(String),
    Pci(String, Option<String>),
}

impl Device {
    /// The name alone, which is also how the server answers.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::Pci(name, _) => name,
        }
    }
}

impl From<&str> for Device {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for Device {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

/// What the server knows of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceDetails {
    pub device: String,
    pub state: DeviceState,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DeviceState {
    /// Bound, on this host or waiting for it.
    Bound(Box<BoundPort>),
    /// An instance's port whose active binding is on another host (live migration).
    NoActiveBinding,
    /// No such port, or not bound.
    Unknown,
    /// Bound, but what is said of it cannot be read; why. One such device must not spoil the answer about the others.
    Unreadable(String),
}

/// The port behind a device and the segment it is bound to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundPort {
    pub port_id: String,
    pub network_id: String,
    pub mac_address: Mac,
    #[serde(default = "yes")]
    pub admin_state_up: bool,
    /// `flat`, `vlan`, `vxlan`, `gre`, `geneve`, `local`.
    pub network_type: String,
    /// VLAN tag or tunnel key; none for flat and local.
    #[serde(default)]
    pub segmentation_id: Option<u32>,
    #[serde(default)]
    pub physical_network: Option<String>,
    /// Bytes. `None`: the agent leaves the MTU alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub fixed_ips: Vec<FixedIp>,
    #[serde(default)]
    pub device_owner: String,
    #[serde(default)]
    pub allowed_address_pairs: Vec<AddressPair>,
    #[serde(default = "yes")]
    pub port_security_enabled: bool,
    #[serde(default)]
    pub qos_policy_id: Option<String>,
    #[serde(default)]
    pub qos_network_policy_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propagate_uplink_status: Option<bool>,
    /// `profile` and what else there is.
    #[serde(flatten)]
    pub extra: Extra,
}

fn yes() -> bool {
    true
}

impl DeviceDetails {
    #[must_use]
    pub fn bound(&self) -> Option<&BoundPort> {
        match &self.state {
            DeviceState::Bound(port) => Some(port),
            _ => None,
        }
    }
}

const NO_ACTIVE_BINDING: &str = "no_active_binding";

impl Serialize for DeviceDetails {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Flat<'a> {
            device: &'a str,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            no_active_binding: bool,
            #[serde(flatten)]
            bound: Option<&'a BoundPort>,
        }
        Flat {
            device: &self.device,
            no_active_binding: self.state == DeviceState::NoActiveBinding,
            bound: self.bound(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DeviceDetails {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut map = Map::deserialize(deserializer)?;
        let Some(Value::String(device)) = map.remove("device") else {
            return Err(D::Error::missing_field("device"));
        };
        let state = if map.contains_key("port_id") {
            match serde_json::from_value(Value::Object(map)) {
                Ok(port) => DeviceState::Bound(port),
                Err(error) => DeviceState::Unreadable(error.to_string()),
            }
        } else if map.get(NO_ACTIVE_BINDING).and_then(Value::as_bool).unwrap_or(false) {
            DeviceState::NoActiveBinding
        } else {
            DeviceState::Unknown
        };
        Ok(Self { device, state })
    }
}

/// Details of many devices. Those in `failed_devices` are to be asked for again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DevicesDetails {
    #[serde(default)]
    pub devices: Vec<DeviceDetails>,
    #[serde(default)]
    pub failed_devices: Vec<Device>,
}

/// The server's answer to a device going down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceDown {
    pub device: String,
    /// Whether the server still has the port.
    pub exists: bool,
}

/// The outcome of reporting many devices. Those failed are to be reported again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceList {
    #[serde(default)]
    pub devices_up: Vec<Device>,
    #[serde(default)]
    pub failed_devices_up: Vec<Device>,
    #[serde(default)]
    pub devices_down: Vec<DeviceDown>,
    #[serde(default)]
    pub failed_devices_down: Vec<Device>,
}

/// All tunnel endpoints of a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tunnels {
    #[serde(default)]
    pub tunnels: Vec<TunnelEndpoint>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunnelEndpoint {
    pub ip_address: IpAddr,
    /// Of VXLAN; GRE has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_port: Option<u16>,
    pub host: Option<String>,
}

api! {
    /// What L2 agents ask of the server. `agent_id` is for logs; `host` decides.
    trait L2Plugin, client PluginClient, endpoint L2PluginEndpoint, table L2_PLUGIN,
    topic topics::PLUGIN, version (1, 9);

    /// Details of a device. Sets the port to BUILD (or DOWN) as a side effect, since wiring begins.
    call (1, 0) fn get_device_details(
        device: Device,
        #[serde(default)]
        agent_id: Option<String>,
        #[serde(default)]
        host: Option<String>,
    ) -> DeviceDetails;

    /// The same for many, in the order asked.
    call (1, 2) fn get_devices_details_list(
        devices: Vec<Device>,
        #[serde(default)]
        agent_id: Option<String>,
        #[serde(default)]
        host: Option<String>,
    ) -> Vec<DeviceDetails>;

    /// The same for many, where one that fails does not fail all.
    call (1, 5) fn get_devices_details_list_and_failed_devices(
        devices: Vec<Device>,
        #[serde(default)]
        agent_id: Option<String>,
        #[serde(default)]
        host: Option<String>,
    ) -> DevicesDetails;

    /// A network by id. Raises `NetworkNotFound`.
    query (1, 6) fn get_network_details(
        network: String,
        #[serde(default)]
        agent_id: Option<String>,
        #[serde(default)]
        host: Option<String>,
    ) -> NetworkView;

    /// The device is gone from the host: its port goes DOWN if it is bound there.
    call (1, 0) fn update_device_down(
        device: Device,
        #[serde(default)]
        agent_id: Option<String>,
        #[serde(default)]
        host: Option<String>,
    ) -> DeviceDown;

    /// The device is wired: the L2 provisioning block of its port is lifted, if it is bound to this host.
    call (1, 0) fn update_device_up(
        device: Device,
        #[serde(default)]
        agent_id: Option<String>,
        #[serde(default)]
        host: Option<String>,
    ) -> Nothing;

    /// Many of both. `refresh_tunnels`: the agent (re)started and wants all forwarding entries again.
    call (1, 5) fn update_device_list(
        #[serde(default)]
        devices_up: Vec<Device>,
        #[serde(default)]
        devices_down: Vec<Device>,
        #[serde(default)]
        agent_id: Option<String>,
        #[serde(default)]
        host: Option<String>,
        #[serde(default, alias = "agent_restarted")]
        refresh_tunnels: bool,
    ) -> DeviceList;

    /// Registers this host's tunnel endpoint, tells the others, and returns all of that type.
    call (1, 4) fn tunnel_sync(
        tunnel_ip: IpAddr,
        tunnel_type: String,
        #[serde(default)]
        host: Option<String>,
    ) -> Tunnels;

    /// Ports of a host by kind of interface.
    query (1, 7) fn get_ports_by_vnic_type_and_host(vnic_type: String, host: String) -> Vec<PortView>;
}

/// Devices in one call of [`PluginClient::report_devices`], `rpc_resources_processing_step` of the reference.
pub const DEVICES_PER_CALL: usize = 20;

impl PluginClient {
    /// [`PluginClient::update_device_list`] in steps, so that no call takes longer than its timeout however many devices
    /// there are. A step that fails ends it with that error; what the steps before it reported is reported again next time.
    pub async fn report_devices(
        &self,
        context: &messaging::Context,
        up: &[Device],
        down: &[Device],
        agent_id: &str,
        host: &str,
        refresh_tunnels: bool,
    ) -> Result<DeviceList, messaging::CallError> {
        let mut all = DeviceList::default();
        let steps = up.len().max(down.len()).div_ceil(DEVICES_PER_CALL);
        let step = |list: &[Device], n: usize| -> Vec<Device> {
            list.iter().skip(n * DEVICES_PER_CALL).take(DEVICES_PER_CALL).cloned().collect()
        };
        for n in 0..steps {
            let (agent_id, host) = (Some(agent_id.to_owned()), Some(host.to_owned()));
            let part =
                self.update_device_list(context, step(up, n), step(down, n), agent_id, host, refresh_tunnels).await?;
            all.devices_up.extend(part.devices_up);
            all.failed_devices_up.extend(part.failed_devices_up);
            all.devices_down.extend(part.devices_down);
            all.failed_devices_down.extend(part.failed_devices_down);
        }
        Ok(all)
    }
}

/// Topics of all news that the traits [`L2Agent`] and `SecurityGroupAgent` cover; tunnels and L2 population come on top.
pub const AGENT_TOPICS: &[&str] = &[
    topics::PORT_UPDATE,
    topics::NETWORK_UPDATE,
    topics::NETWORK_DELETE,
    topics::PORT_BINDING_ACTIVATE,
    topics::PORT_BINDING_DEACTIVATE,
    topics::SECURITY_GROUP_UPDATE,
];

/// Identifies a network in news of it; the rest of it is in `extra`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetworkNews {
    pub id: String,
    #[serde(flatten)]
    pub extra: Extra,
}

/// Identifies a port in news of it. Agents need no more than the id; the reference sends the whole port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PortNews {
    pub id: String,
    #[serde(flatten)]
    pub extra: Extra,
}

api! {
    /// What the server tells all L2 agents, each on a topic of its own.
    trait L2Agent, client L2Notifier, endpoint L2AgentEndpoint, table L2_AGENT,
    topic topics::PORT_UPDATE, version (1, 5);

    /// A port was bound or changed: look at it again if it is here.
    fanout (1, 0) [topics::PORT_UPDATE] fn port_update(
        port: PortNews,
        #[serde(default)]
        network_type: Option<String>,
        #[serde(default)]
        segmentation_id: Option<u32>,
        #[serde(default)]
        physical_network: Option<String>,
    );
    fanout (1, 0) [topics::PORT_DELETE] fn port_delete(port_id: String);
    fanout (1, 4) [topics::NETWORK_UPDATE] fn network_update(network: NetworkNews);
    fanout (1, 0) [topics::NETWORK_DELETE] fn network_delete(network_id: String);
    /// Live migration ended: `host` is now where the port is active.
    fanout (1, 5) [topics::PORT_BINDING_ACTIVATE] fn binding_activate(port_id: String, host: String);
    /// Live migration ended: unwire the port on `host`.
    fanout (1, 5) [topics::PORT_BINDING_DEACTIVATE] fn binding_deactivate(
        port_id: String,
        host: String,
        #[serde(default)]
        network_id: Option<String>,
    );
}

api! {
    /// What the server tells agents with tunnels.
    trait TunnelAgent, client TunnelNotifier, endpoint TunnelAgentEndpoint, table TUNNEL_AGENT,
    topic topics::TUNNEL_UPDATE, version (1, 0);

    fanout (1, 0) [topics::TUNNEL_UPDATE] fn tunnel_update(tunnel_ip: IpAddr, tunnel_type: String);
    fanout (1, 0) [topics::TUNNEL_DELETE] fn tunnel_delete(tunnel_ip: IpAddr, tunnel_type: String);
}
