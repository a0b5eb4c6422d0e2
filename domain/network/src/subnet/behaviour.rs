use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op, new_id};
use schema::{Fault, Record, Value};
use types::{IpNet, IpRange, cidr, from_number, number};

use super::{
    ALLOCATION_POOLS, CIDR, DNS_NAMESERVERS, ENABLE_DHCP, GATEWAY_IP, IP_VERSION, NETWORK_ID, NETWORK_PROJECT,
    PREFIXLEN, SEGMENT_ID, SERVICE_TYPES, SUBNETPOOL_ID, USE_DEFAULT_SUBNETPOOL, check, delete, faults, load, place,
    ports, segment,
};
use crate::ipam::{Ipam, PREFIX_DELEGATION, PROVISIONAL_PREFIX, pools};
use crate::ml2::Ml2;
use crate::subnetpool;

/// Attributes that are lists, where null means empty.
const LISTS: [&str; 4] = ["allocation_pools", "host_routes", "dns_nameservers", "service_types"];

pub struct Subnets {
    pub ml2: Arc<Ml2>,
    pub ipam: Arc<Ipam>,
}

/// Where the prefix of a new subnet comes from.
enum Source {
    /// From the request.
    Given,
    Pool(String),
    /// From a delegating router, later.
    Delegated,
}

fn null_lists_are_empty(record: &mut Record) {
    for name in LISTS {
        if record.value(name).is_some_and(Value::is_null) {
            record.set(name, Value::Array(Vec::new()));
        }
    }
}

fn prefix_of(record: &Record) -> Option<IpNet> {
    record.get(CIDR).and_then(cidr::parse)
}

fn pools_of(record: &Record) -> Result<Vec<IpRange>, Fault> {
    pools::read(record.get(ALLOCATION_POOLS).unwrap_or_default())
}

impl Subnets {
    async fn source(&self, op: &mut Op<'_>, record: &Record) -> Result<Source, Fault> {
        let (pool, has_cidr) = (record.get(SUBNETPOOL_ID), record.get(CIDR).is_some());
        let version = record.get(IP_VERSION).unwrap_or(4);
        let wants_default = record.get(USE_DEFAULT_SUBNETPOOL) == Some(true);
        let pool = match pool {
            Some(_) if wants_default => {
                return Err(faults::bad("subnetpool_id and use_default_subnetpool cannot both be specified"));
            }
            Some(pool) => Some(pool.to_owned()),
            None if !wants_default => None,
            None if version == 6 && self.ml2.settings.ipv6_pd_enabled => Some(PREFIX_DELEGATION.to_owned()),
            None => match subnetpool::default_of(op, version).await? {
                Some(pool) => Some(pool),
                None => return Err(faults::bad(format!("No default subnetpool found for IPv{version}"))),
            },
        };
        match pool {
            None if !has_cidr => Err(faults::bad("a subnetpool must be specified in the absence of a cidr")),
            Some(_) if !has_cidr && !record.get(ALLOCATION_POOLS).unwrap_or_default().is_empty() => {
                Err(faults::bad("allocation_pools allowed only for specific subnet requests"))
            }
            None => Ok(Source::Given),
            Some(pool) if pool != PREFIX_DELEGATION => Ok(Source::Pool(pool)),
            // A prefix that is given is not delegated.
            Some(_) if has_cidr => Ok(Source::Given),
            Some(_) => Ok(Source::Delegated),
        }
    }

    /// Chooses prefix, gateway and pools of a new subnet.
    async fn settle(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let record = &given.record;
        let (id, network_id) = (record.id().to_owned(), record.text("network_id").to_owned());
        let version = record.get(IP_VERSION).unwrap_or(4);
        let enable_dhcp = record.get(ENABLE_DHCP) == Some(true);
        if record.get(CIDR).is_some() && record.has(PREFIXLEN.name) {
            return Err(faults::bad("cidr and prefixlen must not be supplied together"));
        }
        let source = self.source(op, record).await?;
        let delegated = matches!(source, Source::Delegated);
        check::lists(record, version, "new subnet", &self.ml2.settings)?;
        if delegated {
            check::delegation(record, version)?;
        } else {
            check::modes(record, version, enable_dhcp)?;
        }
        let asked_gateway = record.get(GATEWAY_IP);
        if let Some(gateway) = asked_gateway {
            check::gateway(gateway, version, prefix_of(record).as_ref())?;
        }
        if let Some(net) = prefix_of(record) {
            check::prefix(&net, version, false)?;
        }
        let network = place::network(op, &network_id).await?;
        check::mtu(&network_id, network.mtu, version)?;
        place::claim(op, &network_id, &id).await?;

        let mut scope = None;
        let (net, from_pool) = match &source {
            Source::Given => (prefix_of(record).ok_or_else(|| faults::bad("a cidr must be specified"))?, false),
            Source::Delegated => (cidr::parse(PROVISIONAL_PREFIX).ok_or_else(|| faults::bad("no prefix"))?, false),
            Source::Pool(pool_id) => {
                let pool = subnetpool::Pool::visible(op, pool_id).await?;
                if pool.ip_version != version {
                    let why = format!("Cannot allocate IPv{version} subnet from IPv{} subnet pool", pool.ip_version);
                    return Err(faults::bad(why));
                }
                scope = pool.address_scope_id.clone();
                let net = pool.allocate(op, record.project(), prefix_of(record), record.get(PREFIXLEN), asked_gateway);
                let any = record.get(CIDR).is_none() && asked_gateway.is_none();
                (net.await?, any)
            }
        };
        check::prefix(&net, version, delegated)?;
        check::automatic(record, &net)?;
        if enable_dhcp && !delegated {
            check::dhcp(&net)?;
        }
        let gateway = match asked_gateway {
            Some(gateway) => {
                check::gateway(gateway, version, Some(&net))?;
                Some(gateway)
            }
            None if given.named(GATEWAY_IP.name) => None,
            None => {
                let gateway = default_gateway(&net, from_pool);
                // The second address of a /31 is its broadcast address too.
                check::gateway(gateway, version, Some(&net)).map_err(|_| faults::no_default_gateway(gateway, net))?;
                Some(gateway)
            }
        };
        let list = match record.get(ALLOCATION_POOLS) {
            Some(list) if !list.is_empty() => {
                let list = pools::read(list)?;
                pools::check(&list, &net)?;
                if let Some(gateway) = gateway {
                    pools::check_gateway(&list, gateway)?;
                }
                list
            }
            _ => pools::derived(&net, gateway),
        };
        let neighbours = place::neighbours(op, &network_id).await?;
        place::check_overlap(&net, &network_id, &neighbours)?;
        let pool_id = match &source {
            Source::Given => None,
            Source::Pool(pool) => Some(pool.clone()),
            Source::Delegated => Some(PREFIX_DELEGATION.to_owned()),
        };
        place::check_affinity(version, pool_id.as_deref(), scope.as_deref(), &neighbours)?;
        let types: Vec<&str> = record.get(SERVICE_TYPES).unwrap_or_default().iter().filter_map(Value::as_str).collect();
        segment::check_new(op, &network_id, record.get(SEGMENT_ID), &types).await?;
        let record = &mut given.record;
        record.set("cidr", net.to_string());
        record.set("gateway_ip", gateway.map(|gateway| gateway.to_string()));
        record.set("subnetpool_id", pool_id);
        record.set("allocation_pools", pools::write(&list));
        Ok(())
    }

    async fn store_pools(&self, op: &mut Op<'_>, subnet_id: &str, list: &[IpRange]) -> Result<(), Fault> {
        let rows = list
            .iter()
            .map(|pool| {
                vec![new_id().into(), subnet_id.into(), pool.first.to_string().into(), pool.last.to_string().into()]
            })
            .collect();
        op.txn.insert_many("ipallocationpools", &["id", "subnet_id", "first_ip", "last_ip"], rows).await?;
        Ok(())
    }

    async fn store_nameservers(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let rows = record
            .get(DNS_NAMESERVERS)
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .zip(0i64..)
            .map(|(address, order)| vec![address.into(), record.id().into(), order.into()])
            .collect();
        op.txn.insert_many("dnsnameservers", &["address", "subnet_id", "order"], rows).await?;
        Ok(())
    }

    async fn check_gateway_change(&self, op: &mut Op<'_>, old: &Record) -> Result<(), Fault> {
        let Some(gateway) = old.get(GATEWAY_IP).filter(|_| old.get(SUBNETPOOL_ID) != Some(PREFIX_DELEGATION)) else {
            return Ok(());
        };
        let sql = "SELECT a.port_id FROM ipallocations a JOIN routerports r ON r.port_id = a.port_id \
                   WHERE a.subnet_id = ? AND a.ip_address = ? ORDER BY a.port_id";
        match op.txn.query_one(sql, &[old.id().into(), gateway.to_string().into()]).await? {
            Some(row) => Err(faults::gateway_in_use(gateway, row.str(0))),
            None => Ok(()),
        }
    }

    /// A network shows the ids of its subnets and changes with them.
    async fn touch_network(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let network = place::network(op, record.text("network_id")).await?;
        op.touch(network.shared_id).await
    }
}

/// The first host of an IPv4 prefix; of an IPv6 prefix the subnet-router anycast address (RFC 4291, 2.6.1), except that a prefix
/// which the pool chose gets its first host.
fn default_gateway(net: &IpNet, from_pool: bool) -> IpAddr {
    let offset = u128::from(net.addr().is_ipv4() || from_pool);
    from_number(number(net.network()).saturating_add(offset), net.addr())
}

#[async_trait]
impl Behaviour for Subnets {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        null_lists_are_empty(&mut given.record);
        let settled = self.settle(op, given).await;
        if settled.is_err() && !op.context.is_admin {
            // As in the reference, which looks for the network while it asks the policy.
            place::network(op, given.record.text("network_id")).await?;
        }
        settled
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        let list = pools_of(record)?;
        self.store_pools(op, record.id(), &list).await?;
        self.store_nameservers(op, record).await?;
        self.ipam.driver().add_subnet(op, record.id(), &list).await
    }

    async fn created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        self.touch_network(op, record).await?;
        for driver in &self.ml2.mechanisms {
            driver.subnet_changed(op, None, Some(record)).await?;
        }
        if check::is_automatic(record) {
            let network_id = record.text("network_id");
            let all = Condition::new("ports.network_id = ?", vec![network_id.into()]);
            let before = ports::before(op, all).await?;
            let late = self.ipam.add_to_ports(op, network_id, record.id()).await?;
            let ids: std::collections::HashSet<i64> = late.iter().map(|late| late.shared_id).collect();
            before.changed(op, |id| ids.contains(&id)).await?;
        }
        Ok(())
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, given: &Given) -> Result<(), Fault> {
        null_lists_are_empty(new);
        let id = old.id().to_owned();
        let version = old.get(IP_VERSION).unwrap_or(4);
        let Some(net) = prefix_of(old) else {
            return Err(Fault::internal(format!("subnet {id} has no prefix that can be read")));
        };
        if given.named("dns_nameservers") || given.named("host_routes") {
            check::lists(new, version, &id, &self.ml2.settings)?;
        }
        if given.named("enable_dhcp") {
            let on = new.get(ENABLE_DHCP) == Some(true);
            if on && old.get(ENABLE_DHCP) != Some(true) {
                check::dhcp(&net)?;
            }
            if !on && (old.has("ipv6_ra_mode") || old.has("ipv6_address_mode")) {
                return Err(faults::invalid("Cannot disable enable_dhcp with ipv6 attributes set"));
            }
        }
        let gateway = new.get(GATEWAY_IP);
        let gateway_changes = gateway != old.get(GATEWAY_IP);
        if let Some(gateway) = gateway.filter(|_| gateway_changes) {
            check::gateway(gateway, version, Some(&net))?;
        }
        if gateway_changes {
            self.check_gateway_change(op, old).await?;
        }
        let list = pools_of(new)?;
        if given.named("allocation_pools") {
            pools::check(&list, &net)?;
        }
        if let Some(gateway) = gateway.filter(|_| gateway_changes || given.named("allocation_pools")) {
            pools::check_gateway(&list, gateway)?;
        }
        if given.named("segment_id") {
            let network_id = old.get(NETWORK_ID).unwrap_or_default();
            segment::check_change(op, network_id, old.get(SEGMENT_ID), new.get(SEGMENT_ID)).await?;
        }
        let mut sorted = list.clone();
        sorted.sort();
        new.set("allocation_pools", pools::write(&sorted));
        if new.value("allocation_pools") != old.value("allocation_pools") {
            op.txn.execute("DELETE FROM ipallocationpools WHERE subnet_id = ?", &[id.as_str().into()]).await?;
            self.store_pools(op, &id, &sorted).await?;
            self.ipam.driver().set_pools(op, &id, &sorted).await?;
        }
        if new.value("dns_nameservers") != old.value("dns_nameservers") {
            op.txn.execute("DELETE FROM dnsnameservers WHERE subnet_id = ?", &[id.as_str().into()]).await?;
            self.store_nameservers(op, new).await?;
        }
        Ok(())
    }

    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        self.touch_network(op, new).await?;
        for driver in &self.ml2.mechanisms {
            driver.subnet_changed(op, Some(old), Some(new)).await?;
        }
        Ok(())
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        delete::delete(op, &self.ipam, record).await
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        self.touch_network(op, record).await?;
        for driver in &self.ml2.mechanisms {
            driver.subnet_changed(op, Some(record), None).await?;
        }
        Ok(())
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        load::load(op, records).await
    }

    fn scope(&self, context: &Context) -> Option<Condition> {
        Some(load::scope(context))
    }

    fn filter(&self, context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        load::filter(context, name, values)
    }

    async fn target(&self, op: &mut Op<'_>, record: &Record) -> Result<Vec<(String, Value)>, Fault> {
        // A loaded subnet has it already; a new one is judged by its network.
        if let Some(project) = record.value(NETWORK_PROJECT) {
            return Ok(vec![("network:tenant_id".into(), project.clone())]);
        }
        let network_id = record.get(NETWORK_ID).unwrap_or_default();
        let sql = "SELECT project_id FROM networks WHERE id = ?";
        let row = op.txn.query_one(sql, &[network_id.into()]).await?;
        // Whoever may make subnets hears that the network is not there, all others that they may not.
        let project = Value::from(row.map_or_else(|| op.context.project_id.clone(), |row| row.text(0)));
        Ok(vec![(NETWORK_PROJECT.into(), project.clone()), ("network:tenant_id".into(), project)])
    }
}
