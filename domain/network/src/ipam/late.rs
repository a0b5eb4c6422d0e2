//! Addresses for ports that are there already when an automatic subnet is added to their network.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

use resource::Op;
use schema::Fault;
use store::Value;
use types::Mac;

use super::choice::{Candidates, candidates};
use super::{Holder, Ipam, Wanted, owner, subnets};

/// A port that got an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Late {
    pub port_id: String,
    /// Its row in the shared attribute table.
    pub shared_id: i64,
    pub ip: IpAddr,
}

struct Port {
    id: String,
    mac: Mac,
    owner: String,
    shared_id: i64,
    host: String,
}

impl Ipam {
    /// Gives every port of the network, except router ports and those that cannot be on the subnet, its address of the
    /// automatic subnet. The number of statements grows only with the number of hosts.
    pub async fn add_to_ports(&self, op: &mut Op<'_>, network_id: &str, subnet_id: &str) -> Result<Vec<Late>, Fault> {
        let all = subnets::of_network(op, network_id, "").await?;
        let Some(subnet) = all.iter().find(|subnet| subnet.id == subnet_id && subnet.is_automatic()) else {
            return Ok(Vec::new());
        };
        let ports = ports_of(op, network_id).await?;
        if ports.is_empty() {
            return Ok(Vec::new());
        }
        let mut addresses: HashMap<String, Vec<Wanted>> = HashMap::new();
        let sql = "SELECT port_id, subnet_id, ip_address FROM ipallocations WHERE network_id = ?";
        for row in op.txn.query(sql, &[network_id.into()]).await? {
            let wanted = Wanted { subnet_id: Some(row.text(1)), ip: row.str(2).parse().ok() };
            addresses.entry(row.text(0)).or_default().push(wanted);
        }
        let mapped: HashSet<String> = match &subnet.segment_id {
            None => HashSet::new(),
            Some(segment) => {
                let sql = "SELECT host FROM segmenthostmappings WHERE segment_id = ?";
                op.txn.query(sql, &[segment.as_str().into()]).await?.iter().map(|row| row.text(0)).collect()
            }
        };
        let mut chosen: Vec<(&Port, IpAddr)> = Vec::new();
        for port in &ports {
            let fits = if port.host.is_empty() {
                let holder =
                    Holder { port_id: &port.id, network_id, mac: port.mac, device_owner: &port.owner, host: "" };
                let has = addresses.get(&port.id).map(Vec::as_slice).unwrap_or_default();
                // A port that can be nowhere now is no reason to refuse the subnet.
                match candidates(&all, &holder, Some(has)) {
                    Ok(Candidates::Subnets(found)) => found.iter().any(|found| found.id == subnet.id),
                    Ok(Candidates::Deferred) | Err(_) => false,
                }
            } else {
                subnet.serves(&port.owner) && (subnet.segment_id.is_none() || mapped.contains(&port.host))
            };
            if fits && let Some(ip) = subnet.eui64(port.mac) {
                chosen.push((port, ip));
            }
        }
        let ips: Vec<IpAddr> = chosen.iter().map(|(_, ip)| *ip).collect();
        let taken: HashSet<IpAddr> = self.driver.take_many(op, &subnet.place(), &ips).await?.into_iter().collect();
        chosen.retain(|(_, ip)| taken.contains(ip));
        let rows = chosen
            .iter()
            .map(|(port, ip)| vec![Value::from(&port.id), ip.to_string().into(), subnet_id.into(), network_id.into()])
            .collect();
        let columns = ["port_id", "ip_address", "subnet_id", "network_id"];
        op.txn.insert_many("ipallocations", &columns, rows).await?;
        let late = |(port, ip): &(&Port, IpAddr)| Late { port_id: port.id.clone(), shared_id: port.shared_id, ip: *ip };
        Ok(chosen.iter().map(late).collect())
    }
}

async fn ports_of(op: &mut Op<'_>, network_id: &str) -> Result<Vec<Port>, Fault> {
    let sql = "SELECT p.id, p.mac_address, p.device_owner, p.standard_attr_id, b.host FROM ports p \
               LEFT JOIN ml2_port_bindings b ON b.port_id = p.id AND b.status = 'ACTIVE' WHERE p.network_id = ? ORDER BY p.id";
    let rows = op.txn.query(sql, &[network_id.into()]).await?;
    let ports = rows.iter().filter_map(|row| {
        let mac = row.str(1).parse().ok()?;
        Some(Port { id: row.text(0), mac, owner: row.text(2), shared_id: row.int(3), host: row.text(4) })
    });
    Ok(ports.filter(|port| !owner::is_router_interface_or_snat(&port.owner)).collect())
}
