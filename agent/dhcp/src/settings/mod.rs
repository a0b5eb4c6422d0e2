//! Settings of the agent, with the names and defaults of `dhcp_agent.ini`.
//!
//! Reference: `neutron/conf/agent/dhcp.py`, `neutron/conf/agent/common.py`.

mod options;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub use options::{OPTIONS, SettingsError, read};

/// What shapes the files, the arguments and the devices of each network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Name of this host, as agents report it.
    pub host: String,
    /// `dhcp_confs`: a directory per network lies below it.
    pub confs: PathBuf,
    /// `dhcp_lease_duration` in seconds; -1 means infinite.
    pub lease_duration: i64,
    /// `dhcp_renewal_time` (T1) in seconds; 0 leaves it to dnsmasq.
    pub renewal_time: u32,
    /// `dhcp_rebinding_time` (T2) in seconds; 0 leaves it to dnsmasq.
    pub rebinding_time: u32,
    /// `dns_domain`; empty for none.
    pub dns_domain: String,
    /// `dnsmasq_config_file`; empty for none.
    pub config_file: String,
    /// `dnsmasq_dns_servers`: forwarders.
    pub dns_servers: Vec<String>,
    /// `dnsmasq_base_log_dir`.
    pub log_dir: Option<PathBuf>,
    /// `dnsmasq_local_resolv`: let dnsmasq use the host's resolvers.
    pub local_resolv: bool,
    /// `dnsmasq_lease_max`.
    pub lease_max: u32,
    /// `dhcp_broadcast_reply`.
    pub broadcast_reply: bool,
    /// `dnsmasq_enable_addr6_list`: several IPv6 addresses in one host line.
    pub addr6_list: bool,
    /// `dnsmasq_txt_record`; empty for none.
    pub txt_record: String,
    /// `enable_isolated_metadata`.
    pub isolated_metadata: bool,
    /// `force_metadata`.
    pub force_metadata: bool,
    /// dnsmasq stays root, since its usual user could not read its files where they are (see [`needs_root`]).
    pub as_root: bool,
}

impl Settings {
    /// Defaults of the reference for `host`, with state below `state_path`.
    pub fn new(host: impl Into<String>, state_path: &Path) -> Settings {
        Settings {
            host: host.into(),
            confs: state_path.join("dhcp"),
            lease_duration: 86400,
            renewal_time: 0,
            rebinding_time: 0,
            dns_domain: "openstacklocal".to_owned(),
            config_file: String::new(),
            dns_servers: Vec::new(),
            log_dir: None,
            local_resolv: false,
            lease_max: 1 << 24,
            broadcast_reply: false,
            addr6_list: false,
            txt_record: String::new(),
            isolated_metadata: false,
            force_metadata: false,
            as_root: false,
        }
    }

    /// Whether the metadata address is put on DHCP devices.
    pub fn serves_metadata(&self) -> bool {
        self.isolated_metadata || self.force_metadata
    }
}

/// Whether only root gets to files in this directory: one of the directories above it is closed to others.
///
/// dnsmasq reads its files as an ordinary user, so in a state directory below, say, `/root` it would serve nobody.
pub fn needs_root(confs: &Path) -> bool {
    let closed = |dir: &Path| std::fs::metadata(dir).is_ok_and(|meta| meta.permissions().mode() & 0o001 == 0);
    // Directories that are not there yet are made open.
    std::path::absolute(confs).is_ok_and(|confs| confs.ancestors().any(closed))
}
