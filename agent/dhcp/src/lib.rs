//! The DHCP agent: for each network that the server gives it, a namespace with a port on the network and a dnsmasq in it.
//!
//! A reconciler: what the server says ([`model::Network`]) and what the host shows ([`plan::Observed`]) go into
//! [`plan::plan`]; its steps are applied. Messages only say where to look. Files, arguments and names are the
//! reference's ([`files`]), so that the Python agent and this one can take each other's networks over with dnsmasq
//! running. A restart finds everything in place and does nothing.
//!
//! | to… | use |
//! |---|---|
//! | run it | [`run`], with the options [`OPTIONS`] and those of [`runtime`] |
//! | remove what it made | [`cleanup`] |
//! | see what it writes | [`files::Files::render`], [`files::arguments`] |
//! | connect devices to another switch | [`host::InterfaceDriver`] |
//!
//! Replaces `neutron-dhcp-agent`: `neutron/agent/dhcp/agent.py`, `neutron/agent/linux/dhcp.py`.

pub mod agent;
pub mod files;
pub mod host;
pub mod model;
pub mod plan;
pub mod plugin;
mod run;
pub mod settings;

pub use run::{RunError, cleanup, run};
pub use settings::{OPTIONS, SettingsError};
