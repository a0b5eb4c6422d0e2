//! What goes wrong with agents, by the reference's names.

use schema::Fault;

pub fn not_found(agent: &str) -> Fault {
    Fault::not_found("AgentNotFound", format!("Agent {agent} could not be found."))
}

pub fn already_hosted(network: &str, agent: &str) -> Fault {
    let message = format!("The network {network} has been already hosted by the DHCP Agent {agent}.");
    Fault::conflict("NetworkHostedByDHCPAgent", message)
}

pub fn not_hosted(network: &str, agent: &str) -> Fault {
    let message = format!("The network {network} is not hosted by the DHCP agent {agent}.");
    Fault::conflict("NetworkNotHostedByDhcpAgent", message)
}

pub fn invalid_dhcp_agent(agent: &str) -> Fault {
    let message = format!("Agent {agent} is not a valid DHCP Agent or has been disabled.");
    Fault::not_found("InvalidDHCPAgent", message)
}

pub fn zone_not_found(zone: &str) -> Fault {
    Fault::not_found("AvailabilityZoneNotFound", format!("AvailabilityZone {zone} could not be found."))
}
