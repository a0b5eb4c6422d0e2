//! Facts: neutron/objects/securitygroup.py.

use super::{Versioned, fields};

fields! {
    SecurityGroup = "SecurityGroup" "1.6" {
        required {
            id: String,
        }
        loaded {
            shared: bool,
            stateful: bool,
            is_default: bool,
            rules: Vec<Versioned<SecurityGroupRule>>,
            revision_number: u64,
        }
        nullable {
            name: String,
            project_id: String,
            description: String,
            created_at: String,
            updated_at: String,
        }
    }
}

fields! {
    SecurityGroupRule = "SecurityGroupRule" "1.3" {
        required {
            id: String,
        }
        loaded {
            security_group_id: String,
            belongs_to_default_sg: bool,
            revision_number: u64,
        }
        nullable {
            project_id: String,
            description: String,
            created_at: String,
            updated_at: String,
            remote_group_id: String,
            remote_address_group_id: String,
            /// `ingress` or `egress`.
            direction: String,
            ethertype: String,
            protocol: String,
            port_range_min: u32,
            port_range_max: u32,
            remote_ip_prefix: String,
            normalized_cidr: String,
        }
    }
}
