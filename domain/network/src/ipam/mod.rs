//! Addresses of ports: which subnets a port may have addresses of, which addresses it gets, and who hands them out.
//!
//! [`Ipam`] is what ports and subnets call. It decides (pure: `choice`, `plan`) and lets an [`IpamDriver`] take and give
//! back addresses; `internal` keeps them in the database, where the primary key of `ipamallocations` decides who gets an
//! address, and finds free ones through a hint in memory (`hint`), so that the cost does not depend on how many are taken.
//!
//! Same results as the reference's neutron/db/ipam_pluggable_backend.py, neutron/db/ipam_backend_mixin.py and
//! neutron/ipam/drivers/neutrondb_ipam.

mod choice;
mod driver;
pub mod faults;
mod hint;
mod internal;
mod late;
pub mod owner;
mod plan;
pub mod pools;
mod subnets;

pub use driver::{DRIVERS, IpamDriver, Place};
pub use internal::Internal;
pub use subnets::{PREFIX_DELEGATION, PROVISIONAL_PREFIX, Subnet, is_automatic};

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

use resource::{Condition, Op};
use schema::Fault;
use store::Value;
use types::Mac;

use choice::{Candidates, candidates};
use plan::Ask;

/// An address of a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FixedIp {
    pub subnet_id: String,
    pub ip: IpAddr,
}

/// One element of `fixed_ips` in a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    pub subnet_id: Option<String>,
    pub ip: Option<IpAddr>,
}

/// The port that addresses are for. Its row must be stored already.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    pub port_id: &'a str,
    pub network_id: &'a str,
    pub mac: Mac,
    pub device_owner: &'a str,
    /// The host that it is bound to; empty if it is not known.
    pub host: &'a str,
}

/// What a new port got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocated {
    pub ips: Vec<FixedIp>,
    /// For `ports.ip_allocation`: `immediate`; `deferred` until the port has a host; `none` for an explicit empty list.
    pub allocation: &'static str,
}

/// What a change of a port's addresses did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    pub added: Vec<FixedIp>,
    pub removed: Vec<FixedIp>,
    pub kept: Vec<FixedIp>,
    /// `kept`, then `added`.
    pub all: Vec<FixedIp>,
}

impl Changed {
    fn new(added: Vec<FixedIp>, removed: Vec<FixedIp>, kept: Vec<FixedIp>) -> Changed {
        let all = kept.iter().chain(&added).cloned().collect();
        Changed { added, removed, kept, all }
    }

    /// True if the port has the same addresses as before.
    pub fn is_nothing(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}

/// Address management. One per server, made by the composition root.
pub struct Ipam {
    driver: Arc<dyn IpamDriver>,
}

impl Ipam {
    /// With the driver of that name in `[DEFAULT] ipam_driver`; None if there is none.
    pub fn new(driver: &str) -> Option<Arc<Ipam>> {
        let (_, make) = DRIVERS.iter().find(|(name, _)| *name == driver)?;
        Some(Ipam::with_driver(make()))
    }

    pub fn with_driver(driver: Arc<dyn IpamDriver>) -> Arc<Ipam> {
        Arc::new(Ipam { driver })
    }

    /// The driver, for those who keep subnets.
    pub fn driver(&self) -> &dyn IpamDriver {
        self.driver.as_ref()
    }

    /// Gives a new port its addresses and stores them. Without `wanted`: one of an IPv4 subnet and one of an IPv6 subnet,
    /// each from the first that has one left. In any case the EUI-64 address of every automatic subnet, except for router ports.
    ///
    /// # Errors
    ///
    /// 400 and 404 for what cannot be wanted, 409 `IpAddressAlreadyAllocated`, `IpAddressGenerationFailure` and its kinds,
    /// 409 `HostNotConnectedToAnySegment`.
    pub async fn allocate(
        &self,
        op: &mut Op<'_>,
        holder: &Holder<'_>,
        wanted: Option<Vec<Wanted>>,
    ) -> Result<Allocated, Fault> {
        let all = subnets::of_network(op, holder.network_id, holder.host).await?;
        let allocation = match &wanted {
            Some(wanted) if wanted.is_empty() => "none",
            _ => "immediate",
        };
        let found = match candidates(&all, holder, wanted.as_deref())? {
            Candidates::Subnets(found) => found,
            Candidates::Deferred => {
                let allocation = if allocation == "none" { "none" } else { "deferred" };
                return Ok(Allocated { ips: Vec::new(), allocation });
            }
        };
        let mut asks = match &wanted {
            Some(wanted) => self.explicit(op, holder, wanted, &found).await?,
            None => plan::one_of_each_family(&found),
        };
        let automatic = plan::automatic(&found, holder, &asks, &HashSet::new());
        asks.extend(automatic);
        let ips = self.take(op, holder, asks).await?;
        Ok(Allocated { ips, allocation })
    }

    /// Changes a port's addresses to those wanted: an element with an address that it has, or with a subnet that it has an
    /// address of, keeps that address. EUI-64 addresses of automatic subnets stay, whatever is wanted.
    pub async fn change(
        &self,
        op: &mut Op<'_>,
        holder: &Holder<'_>,
        old: &[FixedIp],
        wanted: Vec<Wanted>,
    ) -> Result<Changed, Fault> {
        let all = subnets::of_network(op, holder.network_id, holder.host).await?;
        let change = plan::change(&all, holder, old, wanted);
        let anchors = change.anchors();
        let found = match candidates(&all, holder, Some(&anchors))? {
            Candidates::Subnets(found) => found,
            Candidates::Deferred => Vec::new(),
        };
        let mut asks = self.explicit(op, holder, &change.add, &found).await?;
        let handled: HashSet<&str> =
            change.keep.iter().chain(&change.remove).map(|fixed| fixed.subnet_id.as_str()).collect();
        self.give_back(op, holder.port_id, &change.remove).await?;
        let automatic = plan::automatic(&found, holder, &asks, &handled);
        asks.extend(automatic);
        let added = self.take(op, holder, asks).await?;
        Ok(Changed::new(added, change.remove, change.keep))
    }

    /// Recomputes the EUI-64 addresses of a port whose MAC address changed from `old_mac` to the holder's.
    pub async fn mac_changed(
        &self,
        op: &mut Op<'_>,
        holder: &Holder<'_>,
        old_mac: Mac,
        current: &[FixedIp],
    ) -> Result<Changed, Fault> {
        let (stale, kept): (Vec<FixedIp>, Vec<FixedIp>) =
            current.iter().cloned().partition(|fixed| old_mac != holder.mac && old_mac.is_eui64_of(fixed.ip));
        if stale.is_empty() {
            return Ok(Changed::new(Vec::new(), Vec::new(), kept));
        }
        let all = subnets::of_network(op, holder.network_id, holder.host).await?;
        // Only addresses that the server computed: a router port may have been given the same by hand.
        let (stale, by_hand): (Vec<FixedIp>, Vec<FixedIp>) = stale.into_iter().partition(|fixed| {
            all.iter().any(|subnet| subnet.id == fixed.subnet_id && subnet.is_automatic())
                && !owner::is_router_interface_or_snat(holder.device_owner)
        });
        let asks = stale
            .iter()
            .filter_map(|fixed| all.iter().find(|subnet| subnet.id == fixed.subnet_id))
            .filter_map(|subnet| Some(Ask::Exact { subnet, ip: subnet.eui64(holder.mac)? }))
            .collect();
        self.give_back(op, holder.port_id, &stale).await?;
        let added = self.take(op, holder, asks).await?;
        Ok(Changed::new(added, stale, kept.into_iter().chain(by_hand).collect()))
    }

    /// 409 `HostNotCompatibleWithFixedIps` if a port with these addresses cannot be on the holder's host. For ports whose
    /// host changes while their addresses do not.
    pub async fn check_host(&self, op: &mut Op<'_>, holder: &Holder<'_>, current: &[FixedIp]) -> Result<(), Fault> {
        if current.is_empty() || holder.host.is_empty() {
            return Ok(());
        }
        let all = subnets::of_network(op, holder.network_id, holder.host).await?;
        let found = match candidates(&all, holder, None)? {
            Candidates::Subnets(found) => found,
            Candidates::Deferred => Vec::new(),
        };
        let fits = |fixed: &FixedIp| found.iter().any(|subnet| subnet.id == fixed.subnet_id);
        if current.iter().all(fits) {
            return Ok(());
        }
        Err(faults::host_not_compatible(holder.host, holder.port_id))
    }

    /// Gives back addresses of a port, for all its rows in `ipallocations` too. For ports that are being removed.
    pub async fn release(&self, op: &mut Op<'_>, port_id: &str, ips: &[FixedIp]) -> Result<(), Fault> {
        self.give_back(op, port_id, ips).await
    }

    async fn explicit<'s>(
        &self,
        op: &mut Op<'_>,
        holder: &Holder<'_>,
        wanted: &[Wanted],
        found: &[&'s Subnet],
    ) -> Result<Vec<Ask<'s>>, Fault> {
        match plan::explicit(holder, wanted, found) {
            Ok(asks) => Ok(asks),
            Err(plan::Refusal::Fault(fault)) => Err(fault),
            // The subnet may be anywhere; only then is it looked for.
            Err(plan::Refusal::Elsewhere(subnet_id)) => {
                let row = op.txn.query_one("SELECT id FROM subnets WHERE id = ?", &[subnet_id.as_str().into()]).await?;
                Err(match row {
                    Some(_) => faults::subnet_elsewhere(holder.network_id, &subnet_id),
                    None => faults::subnet_not_found(&subnet_id),
                })
            }
        }
    }

    /// Takes what is asked, exact addresses first so that no free choice takes them away, and stores it for the port.
    async fn take(&self, op: &mut Op<'_>, holder: &Holder<'_>, asks: Vec<Ask<'_>>) -> Result<Vec<FixedIp>, Fault> {
        let mut taken: Vec<(usize, FixedIp)> = Vec::with_capacity(asks.len());
        let (exact, free): (Vec<_>, Vec<_>) =
            asks.into_iter().enumerate().partition(|(_, ask)| matches!(ask, Ask::Exact { .. }));
        for (position, ask) in exact.into_iter().chain(free) {
            let fixed = match ask {
                Ask::Exact { subnet, ip } => {
                    self.driver.take(op, &subnet.place(), ip).await?;
                    FixedIp { subnet_id: subnet.id.clone(), ip }
                }
                Ask::AnyOf(subnets) => self.take_any(op, holder, &subnets).await?,
            };
            taken.push((position, fixed));
        }
        taken.sort_by_key(|(position, _)| *position);
        let ips: Vec<FixedIp> = taken.into_iter().map(|(_, fixed)| fixed).collect();
        self.store(op, holder, &ips).await?;
        Ok(ips)
    }

    async fn take_any(&self, op: &mut Op<'_>, holder: &Holder<'_>, subnets: &[&Subnet]) -> Result<FixedIp, Fault> {
        let lowest = owner::takes_lowest(holder.device_owner);
        for subnet in subnets {
            if let Some(ip) = self.driver.take_any(op, &subnet.place(), lowest).await? {
                return Ok(FixedIp { subnet_id: subnet.id.clone(), ip });
            }
        }
        // A subnet that another transaction removed meanwhile has no addresses either: with it gone the request is judged anew.
        let ids: Vec<store::Value> = subnets.iter().map(|subnet| subnet.id.as_str().into()).collect();
        let condition = Condition::one_of("id", ids);
        let left = op.txn.query(&format!("SELECT id FROM subnets WHERE {}", condition.sql), &condition.args).await?;
        if left.len() < subnets.len() {
            return Err(Fault::retry("a subnet was removed while an address was chosen"));
        }
        Err(faults::no_more_addresses(holder.network_id))
    }

    async fn store(&self, op: &mut Op<'_>, holder: &Holder<'_>, ips: &[FixedIp]) -> Result<(), Fault> {
        if ips.is_empty() {
            return Ok(());
        }
        let rows = ips
            .iter()
            .map(|fixed| {
                vec![
                    Value::from(holder.port_id),
                    fixed.ip.to_string().into(),
                    fixed.subnet_id.as_str().into(),
                    holder.network_id.into(),
                ]
            })
            .collect();
        let columns = ["port_id", "ip_address", "subnet_id", "network_id"];
        match op.txn.insert_many("ipallocations", &columns, rows).await {
            Ok(()) => Ok(()),
            // Held by a port though the driver thought it free: a row of the driver was lost. It looks again.
            Err(error) if error.is_duplicate() => {
                for fixed in ips {
                    self.driver.doubt(&fixed.subnet_id);
                }
                Err(Fault::retry(error))
            }
            Err(error) if error.is_foreign_key() => Err(faults::gone(&ips[0].subnet_id).with_source(error)),
            Err(error) => Err(error.into()),
        }
    }

    async fn give_back(&self, op: &mut Op<'_>, port_id: &str, ips: &[FixedIp]) -> Result<(), Fault> {
        for fixed in ips {
            let address = fixed.ip.to_string();
            op.txn
                .execute(
                    "DELETE FROM ipallocations WHERE ip_address = ? AND subnet_id = ? AND port_id = ?",
                    &[address.as_str().into(), fixed.subnet_id.as_str().into(), port_id.into()],
                )
                .await?;
            self.driver.give_back(op, &fixed.subnet_id, fixed.ip).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
