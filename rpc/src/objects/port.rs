//! Facts: neutron/objects/ports.py and neutron/objects/port/extensions/*.py.

use std::net::IpAddr;

use types::Mac;

use super::{NetworkSegment, Versioned, fields};

fields! {
    /// A port with all that hangs on it.
    Port = "Port" "1.11" {
        required {
            id: String,
        }
        loaded {
            project_id: String,
            name: String,
            network_id: String,
            mac_address: Mac,
            admin_state_up: bool,
            device_id: String,
            device_owner: String,
            status: String,
            allowed_address_pairs: Vec<Versioned<AllowedAddressPair>>,
            bindings: Vec<Versioned<PortBinding>>,
            dhcp_options: Vec<Versioned<ExtraDhcpOpt>>,
            distributed_bindings: Vec<Versioned<DistributedPortBinding>>,
            fixed_ips: Vec<Versioned<IpAllocation>>,
            /// From the lowest level to the one that the agent wires.
            binding_levels: Vec<Versioned<PortBindingLevel>>,
            revision_number: u64,
        }
        nullable {
            description: String,
            created_at: String,
            updated_at: String,
            dns: Versioned<PortDns>,
            security: Versioned<PortSecurity>,
            security_group_ids: Vec<String>,
            qos_policy_id: String,
            qos_network_policy_id: String,
        }
    }
}

fields! {
    PortBinding = "PortBinding" "1.0" {
        required {
            port_id: String,
        }
        loaded {
            host: String,
            /// JSON text.
            profile: String,
            vif_type: String,
            vnic_type: String,
            /// `ACTIVE` or `INACTIVE`.
            status: String,
        }
        nullable {
            /// JSON text.
            vif_details: String,
        }
    }
}

fields! {
    /// The binding of a distributed router's port on one of its hosts.
    DistributedPortBinding = "DistributedPortBinding" "1.0" {
        required {
            port_id: String,
        }
        loaded {
            host: String,
            profile: String,
            vif_type: String,
            vnic_type: String,
            status: String,
        }
        nullable {
            vif_details: String,
            router_id: String,
        }
    }
}

fields! {
    PortBindingLevel = "PortBindingLevel" "1.1" {
        required {
            port_id: String,
        }
        loaded {
            host: String,
            level: u32,
        }
        nullable {
            driver: String,
            segment: Versioned<NetworkSegment>,
            segment_id: String,
        }
    }
}

fields! {
    IpAllocation = "IPAllocation" "1.0" {
        required {
            subnet_id: String,
        }
        loaded {
            network_id: String,
            ip_address: IpAddr,
        }
        nullable {
            port_id: String,
        }
    }
}

fields! {
    AllowedAddressPair = "AllowedAddressPair" "1.0" {
        required {
            port_id: String,
            /// As text: unlike a port's own, the reference gives it in any notation.
            mac_address: String,
            /// A prefix, also for single addresses: `192.0.2.1/32`.
            ip_address: String,
        }
        loaded {}
        nullable {}
    }
}

fields! {
    ExtraDhcpOpt = "ExtraDhcpOpt" "1.1" {
        required {
            id: String,
        }
        loaded {
            port_id: String,
            opt_name: String,
            ip_version: u8,
        }
        nullable {
            opt_value: String,
        }
    }
}

fields! {
    PortSecurity = "PortSecurity" "1.0" {
        required {
            id: String,
            port_security_enabled: bool,
        }
        loaded {}
        nullable {}
    }
}

fields! {
    PortDns = "PortDNS" "1.1" {
        required {
            port_id: String,
        }
        loaded {
            current_dns_name: String,
            current_dns_domain: String,
            previous_dns_name: String,
            previous_dns_domain: String,
            dns_name: String,
            dns_domain: String,
        }
        nullable {}
    }
}
