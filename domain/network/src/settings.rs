//! The options of `neutron.conf` and `ml2_conf.ini` that this domain reads, with the reference's defaults. The composition root fills them in.

use std::collections::HashMap;

use types::Mac;

#[derive(Clone, Debug)]
pub struct Settings {
    /// `[DEFAULT] global_physnet_mtu`, bytes.
    pub global_physnet_mtu: i64,
    /// `[ml2] path_mtu`, bytes; 0 for no limit beside the physical network's.
    pub path_mtu: i64,
    /// `[ml2] physical_network_mtus`.
    pub physical_network_mtus: HashMap<String, i64>,
    /// `[ml2] overlay_ip_version`: 4 or 6.
    pub overlay_ip_version: i64,
    /// `[ml2] tenant_network_types`, tried in order.
    pub tenant_network_types: Vec<String>,
    /// `[ml2] external_network_type`.
    pub external_network_type: Option<String>,
    /// `[DEFAULT] base_mac`.
    pub base_mac: Mac,
    /// `[DEFAULT] mac_generation_retries`: how many generated addresses are tried.
    pub mac_generation_retries: usize,
    /// `[DEFAULT] dns_domain`, with or without the final dot.
    pub dns_domain: String,
    /// `[DEFAULT] max_fixed_ips_per_port`.
    pub max_fixed_ips_per_port: usize,
    /// `[DEFAULT] max_allowed_address_pair`.
    pub max_allowed_address_pairs: usize,
    /// `[DEFAULT] max_dns_nameservers`.
    pub max_dns_nameservers: usize,
    /// `[DEFAULT] max_subnet_host_routes`.
    pub max_subnet_host_routes: usize,
    /// `[DEFAULT] ipam_driver`.
    pub ipam_driver: String,
    /// `[DEFAULT] default_ipv6_pd_enabled`: subnets without pool and prefix use prefix delegation.
    pub ipv6_pd_enabled: bool,
    /// `[DEFAULT] agent_down_time`, seconds.
    pub agent_down_time: i64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            global_physnet_mtu: 1500,
            path_mtu: 0,
            physical_network_mtus: HashMap::new(),
            overlay_ip_version: 4,
            tenant_network_types: vec!["local".into()],
            external_network_type: None,
            base_mac: Mac([0xfa, 0x16, 0x3e, 0, 0, 0]),
            mac_generation_retries: 16,
            dns_domain: "openstacklocal".into(),
            max_fixed_ips_per_port: 5,
            max_allowed_address_pairs: 10,
            max_dns_nameservers: 5,
            max_subnet_host_routes: 20,
            ipam_driver: "internal".into(),
            ipv6_pd_enabled: false,
            agent_down_time: 75,
        }
    }
}
