//! What goes wrong with subnet pools, by the reference's names.

use std::fmt::Display;

use schema::Fault;

fn bad(kind: &'static str, message: impl Into<String>) -> Fault {
    Fault::new(400, kind, message)
}

pub fn not_found(pool_id: &str) -> Fault {
    Fault::not_found("SubnetPoolNotFound", format!("Subnet pool {pool_id} could not be found."))
}

pub fn no_prefixes() -> Fault {
    bad("EmptySubnetPoolPrefixList", "Empty subnet pool prefix list; name at least one prefix.")
}

pub fn mixed_versions() -> Fault {
    bad("PrefixVersionMismatch", "Cannot mix IPv4 and IPv6 prefixes in a subnet pool.")
}

pub fn bounds(name: &str, length: i64, than: &str, other: i64) -> Fault {
    bad("IllegalSubnetPoolPrefixBounds", format!("Illegal prefix bounds: {name}={length}, {than}={other}."))
}

pub fn prefix_update(why: impl Display) -> Fault {
    bad("IllegalSubnetPoolPrefixUpdate", format!("Illegal update to prefixes: {why}."))
}

pub fn update(why: impl Display) -> Fault {
    bad("IllegalSubnetPoolUpdate", format!("Illegal subnetpool update : {why}."))
}

pub fn two_defaults(version: i64) -> Fault {
    Fault::invalid_input(format!(
        "Invalid input for operation: A default subnetpool for this IP family has already been set (IPv{version}). Only one default \
         may exist per IP family."
    ))
}

pub fn scope_version(pool_id: &str, scope_id: &str, version: i64) -> Fault {
    bad(
        "IllegalSubnetPoolIpVersionAssociationToAddressScope",
        format!(
            "Illegal subnetpool association: subnetpool {pool_id} cannot associate with address scope {scope_id} because subnetpool \
             ip_version is not {version}."
        ),
    )
}

pub fn scope_not_shared(pool_id: &str, scope_id: &str) -> Fault {
    Fault::invalid_input(format!(
        "Invalid input for operation: subnet pool {pool_id} cannot be shared, since other projects have no access to its address \
         scope {scope_id}; share the scope first."
    ))
}

pub fn scope_conflict() -> Fault {
    Fault::conflict(
        "AddressScopePrefixConflict",
        "Failed to associate address scope: subnetpools within an address scope must have unique prefixes.",
    )
}

pub fn in_use(pool_id: &str) -> Fault {
    bad(
        "SubnetPoolDeleteError",
        format!(
            "Unable to delete subnet pool: Subnet pool has existing allocations; remove the subnets of {pool_id} first."
        ),
    )
}

pub fn too_long(length: i64, max: i64) -> Fault {
    bad(
        "MaxPrefixSubnetAllocationError",
        format!("Unable to allocate subnet with prefix length {length}, maximum allowed prefix is {max}."),
    )
}

/// A length that no prefix of the family has.
pub fn no_prefix(length: i64, version: i64) -> Fault {
    bad("AddrFormatError", format!("/{length} is no prefix length of IPv{version}."))
}

pub fn too_short(length: i64, min: i64) -> Fault {
    bad(
        "MinPrefixSubnetAllocationError",
        format!("Unable to allocate subnet with prefix length {length}, minimum allowed prefix is {min}."),
    )
}

pub fn quota(used: impl Display, wanted: impl Display, quota: i64) -> Fault {
    Fault::conflict(
        "SubnetPoolQuotaExceeded",
        format!("Per-project subnet pool prefix quota exceeded: {used} used, {wanted} more wanted, {quota} allowed."),
    )
}

/// The reference has no status for it and answers 500; a pool without room is the user's to know.
pub fn no_room(why: impl Display) -> Fault {
    Fault::conflict("SubnetAllocationError", format!("Failed to allocate subnet: {why}."))
}
