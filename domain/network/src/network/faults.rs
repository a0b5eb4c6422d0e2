//! What goes wrong with networks, by the reference's names.

use schema::Fault;

pub fn in_use(network: &str, ports: &[String]) -> Fault {
    let message = format!(
        "Unable to complete operation on network {network}. There are one or more ports still in use on the network, id for these ports is: {}.",
        ports.join(",")
    );
    Fault::conflict("NetworkInUse", message)
}

pub fn shared_with_others(network: &str, what: &str) -> Fault {
    let message =
        format!("Unable to reconfigure sharing settings for network {network}. {what} of other projects use it.");
    Fault::conflict("InvalidSharedSetting", message)
}

pub fn mtu_too_big(max: i64) -> Fault {
    Fault::invalid_input(format!("Invalid input for operation: Requested MTU is too big, maximum is {max}."))
}

/// `minimum` bytes is what the IP version of a subnet needs (RFC 791: 68, RFC 8200: 1280).
pub fn mtu_too_small(network: &str, minimum: i64) -> Fault {
    let message = format!(
        "MTU of network {network} is smaller than {minimum}, which the IP version of one of its subnets needs."
    );
    Fault::conflict("NetworkMTUSubnetConflict", message)
}

pub fn segments_and_provider() -> Fault {
    Fault::new(
        400,
        "SegmentsSetInConjunctionWithProviders",
        "Segments and provider values cannot both be set; use one of them.",
    )
}

pub fn doubled_segments() -> Fault {
    Fault::new(400, "SegmentsContainDuplicateEntry", "Two of the provider segments are the same.")
}

pub fn segment_in_use(segment: &str, why: &str) -> Fault {
    Fault::conflict("SegmentInUse", format!("Segment '{segment}' cannot be deleted: {why}."))
}

pub fn default_external_exists(network: &str) -> Fault {
    let message = format!("A default external network already exists: {network}. Unset its is_default first.");
    Fault::conflict("DefaultExternalNetworkExists", message)
}

pub fn external_in_use(network: &str) -> Fault {
    let message = format!(
        "External network {network} cannot be updated to be made non-external, since it has existing gateway ports."
    );
    Fault::conflict("ExternalNetworkInUse", message)
}
