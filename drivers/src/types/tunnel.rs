use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use network::ml2::{Segment, TypeDriver};
use network::settings::Settings;
use resource::Op;
use schema::Fault;
use store::{Txn, Value};

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

/// Overlay networks. The table has a row per id of the configured ranges; a compare-and-swap on `allocated` takes it.
pub struct Tunnel {
    kind: TunnelKind,
    ranges: Vec<(i64, i64)>,
    settings: Arc<Settings>,
    geneve_header: i64,
}

impl Tunnel {
    pub fn new(kind: TunnelKind, ranges: Vec<(i64, i64)>, settings: Arc<Settings>, geneve_header: i64) -> Tunnel {
        Tunnel { kind, ranges, settings, geneve_header }
    }

    fn in_range(&self, id: i64) -> bool {
        self.ranges.iter().any(|(min, max)| (*min..=*max).contains(&id))
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

    async fn initialize(&self, txn: &mut Txn) -> Result<(), Fault> {
        let (table, column) = (self.kind.table(), self.kind.column());
        let rows = txn.query(&format!("SELECT {column}, allocated FROM {table}"), &[]).await?;
        let mut known = HashSet::with_capacity(rows.len());
        let mut gone = Vec::new();
        for row in &rows {
            let id = row.int(0);
            if !row.bool(1) && !self.in_range(id) {
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
        for id in self.ranges.iter().flat_map(|(min, max)| *min..=*max) {
            if known.insert(id) {
                missing.push(vec![Value::Int(id), Value::Bool(false)]);
            }
        }
        txn.insert_many(table, &[column, "allocated"], missing).await?;
        Ok(())
    }

    fn is_partial(&self, segment: &Segment) -> bool {
        segment.segmentation_id.is_none()
    }

    fn validate(&self, segment: &Segment) -> Result<(), Fault> {
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
            return self.allocate(op).await?.ok_or_else(|| {
                let message = format!(
                    "Unable to create the network. No tenant network is available for allocation: every {} id of the ranges is in use.",
                    self.kind.name()
                );
                Fault::new(503, "NoNetworkAvailable", message)
            });
        };
        let row = [(self.kind.column(), id.into()), ("allocated", true.into())];
        if self.take(op, id).await? || op.txn.insert_if_absent(self.kind.table(), &row).await? {
            return Ok(self.segment(id));
        }
        Err(Fault::conflict("TunnelIdInUse", format!("Unable to create the network. The tunnel ID {id} is in use.")))
    }

    async fn allocate(&self, op: &mut Op<'_>) -> Result<Option<Segment>, Fault> {
        let sql = format!("SELECT {} FROM {} WHERE allocated = ? LIMIT 32", self.kind.column(), self.kind.table());
        loop {
            let free = op.txn.query(&sql, &[false.into()]).await?;
            if free.is_empty() {
                return Ok(None);
            }
            let id = free[rand::random_range(0..free.len())].int(0);
            if self.take(op, id).await? {
                return Ok(Some(self.segment(id)));
            }
        }
    }

    async fn release(&self, op: &mut Op<'_>, segment: &Segment) -> Result<(), Fault> {
        let Some(id) = segment.segmentation_id else { return Ok(()) };
        let (table, column) = (self.kind.table(), self.kind.column());
        if self.in_range(id) {
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
