use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use network::ml2::{Pool, Segment, TypeDriver};
use network::settings::Settings;
use resource::{Condition, Op};
use schema::Fault;
use store::{Txn, Value};

use super::parts;

/// The overlay protocols; they differ in table, ids and header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelKind {
    Vxlan,
    Gre,
    Geneve,
}

impl TunnelKind {
    pub fn name(self) -> &'static str {
        match self {
            TunnelKind::Vxlan => "vxlan",
            TunnelKind::Gre => "gre",
            TunnelKind::Geneve => "geneve",
        }
    }

    /// VNIs have 24 bits (RFC 7348, RFC 8926), GRE keys 32 (RFC 2890).
    pub fn max_id(self) -> i64 {
        match self {
            TunnelKind::Vxlan | TunnelKind::Geneve => (1 << 24) - 1,
            TunnelKind::Gre => (1 << 32) - 1,
        }
    }

    fn table(self) -> &'static str {
        match self {
            TunnelKind::Vxlan => "ml2_vxlan_allocations",
            TunnelKind::Gre => "ml2_gre_allocations",
            TunnelKind::Geneve => "ml2_geneve_allocations",
        }
    }

    fn column(self) -> &'static str {
        match self {
            TunnelKind::Vxlan => "vxlan_vni",
            TunnelKind::Gre => "gre_id",
            TunnelKind::Geneve => "geneve_vni",
        }
    }

    /// Bytes that the encapsulation adds beside the outer IP header: UDP, tunnel header and inner Ethernet header; for Geneve
    /// the configured size, which counts its options too.
    fn overhead(self, geneve_header: i64) -> i64 {
        match self {
            TunnelKind::Vxlan => 30,
            TunnelKind::Gre => 22,
            TunnelKind::Geneve => geneve_header,
        }
    }
}

/// Overlay networks. The table has a row per id of the ranges; a compare-and-swap on `allocated` takes it.
pub struct Tunnel {
    kind: TunnelKind,
    pools: [Pool; 1],
    settings: Arc<Settings>,
    geneve_header: i64,
}

impl Tunnel {
    pub fn new(kind: TunnelKind, ranges: Vec<(i64, i64)>, settings: Arc<Settings>, geneve_header: i64) -> Tunnel {
        let pools = [Pool { physical_network: None, ranges, whole: true }];
        Tunnel { kind, pools, settings, geneve_header }
    }

    fn segment(&self, id: i64) -> Segment {
        Segment {
            id: String::new(),
            network_type: self.kind.name().into(),
            physical_network: None,
            segmentation_id: Some(id),
        }
    }

    async fn take(&self, op: &mut Op<'_>, id: i64) -> Result<bool, Fault> {
        let sql = format!(
            "UPDATE {} SET allocated = ? WHERE {} = ? AND allocated = ?",
            self.kind.table(),
            self.kind.column()
        );
        Ok(op.txn.execute(&sql, &[true.into(), id.into(), false.into()]).await? == 1)
    }
}

#[async_trait]
impl TypeDriver for Tunnel {
    fn network_type(&self) -> &'static str {
        self.kind.name()
    }

    fn configured(&self) -> &[Pool] {
        &self.pools
    }

    fn limits(&self) -> Option<(i64, i64)> {
        Some((1, self.kind.max_id()))
    }

    async fn sync(&self, txn: &mut Txn, pools: &[Pool]) -> Result<(), Fault> {
        let (table, column) = (self.kind.table(), self.kind.column());
        let rows = txn.query(&format!("SELECT {column}, allocated FROM {table}"), &[]).await?;
        let mut known = HashSet::with_capacity(rows.len());
        let mut gone = Vec::new();
        for row in &rows {
            let id = row.int(0);
            if !row.bool(1) && !pools.iter().any(|pool| pool.contains(None, id)) {
                gone.push(Value::Int(id));
            } else {
                known.insert(id);
            }
        }
        if !gone.is_empty() {
            let sql = format!("DELETE FROM {table} WHERE allocated = ? AND {column} IN (??)");
            txn.execute(&sql, &[false.into(), Value::Set(gone)]).await?;
        }
        let mut missing = Vec::new();
        for id in pools.iter().flat_map(|pool| &pool.ranges).flat_map(|(min, max)| *min..=*max) {
            if known.insert(id) {
                missing.push(vec![Value::Int(id), Value::Bool(false)]);
            }
        }
        txn.insert_many(table, &[column, "allocated"], missing).await?;
        Ok(())
    }

    async fn free(&self, txn: &mut Txn, pools: &[Pool]) -> Result<Vec<(Option<String>, i64)>, Fault> {
        let column = self.kind.column();
        let wanted = Condition::any(pools.iter().flat_map(|pool| parts(pool, column)).collect());
        let table = self.kind.table();
        let sql = format!("SELECT {column} FROM {table} WHERE allocated = ? AND {} ORDER BY 1", wanted.sql);
        let mut args = vec![false.into()];
        args.extend(wanted.args);
        Ok(txn.query(&sql, &args).await?.iter().map(|row| (None, row.int(0))).collect())
    }

    fn is_partial(&self, segment: &Segment) -> bool {
        segment.segmentation_id.is_none()
    }

    fn validate(&self, segment: &Segment, _pools: &[Pool]) -> Result<(), Fault> {
        let name = self.kind.name();
        if let Some(physical_network) = &segment.physical_network {
            return Err(Fault::invalid_input(format!(
                "Invalid input for operation: provider:physical_network '{physical_network}' specified for {name} network; leave it out."
            )));
        }
        match segment.segmentation_id {
            Some(id) if !(1..=self.kind.max_id()).contains(&id) => Err(Fault::invalid_input(format!(
                "Invalid input for operation: segmentation_id {id} of a {name} network is out of range (1 through {}).",
                self.kind.max_id()
            ))),
            _ => Ok(()),
        }
    }

    async fn reserve(&self, op: &mut Op<'_>, segment: &Segment) -> Result<Segment, Fault> {
        let Some(id) = segment.segmentation_id else {
            return Err(Fault::internal("a tunnel segment without an id is not reserved but allocated"));
        };
        let row = [(self.kind.column(), id.into()), ("allocated", true.into())];
        if self.take(op, id).await? || op.txn.insert_if_absent(self.kind.table(), &row).await? {
            return Ok(self.segment(id));
        }
        Err(Fault::conflict("TunnelIdInUse", format!("Unable to create the network. The tunnel ID {id} is in use.")))
    }

    async fn allocate(
        &self,
        op: &mut Op<'_>,
        _physical_network: Option<&str>,
        pools: &[Pool],
    ) -> Result<Option<Segment>, Fault> {
        let (table, column) = (self.kind.table(), self.kind.column());
        for part in pools.iter().flat_map(|pool| parts(pool, column)) {
            let sql = format!("SELECT {column} FROM {table} WHERE allocated = ? AND {} LIMIT 32", part.sql);
            let mut args = vec![false.into()];
            args.extend(part.args);
            loop {
                let free = op.txn.query(&sql, &args).await?;
                if free.is_empty() {
                    break;
                }
                let id = free[rand::random_range(0..free.len())].int(0);
                if self.take(op, id).await? {
                    return Ok(Some(self.segment(id)));
                }
            }
        }
        Ok(None)
    }

    async fn release(&self, op: &mut Op<'_>, segment: &Segment, pools: &[Pool]) -> Result<(), Fault> {
        let Some(id) = segment.segmentation_id else { return Ok(()) };
        let (table, column) = (self.kind.table(), self.kind.column());
        if pools.iter().any(|pool| pool.contains(None, id)) {
            op.txn
                .execute(&format!("UPDATE {table} SET allocated = ? WHERE {column} = ?"), &[false.into(), id.into()])
                .await?;
        } else {
            op.txn.execute(&format!("DELETE FROM {table} WHERE {column} = ?"), &[id.into()]).await?;
        }
        Ok(())
    }

    fn mtu(&self, _physical_network: Option<&str>) -> Option<i64> {
        let physical = self.settings.global_physnet_mtu;
        let path = self.settings.path_mtu;
        let outer = match (physical > 0, path > 0) {
            (true, true) => physical.min(path),
            (true, false) => physical,
            (false, true) => path,
            (false, false) => return None,
        };
        // RFC 791 and RFC 8200: 20 and 40 bytes.
        let ip_header = if self.settings.overlay_ip_version == 6 { 40 } else { 20 };
        Some((outer - ip_header - self.kind.overhead(self.geneve_header)).max(0))
    }
}
