//! Faults of address management, named as the reference names them.

use std::fmt::Display;

use schema::Fault;

pub fn subnet_not_found(subnet_id: &str) -> Fault {
    Fault::not_found("SubnetNotFound", format!("Subnet {subnet_id} could not be found."))
}

/// A subnet that was removed while the request ran.
pub fn gone(subnet_id: &str) -> Fault {
    subnet_not_found(subnet_id)
}

pub fn subnet_elsewhere(network_id: &str, subnet_id: &str) -> Fault {
    Fault::invalid_input(format!(
        "Invalid input for operation: fixed_ips names subnet {subnet_id}, which this port cannot use: it is not on network \
         {network_id}, is reserved for other service types, or cannot be reached from the port's host."
    ))
}

pub fn no_subnets(network_id: &str) -> Fault {
    Fault::invalid_input(format!(
        "Invalid input for operation: fixed_ips needs a subnet, but network {network_id} has none that this port can use."
    ))
}

pub fn neither_subnet_nor_address() -> Fault {
    Fault::invalid_input("Invalid input for operation: each element of fixed_ips needs subnet_id or ip_address.")
}

pub fn twice(ip: impl Display) -> Fault {
    Fault::bad_request(format!("Invalid input for fixed_ips. Reason: Duplicate IP address '{ip}'."))
}

pub fn invalid_for_subnet(ip: impl Display, subnet_id: &str, cidr: impl Display) -> Fault {
    Fault::new(
        400,
        "InvalidIpForSubnet",
        format!("IP address {ip} is not a valid IP for subnet {subnet_id}: take a host address of {cidr}."),
    )
}

pub fn invalid_for_network(ip: impl Display, network_id: &str) -> Fault {
    Fault::new(
        400,
        "InvalidIpForNetwork",
        format!(
            "IP address {ip} is not a valid IP for any of the subnets on network {network_id} that this port can use."
        ),
    )
}

pub fn automatic_subnet(ip: impl Display, subnet_id: &str) -> Fault {
    Fault::new(
        400,
        "AllocationOnAutoAddressSubnet",
        format!(
            "IPv6 address {ip} cannot be given to a port on subnet {subnet_id}, whose addresses follow from MAC addresses; \
             leave it out."
        ),
    )
}

pub fn already_allocated(ip: impl Display, subnet_id: &str) -> Fault {
    Fault::conflict(
        "IpAddressAlreadyAllocated",
        format!("IP address {ip} already allocated in subnet {subnet_id}; choose another one."),
    )
}

pub fn no_more_addresses(network_id: &str) -> Fault {
    Fault::conflict(
        "IpAddressGenerationFailure",
        format!("No more IP addresses available on network {network_id}; remove ports, widen a pool or add a subnet."),
    )
}

pub fn no_matching_subnet(network_id: &str, owner: &str) -> Fault {
    Fault::conflict(
        "IpAddressGenerationFailureNoMatchingSubnet",
        format!("No valid service subnet on network {network_id} for the device owner '{owner}'."),
    )
}

pub fn different_segments() -> Fault {
    Fault::new(
        400,
        "FixedIpsSubnetsNotOnSameSegment",
        "Cannot allocate addresses from different segments; name subnets of one segment in fixed_ips.",
    )
}

pub fn host_not_connected(host: &str, network_id: &str) -> Fault {
    Fault::conflict(
        "HostNotConnectedToAnySegment",
        format!("Host {host} is not connected to any segment of the routed network {network_id} that has a subnet."),
    )
}

pub fn host_not_compatible(host: &str, port_id: &str) -> Fault {
    Fault::conflict(
        "HostNotCompatibleWithFixedIps",
        format!(
            "Host {host} is not connected to the segment of the fixed_ips of port {port_id}; change its fixed_ips with its host."
        ),
    )
}
