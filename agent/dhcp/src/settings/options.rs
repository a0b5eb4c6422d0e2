//! The options of `dhcp_agent.ini`, by their names and defaults in `neutron/conf/agent/dhcp.py`,
//! `neutron/conf/agent/common.py` and `neutron/conf/common.py`, read and checked.

use std::path::Path;
use std::time::Duration;

use config::{Config, ConfigError, Opt, Options};
use runtime::Common;

use super::Settings;
use crate::agent::Tuning;

pub static INTERFACE_DRIVER: Opt<Option<String>> = Opt::str("DEFAULT", "interface_driver")
    .optional()
    .help("How devices are connected to the host's switch: linuxbridge.");
pub static DHCP_DRIVER: Opt<String> = Opt::str("DEFAULT", "dhcp_driver")
    .default("neutron.agent.linux.dhcp.Dnsmasq")
    .help("What serves DHCP: dnsmasq, under the name that it has in Python.");
pub static DHCP_CONFS: Opt<String> =
    Opt::str("DEFAULT", "dhcp_confs").default("$state_path/dhcp").help("Directory of dnsmasq's files.");
pub static RESYNC_INTERVAL: Opt<i64> = Opt::int("DEFAULT", "resync_interval")
    .min(1)
    .default("5")
    .help("Kept for existing files: this agent syncs when it has to, with growing pauses while it fails.");
pub static RESYNC_THROTTLE: Opt<i64> = Opt::int("DEFAULT", "resync_throttle")
    .min(0)
    .default("1")
    .help("Least seconds between two syncs; at most resync_interval.");
pub static NUM_SYNC_THREADS: Opt<i64> =
    Opt::int("DEFAULT", "num_sync_threads").range(1, 256).default("4").help("Networks worked on at once in a sync.");
pub static BULK_RELOAD_INTERVAL: Opt<i64> = Opt::int("DEFAULT", "bulk_reload_interval")
    .min(0)
    .default("0")
    .help("Least seconds between two reloads of a network's dnsmasq. Large networks have their pauses without it.");
pub static ENABLE_ISOLATED_METADATA: Opt<bool> = Opt::bool("DEFAULT", "enable_isolated_metadata")
    .default("false")
    .help("Serve metadata on networks without a router of ours.");
pub static FORCE_METADATA: Opt<bool> =
    Opt::bool("DEFAULT", "force_metadata").default("false").help("Serve metadata on all networks.");
pub static ENABLE_METADATA_NETWORK: Opt<bool> = Opt::bool("DEFAULT", "enable_metadata_network")
    .default("false")
    .help("Serve metadata to routers by networks in 169.254.0.0/16. Not served yet.");
pub static DHCP_LEASE_DURATION: Opt<i64> = Opt::int("DEFAULT", "dhcp_lease_duration")
    .min(-1)
    .default("86400")
    .help("Seconds that a lease is valid; -1: without end.");
pub static DHCP_RENEWAL_TIME: Opt<i64> = Opt::int("DEFAULT", "dhcp_renewal_time")
    .range(0, u32::MAX as i64)
    .default("0")
    .help("Seconds after which clients renew (T1); 0: half of the lease.");
pub static DHCP_REBINDING_TIME: Opt<i64> = Opt::int("DEFAULT", "dhcp_rebinding_time")
    .range(0, u32::MAX as i64)
    .default("0")
    .help("Seconds after which clients ask any server (T2); 0: 7/8 of the lease.");
pub static DNS_DOMAIN: Opt<String> =
    Opt::str("DEFAULT", "dns_domain").default("openstacklocal").help("Domain of the names of addresses; empty: none.");
pub static DNSMASQ_CONFIG_FILE: Opt<String> =
    Opt::str("DEFAULT", "dnsmasq_config_file").default("").help("A file of settings for every dnsmasq.");
pub static DNSMASQ_DNS_SERVERS: Opt<Vec<String>> =
    Opt::list("DEFAULT", "dnsmasq_dns_servers").help("DNS servers that dnsmasq forwards to.");
pub static DNSMASQ_BASE_LOG_DIR: Opt<Option<String>> =
    Opt::str("DEFAULT", "dnsmasq_base_log_dir").optional().help("Directory for logs of dnsmasq; unset: none.");
pub static DNSMASQ_LOCAL_RESOLV: Opt<bool> = Opt::bool("DEFAULT", "dnsmasq_local_resolv")
    .default("false")
    .help("Let dnsmasq forward to this host's own DNS servers.");
pub static DNSMASQ_LEASE_MAX: Opt<i64> = Opt::int("DEFAULT", "dnsmasq_lease_max")
    .range(1, u32::MAX as i64)
    .default("16777216")
    .help("Most leases of a network.");
pub static DHCP_BROADCAST_REPLY: Opt<bool> =
    Opt::bool("DEFAULT", "dhcp_broadcast_reply").default("false").help("Answer clients by broadcast.");
pub static DNSMASQ_ENABLE_ADDR6_LIST: Opt<bool> = Opt::bool("DEFAULT", "dnsmasq_enable_addr6_list")
    .default("false")
    .help("Offer all IPv6 addresses that a port has on a subnet.");
pub static DNSMASQ_TXT_RECORD: Opt<String> =
    Opt::str("DEFAULT", "dnsmasq_txt_record").default("").help("A TXT record: <name>[[,<text>],<text>].");

/// The options of this agent, beside [`runtime::options::OPTIONS`].
pub static OPTIONS: Options = &[
    &INTERFACE_DRIVER,
    &DHCP_DRIVER,
    &DHCP_CONFS,
    &RESYNC_INTERVAL,
    &RESYNC_THROTTLE,
    &NUM_SYNC_THREADS,
    &BULK_RELOAD_INTERVAL,
    &ENABLE_ISOLATED_METADATA,
    &FORCE_METADATA,
    &ENABLE_METADATA_NETWORK,
    &DHCP_LEASE_DURATION,
    &DHCP_RENEWAL_TIME,
    &DHCP_REBINDING_TIME,
    &DNS_DOMAIN,
    &DNSMASQ_CONFIG_FILE,
    &DNSMASQ_DNS_SERVERS,
    &DNSMASQ_BASE_LOG_DIR,
    &DNSMASQ_LOCAL_RESOLV,
    &DNSMASQ_LEASE_MAX,
    &DHCP_BROADCAST_REPLY,
    &DNSMASQ_ENABLE_ADDR6_LIST,
    &DNSMASQ_TXT_RECORD,
];

/// Why the agent cannot run with this configuration.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// An option has a value that it cannot have.
    #[error(transparent)]
    Option(#[from] ConfigError),
    /// The device driver is one that this agent lacks.
    #[error("interface_driver is {0:?}, and this agent can only plug devices for linuxbridge")]
    Driver(String),
    /// What serves DHCP is something that this agent lacks.
    #[error("dhcp_driver is {0:?}, and this agent can only serve with neutron.agent.linux.dhcp.Dnsmasq")]
    Dhcp(String),
    /// As the reference refuses it.
    #[error("resync_throttle is {throttle} s, and must not be more than resync_interval, {interval} s")]
    Throttle {
        /// `resync_throttle`.
        throttle: i64,
        /// `resync_interval`.
        interval: i64,
    },
}

/// Names of the Linux bridge driver: as an entry point and as a class.
const LINUX_BRIDGE: [&str; 2] = ["linuxbridge", "neutron.agent.linux.interface.BridgeInterfaceDriver"];
const DNSMASQ: [&str; 2] = ["neutron.agent.linux.dhcp.Dnsmasq", "dnsmasq"];

/// Reads and checks the options.
pub fn read(config: &Config, common: &Common) -> Result<(Settings, Tuning), SettingsError> {
    // Unset is Open vSwitch in Python; there is only one here so far, so nothing is mistaken for another.
    if let Some(driver) = config.get(&INTERFACE_DRIVER)?.filter(|driver| !driver.is_empty())
        && !LINUX_BRIDGE.contains(&driver.as_str())
    {
        return Err(SettingsError::Driver(driver));
    }
    let driver = config.get(&DHCP_DRIVER)?;
    if !DNSMASQ.contains(&driver.as_str()) {
        return Err(SettingsError::Dhcp(driver));
    }
    let (interval, throttle) = (config.get(&RESYNC_INTERVAL)?, config.get(&RESYNC_THROTTLE)?);
    if throttle > interval {
        return Err(SettingsError::Throttle { throttle, interval });
    }
    if config.get(&ENABLE_METADATA_NETWORK)? {
        tracing::warn!("enable_metadata_network is set, and is not served yet");
    }
    // Within the bounds of the options.
    let number = |opt: &Opt<i64>| config.get(opt).map(|n| u32::try_from(n).unwrap_or(u32::MAX));
    let seconds = |opt: &Opt<i64>| config.get(opt).map(|n| Duration::from_secs(n.unsigned_abs()));
    let settings = Settings {
        confs: Path::new(&config.get(&DHCP_CONFS)?).to_owned(),
        lease_duration: config.get(&DHCP_LEASE_DURATION)?,
        renewal_time: number(&DHCP_RENEWAL_TIME)?,
        rebinding_time: number(&DHCP_REBINDING_TIME)?,
        dns_domain: config.get(&DNS_DOMAIN)?,
        config_file: config.get(&DNSMASQ_CONFIG_FILE)?,
        dns_servers: config.get(&DNSMASQ_DNS_SERVERS)?,
        log_dir: config.get(&DNSMASQ_BASE_LOG_DIR)?.filter(|dir| !dir.is_empty()).map(Into::into),
        local_resolv: config.get(&DNSMASQ_LOCAL_RESOLV)?,
        lease_max: number(&DNSMASQ_LEASE_MAX)?,
        broadcast_reply: config.get(&DHCP_BROADCAST_REPLY)?,
        addr6_list: config.get(&DNSMASQ_ENABLE_ADDR6_LIST)?,
        txt_record: config.get(&DNSMASQ_TXT_RECORD)?,
        isolated_metadata: config.get(&ENABLE_ISOLATED_METADATA)?,
        force_metadata: config.get(&FORCE_METADATA)?,
        ..Settings::new(&common.host, &common.state_path)
    };
    let tuning = Tuning {
        sync_workers: number(&NUM_SYNC_THREADS)? as usize,
        sync_pause: seconds(&RESYNC_THROTTLE)?,
        reload_pause: seconds(&BULK_RELOAD_INTERVAL)?,
        ..Tuning::default()
    };
    Ok((settings, tuning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(text: &str) -> Result<(Settings, Tuning), SettingsError> {
        let text = format!("[DEFAULT]\nhost = net1.example.org\nstate_path = /s\n{text}");
        let loader = runtime::options::loader().declare(OPTIONS).text("dhcp_agent.ini", &text);
        let config = loader.load().unwrap();
        let common = Common::read(&config).unwrap();
        read(&config, &common)
    }

    #[test]
    fn defaults_are_the_references() {
        let (settings, tuning) = load("").unwrap();
        assert_eq!(settings, Settings::new("net1.example.org", Path::new("/s")));
        assert_eq!(settings.confs, Path::new("/s/dhcp"));
        assert_eq!(tuning, Tuning::default());
    }

    #[test]
    fn every_option_counts() {
        let (settings, tuning) = load(
            "interface_driver = linuxbridge\ndhcp_confs = /c\nresync_interval = 9\nresync_throttle = 3\n\
             num_sync_threads = 7\nbulk_reload_interval = 2\nenable_isolated_metadata = true\nforce_metadata = true\n\
             dhcp_lease_duration = -1\ndhcp_renewal_time = 1\ndhcp_rebinding_time = 2\ndns_domain =\n\
             dnsmasq_config_file = /f\ndnsmasq_dns_servers = 192.0.2.1,192.0.2.2\ndnsmasq_base_log_dir = /l\n\
             dnsmasq_local_resolv = true\ndnsmasq_lease_max = 5\ndhcp_broadcast_reply = true\n\
             dnsmasq_enable_addr6_list = true\ndnsmasq_txt_record = a,b\n",
        )
        .unwrap();
        let expected = Settings {
            host: "net1.example.org".into(),
            confs: "/c".into(),
            lease_duration: -1,
            renewal_time: 1,
            rebinding_time: 2,
            dns_domain: String::new(),
            config_file: "/f".into(),
            dns_servers: vec!["192.0.2.1".into(), "192.0.2.2".into()],
            log_dir: Some("/l".into()),
            local_resolv: true,
            lease_max: 5,
            broadcast_reply: true,
            addr6_list: true,
            txt_record: "a,b".into(),
            isolated_metadata: true,
            force_metadata: true,
            as_root: false,
        };
        assert_eq!(settings, expected);
        let pause = Duration::from_secs;
        assert_eq!(
            tuning,
            Tuning { sync_workers: 7, sync_pause: pause(3), reload_pause: pause(2), ..Tuning::default() }
        );
    }

    #[test]
    fn what_cannot_be_served_is_refused() {
        for (text, why) in [
            ("interface_driver = openvswitch", "linuxbridge"),
            ("dhcp_driver = other.Driver", "Dnsmasq"),
            ("resync_throttle = 6", "resync_interval"),
            ("dhcp_lease_duration = -2", "dhcp_lease_duration"),
        ] {
            let error = load(text).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
