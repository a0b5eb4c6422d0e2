//! What the compute service reads of a port when it builds the instance's network card: device profile, NUMA affinity, trust, offload,
//! hints, and whether the state of the uplink shows.
//!
//! Reproduces neutron/db/{port_device_profile,port_numa_affinity_policy,port_trusted,port_hardware_offload_type,port_hints,
//! uplink_status_propagation}_db.py.

use schema::{Attr, Default, Extension, Fault, Key, Kind, Record, Value};

use super::binding::{FAILED, UNBOUND};
use super::{HOST, VIF_TYPE};
use crate::network::extension;

const NUMA: Key<&str> = Key::new("numa_affinity_policy");
const TRUSTED: Key<bool> = Key::new("trusted");
const OFFLOAD: Key<&str> = Key::new("hardware_offload_type");

const fn kept(name: &'static str, kind: Kind, table: &'static str, absent: Default) -> Attr {
    Attr::new(name, kind).post().side_written(table, "port_id", name, absent).no_filter().no_sort()
}

pub const DEVICE_PROFILE: Attr =
    kept("device_profile", Kind::Text { max: 255 }, "portdeviceprofiles", Default::Null).nullable();
pub const NUMA_AFFINITY: Attr = kept(
    "numa_affinity_policy",
    Kind::OneOf(&["required", "preferred", "legacy", "socket"]),
    "portnumaaffinitypolicies",
    Default::Null,
)
.nullable()
.put();
pub const TRUSTED_VIF: Attr = kept("trusted", Kind::Bool, "porttrusted", Default::Null).put().enforce().enforce_get();
pub const HARDWARE_OFFLOAD: Attr =
    kept("hardware_offload_type", Kind::OneOf(&["switchdev"]), "porthardwareoffloadtype", Default::Null);
pub const UPLINK_STATUS: Attr =
    kept("propagate_uplink_status", Kind::Bool, "portuplinkstatuspropagation", Default::Bool(true))
        .put()
        .default(Default::Bool(true));

/// A new port with an offload type asks for it where drivers look: in the profile of its binding.
pub fn settle(record: &mut Record) {
    let Some(offload) = record.get(OFFLOAD).map(str::to_owned) else { return };
    let mut profile = profile(record);
    let capabilities = profile.entry("capabilities").or_insert_with(|| Value::Array(Vec::new()));
    if let Value::Array(list) = capabilities
        && !list.iter().any(|known| known.as_str() == Some(&offload))
    {
        list.push(offload.into());
    }
    record.set("binding:profile", Value::Object(profile));
}

/// Where the memory of an instance lies is decided when it is built.
pub fn check(old: &Record, new: &Record) -> Result<(), Fault> {
    let bound = !matches!(old.get(VIF_TYPE), None | Some(UNBOUND | FAILED));
    if !bound || old.get(NUMA) == new.get(NUMA) {
        return Ok(());
    }
    let message = format!(
        "numa_affinity_policy of port {} cannot become '{}' while it is bound to host {}; unbind it first.",
        old.id(),
        new.get(NUMA).unwrap_or("none"),
        old.get(HOST).unwrap_or_default()
    );
    Err(Fault::conflict("PortBoundNUMAAffinityPolicy", message))
}

/// The compute service and drivers read trust from the profile.
pub fn show(record: &mut Record) {
    let Some(trusted) = record.get(TRUSTED) else { return };
    let mut profile = profile(record);
    profile.insert("trusted".to_owned(), trusted.into());
    record.set("binding:profile", Value::Object(profile));
}

fn profile(record: &Record) -> serde_json::Map<String, Value> {
    record.value("binding:profile").and_then(Value::as_object).cloned().unwrap_or_default()
}

extension!(
    DEVICE_PROFILE_EXT,
    "port-device-profile",
    "Port device profile",
    "The accelerator that a port's instance needs",
    "2020-12-17T10:00:00-00:00"
);
extension!(
    NUMA_EXT,
    "port-numa-affinity-policy",
    "Port NUMA affinity policy",
    "Where the memory beside a port's card lies",
    "2020-07-08T10:00:00-00:00"
);
extension!(
    NUMA_SOCKET_EXT,
    "port-numa-affinity-policy-socket",
    "Port NUMA affinity policy \"socket\"",
    "The memory beside a port's card may be that of its socket",
    "2024-02-09T10:00:00-00:00"
);
extension!(
    TRUSTED_EXT,
    "port-trusted-vif",
    "Port trusted vif",
    "Whether a port's virtual function is trusted",
    "2024-07-10T10:00:00-00:00"
);
extension!(
    OFFLOAD_EXT,
    "port-hardware-offload-type",
    "Port hardware offload",
    "How a port's packets bypass the host",
    "2023-05-09T10:00:00-00:00"
);
extension!(
    UPLINK_EXT,
    "uplink-status-propagation",
    "Uplink status propagation extension",
    "Whether a port follows the state of its uplink",
    "2018-05-31T18:00:00-00:00"
);
extension!(
    UPLINK_UPDATABLE_EXT,
    "uplink-status-propagation-updatable",
    "Uplink status propagation updatable extension",
    "Whether a port follows the state of its uplink can be changed",
    "2024-09-03T18:00:00-00:00"
);
pub static EXTENSIONS: [&Extension; 7] =
    [&DEVICE_PROFILE_EXT, &NUMA_EXT, &NUMA_SOCKET_EXT, &TRUSTED_EXT, &OFFLOAD_EXT, &UPLINK_EXT, &UPLINK_UPDATABLE_EXT];
