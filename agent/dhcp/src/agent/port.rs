//! The agent's own port on a network: found, taken over or made, and kept in step with the subnets.
//!
//! Reference: class `DeviceManager` in `neutron/agent/linux/dhcp.py`.

use std::collections::BTreeSet;
use std::sync::Arc;

use messaging::CallError;
use uuid::Uuid;

use super::board::is_own;
use crate::model::{Id, Network, Port, RESERVED_DHCP_PORT};
use crate::plugin::{Plugin, WantedIp};

/// Why there is no port to serve with.
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// The server did not answer, or refused.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The network, a subnet or the port went away meanwhile: news of that will come.
    #[error("the network or its DHCP port changed on the server meanwhile")]
    Changed,
    /// The server gave addresses on other subnets than asked for.
    #[error("DHCP port {port} got no address on subnet {subnet}")]
    Incomplete {
        /// The port.
        port: Id,
        /// The first subnet without.
        subnet: Id,
    },
}

/// Device id of the DHCP port that the agent of `host` has on a network. The domain part of the host's name does not
/// count.
pub fn device_id(host: &str, network: &str) -> String {
    let short = host.split('.').next().unwrap_or_default();
    format!("dhcp{}-{network}", Uuid::new_v5(&Uuid::NAMESPACE_DNS, short.as_bytes()))
}

/// What to ask the server for.
#[derive(Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Nothing: the port is as it should be.
    Have(&'a Port),
    /// Other addresses for our port.
    Fix(&'a Port, Vec<WantedIp>),
    /// Take over a port that another agent left.
    Adopt(&'a Port),
    /// A new port.
    Create(Vec<WantedIp>),
}

/// The next step towards a port of ours with an address on each subnet that DHCP serves. Ports in `refused` are out.
pub fn step<'a>(network: &'a Network, device_id: &str, refused: &BTreeSet<Id>) -> Step<'a> {
    let served: Vec<&Id> =
        network.subnets.iter().filter(|subnet| subnet.enable_dhcp).map(|subnet| &subnet.id).collect();
    let any = |subnet: &Id| WantedIp { subnet_id: subnet.to_string(), ip_address: None };
    let ports = || network.ports.values().filter(|port| !refused.contains(&port.id));
    if let Some(own) = ports().find(|port| is_own(port, device_id)) {
        let has: BTreeSet<&Id> = own.fixed_ips.iter().map(|fixed| &fixed.subnet_id).collect();
        if has == served.iter().copied().collect() {
            return Step::Have(own);
        }
        // Addresses that stay right stay; the others go, and missing ones are asked for.
        let kept = own
            .fixed_ips
            .iter()
            .filter(|fixed| served.contains(&&fixed.subnet_id))
            .map(|fixed| WantedIp { subnet_id: fixed.subnet_id.to_string(), ip_address: Some(fixed.ip.to_string()) });
        let missing = served.iter().filter(|subnet| !has.contains(*subnet)).map(|subnet| any(subnet));
        return Step::Fix(own, kept.chain(missing).collect());
    }
    if let Some(reserved) = ports().find(|port| port.device_id == RESERVED_DHCP_PORT) {
        return Step::Adopt(reserved);
    }
    Step::Create(served.into_iter().map(any).collect())
}

/// Makes sure of the port; returns the network with it.
pub async fn ensure(
    plugin: &Plugin,
    mut network: Arc<Network>,
    device_id: &str,
) -> Result<(Arc<Network>, Port), PortError> {
    let mut refused = BTreeSet::new();
    // Adopt, then fix, is the longest way; a round more for each reserved port that another agent was quicker with.
    for _ in 0..8 {
        let changed = match step(&network, device_id, &refused) {
            Step::Have(port) => {
                let port = port.clone();
                return Ok((network, port));
            }
            Step::Fix(port, fixed_ips) => {
                let id = port.id.clone();
                let fixed = plugin.update_port(&network.id, &id, None, Some(fixed_ips)).await?;
                let fixed = checked(plugin, &network, fixed.ok_or(PortError::Changed)?).await?;
                Arc::make_mut(&mut network).ports.insert(id, fixed.clone());
                return Ok((network, fixed));
            }
            Step::Adopt(port) => {
                let id = port.id.clone();
                match plugin.update_port(&network.id, &id, Some(device_id), None).await? {
                    Some(port) => port,
                    None => {
                        refused.insert(id);
                        continue;
                    }
                }
            }
            Step::Create(fixed_ips) => {
                let port = plugin.create_port(&network, device_id, fixed_ips).await?.ok_or(PortError::Changed)?;
                let port = checked(plugin, &network, port).await?;
                Arc::make_mut(&mut network).ports.insert(port.id.clone(), port.clone());
                return Ok((network, port));
            }
        };
        Arc::make_mut(&mut network).ports.insert(changed.id.clone(), changed);
    }
    Err(PortError::Changed)
}

/// The port with an address on each subnet served. An answer can be older than the subnets; then it is asked for again.
async fn checked(plugin: &Plugin, network: &Network, port: Port) -> Result<Port, PortError> {
    let missing = |port: &Port| {
        let lacks = |subnet: &Id| !port.fixed_ips.iter().any(|fixed| fixed.subnet_id == *subnet);
        network.subnets.iter().find(|subnet| subnet.enable_dhcp && lacks(&subnet.id)).map(|subnet| subnet.id.clone())
    };
    if missing(&port).is_none() {
        return Ok(port);
    }
    let port = plugin.port(&port.id).await?.ok_or(PortError::Changed)?;
    match missing(&port) {
        None => Ok(port),
        Some(subnet) => Err(PortError::Incomplete { port: port.id, subnet }),
    }
}
