//! What goes wrong with ports, by the reference's names.

use schema::Fault;

pub fn mac_in_use(network: &str, mac: &str) -> Fault {
    let message = format!("Unable to complete operation for network {network}. The mac address {mac} is in use.");
    Fault::conflict("MacAddressInUse", message)
}

pub fn mac_generation(network: &str) -> Fault {
    let message =
        format!("Unable to generate unique mac on network {network}. Widen base_mac or give the address yourself.");
    Fault::new(503, "MacAddressGenerationFailure", message)
}

pub fn bound(port: &str, vif_type: &str, old: &str, new: &str) -> Fault {
    let message = format!(
        "Unable to complete operation on port {port}, port is already bound, port type: {vif_type}, old_mac {old}, new_mac {new}. Unbind it first."
    );
    Fault::conflict("PortBound", message)
}

pub fn in_use(port: &str, network: &str, device: &str) -> Fault {
    let message = format!(
        "Unable to complete operation on port {port} for network {network}. Port already has an attached device {device}."
    );
    Fault::conflict("PortInUse", message)
}

pub fn pair_without_security() -> Fault {
    let message = "Port Security must be enabled in order to have allowed address pairs on a port.";
    Fault::conflict("AddressPairAndPortSecurityRequired", message)
}

pub fn doubled_pair(mac: &str, ip: &str) -> Fault {
    let message = format!("Request contains duplicate address pair: mac_address {mac} ip_address {ip}.");
    Fault::new(400, "DuplicateAddressPairInRequest", message)
}

pub fn pair_without_address() -> Fault {
    Fault::new(400, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address.")
}

pub fn too_many_pairs(max: usize) -> Fault {
    let message = format!("The number of allowed address pair exceeds the maximum {max}.");
    Fault::new(400, "AllowedAddressPairExhausted", message)
}

pub fn one_binding(port: &str) -> Fault {
    let message = format!(
        "Bad port request: Invalid port {port}. Operation only valid on compute and shared filesystem ports, by their device_owner."
    );
    Fault::new(400, "BadRequest", message)
}

pub fn binding_not_found(port: &str, host: &str) -> Fault {
    Fault::not_found("PortBindingNotFound", format!("Binding for port {port} for host {host} could not be found."))
}

pub fn binding_exists(port: &str, host: &str) -> Fault {
    Fault::conflict("PortBindingAlreadyExists", format!("Binding for port {port} on host {host} already exists."))
}

pub fn binding_active(port: &str, host: &str) -> Fault {
    Fault::conflict("PortBindingAlreadyActive", format!("Binding for port {port} on host {host} is already active."))
}

/// 500 in the reference, although the host of the request is what is wrong.
pub fn binding_failed(port: &str, host: &str) -> Fault {
    let message = format!(
        "Binding for port {port} on host {host} could not be created or updated: no driver can bind it there. Is an agent alive on the host, and \
         does it serve a segment of the network?"
    );
    Fault::conflict("PortBindingError", message)
}

pub fn not_found(port: &str) -> Fault {
    Fault::not_found("PortNotFound", format!("Port {port} could not be found."))
}

pub fn network_not_found(network: &str) -> Fault {
    Fault::not_found("NetworkNotFound", format!("Network {network} could not be found."))
}
