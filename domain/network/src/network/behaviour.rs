use std::sync::Arc;

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op, new_id};
use schema::{Fault, Record, Value};

use super::{EXTERNAL, IS_DEFAULT, MTU, SHARED, faults, load, segments};
use crate::ml2::{Ml2, NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID, Segment};

const PROVIDER: [&str; 3] = [NETWORK_TYPE, PHYSICAL_NETWORK, SEGMENTATION_ID];

/// Ports that the server made for itself and removes with the network.
const AUTO_DELETE_OWNERS: &str = "'network:dhcp'";

pub struct Networks {
    pub ml2: Arc<Ml2>,
}

impl Networks {
    /// The segments that the request asks for, checked; empty if it leaves the choice to the cloud.
    async fn wanted(&self, op: &mut Op<'_>, record: &Record) -> Result<Vec<Segment>, Fault> {
        let given = PROVIDER.iter().any(|name| record.has(name));
        let list = record.value("segments").and_then(Value::as_array);
        match (given, list) {
            (true, Some(_)) => Err(faults::segments_and_provider()),
            (true, None) => {
                let segment = self.ml2.provider_segment(op, |name| record.value(name).cloned()).await?;
                Ok(vec![segment])
            }
            (false, Some(list)) => {
                let mut wanted: Vec<Segment> = Vec::new();
                for item in list {
                    let segment = self.ml2.provider_segment(op, |name| item.get(name).cloned()).await?;
                    // Two that leave the id open are not the same.
                    let partial = self.ml2.type_driver(&segment.network_type)?.is_partial(&segment);
                    if !partial && wanted.contains(&segment) {
                        return Err(faults::doubled_segments());
                    }
                    wanted.push(segment);
                }
                Ok(wanted)
            }
            (false, None) => Ok(Vec::new()),
        }
    }

    fn settle_mtu(&self, mtu: i64, segments: &[Segment]) -> Result<i64, Fault> {
        let max = self.ml2.max_mtu(segments);
        if mtu > max && max > 0 {
            return Err(faults::mtu_too_big(max));
        }
        Ok(if mtu == 0 { max } else { mtu })
    }

    async fn set_shared(&self, op: &mut Op<'_>, network: &str, project: &str, action: &str) -> Result<(), Fault> {
        let row = [
            ("id", new_id().into()),
            ("object_id", network.into()),
            ("project_id", project.into()),
            ("target_project", "*".into()),
            ("action", action.into()),
        ];
        op.txn.insert_if_absent("networkrbacs", &row).await?;
        Ok(())
    }

    async fn unset_shared(&self, op: &mut Op<'_>, network: &str, action: &str) -> Result<(), Fault> {
        let sql = "DELETE FROM networkrbacs WHERE object_id = ? AND action = ? AND target_project = '*'";
        op.txn.execute(sql, &[network.into(), action.into()]).await?;
        Ok(())
    }

    async fn set_external(&self, op: &mut Op<'_>, network: &str, project: &str, is_default: bool) -> Result<(), Fault> {
        op.txn.insert("externalnetworks", &[("network_id", network.into()), ("is_default", is_default.into())]).await?;
        self.set_shared(op, network, project, "access_as_external").await
    }

    /// At most one external network is the default one.
    async fn check_default(&self, op: &mut Op<'_>, network: &str) -> Result<(), Fault> {
        crate::turn::take(op, "default_external_network").await?;
        let sql = "SELECT network_id FROM externalnetworks WHERE is_default = ? AND network_id <> ? LIMIT 1";
        match op.txn.query_one(sql, &[true.into(), network.into()]).await? {
            Some(row) => Err(faults::default_external_exists(&row.text(0))),
            None => Ok(()),
        }
    }

    /// Sharing with everybody may end only when nobody uses the network but its owner and those with whom it is shared by name.
    async fn check_unshare(&self, op: &mut Op<'_>, network: &Record) -> Result<(), Fault> {
        for (what, table) in [("Ports", "ports"), ("Subnets", "subnets")] {
            let mut sql = format!(
                "SELECT 1 FROM {table} WHERE network_id = ? AND project_id NOT IN (?, '') AND project_id NOT IN \
                 (SELECT target_project FROM networkrbacs WHERE object_id = ? AND action = 'access_as_shared')"
            );
            if table == "ports" {
                // Ports that the server keeps on every network are nobody's use of it.
                sql.push_str(" AND device_owner NOT LIKE 'network:%'");
            }
            sql.push_str(" LIMIT 1");
            let args = [network.id().into(), network.project().into(), network.id().into()];
            if op.txn.query_one(&sql, &args).await?.is_some() {
                return Err(faults::shared_with_others(network.id(), what));
            }
        }
        Ok(())
    }

    async fn change_segment(&self, op: &mut Op<'_>, network: &Record, given: &Given) -> Result<(), Fault> {
        let current = segments::of_network(op, network.id()).await?;
        let named: Vec<&str> = PROVIDER.into_iter().filter(|name| given.named(name)).collect();
        let same = named.iter().all(|name| given.record.value(name) == network.value(name));
        if same {
            return Ok(());
        }
        let [segment] = current.as_slice() else {
            return Err(Fault::invalid_input(
                "Invalid input for operation: Plugin does not support updating the segments of a multi-segment network.",
            ));
        };
        if named != [SEGMENTATION_ID]
            && named.iter().any(|name| *name != SEGMENTATION_ID && given.record.value(name) != network.value(name))
        {
            return Err(Fault::invalid_input(
                "Invalid input for operation: Plugin does not support updating the following provider network attributes: network_type, physical_network.",
            ));
        }
        if segment.network_type != "vlan" {
            return Err(Fault::invalid_input("Invalid input for operation: Only VLAN type networks can be updated."));
        }
        let wanted =
            Segment { segmentation_id: given.record.value(SEGMENTATION_ID).and_then(Value::as_i64), ..segment.clone() };
        self.ml2.validate(op, &wanted).await?;
        let sql = "SELECT vif_type FROM ml2_port_bindings JOIN ports ON ports.id = ml2_port_bindings.port_id \
                   WHERE ports.network_id = ? AND vif_type NOT IN ('unbound', 'binding_failed') LIMIT 1";
        if op.txn.query_one(sql, &[network.id().into()]).await?.is_some() {
            return Err(Fault::invalid_input(format!(
                "Invalid input for operation: The segmentation id of network {} cannot change while it has bound ports.",
                network.id()
            )));
        }
        let taken = self.ml2.reserve(op, &wanted, network.project()).await?;
        let sql = "UPDATE networksegments SET segmentation_id = ? WHERE id = ?";
        op.txn.execute(sql, &[taken.segmentation_id.into(), segment.id.as_str().into()]).await?;
        self.ml2.release(op, segment).await
    }
}

#[async_trait]
impl Behaviour for Networks {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        self.wanted(op, &given.record).await?;
        given.record.set("status", "ACTIVE");
        Ok(())
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        let (id, project) = (record.id().to_owned(), record.project().to_owned());
        let external = record.get(EXTERNAL) == Some(true);
        let mut stored = Vec::new();
        let wanted = self.wanted(op, record).await?;
        if wanted.is_empty() {
            let segment = self.ml2.allocate(op, external, &project).await?;
            stored.push(segments::add(op, &id, &segment, 0).await?);
        }
        for (index, segment) in wanted.iter().enumerate() {
            let segment = self.ml2.reserve(op, segment, &project).await?;
            stored.push(segments::add(op, &id, &segment, index).await?);
        }
        let mtu = self.settle_mtu(record.get(MTU).unwrap_or(0), &stored)?;
        op.txn.execute("UPDATE networks SET mtu = ? WHERE id = ?", &[mtu.into(), id.as_str().into()]).await?;
        if record.get(SHARED) == Some(true) {
            self.set_shared(op, &id, &project, "access_as_shared").await?;
        }
        if record.get(IS_DEFAULT) == Some(true) {
            self.check_default(op, &id).await?;
        }
        if external {
            self.set_external(op, &id, &project, record.get(IS_DEFAULT) == Some(true)).await?;
        }
        Ok(())
    }

    async fn created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        for driver in &self.ml2.mechanisms {
            driver.network_changed(op, None, Some(record)).await?;
        }
        Ok(())
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, given: &Given) -> Result<(), Fault> {
        let id = old.id().to_owned();
        if given.named("segments") {
            return Err(Fault::invalid_input(
                "Invalid input for operation: Plugin does not support updating the segments of a network.",
            ));
        }
        if PROVIDER.iter().any(|name| given.named(name)) {
            self.change_segment(op, old, given).await?;
        }
        if given.named("mtu") {
            let segments = segments::of_network(op, &id).await?;
            let asked = new.get(MTU).unwrap_or(0);
            let mtu = self.settle_mtu(asked, &segments)?;
            let versions = op
                .txn
                .query("SELECT DISTINCT ip_version FROM subnets WHERE network_id = ?", &[id.as_str().into()])
                .await?;
            for row in &versions {
                let minimum = if row.int(0) == 6 { 1280 } else { 68 };
                // Also 0, which leaves the choice to the cloud only while there is no subnet.
                if asked < minimum {
                    return Err(faults::mtu_too_small(&id, minimum));
                }
            }
            new.set("mtu", mtu);
        }
        if old.get(SHARED) != new.get(SHARED) {
            if new.get(SHARED) == Some(true) {
                self.set_shared(op, &id, old.project(), "access_as_shared").await?;
            } else {
                self.check_unshare(op, old).await?;
                self.unset_shared(op, &id, "access_as_shared").await?;
            }
        }
        let is_default = new.get(IS_DEFAULT) == Some(true);
        if new.get(IS_DEFAULT) == Some(true) && old.get(IS_DEFAULT) != Some(true) {
            self.check_default(op, &id).await?;
        }
        match (old.get(EXTERNAL) == Some(true), new.get(EXTERNAL) == Some(true)) {
            (false, true) => self.set_external(op, &id, old.project(), is_default).await?,
            (true, false) => {
                let sql =
                    "SELECT 1 FROM ports WHERE network_id = ? AND device_owner = 'network:router_gateway' LIMIT 1";
                if op.txn.query_one(sql, &[id.as_str().into()]).await?.is_some() {
                    return Err(faults::external_in_use(&id));
                }
                op.txn.execute("DELETE FROM externalnetworks WHERE network_id = ?", &[id.as_str().into()]).await?;
                let sql = "DELETE FROM networkrbacs WHERE object_id = ? AND action = 'access_as_external'";
                op.txn.execute(sql, &[id.as_str().into()]).await?;
            }
            (true, true) if old.get(IS_DEFAULT) != new.get(IS_DEFAULT) => {
                let sql = "UPDATE externalnetworks SET is_default = ? WHERE network_id = ?";
                op.txn.execute(sql, &[is_default.into(), id.as_str().into()]).await?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        for driver in &self.ml2.mechanisms {
            driver.network_changed(op, Some(old), Some(new)).await?;
        }
        Ok(())
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        let id: store::Value = record.id().into();
        let sql = format!(
            "SELECT id FROM ports WHERE network_id = ? AND device_owner NOT IN ({AUTO_DELETE_OWNERS}) ORDER BY id LIMIT 100"
        );
        let ports: Vec<String> =
            op.txn.query(&sql, std::slice::from_ref(&id)).await?.iter().map(|row| row.text(0)).collect();
        if !ports.is_empty() {
            return Err(faults::in_use(record.id(), &ports));
        }
        for port in op.find("port", Condition::new("ports.network_id = ?", vec![id.clone()])).await? {
            op.delete("port", &port).await?;
        }
        for subnet in op.find("subnet", Condition::new("subnets.network_id = ?", vec![id.clone()])).await? {
            op.delete("subnet", &subnet).await?;
        }
        for segment in segments::of_network_with_dynamic(op, record.id()).await? {
            self.ml2.release(op, &segment).await?;
        }
        // Their rows go with the network; the shared rows that they point at do not.
        let sql = "DELETE FROM standardattributes WHERE id IN (SELECT standard_attr_id FROM networksegments WHERE network_id = ?)";
        op.txn.execute(sql, &[id]).await?;
        Ok(())
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        for driver in &self.ml2.mechanisms {
            driver.network_changed(op, Some(record), None).await?;
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
}
