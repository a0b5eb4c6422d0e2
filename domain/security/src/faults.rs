//! What goes wrong with security groups, by the reference's names (neutron/extensions/securitygroup.py,
//! security_groups_default_rules.py, neutron_lib/exceptions/address_group.py, port_security.py).

use schema::{Fault, Value};

use crate::values::NAMES;

fn invalid(kind: &'static str, message: impl Into<String>) -> Fault {
    Fault::new(400, kind, message)
}

fn show(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub fn group_not_found(id: &str) -> Fault {
    Fault::not_found("SecurityGroupNotFound", format!("Security group {id} does not exist."))
}

pub fn group_in_use(id: &str) -> Fault {
    Fault::conflict("SecurityGroupInUse", format!("Security Group {id} in use: take it off its ports first."))
}

pub fn default_exists() -> Fault {
    let message = "Default security group already exists: every project has its own. Choose another name.";
    Fault::conflict("SecurityGroupDefaultAlreadyExists", message)
}

pub fn default_renamed(id: &str) -> Fault {
    let message = format!("Updating default security group not allowed: {id} keeps its name.");
    Fault::conflict("SecurityGroupCannotUpdateDefault", message)
}

pub fn default_removed(id: &str) -> Fault {
    let message = format!("Insufficient rights for removing default security group {id}: only an administrator can.");
    Fault::conflict("SecurityGroupCannotRemoveDefault", message)
}

pub fn mixed() -> Fault {
    let message = "Cannot apply both stateful and stateless security groups on the same port at the same time; choose groups of one kind.";
    Fault::conflict("SecurityGroupConflict", message)
}

pub fn protocol(value: &Value) -> Fault {
    let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
    invalid(
        "SecurityGroupRuleInvalidProtocol",
        format!(
            "Security group rule protocol {} not supported. Use any, {}, or a number from 0 to 255.",
            show(value),
            names.join(", ")
        ),
    )
}

pub fn ethertype(value: &Value) -> Fault {
    let message =
        format!("Security group rule for ethertype '{}' not supported. Allowed values are IPv4 and IPv6.", show(value));
    invalid("SecurityGroupRuleInvalidEtherType", message)
}

pub fn port(value: &Value) -> Fault {
    let message = format!("Invalid value for port {}: use a number from 1 to 65535.", show(value));
    invalid("SecurityGroupInvalidPortValue", message)
}

pub fn cidr(value: &Value) -> Fault {
    let message = format!("Invalid CIDR {} given as IP prefix; write it as address/prefix length.", show(value));
    invalid("InvalidCIDR", message)
}

pub fn port_range() -> Fault {
    let message = "For TCP/UDP protocols, port_range_min must be <= port_range_max, and both are needed.";
    invalid("SecurityGroupInvalidPortRange", message)
}

pub fn protocol_required() -> Fault {
    invalid("SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
}

pub fn portless_protocol(protocol: &str) -> Fault {
    let message = format!(
        "Ports cannot be specified for protocol {protocol}. Ports are only supported for DCCP, SCTP, TCP, UDP, UDPLITE."
    );
    invalid("SecurityGroupInvalidProtocolForPort", message)
}

pub fn icmp_value(field: &str, attr: &str, value: i64) -> Fault {
    let message = format!("Invalid value for ICMP {field} ({attr}) {value}. It must be 0 to 255.");
    invalid("SecurityGroupInvalidIcmpValue", message)
}

pub fn icmp_type_missing(code: i64) -> Fault {
    let message =
        format!("An ICMP code (port-range-max), here {code}, needs its type: ICMP type (port-range-min) is missing.");
    invalid("SecurityGroupMissingIcmpType", message)
}

pub fn family_of_protocol(ethertype: &str, protocol: &str) -> Fault {
    let message = format!("Invalid ethertype {ethertype} for protocol {protocol}, which is one of IPv6.");
    invalid("SecurityGroupEthertypeConflictWithProtocol", message)
}

pub fn family_of_prefix(ethertype: &str, cidr: &str) -> Fault {
    invalid("SecurityGroupRuleParameterConflict", format!("Conflicting value ethertype {ethertype} for CIDR {cidr}."))
}

pub fn several_remotes() -> Fault {
    let message = "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.";
    invalid("SecurityGroupMultipleRemoteEntites", message)
}

pub fn several_groups() -> Fault {
    let message = "Only allowed to update rules for one security group at a time; send a request for each group.";
    invalid("SecurityGroupNotSingleGroupRules", message)
}

pub fn several_projects() -> Fault {
    let message = "Multiple project_ids in bulk security group rule create not allowed; send a request for each.";
    invalid("SecurityGroupRulesNotSingleProject", message)
}

pub fn doubled_rule() -> Fault {
    let message = "Duplicate Security Group Rule in POST: the request has the same rule twice.";
    Fault::conflict("DuplicateSecurityGroupRuleInPost", message)
}

pub fn rule_exists(id: &str) -> Fault {
    Fault::conflict("SecurityGroupRuleExists", format!("Security group rule already exists. Rule id is {id}."))
}

pub fn doubled_template() -> Fault {
    let message = "Duplicate Default Security Group Rule in POST: the request has the same rule twice.";
    Fault::conflict("DuplicateDefaultSgRuleInPost", message)
}

pub fn template_exists(id: &str) -> Fault {
    let message = format!("Default Security group rule already exists. Rule id is {id}.");
    Fault::conflict("DefaultSecurityGroupRuleExists", message)
}

pub fn address_group_not_found(id: &str) -> Fault {
    Fault::not_found("AddressGroupNotFound", format!("Address group {id} could not be found."))
}

pub fn address_group_in_use(id: &str) -> Fault {
    let message = format!("Address group {id} is in use on one or more security group rules; remove them first.");
    Fault::conflict("AddressGroupInUse", message)
}

pub fn addresses_exist(addresses: &[String], group: &str) -> Fault {
    let message = format!("Addresses {} already exist in the address group {group}.", addresses.join(", "));
    invalid("AddressesAlreadyExist", message)
}

pub fn addresses_not_found(addresses: &[String], group: &str) -> Fault {
    let message = format!("Addresses {} not found in the address group {group}.", addresses.join(", "));
    Fault::not_found("AddressesNotFound", message)
}

pub fn address(value: &Value) -> Fault {
    let message = format!("'{}' is no address or prefix; write it as address/prefix length.", show(value));
    invalid("AddrFormatError", message)
}

pub fn groups_need_security() -> Fault {
    let message = "Port security must be enabled and port must have an IP address in order to use security groups.";
    invalid("PortSecurityAndIPRequiredForSecurityGroups", message)
}

pub fn security_needed_by_groups(port: &str) -> Fault {
    let message = format!(
        "Port {port} has security group associated. Cannot disable port security until security group is removed; send an \
         empty security_groups with it."
    );
    Fault::conflict("PortSecurityPortHasSecurityGroup", message)
}

pub fn statefulness_exists(project: &str) -> Fault {
    let message = format!("A security group default statefulness setting already exists for project '{project}'.");
    Fault::conflict("SecurityGroupDefaultStatefulnessAlreadyExists", message)
}
