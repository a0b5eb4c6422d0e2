//! What a network should look like on this host.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use types::Mac;

use crate::files::{Files, arguments};
use crate::model::{Id, Network, Port, Subnet, V6Mode};
use crate::settings::Settings;

/// Where instances ask for metadata over IPv4.
pub const METADATA_V4: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);
/// Where instances ask for metadata over IPv6.
pub const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe);

/// DHCP for one network on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    /// The device that dnsmasq serves.
    pub device: Device,
    /// Arguments of dnsmasq, program first.
    pub args: Vec<String>,
    /// Its files.
    pub files: Files,
}

/// The DHCP port as a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Port it stands for.
    pub port_id: Id,
    /// Name in the namespace: `ns-` and the start of the port id.
    pub name: String,
    /// Name of the host's end: `tap` and the start of the port id.
    pub tap: String,
    /// Ethernet address of the port.
    pub mac: Mac,
    /// MTU in octets; 0 leaves the device's own.
    pub mtu: u32,
    /// Addresses with the prefix lengths of their subnets.
    pub addresses: BTreeSet<IpNet>,
    /// At most one for each IP version.
    pub gateways: Vec<Gateway>,
}

/// A default route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gateway {
    /// The router.
    pub ip: IpAddr,
    /// It is outside of its subnet, so it needs a route of its own.
    pub on_link: bool,
}

/// Length of device names: Linux allows 15, and the reference leaves one free.
const NAME_LEN: usize = 14;

/// Name of the port's device in the namespace.
pub fn device_name(port: &str) -> String {
    format!("ns-{port}").chars().take(NAME_LEN).collect()
}

/// Name of the port's device on the host.
pub fn tap_name(port: &str) -> String {
    format!("tap{port}").chars().take(NAME_LEN).collect()
}

/// What `network` should look like here with `port` as this agent's own.
pub fn want(settings: &Settings, network: &Network, port: &Port) -> Desired {
    let served = || network.subnets.iter().filter(|subnet| subnet.enable_dhcp);
    let mut addresses: BTreeSet<IpNet> = BTreeSet::new();
    for fixed in &port.fixed_ips {
        // Addresses on other subnets (automatic ones of a subnet that DHCP does not serve) are none of ours.
        if let Some(subnet) = served().find(|subnet| subnet.id == fixed.subnet_id)
            && let Ok(net) = IpNet::new(fixed.ip, subnet.cidr.prefix_len())
        {
            addresses.insert(net);
        }
    }
    if settings.serves_metadata() {
        addresses.insert(IpAddr::V4(METADATA_V4).into());
        if network.subnets.iter().any(|subnet| !subnet.is_v4()) {
            addresses.insert(IpAddr::V6(METADATA_V6).into());
        }
    }
    let gateway = |v4: bool| {
        let subnet = served().find(|subnet| subnet.is_v4() == v4 && may_route(subnet))?;
        let ip = subnet.gateway_ip?;
        Some(Gateway { ip, on_link: !subnet.cidr.contains(&ip) })
    };
    Desired {
        device: Device {
            port_id: port.id.clone(),
            name: device_name(&port.id),
            tap: tap_name(&port.id),
            mac: port.mac,
            mtu: network.mtu,
            addresses,
            gateways: [gateway(true), gateway(false)].into_iter().flatten().collect(),
        },
        args: arguments(settings, network),
        files: Files::render(settings, network, Some(&port.id)),
    }
}

/// Whether the subnet's gateway can be the namespace's.
fn may_route(subnet: &Subnet) -> bool {
    if subnet.gateway_ip.is_none() || subnet.prefix_delegation {
        return false;
    }
    if subnet.is_v4() {
        return true;
    }
    let len = subnet.cidr.prefix_len();
    let automatic = |mode| matches!(mode, Some(V6Mode::Slaac | V6Mode::Stateless));
    (1..=126).contains(&len) && (len == 64 || !(automatic(subnet.address_mode) || automatic(subnet.ra_mode)))
}
