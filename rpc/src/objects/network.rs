//! Facts: neutron/objects/network.py.

use super::{Versioned, fields};

fields! {
    Network = "Network" "1.3" {
        required {
            id: String,
        }
        loaded {
            name: String,
            status: String,
            admin_state_up: bool,
            shared: bool,
            /// Bytes.
            mtu: u32,
            availability_zone_hints: Vec<String>,
            segments: Vec<Versioned<NetworkSegment>>,
            revision_number: u64,
        }
        nullable {
            project_id: String,
            description: String,
            created_at: String,
            updated_at: String,
            vlan_transparent: bool,
            security: Versioned<NetworkPortSecurity>,
            dns_domain: String,
            qos_policy_id: String,
        }
    }
}

fields! {
    NetworkSegment = "NetworkSegment" "1.0" {
        required {
            id: String,
        }
        loaded {
            network_id: String,
            network_type: String,
            is_dynamic: bool,
            segment_index: u32,
            hosts: Vec<String>,
            revision_number: u64,
        }
        nullable {
            name: String,
            physical_network: String,
            segmentation_id: u32,
        }
    }
}

fields! {
    NetworkPortSecurity = "NetworkPortSecurity" "1.0" {
        required {
            id: String,
            port_security_enabled: bool,
        }
        loaded {}
        nullable {}
    }
}
