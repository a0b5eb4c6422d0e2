//! What goes wrong with ranges of segmentation ids, by the reference's names.

use schema::Fault;

pub fn type_not_supported(network_type: &str) -> Fault {
    let what = if network_type.is_empty() { "A range without a network type" } else { network_type };
    let message = format!("{what} does not support network segment ranges; use a type of [ml2] type_drivers with ids.");
    Fault::new(400, "NetworkSegmentRangeNetTypeNotSupported", message)
}

pub fn no_physical_network() -> Fault {
    Fault::new(
        400,
        "BadRequest",
        "Bad network_segment_range request: a range of type vlan needs the physical_network whose ids they are.",
    )
}

pub fn bad_range(network_type: &str, range: (i64, i64), why: &str) -> Fault {
    let (kind, what) = match network_type {
        "vlan" => ("NetworkVlanRangeError", "VLAN"),
        _ => ("NetworkTunnelRangeError", "tunnel"),
    };
    Fault::new(400, kind, format!("Invalid network {what} range: '{}:{}' - {why}.", range.0, range.1))
}

pub fn overlaps(ranges: &[String]) -> Fault {
    let message = format!("Network segment range overlaps with range(s) with id {}", ranges.join(", "));
    Fault::conflict("NetworkSegmentRangeOverlaps", message)
}

pub fn referenced(range: &str, id: i64) -> Fault {
    let message = format!(
        "Network Segment Range {range} is referenced by one or more project networks, such as that with the id {id}."
    );
    Fault::conflict("NetworkSegmentRangeReferencedByProject", message)
}

pub fn read_only(range: &str) -> Fault {
    let message = format!(
        "Network Segment Range {range} is a default segment range which could not be updated or deleted; change the configuration."
    );
    Fault::new(400, "NetworkSegmentRangeDefaultReadOnly", message)
}

pub fn no_project() -> Fault {
    let message = "Invalid input for operation: a range that is not shared belongs to a project; name its project_id.";
    Fault::invalid_input(message)
}
