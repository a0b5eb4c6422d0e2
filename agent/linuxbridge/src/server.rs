//! Asking the server and reporting to it, in this agent's terms.

use messaging::{CallError, Context};
use rpc::l2::{BoundPort, DeviceState, PluginClient};

use crate::{
    desired::Segment,
    state::{Answer, Details, Reports},
};

/// The server's core plugin.
#[derive(Clone)]
pub struct Server {
    client: PluginClient,
    /// `lb` and a MAC address of this host, for the server's logs.
    agent_id: String,
    host: String,
}

impl Server {
    pub fn new(client: PluginClient, agent_id: String, host: String) -> Self {
        Self { client, agent_id, host }
    }

    /// Details of devices, many in one call. Devices that the server failed on are not in the answer.
    pub async fn details(&self, devices: &[String]) -> Result<Vec<(String, Answer)>, CallError> {
        let asked = devices.iter().map(|name| name.as_str().into()).collect();
        let (id, host) = (Some(self.agent_id.clone()), Some(self.host.clone()));
        let answer =
            self.client.get_devices_details_list_and_failed_devices(&Context::admin(), asked, id, host).await?;
        if !answer.failed_devices.is_empty() {
            let names: Vec<&str> = answer.failed_devices.iter().map(rpc::l2::Device::name).collect();
            tracing::warn!("the server failed to give details of {}; asking again", names.join(", "));
        }
        Ok(answer.devices.into_iter().map(|details| (details.device, read(details.state))).collect())
    }

    /// Whether a network is gone.
    pub async fn is_gone(&self, network: &str) -> Result<bool, CallError> {
        let (id, host) = (Some(self.agent_id.clone()), Some(self.host.clone()));
        match self.client.get_network_details(&Context::admin(), network.to_owned(), id, host).await {
            Ok(_) => Ok(false),
            Err(error) if error.class() == Some("NetworkNotFound") => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Reports devices; the ones that the server failed to take.
    pub async fn report(&self, reports: &Reports) -> Result<Vec<String>, CallError> {
        let names = |devices: &[String]| devices.iter().map(|name| name.as_str().into()).collect();
        let (id, host) = (Some(self.agent_id.clone()), Some(self.host.clone()));
        let (up, down) = (names(&reports.up), names(&reports.down));
        let context = Context::admin();
        let taken = self.client.update_device_list(&context, up, down, id, host, reports.refresh_tunnels).await?;
        let failed: Vec<String> = taken
            .failed_devices_up
            .iter()
            .chain(&taken.failed_devices_down)
            .map(|device| device.name().to_owned())
            .collect();
        if !failed.is_empty() {
            tracing::warn!("the server failed to take the state of {}; reporting again", failed.join(", "));
        }
        Ok(failed)
    }
}

fn read(state: DeviceState) -> Answer {
    match state {
        DeviceState::Bound(port) => match segment(&port) {
            Ok(segment) => Answer::Bound(Details {
                network: port.network_id,
                segment,
                mtu: port.mtu.filter(|mtu| *mtu != 0),
                admin_up: port.admin_state_up,
                owner: port.device_owner,
            }),
            Err(why) => Answer::Malformed(why),
        },
        DeviceState::NoActiveBinding => Answer::Elsewhere,
        DeviceState::Unknown => Answer::Unknown,
        DeviceState::Unreadable(why) => Answer::Malformed(why),
    }
}

fn segment(port: &BoundPort) -> Result<Segment, String> {
    let number = |least: u32, most: u32| match port.segmentation_id {
        Some(id) if (least..=most).contains(&id) => Ok(id),
        id => Err(format!("{} has segmentation id {id:?}, which is not {least} to {most}", port.network_type)),
    };
    let physical = || {
        let named = port.physical_network.clone().filter(|name| !name.is_empty());
        named.ok_or_else(|| format!("{} names no physical network", port.network_type))
    };
    if port.network_id.is_empty() {
        return Err("the network has no id".to_owned());
    }
    match port.network_type.as_str() {
        "local" => Ok(Segment::Local),
        "flat" => Ok(Segment::Flat { physical: physical()? }),
        "vlan" => Ok(Segment::Vlan { physical: physical()?, id: number(1, 4094)? }),
        "vxlan" => Ok(Segment::Vxlan { vni: number(0, (1 << 24) - 1)? }),
        other => Err(format!("this agent has no networks of type '{other}'")),
    }
}
