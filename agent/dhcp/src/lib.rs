//! The DHCP agent: for each network that the server gives it, a namespace with a port on the network and a dnsmasq in it.
//!
//! Reference: `neutron/agent/dhcp/agent.py`, `neutron/agent/linux/dhcp.py`.

pub mod agent;
pub mod files;
pub mod host;
pub mod model;
pub mod plan;
pub mod plugin;
pub mod settings;
