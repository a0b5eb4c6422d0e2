//! What the device owner of a port says about its addresses (neutron_lib/constants.py).

pub const DHCP: &str = "network:dhcp";
pub const DISTRIBUTED: &str = "network:distributed";
pub const ROUTER_INTERFACE: &str = "network:router_interface";
pub const ROUTER_REPLICATED_INTERFACE: &str = "network:ha_router_replicated_interface";
pub const ROUTER_DISTRIBUTED_INTERFACE: &str = "network:router_interface_distributed";
pub const ROUTER_SNAT: &str = "network:router_centralized_snat";
pub const ROUTER_GATEWAY: &str = "network:router_gateway";
/// Not an owner of ports, but a service type of subnets on routed networks.
pub const ROUTED: &str = "network:routed";

pub const ROUTER_INTERFACES: [&str; 3] = [ROUTER_INTERFACE, ROUTER_REPLICATED_INTERFACE, ROUTER_DISTRIBUTED_INTERFACE];

pub fn is_router_interface(owner: &str) -> bool {
    ROUTER_INTERFACES.contains(&owner)
}

/// Ports whose addresses are all given, never automatic.
pub fn is_router_interface_or_snat(owner: &str) -> bool {
    is_router_interface(owner) || owner == ROUTER_SNAT
}

/// Ports that may have the lowest address of an IPv6 subnet, its anycast address. A port without owner may become one.
pub fn may_be_anycast(owner: &str) -> bool {
    owner.is_empty() || is_router_interface_or_snat(owner) || owner == ROUTER_GATEWAY
}

/// Ports that get the lowest free address, so that they stay where they were when made again.
pub fn takes_lowest(owner: &str) -> bool {
    owner == DHCP || owner == DISTRIBUTED
}

/// Ports that the server and its agents make for themselves: their addresses do not keep a subnet from being removed.
/// The agent gateway of distributed floating IPs is one of them.
pub const REMOVED_WITH_SUBNET: [&str; 3] = [DHCP, DISTRIBUTED, "network:floatingip_agent_gateway"];
