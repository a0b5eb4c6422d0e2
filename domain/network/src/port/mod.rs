//! Ports: an address of a network's link layer, its IP addresses, and where it is realised.
//!
//! Rooms: [`behaviour`](Ports) (life of a port), [`binding`] (to a host), [`provisioning`] (what must be done before it is
//! ACTIVE), and one for each group of attributes with rules of its own.
//!
//! Reproduces neutron/db/db_base_plugin_v2.py and neutron/plugins/ml2/plugin.py (ports), neutron/db/portbindings_db.py,
//! allowedaddresspairs_db.py, extradhcpopt_db.py, provisioning_blocks.py and the DNS extension driver.

mod address_pairs;
mod behaviour;
pub mod binding;
pub mod bindings;
mod compute;
mod dhcp_options;
pub mod dns;
pub mod faults;
mod load;
pub mod provisioning;
mod security;

pub use behaviour::{Ports, fixed_ips};
pub use load::device_name;
pub use security::OF_NETWORK as SECURITY_OF_NETWORK;

use schema::{Attr, Default, Extension, Field, Key, Kind, Resource, Value, Verbs};
use types::Mac;

use crate::network::extension;
use crate::standard::{ADMIN_STATE, CREATED, DESCRIPTION, ID, NAME, PROJECT, REVISION, UPDATED};
use crate::subnet::{NETWORK_PROJECT, NETWORK_SHARED};

pub const NETWORK_ID: Key<&str> = Key::new("network_id");
pub const MAC: Key<Mac> = Key::new("mac_address");
pub const STATUS: Key<&str> = Key::new("status");
pub const ADMIN_STATE_UP: Key<bool> = Key::new("admin_state_up");
pub const DEVICE_ID: Key<&str> = Key::new("device_id");
pub const DEVICE_OWNER: Key<&str> = Key::new("device_owner");
pub const FIXED_IPS: Key<&[Value]> = Key::new("fixed_ips");
pub const HOST: Key<&str> = Key::new("binding:host_id");
pub const VNIC_TYPE: Key<&str> = Key::new("binding:vnic_type");
pub const VIF_TYPE: Key<&str> = Key::new("binding:vif_type");
pub const PORT_SECURITY: Key<bool> = Key::new("port_security_enabled");
pub const PAIRS: Key<&[Value]> = Key::new("allowed_address_pairs");
pub const DHCP_OPTIONS: Key<&[Value]> = Key::new("extra_dhcp_opts");

/// Kinds of virtual interface card that a port may ask for (neutron_lib/api/definitions/portbindings.py).
pub const VNIC_TYPES: &[&str] = &[
    "normal",
    "direct",
    "macvtap",
    "baremetal",
    "direct-physical",
    "virtio-forwarder",
    "smart-nic",
    "vdpa",
    "accelerator-direct",
    "accelerator-direct-physical",
    "remote-managed",
];

/// A MAC address that a device may have; null asks for a new one. Multicast addresses are refused: a frame from one is
/// dropped by every bridge.
fn device_mac(value: Value) -> Result<Value, String> {
    let Value::String(text) = Kind::Mac.convert(value)? else { return Err("it is not a string".into()) };
    let mac: Mac = text.parse().map_err(|error: types::MacError| error.to_string())?;
    if mac.is_zero() {
        return Err(format!("'{text}' is not a valid MAC address of a device"));
    }
    if mac.is_multicast() {
        return Err(format!("'{text}' is a multicast address, which no device may have"));
    }
    Ok(Value::String(text))
}

const FIXED_IP: &[Field] = &[Field::new("subnet_id", Kind::Uuid), Field::new("ip_address", Kind::Ip)];

/// Several addresses of one subnet are fine, one address twice is not.
fn fixed_ip_list(value: Value) -> Result<Value, String> {
    let value = Kind::List { of: &Kind::Object(FIXED_IP), unique: false }.convert(value)?;
    let mut seen = std::collections::HashSet::new();
    for ip in value.as_array().into_iter().flatten().filter_map(|item| item.get("ip_address")?.as_str()) {
        if !seen.insert(ip) {
            return Err(format!("Duplicate IP address '{ip}'"));
        }
    }
    Ok(value)
}

const fn binding(name: &'static str, kind: Kind, column: &'static str, absent: Default) -> Attr {
    Attr::new(name, kind).no_sort().at(schema::Place::Side {
        table: "ml2_port_bindings",
        key: "port_id",
        column,
        only: "ml2_port_bindings.status = 'ACTIVE'",
        absent,
        write: false,
    })
}

fn host_id(value: Value) -> Result<Value, String> {
    match &value {
        Value::Null => Ok(Value::from("")),
        other => Kind::Text { max: 255 }.convert(other.clone()),
    }
}

pub static PORT: Resource = Resource {
    name: "port",
    plural: "ports",
    path: "ports",
    table: "ports",
    key: "id",
    shared: Some("ports"),
    not_found: "PortNotFound",
    owner: Some("project_id"),
    verbs: Verbs::ALL,
    quota: Some("port"),
    extension: None,
    attrs: &[
        ID,
        NAME,
        Attr::new("network_id", Kind::Uuid).required(),
        PROJECT,
        Attr::new("mac_address", Kind::Custom(device_mac)).nullable().post().put().enforce(),
        ADMIN_STATE,
        Attr::new("status", Kind::Text { max: 16 }),
        Attr::new("device_id", Kind::Text { max: 255 }).post().put().default(Default::Text("")).enforce(),
        Attr::new("device_owner", Kind::Text { max: 255 }).post().put().default(Default::Text("")).enforce(),
        Attr::new("fixed_ips", Kind::Custom(fixed_ip_list))
            .post()
            .put()
            .enforce()
            .enforce_members(&["ip_address", "subnet_id"])
            .child(
                "ipallocations",
                "port_id",
                &[("subnet_id", "subnet_id"), ("ip_address", "ip_address")],
                "ip_address",
                false,
            ),
        address_pairs::ATTR,
        dhcp_options::ATTR,
        security::ATTR,
        binding("binding:vnic_type", Kind::OneOf(VNIC_TYPES), "vnic_type", Default::Text("normal"))
            .post()
            .put()
            .default(Default::Text("normal"))
            .no_filter()
            .enforce(),
        binding("binding:profile", Kind::Dict, "profile", Default::EmptyDict)
            .nullable()
            .post()
            .put()
            .no_filter()
            .enforce()
            .enforce_get(),
        binding("binding:host_id", Kind::Custom(host_id), "host", Default::Text(""))
            .nullable()
            .post()
            .put()
            .enforce()
            .enforce_get(),
        binding("binding:vif_type", Kind::Text { max: 64 }, "vif_type", Default::Text("unbound"))
            .no_filter()
            .enforce_get(),
        binding("binding:vif_details", Kind::Dict, "vif_details", Default::EmptyDict).no_filter().enforce_get(),
        dns::NAME,
        dns::DOMAIN,
        dns::ASSIGNMENT,
        Attr::new("data_plane_status", Kind::OneOf(&["ACTIVE", "DOWN"]))
            .nullable()
            .put()
            .side_written("portdataplanestatuses", "port_id", "data_plane_status", Default::Null)
            .no_filter()
            .no_sort()
            .enforce(),
        compute::DEVICE_PROFILE,
        compute::NUMA_AFFINITY,
        compute::TRUSTED_VIF,
        compute::HARDWARE_OFFLOAD,
        compute::UPLINK_STATUS,
        Attr::new("ip_allocation", Kind::Text { max: 16 }),
        DESCRIPTION,
        REVISION,
        CREATED,
        UPDATED,
        Attr::new(NETWORK_PROJECT, Kind::Text { max: 255 }).computed().hidden().no_filter(),
        Attr::new(NETWORK_SHARED, Kind::Bool).computed().hidden().no_filter(),
    ],
};

extension!(BINDING, "binding", "Port Binding", "Where a port is realised, and how", "2014-02-03T10:00:00-00:00");
extension!(
    BINDING_EXTENDED,
    "binding-extended",
    "Port Bindings Extended",
    "Bindings of a port to several hosts, one of them active",
    "2017-07-17T10:00:00-00:00"
);
extension!(
    ADDRESS_PAIRS,
    "allowed-address-pairs",
    "Allowed Address Pairs",
    "Further addresses that a port may send from",
    "2013-07-23T10:00:00-00:00"
);
extension!(
    PAIRS_REJECT_MULTICAST,
    "aap-reject-multicast",
    "Allowed address pairs reject multicast extension",
    "No address pair is a multicast address",
    "2026-04-01T00:00:00-00:00"
);
extension!(
    EXTRA_DHCP_OPT,
    "extra_dhcp_opt",
    "Neutron Extra DHCP options",
    "DHCP options of single ports",
    "2013-03-17T12:00:00-00:00"
);
extension!(
    PORT_SECURITY_EXT,
    "port-security",
    "Port Security",
    "Filtering and spoofing protection of ports can be off",
    "2012-07-23T10:00:00-00:00"
);
extension!(
    DNS_INTEGRATION,
    "dns-integration",
    "DNS Integration",
    "Names of ports and domains of networks",
    "2015-08-15T18:00:00-00:00"
);
extension!(
    DNS_DOMAIN_PORTS,
    "dns-domain-ports",
    "dns_domain for ports",
    "A port may have a domain of its own",
    "2017-04-24T10:00:00-00:00"
);
extension!(
    DATA_PLANE_STATUS,
    "data-plane-status",
    "Port data plane status extension",
    "What lies under a port may report that it is down",
    "2017-01-24T10:00:00-00:00"
);
extension!(
    IP_ALLOCATION,
    "ip_allocation",
    "IP Allocation",
    "Whether a port got its addresses at once, later, or none",
    "2016-06-10T23:00:00-00:00"
);
extension!(
    PORT_MAC_REGENERATE,
    "port-mac-address-regenerate",
    "Neutron Port MAC address regenerate",
    "An update with a MAC address of null makes a new one",
    "2018-05-03T10:00:00-00:00"
);

/// Announced with the resource.
pub static EXTENSIONS: &[&Extension] = &[
    &BINDING,
    &BINDING_EXTENDED,
    &ADDRESS_PAIRS,
    &PAIRS_REJECT_MULTICAST,
    &EXTRA_DHCP_OPT,
    &PORT_SECURITY_EXT,
    &DNS_INTEGRATION,
    &DNS_DOMAIN_PORTS,
    &DATA_PLANE_STATUS,
    &IP_ALLOCATION,
    &PORT_MAC_REGENERATE,
    compute::EXTENSIONS[0],
    compute::EXTENSIONS[1],
    compute::EXTENSIONS[2],
    compute::EXTENSIONS[3],
    compute::EXTENSIONS[4],
    compute::EXTENSIONS[5],
    compute::EXTENSIONS[6],
];
