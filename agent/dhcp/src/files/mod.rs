//! The files and arguments of a network's dnsmasq, byte for byte as the reference writes them.
//!
//! `state_path/dhcp/<network id>/` holds `host` (who may lease what), `addn_hosts` (names), `opts` (options by tag),
//! `leases` (dnsmasq's own), `pid` (dnsmasq's own) and `interface` (the device it serves). The Python agent and this
//! one read and write the same ones, so either may take over from the other.
//!
//! Invariants: one line is one host, one name or one option, whatever tenants put into names, values and client ids;
//! lines come in the order of port ids, so equal networks give equal files.
//!
//! Reference: class `Dnsmasq` in `neutron/agent/linux/dhcp.py`.

mod args;
mod hosts;
mod leases;
mod opts;
mod relief;
#[cfg(test)]
pub(crate) mod tests;

use std::path::PathBuf;

pub use args::{arguments, log_dir};
pub use leases::{Lease, Leases, initial_leases};
pub use relief::{relief_arguments, relief_leases};

use crate::model::{Id, Network};
use crate::settings::Settings;

/// Directory of the network's files.
pub fn directory(settings: &Settings, network: &Id) -> PathBuf {
    settings.confs.join(&**network)
}

/// Contents of the three files that dnsmasq reads at start and on SIGHUP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// `host`: `mac,name,address` lines.
    pub host: String,
    /// `addn_hosts`: `/etc/hosts` lines.
    pub addn_hosts: String,
    /// `opts`: `tag:…,option…` lines.
    pub opts: String,
}

impl Files {
    /// Renders the files. `dhcp_port` is this agent's own port, whose addresses serve metadata.
    pub fn render(settings: &Settings, network: &Network, dhcp_port: Option<&Id>) -> Files {
        Files {
            host: hosts::host_file(settings, network),
            addn_hosts: hosts::addn_hosts_file(settings, network),
            opts: opts::opts_file(settings, network, dhcp_port),
        }
    }

    /// Name and contents of each.
    pub fn each(&self) -> [(&'static str, &str); 3] {
        [("host", &self.host), ("addn_hosts", &self.addn_hosts), ("opts", &self.opts)]
    }
}

/// Text up to the first control character: a line break in a value must not start a line of its own.
fn one_line(value: &str) -> &str {
    value.split(char::is_control).next().unwrap_or_default()
}

/// The client id that the tenant set for a port, if it can stand in a comma-separated line.
pub(crate) fn client_id(port: &crate::model::Port) -> Option<&str> {
    let option = port.extra_options.iter().find(|option| is_client_id(&option.name))?;
    let value = one_line(&option.value);
    (!value.is_empty() && !value.contains([',', ' ', '"', '#'])).then_some(value)
}

fn is_client_id(name: &str) -> bool {
    matches!(name, "client-id" | "61")
}
