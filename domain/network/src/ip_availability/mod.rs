//! How many addresses networks have, and how many are taken: `network-ip-availabilities`, for administrators.
//!
//! Three statements, whatever the number of networks; the rest is arithmetic. Reproduces neutron/db/network_ip_availability_db.py
//! and network_ip_availability_details_db.py. Counts beyond 64 bits, which JSON readers take for floating point anyway, are written
//! as such.

use std::collections::HashMap;
use std::net::IpAddr;

use async_trait::async_trait;
use policy::{Context, Nothing};
use resource::{Action, Answer, Condition, Direction, Method, Op, Query, Request, Route, System, column_value};
use schema::{Extension, Fault, Kind, Value};
use serde_json::{Map, json};
use types::{IpRange, cidr, number};

use crate::network::extension;

const LIST: &str = "/network-ip-availabilities";
const ONE: &str = "/network-ip-availabilities/{network_id}";
const RULE: &str = "get_network_ip_availability";

const ROUTES: &[Route] = &[Route { method: Method::Get, path: LIST }, Route { method: Method::Get, path: ONE }];

extension!(
    AVAILABILITY,
    "network-ip-availability",
    "Network IP Availability",
    "How many addresses of networks are taken",
    "2015-09-24T00:00:00-00:00"
);
extension!(
    DETAILS,
    "network-ip-availability-details",
    "Network IP Availability Details Extension",
    "Taken addresses inside and outside of allocation pools",
    "2025-10-31T00:00:00-00:00"
);

/// Announced with [`Availabilities`].
pub static EXTENSIONS: &[&Extension] = &[&AVAILABILITY, &DETAILS];

pub struct Availabilities;

/// Counts of a subnet, or of all subnets of a network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    /// Of the pools; of the prefix if there are none.
    total: u128,
    in_prefix: u128,
    in_pools: u128,
    used: u128,
    used_in_pools: u128,
}

fn count(n: u128) -> Value {
    match u64::try_from(n) {
        Ok(n) => Value::from(n),
        #[allow(clippy::cast_precision_loss, reason = "there is no exact JSON number for it that readers keep")]
        Err(_) => Value::from(n as f64),
    }
}

impl Counts {
    /// `addresses` are those that ports have.
    fn of(net: &types::IpNet, pools: &[IpRange], addresses: &[IpAddr]) -> Counts {
        let size = (number(net.broadcast()) - number(net.network())).saturating_add(1);
        let in_pools = pools.iter().fold(0u128, |sum, pool| sum.saturating_add(pool.size()));
        let used_in_pools = addresses.iter().filter(|ip| pools.iter().any(|pool| pool.contains(**ip))).count();
        Counts {
            total: if pools.is_empty() { size } else { in_pools },
            // Without network and broadcast address.
            in_prefix: if net.addr().is_ipv4() { size.saturating_sub(2) } else { size },
            in_pools,
            used: addresses.len() as u128,
            used_in_pools: used_in_pools as u128,
        }
    }

    fn add(&mut self, other: Counts) {
        self.total = self.total.saturating_add(other.total);
        self.in_prefix = self.in_prefix.saturating_add(other.in_prefix);
        self.in_pools = self.in_pools.saturating_add(other.in_pools);
        self.used = self.used.saturating_add(other.used);
        self.used_in_pools = self.used_in_pools.saturating_add(other.used_in_pools);
    }

    fn write(&self, object: &mut Map<String, Value>) {
        object.insert("used_ips".into(), count(self.used));
        object.insert("total_ips".into(), count(self.total));
        let details = json!({
            "total_ips_in_subnet": count(self.in_prefix),
            "total_ips_in_allocation_pool": count(self.in_pools),
            "used_ips_in_subnet": count(self.used),
            "used_ips_in_allocation_pool": count(self.used_in_pools),
        });
        object.insert("ip_availability_details".into(), details);
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}

/// Filters as SQL on networks `n` and subnets `s`.
fn condition(query: &Query) -> Result<Condition, Fault> {
    let mut all = Vec::new();
    let mut unknown = Vec::new();
    for (name, values) in &query.filters {
        let (column, kind) = match name.as_str() {
            "network_id" => ("n.id", Kind::Uuid),
            "network_name" => ("n.name", Kind::Text { max: 255 }),
            "project_id" => ("n.project_id", Kind::Text { max: 255 }),
            "ip_version" => ("s.ip_version", Kind::Int { min: i64::MIN, max: i64::MAX }),
            _ => {
                unknown.push(format!("'{name}'"));
                continue;
            }
        };
        let values = values.iter().map(|value| column_value(&kind, value)).collect::<Result<Vec<_>, _>>();
        let values =
            values.map_err(|why| Fault::invalid_input(format!("Invalid input for operation: {name}: {why}.")))?;
        all.push(Condition::one_of(column, values));
    }
    if !unknown.is_empty() {
        return Err(Fault::bad_request(format!("[{}] is invalid attribute for filtering", unknown.join(", "))));
    }
    Ok(Condition::all(all))
}

/// The counts of the networks that the condition holds for, by network id.
async fn load(op: &mut Op<'_>, condition: &Condition) -> Result<Vec<Map<String, Value>>, Fault> {
    let of_subnets = |columns: &str, table: &str| {
        format!(
            "SELECT s.id, {columns} FROM networks n JOIN subnets s ON s.network_id = n.id \
             JOIN {table} x ON x.subnet_id = s.id WHERE {}",
            condition.sql
        )
    };
    let mut pools: HashMap<String, Vec<IpRange>> = HashMap::new();
    for row in op.txn.query(&of_subnets("x.first_ip, x.last_ip", "ipallocationpools"), &condition.args).await? {
        let ends = (row.str(1).parse().ok(), row.str(2).parse().ok());
        if let (Some(first), Some(last)) = ends {
            pools.entry(row.text(0)).or_default().extend(IpRange::new(first, last));
        }
    }
    let mut used: HashMap<String, Vec<IpAddr>> = HashMap::new();
    for row in op.txn.query(&of_subnets("x.ip_address", "ipallocations"), &condition.args).await? {
        used.entry(row.text(0)).or_default().extend(row.str(1).parse::<IpAddr>().ok());
    }
    let sql = format!(
        "SELECT n.id, n.name, n.project_id, s.id, s.ip_version, s.cidr, s.name FROM networks n \
         LEFT JOIN subnets s ON s.network_id = n.id WHERE {} ORDER BY n.id, s.id",
        condition.sql
    );
    let rows = op.txn.query(&sql, &condition.args).await?;
    let mut networks: Vec<Map<String, Value>> = Vec::new();
    for of_network in rows.chunk_by(|a, b| a.str(0) == b.str(0)) {
        let mut sum = Counts::default();
        let mut subnets = Vec::new();
        for row in of_network {
            let Some(net) = cidr::parse(row.str(5)) else { continue };
            let of = |map: &HashMap<String, Vec<IpRange>>| map.get(row.str(3)).cloned().unwrap_or_default();
            let addresses = used.get(row.str(3)).map(Vec::as_slice).unwrap_or_default();
            let counts = Counts::of(&net, &of(&pools), addresses);
            sum.add(counts);
            let mut subnet = object(json!({
                "subnet_id": row.str(3), "ip_version": row.int(4), "cidr": row.str(5), "subnet_name": row.str(6),
            }));
            counts.write(&mut subnet);
            subnets.push(Value::Object(subnet));
        }
        let row = &of_network[0];
        let mut network = object(json!({
            "network_id": row.str(0), "network_name": row.str(1), "project_id": row.str(2), "tenant_id": row.str(2),
            "subnet_ip_availability": subnets,
        }));
        sum.write(&mut network);
        networks.push(network);
    }
    Ok(networks)
}

/// Order, page and fields of a list.
fn arrange(mut networks: Vec<Map<String, Value>>, query: &Query) -> Result<Vec<Map<String, Value>>, Fault> {
    if let Some(sort) = query.sorts.iter().find(|sort| sort.key != "network_id") {
        return Err(Fault::bad_request(format!("['{}'] is invalid attribute for sort_keys", sort.key)));
    }
    let descending = query.sorts.first().is_some_and(|sort| sort.direction == Direction::Descending);
    if descending != query.reverse {
        networks.reverse();
    }
    if let Some(marker) = &query.marker {
        let position = networks.iter().position(|network| network["network_id"] == marker.as_str());
        networks.drain(..position.map_or(networks.len(), |position| position + 1));
    }
    networks.truncate(query.limit.unwrap_or(usize::MAX));
    if query.reverse {
        networks.reverse();
    }
    if !query.fields.is_empty() {
        for network in &mut networks {
            network.retain(|name, _| query.fields.contains(name));
        }
    }
    Ok(networks)
}

#[async_trait]
impl Action for Availabilities {
    fn routes(&self) -> &[Route] {
        ROUTES
    }

    async fn call(&self, system: &System, context: &Context, request: Request) -> Result<Answer, Fault> {
        let allowed = system.policy.allows(RULE, context, &Nothing);
        let mut query = Query::parse(&request.query)?;
        let mut txn = system.store.read().await?;
        let mut op = Op::new(&mut txn, context, system);
        if request.route.path == LIST {
            let condition = condition(&query)?;
            let networks = if allowed { load(&mut op, &condition).await? } else { Vec::new() };
            return Ok(Answer::ok(json!({"network_ip_availabilities": arrange(networks, &query)?})));
        }
        // What one may not see is not there.
        if !allowed {
            return Err(Fault::not_found("HTTPNotFound", "The resource could not be found."));
        }
        let id = request.param("network_id");
        query.filters = vec![("network_id".into(), vec![id.to_owned()])];
        let found =
            arrange(load(&mut op, &condition(&query)?).await?, &Query { fields: query.fields, ..Query::default() })?;
        match found.into_iter().next() {
            Some(network) => Ok(Answer::ok(json!({"network_ip_availability": network}))),
            None => Err(Fault::not_found("NetworkNotFound", format!("Network {id} could not be found."))),
        }
    }
}

#[cfg(test)]
mod tests;
