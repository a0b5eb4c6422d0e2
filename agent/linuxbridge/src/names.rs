//! Names on the host. They are part of the contract with Nova's VIF driver and with the Python agent, which must find
//! each other's devices (`linuxbridge_neutron_agent.py`, `neutron_lib/plugins/utils.py`).

use sha1::{Digest, Sha1};

/// The kernel's limit for an interface name (`IFNAMSIZ` less the terminating zero).
pub const MAX_LENGTH: usize = 15;
/// Bridges of networks. A bridge with this prefix belongs to the agent, unless `bridge_mappings` names it.
pub const BRIDGE_PREFIX: &str = "brq";
/// Devices of ports.
pub const TAP_PREFIX: &str = "tap";
/// Tunnel devices of VXLAN networks.
pub const VXLAN_PREFIX: &str = "vxlan-";

/// How much of a network's or a port's id goes into a device name.
const ID_LENGTH: usize = 11;
/// Room kept for `.` and a VLAN id of four digits, so that one interface gives one prefix for all long names.
const VLAN_POSTFIX: usize = 5;
const HASH_LENGTH: usize = 6;

/// The bridge of a network: `brq` and the first 11 characters of its id.
pub fn bridge(network: &str) -> String {
    format!("{BRIDGE_PREFIX}{}", prefix(network, ID_LENGTH))
}

/// The device of a port: `tap` and the first 11 characters of its id.
pub fn tap(port: &str) -> String {
    format!("{TAP_PREFIX}{}", prefix(port, ID_LENGTH))
}

/// The tunnel device of a VXLAN network.
pub fn vxlan(vni: u32) -> String {
    format!("{VXLAN_PREFIX}{vni}")
}

/// The sub-interface of `interface` for a VLAN: `<interface>.<vlan>`, and where that passes 15 characters, the
/// interface cut to four characters and six of its SHA-1, which stay the same for all VLANs of the interface.
pub fn sub_interface(interface: &str, vlan: u32) -> String {
    let postfix = format!(".{vlan}");
    if interface.len() + postfix.len() <= MAX_LENGTH {
        return format!("{interface}{postfix}");
    }
    let limit = MAX_LENGTH - VLAN_POSTFIX;
    if interface.len() <= limit {
        return format!("{interface}{postfix}");
    }
    let hash: String = Sha1::digest(interface.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}{}{postfix}", prefix(interface, limit - HASH_LENGTH), prefix(&hash, HASH_LENGTH))
}

/// Whether a device is a port's: the name is all there is to tell by.
pub fn is_tap(name: &str) -> bool {
    name.starts_with(TAP_PREFIX)
}

fn prefix(text: &str, characters: usize) -> &str {
    text.char_indices().nth(characters).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_nova_and_the_python_agent() {
        assert_eq!(bridge("86349e14-eafd-4798-b475-0b82ac4ed47d"), "brq86349e14-ea");
        assert_eq!(tap("703569fc-e674-4559-bb1b-8528e316e45b"), "tap703569fc-e6");
        assert_eq!(bridge("short"), "brqshort");
        assert_eq!(vxlan(16777215), "vxlan-16777215");
        assert_eq!(tap("703569fc-e674-4559").len(), 14);
    }

    #[test]
    fn long_interface_names_are_hashed_as_by_the_python_agent() {
        assert_eq!(sub_interface("eth0", 1), "eth0.1");
        assert_eq!(sub_interface("eth0", 4094), "eth0.4094");
        // 13 + 2 characters still fit; 13 + 5 do not.
        assert_eq!(sub_interface("mix_interface", 1), "mix_interface.1");
        // Values from hashlib.sha1(name).hexdigest()[:6].
        assert_eq!(sub_interface("mix_interface", 1111), "mix_HASH.1111".replace("HASH", MIX));
        assert_eq!(sub_interface("long_interface", 1), "longHASH.1".replace("HASH", LONG));
        assert_eq!(sub_interface("fifteen_letters", 4094).len(), MAX_LENGTH);
    }

    const MIX: &str = "e8ea3e";
    const LONG: &str = "240ea3";
}
