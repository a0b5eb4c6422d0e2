//! What must hold in the database at any moment, whoever wrote it and whatever was interrupted. Each check is a query that
//! finds nothing; what it finds is told.

use std::collections::HashMap;

use store::{Options, Store};
use types::{IpNet, IpRange};

/// Invariants that a query alone shows: name, and SQL that gives a text per violation.
const QUERIES: &[(&str, &str)] = &[
    (
        "I1 an address is handed out once",
        "SELECT subnet_id || ' ' || ip_address FROM ipallocations GROUP BY subnet_id, ip_address HAVING COUNT(*) > 1",
    ),
    (
        "I1 addresses of ports are those of address management",
        "SELECT s.neutron_subnet_id || ' ' || a.ip_address FROM ipamallocations a JOIN ipamsubnets s ON s.id = a.ipam_subnet_id \
         WHERE NOT EXISTS (SELECT 1 FROM ipallocations i WHERE i.subnet_id = s.neutron_subnet_id AND i.ip_address = a.ip_address) \
         UNION ALL SELECT i.subnet_id || ' ' || i.ip_address FROM ipallocations i WHERE NOT EXISTS (SELECT 1 FROM ipamallocations a \
         JOIN ipamsubnets s ON s.id = a.ipam_subnet_id WHERE s.neutron_subnet_id = i.subnet_id AND a.ip_address = i.ip_address)",
    ),
    (
        "I1 no port has the gateway's address",
        "SELECT i.port_id FROM ipallocations i JOIN subnets s ON s.id = i.subnet_id JOIN ports p ON p.id = i.port_id \
         WHERE i.ip_address = s.gateway_ip AND p.device_owner NOT LIKE 'network:router%'",
    ),
    (
        "I2 a MAC address is in a network once",
        "SELECT network_id || ' ' || mac_address FROM ports GROUP BY network_id, mac_address HAVING COUNT(*) > 1",
    ),
    (
        "I3 no usage above its limit is recorded, and none is negative",
        "SELECT project_id || ' ' || resource || ' ' || in_use FROM quotausages WHERE in_use < 0 OR reserved < 0",
    ),
    (
        "I3 recorded usage is what there is",
        "SELECT project_id || ' ' || resource || ' ' || in_use FROM quotausages WHERE dirty = 0 AND ( \
         (resource = 'port' AND in_use <> (SELECT COUNT(*) FROM ports WHERE ports.project_id = quotausages.project_id)) OR \
         (resource = 'subnet' AND in_use <> (SELECT COUNT(*) FROM subnets WHERE subnets.project_id = quotausages.project_id)) OR \
         (resource = 'network' AND in_use <> (SELECT COUNT(*) FROM networks WHERE networks.project_id = quotausages.project_id)))",
    ),
    (
        "I4 an allocated VNI has its segment",
        "SELECT vxlan_vni FROM ml2_vxlan_allocations WHERE allocated = 1 AND NOT EXISTS (SELECT 1 FROM networksegments \
         WHERE network_type = 'vxlan' AND segmentation_id = vxlan_vni)",
    ),
    (
        "I4 a VXLAN segment has its VNI allocated, and alone",
        "SELECT s.id FROM networksegments s WHERE s.network_type = 'vxlan' AND (NOT EXISTS (SELECT 1 FROM ml2_vxlan_allocations a \
         WHERE a.vxlan_vni = s.segmentation_id AND a.allocated = 1) OR EXISTS (SELECT 1 FROM networksegments o \
         WHERE o.id <> s.id AND o.network_type = 'vxlan' AND o.segmentation_id = s.segmentation_id))",
    ),
    (
        "I4 a network has a segment",
        "SELECT id FROM networks WHERE NOT EXISTS (SELECT 1 FROM networksegments WHERE network_id = networks.id)",
    ),
    (
        "I5 a shared row belongs to one object",
        "SELECT id || ' ' || resource_type FROM standardattributes s WHERE resource_type IN ('ports', 'networks', 'subnets', \
         'networksegments') AND NOT EXISTS (SELECT 1 FROM ports WHERE standard_attr_id = s.id) \
         AND NOT EXISTS (SELECT 1 FROM networks WHERE standard_attr_id = s.id) \
         AND NOT EXISTS (SELECT 1 FROM subnets WHERE standard_attr_id = s.id) \
         AND NOT EXISTS (SELECT 1 FROM networksegments WHERE standard_attr_id = s.id)",
    ),
    (
        "I5 a port has a binding",
        "SELECT id FROM ports WHERE NOT EXISTS (SELECT 1 FROM ml2_port_bindings WHERE port_id = ports.id)",
    ),
    (
        "I5 no more DHCP ports than DHCP agents of the network",
        "SELECT network_id FROM ports WHERE device_owner = 'network:dhcp' AND device_id <> 'reserved_dhcp_port' \
         GROUP BY network_id HAVING COUNT(*) > 1",
    ),
    (
        "I5 address management knows no subnet that is gone",
        "SELECT id FROM ipamsubnets WHERE neutron_subnet_id NOT IN (SELECT id FROM subnets)",
    ),
    (
        "I10 no ACTIVE port waits for anything",
        "SELECT ports.id || ' ' || b.entity FROM ports JOIN provisioningblocks b ON b.standard_attr_id = ports.standard_attr_id \
         WHERE ports.status = 'ACTIVE'",
    ),
];

/// Only where keys can be switched off.
const SQLITE: (&str, &str) = ("foreign keys hold", "SELECT \"table\" || ' ' || rowid FROM pragma_foreign_key_check");

/// Every violation in the database of that file.
pub async fn violations(url: &str) -> Vec<String> {
    let store = Store::open(Options { readers: 1, ..Options::new(url) }).await.unwrap();
    let mut txn = store.read().await.unwrap();
    let mut found = Vec::new();
    let of_sqlite = url.starts_with("sqlite:").then_some(&SQLITE);
    for (name, sql) in QUERIES.iter().chain(of_sqlite) {
        for row in txn.query(sql, &[]).await.unwrap_or_else(|error| panic!("{name}: {error}")) {
            found.push(format!("{name}: {:?}", row.value(0)));
        }
    }
    // I1 and I6 need arithmetic on addresses.
    let mut subnets: HashMap<String, Vec<(String, IpNet)>> = HashMap::new();
    for row in txn.query("SELECT id, network_id, cidr FROM subnets", &[]).await.unwrap() {
        let cidr: IpNet = row.text(2).parse().unwrap();
        let others = subnets.entry(row.text(1)).or_default();
        for (other, net) in others.iter() {
            if types::cidr::overlap(&cidr, net) {
                found.push(format!("I6 subnets of a network do not overlap: {} {other}", row.text(0)));
            }
        }
        others.push((row.text(0), cidr));
    }
    let nets: HashMap<String, IpNet> = subnets.into_values().flatten().collect();
    for row in txn.query("SELECT subnet_id, ip_address FROM ipallocations", &[]).await.unwrap() {
        let ip: std::net::IpAddr = row.text(1).parse().unwrap();
        if !nets.get(&row.text(0)).is_some_and(|net| net.contains(&ip)) {
            found.push(format!("I1 addresses lie in their subnet: {ip} {}", row.text(0)));
        }
    }
    let mut pools: HashMap<String, Vec<IpRange>> = HashMap::new();
    for row in txn.query("SELECT subnet_id, first_ip, last_ip FROM ipallocationpools", &[]).await.unwrap() {
        let range = IpRange::new(row.text(1).parse().unwrap(), row.text(2).parse().unwrap()).unwrap();
        let others = pools.entry(row.text(0)).or_default();
        if others.iter().any(|other| other.overlaps(&range)) {
            found.push(format!("I6 pools of a subnet do not overlap: {}", row.text(0)));
        }
        others.push(range);
    }
    drop(txn);
    store.close().await.unwrap();
    found
}
