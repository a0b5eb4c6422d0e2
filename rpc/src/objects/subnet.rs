//! Facts: neutron/objects/subnet.py.

use std::net::IpAddr;

use types::IpNet;

use super::{Versioned, fields};

fields! {
    Subnet = "Subnet" "1.2" {
        required {
            id: String,
        }
        loaded {
            name: String,
            network_id: String,
            ip_version: u8,
            cidr: IpNet,
            allocation_pools: Vec<Versioned<IpAllocationPool>>,
            enable_dhcp: bool,
            shared: bool,
            dns_nameservers: Vec<Versioned<DnsNameServer>>,
            host_routes: Vec<Versioned<Route>>,
            service_types: Vec<String>,
            revision_number: u64,
        }
        nullable {
            project_id: String,
            description: String,
            created_at: String,
            updated_at: String,
            segment_id: String,
            subnetpool_id: String,
            gateway_ip: IpAddr,
            dns_publish_fixed_ip: bool,
            ipv6_ra_mode: String,
            ipv6_address_mode: String,
            external: bool,
        }
    }
}

fields! {
    IpAllocationPool = "IPAllocationPool" "1.0" {
        required {
            id: String,
        }
        loaded {
            subnet_id: String,
            start: IpAddr,
            end: IpAddr,
        }
        nullable {}
    }
}

fields! {
    DnsNameServer = "DNSNameServer" "1.0" {
        required {
            address: String,
        }
        loaded {
            subnet_id: String,
            order: u32,
        }
        nullable {}
    }
}

fields! {
    Route = "Route" "1.0" {
        required {
            subnet_id: String,
        }
        loaded {
            destination: IpNet,
            nexthop: IpAddr,
        }
        nullable {}
    }
}
