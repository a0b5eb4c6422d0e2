use std::net::IpAddr;

use resource::{Condition, Op, new_id};
use schema::Fault;
use types::{IpNet, cidr};

use super::behaviour::SHARING;
use super::bounds::{self, Bounds};
use super::faults;
use super::prefixes::Space;

/// A pool as those see it who take prefixes from it.
#[derive(Clone, Debug)]
pub struct Pool {
    pub id: String,
    pub ip_version: i64,
    pub address_scope_id: Option<String>,
    bounds: Bounds,
    quota: Option<i64>,
    hash: String,
}

/// The id of the default pool of a family that the context may use.
pub async fn default_of(op: &mut Op<'_>, version: i64) -> Result<Option<String>, Fault> {
    let mut condition =
        Condition::new("subnetpools.is_default = ? AND subnetpools.ip_version = ?", vec![true.into(), version.into()]);
    if !op.context.is_admin {
        condition = Condition::all(vec![condition, SHARING.scope(op.context)]);
    }
    let sql = format!("SELECT id FROM subnetpools WHERE {} ORDER BY standard_attr_id", condition.sql);
    Ok(op.txn.query_one(&sql, &condition.args).await?.map(|row| row.text(0)))
}

impl Pool {
    /// The pool of that id if the context may use it, or `SubnetPoolNotFound`.
    pub async fn visible(op: &mut Op<'_>, id: &str) -> Result<Pool, Fault> {
        let mut condition = Condition::new("subnetpools.id = ?", vec![id.into()]);
        if !op.context.is_admin {
            condition = Condition::all(vec![condition, SHARING.scope(op.context)]);
        }
        let sql = format!(
            "SELECT id, ip_version, address_scope_id, min_prefixlen, max_prefixlen, default_prefixlen, default_quota, hash \
             FROM subnetpools WHERE {}",
            condition.sql
        );
        let row = op.txn.query_one(&sql, &condition.args).await?.ok_or_else(|| faults::not_found(id))?;
        Ok(Pool {
            id: row.text(0),
            ip_version: row.int(1),
            address_scope_id: row.opt_text(2),
            bounds: Bounds { min: row.int(3), max: row.int(4), default: row.int(5) },
            quota: row.opt_int(6).filter(|quota| *quota > 0),
            hash: row.text(7),
        })
    }

    /// Lets only one transaction at a time change what is taken: the loser runs again. What is read afterwards is what this one
    /// decides on.
    pub async fn claim(&self, op: &mut Op<'_>) -> Result<(), Fault> {
        let sql = "UPDATE subnetpools SET hash = ? WHERE id = ? AND hash = ?";
        let args = [new_id().into(), self.id.as_str().into(), self.hash.as_str().into()];
        if op.txn.execute(sql, &args).await? == 0 {
            return Err(Fault::retry(format!("another request changes subnet pool {}", self.id)));
        }
        Ok(())
    }

    /// Prefixes that subnets have of the pool, with their projects.
    pub async fn taken(&self, op: &mut Op<'_>) -> Result<Vec<(IpNet, String)>, Fault> {
        let sql = "SELECT cidr, project_id FROM subnets WHERE subnetpool_id = ?";
        let rows = op.txn.query(sql, &[self.id.as_str().into()]).await?;
        Ok(rows.iter().filter_map(|row| Some((cidr::parse(row.str(0))?, row.text(1)))).collect())
    }

    pub async fn prefixes(&self, op: &mut Op<'_>) -> Result<Vec<IpNet>, Fault> {
        let sql = "SELECT cidr FROM subnetpoolprefixes WHERE subnetpool_id = ?";
        let rows = op.txn.query(sql, &[self.id.as_str().into()]).await?;
        Ok(rows.iter().filter_map(|row| cidr::parse(row.str(0))).collect())
    }

    /// Takes a prefix for a project's new subnet: exactly `net`; or the one of the given or usual length that holds the gateway;
    /// or any of that length.
    pub async fn allocate(
        &self,
        op: &mut Op<'_>,
        project: &str,
        net: Option<IpNet>,
        length: Option<i64>,
        gateway: Option<IpAddr>,
    ) -> Result<IpNet, Fault> {
        let length = net.map_or_else(|| length.unwrap_or(self.bounds.default), |net| i64::from(net.prefix_len()));
        if length > bounds::bits(self.ip_version) {
            return Err(faults::no_prefix(length, self.ip_version));
        }
        self.bounds.check(length)?;
        // The bounds are within the family's.
        let short = u8::try_from(length).unwrap_or(0);
        let net = match (net, gateway) {
            (Some(net), _) => Some(net),
            (None, Some(gateway)) => IpNet::new(gateway, short).ok().map(|net| net.trunc()),
            (None, None) => None,
        };
        self.claim(op).await?;
        let taken = self.taken(op).await?;
        self.check_quota(project, length, &taken)?;
        let prefixes = self.prefixes(op).await?;
        let free = Space::new(&prefixes).without(&Space::new(taken.iter().map(|(net, _)| net)));
        match (net, prefixes.first()) {
            (Some(net), Some(like)) if net.addr().is_ipv4() == like.addr().is_ipv4() && free.includes_net(&net) => {
                Ok(net)
            }
            (Some(net), _) => Err(faults::no_room(format!(
                "Cannot allocate requested subnet {net} from the available set of prefixes of subnet pool {}",
                self.id
            ))),
            (None, like) => like.and_then(|like| free.room(short, like)).ok_or_else(|| {
                faults::no_room(format!(
                    "Insufficient prefix space to allocate subnet size /{length} in subnet pool {}",
                    self.id
                ))
            }),
        }
    }

    fn check_quota(&self, project: &str, length: i64, taken: &[(IpNet, String)]) -> Result<(), Fault> {
        let Some(quota) = self.quota else { return Ok(()) };
        let unit = bounds::quota_unit(self.ip_version);
        // Part of a unit counts as that part.
        let units = |length: i64| 2f64.powi(i32::try_from(unit - length).unwrap_or(0));
        let own = taken.iter().filter(|(_, owner)| owner == project);
        let used: f64 = own.map(|(net, _)| units(i64::from(net.prefix_len()))).sum();
        let wanted = units(length);
        #[allow(clippy::cast_precision_loss, reason = "quotas are at most 2^31, which a double holds exactly")]
        if used + wanted > quota as f64 { Err(faults::quota(used, wanted, quota)) } else { Ok(()) }
    }
}
