//! Goldens recorded from the reference, the cases of the `dhcp` area that are about files, and what tenants may not do.

mod cases;
mod golden;
mod injection;

use std::path::Path;

use serde_json::{Value, json};

use crate::model::Network;
use crate::settings::Settings;

pub(crate) fn settings() -> Settings {
    Settings::new("net1", Path::new("/var/lib/neutron"))
}

/// Network `net-d` of the cases: MTU 1450, subnet s1 192.0.2.0/24 with gateway .1, our DHCP port at .2, a guest at .11
/// and a router at .1.
pub(crate) fn net_d() -> Value {
    json!({
        "id": "0d000000-0000-4000-8000-000000000000", "project_id": "p1", "admin_state_up": true, "mtu": 1450,
        "non_local_subnets": [],
        "subnets": [{
            "id": S1, "cidr": "192.0.2.0/24", "ip_version": 4, "enable_dhcp": true, "gateway_ip": "192.0.2.1",
            "host_routes": [], "dns_nameservers": [], "ipv6_address_mode": null, "ipv6_ra_mode": null,
        }],
        "ports": [
            port(1, "192.0.2.1", "network:router_interface"),
            port(2, "192.0.2.2", "network:dhcp"),
            port(0x11, "192.0.2.11", "compute:nova"),
        ],
    })
}

pub(crate) const S1: &str = "51000000-0000-4000-8000-000000000000";
pub(crate) const S6: &str = "56000000-0000-4000-8000-000000000000";

/// Port `00…0<n>` with MAC `fa:16:3e:00:00:<n>` and one address on S1.
pub(crate) fn port(n: u8, ip: &str, owner: &str) -> Value {
    json!({
        "id": port_id(n), "network_id": "0d000000-0000-4000-8000-000000000000",
        "mac_address": format!("fa:16:3e:00:00:{n:02x}"), "device_owner": owner, "device_id": "d",
        "admin_state_up": true, "revision_number": 1,
        "fixed_ips": [{"subnet_id": S1, "ip_address": ip}], "extra_dhcp_opts": [], "dns_assignment": [],
    })
}

pub(crate) fn port_id(n: u8) -> String {
    format!("00000000-0000-4000-8000-0000000000{n:02x}")
}

pub(crate) fn v6_subnet(mode: &str) -> Value {
    let mode = if mode.is_empty() { Value::Null } else { mode.into() };
    json!({
        "id": S6, "cidr": "2001:db8:7a::/64", "ip_version": 6, "enable_dhcp": true, "gateway_ip": "2001:db8:7a::1",
        "host_routes": [], "dns_nameservers": [], "ipv6_address_mode": mode, "ipv6_ra_mode": mode,
    })
}

pub(crate) fn network(value: &Value) -> Network {
    Network::from_json(value).expect("the fixture is a network")
}
