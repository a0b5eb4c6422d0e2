//! What goes wrong with subnets, by the reference's names.

use std::fmt::Display;

use schema::Fault;

/// 400 `InvalidInput` in the reference's form.
pub fn invalid(why: impl Display) -> Fault {
    Fault::invalid_input(format!("Invalid input for operation: {why}."))
}

/// 400 `BadRequest` in the reference's form.
pub fn bad(why: impl Display) -> Fault {
    Fault::new(400, "BadRequest", format!("Bad subnets request: {why}."))
}

pub fn network_not_found(network_id: &str) -> Fault {
    Fault::not_found("NetworkNotFound", format!("Network {network_id} could not be found."))
}

pub fn overlaps(cidr: impl Display, network_id: &str) -> Fault {
    // Not which one: it may belong to somebody else.
    invalid(format!("Requested subnet with cidr: {cidr} for network: {network_id} overlaps with another subnet"))
}

/// `ports` may be empty when they are not to be told.
pub fn in_use(subnet_id: &str, why: impl Display) -> Fault {
    Fault::conflict("SubnetInUse", format!("Unable to complete operation on subnet {subnet_id}: {why}."))
}

pub fn gateway_in_use(gateway: impl Display, port_id: &str) -> Fault {
    Fault::conflict(
        "GatewayIpInUse",
        format!(
            "Current gateway ip {gateway} already in use by port {port_id}. Unable to update; detach the router first."
        ),
    )
}

pub fn no_default_gateway(gateway: impl Display, net: impl Display) -> Fault {
    Fault::conflict(
        "IpamValueInvalid",
        format!(
            "Gateway IP {gateway} cannot be the network or broadcast IP address {net}; set gateway_ip to null, or to an address \
             outside of the subnet."
        ),
    )
}

pub fn too_many_nameservers(subnet_id: &str, limit: usize) -> Fault {
    let message = format!(
        "Unable to complete operation for {subnet_id}. The number of DNS nameservers exceeds the limit {limit}."
    );
    Fault::new(400, "DNSNameServersExhausted", message)
}

pub fn too_many_routes(subnet_id: &str, limit: usize) -> Fault {
    let message =
        format!("Unable to complete operation for {subnet_id}. The number of host routes exceeds the limit {limit}.");
    Fault::new(400, "HostRoutesExhausted", message)
}

pub fn service_type_no_text(given: impl Display) -> Fault {
    Fault::new(400, "InvalidInputSubnetServiceType", format!("Subnet service type {given} is not a string."))
}

pub fn service_type_doubled(given: impl Display) -> Fault {
    Fault::conflict("NeutronDbObjectDuplicateEntry", format!("The subnet service type {given} is given twice."))
}

pub fn service_type_unknown(given: &str) -> Fault {
    Fault::new(
        400,
        "InvalidSubnetServiceType",
        format!(
            "Subnet service type {given} does not correspond to a valid device owner: compute:…, network:… or neutron:…."
        ),
    )
}

pub fn pool_affinity() -> Fault {
    Fault::new(
        400,
        "NetworkSubnetPoolAffinityError",
        "Subnets hosted on the same network must be allocated from the same subnet pool.",
    )
}

pub fn scope_affinity() -> Fault {
    Fault::new(
        400,
        "NetworkAddressScopeAffinityError",
        "Subnets of the same address family hosted on the same network must all participate in the same address scope.",
    )
}

pub fn segment_not_found(segment_id: &str) -> Fault {
    Fault::not_found("SegmentNotFound", format!("Segment {segment_id} could not be found."))
}

pub fn segments_mixed(network_id: &str) -> Fault {
    Fault::new(
        400,
        "SubnetsNotAllAssociatedWithSegments",
        format!("All subnets on network '{network_id}' must be associated with segments, or none of them."),
    )
}

pub fn segment_fixed() -> Fault {
    Fault::new(
        400,
        "SubnetSegmentAssociationChangeNotAllowed",
        "A subnet that is already associated with a segment cannot have its segment association changed.",
    )
}

pub fn many_segments(network_id: &str) -> Fault {
    Fault::new(
        400,
        "NoUpdateSubnetWhenMultipleSegmentsOnNetwork",
        format!(
            "Network '{network_id}' has multiple segments; only on a network with one can a subnet get a segment later."
        ),
    )
}

pub fn segment_elsewhere(network_id: &str, segment_id: &str) -> Fault {
    Fault::new(
        400,
        "NetworkIdsDontMatch",
        format!("The subnet's network id, '{network_id}', doesn't match the network_id of segment '{segment_id}'."),
    )
}

pub fn segment_dynamic() -> Fault {
    Fault::new(400, "SubnetCantAssociateToDynamicSegment", "A subnet cannot be associated with a dynamic segment.")
}
