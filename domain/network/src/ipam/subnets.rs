use std::net::IpAddr;

use resource::Op;
use schema::Fault;
use store::Row;
use types::{IpNet, Mac, cidr};

use super::{Place, owner};

/// The prefix of a subnet whose real one a delegating router has not given yet.
pub const PROVISIONAL_PREFIX: &str = "::/64";
/// What stands for a subnet pool when the prefix is delegated.
pub const PREFIX_DELEGATION: &str = "prefix_delegation";

/// What address management needs to know of a subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subnet {
    pub id: String,
    pub cidr: IpNet,
    pub enable_dhcp: bool,
    pub ra_mode: Option<String>,
    pub address_mode: Option<String>,
    pub segment_id: Option<String>,
    /// A host was asked about and is mapped to the subnet's segment.
    pub reachable: bool,
    pub delegated: bool,
    /// Device owners that the subnet is reserved for; empty for all.
    pub service_types: Vec<String>,
    /// Grows when the subnet changes, so that what is remembered of it can be told stale.
    pub revision: i64,
}

impl Subnet {
    /// Addresses follow from the MAC address: SLAAC, or DHCPv6 only for other options.
    pub fn is_automatic(&self) -> bool {
        is_automatic(self.ra_mode.as_deref(), self.address_mode.as_deref())
    }

    pub fn is_ipv4(&self) -> bool {
        matches!(self.cidr, IpNet::V4(_))
    }

    /// The address that follows from a MAC address; None for IPv4.
    pub fn eui64(&self, mac: Mac) -> Option<IpAddr> {
        match self.cidr {
            IpNet::V6(net) => Some(mac.eui64(net).into()),
            IpNet::V4(_) => None,
        }
    }

    /// Whether a port of that owner may have addresses here: DHCP ports on every subnet that they serve.
    pub fn serves(&self, device_owner: &str) -> bool {
        self.service_types.is_empty()
            || self.service_types.iter().any(|kind| kind == device_owner)
            || (device_owner == owner::DHCP && self.enable_dhcp)
    }

    /// Whether a port of that owner may have the address.
    pub fn admits(&self, ip: IpAddr, device_owner: &str) -> bool {
        if !self.cidr.contains(&ip) {
            return false;
        }
        match self.cidr {
            IpNet::V4(net) if net.prefix_len() < 31 => ip != net.network() && ip != net.broadcast(),
            IpNet::V4(_) => true,
            IpNet::V6(net) => ip != net.network() || owner::may_be_anycast(device_owner),
        }
    }

    pub(super) fn place(&self) -> Place<'_> {
        Place { subnet_id: &self.id, cidr: self.cidr, revision: self.revision }
    }
}

/// Whether a subnet with these IPv6 modes has automatic addresses.
pub fn is_automatic(ra_mode: Option<&str>, address_mode: Option<&str>) -> bool {
    let automatic = |mode: Option<&str>| matches!(mode, Some("slaac" | "dhcpv6-stateless"));
    automatic(ra_mode) || automatic(address_mode)
}

/// All subnets of a network, oldest first, with what `host` reaches of them: one statement.
pub async fn of_network(op: &mut Op<'_>, network_id: &str, host: &str) -> Result<Vec<Subnet>, Fault> {
    let sql = "SELECT s.id, s.cidr, s.enable_dhcp, s.ipv6_ra_mode, s.ipv6_address_mode, s.segment_id, s.subnetpool_id, \
               a.revision_number, m.host, t.service_type FROM subnets s \
               JOIN standardattributes a ON a.id = s.standard_attr_id \
               LEFT JOIN segmenthostmappings m ON m.segment_id = s.segment_id AND m.host = ? \
               LEFT JOIN subnet_service_types t ON t.subnet_id = s.id \
               WHERE s.network_id = ? ORDER BY s.standard_attr_id, t.service_type";
    let rows = op.txn.query(sql, &[host.into(), network_id.into()]).await?;
    let mut subnets: Vec<Subnet> = Vec::new();
    for row in &rows {
        let service_type = row.opt_text(9);
        match subnets.last_mut() {
            Some(last) if last.id == row.str(0) => last.service_types.extend(service_type),
            _ => {
                // A prefix that does not parse was not written by any server; ports get nothing from it.
                let Some(mut subnet) = subnet(row) else { continue };
                subnet.service_types.extend(service_type);
                subnets.push(subnet);
            }
        }
    }
    Ok(subnets)
}

fn subnet(row: &Row) -> Option<Subnet> {
    Some(Subnet {
        id: row.text(0),
        cidr: cidr::parse(row.str(1))?,
        enable_dhcp: row.bool(2),
        ra_mode: row.opt_text(3),
        address_mode: row.opt_text(4),
        segment_id: row.opt_text(5),
        delegated: row.str(6) == PREFIX_DELEGATION,
        revision: row.int(7),
        reachable: !row.is_null(8),
        service_types: Vec::new(),
    })
}
