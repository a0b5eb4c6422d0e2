use std::net::IpAddr;
use std::sync::Arc;

use async_trait::async_trait;
use policy::Context;
use resource::{Behaviour, Condition, Given, Op};
use schema::{Fault, Record, Value};
use types::Mac;

use super::binding::{self, FAILED, UNBOUND};
use super::{
    DEVICE_ID, DEVICE_OWNER, FIXED_IPS, HOST, MAC, NETWORK_ID, VIF_TYPE, VNIC_TYPE, address_pairs, compute,
    dhcp_options, dns, faults, load, provisioning, security,
};
use crate::ipam::{FixedIp, Holder, Ipam, Wanted};
use crate::ml2::{Ml2, PortChange};

/// Owners whose ports never pass the layer-2 wiring that reports back.
const NEVER_WIRED: &[&str] = &["network:floatingip"];

/// A port that has its addresses, or wants none, from the start.
const IMMEDIATE: &str = "immediate";

pub struct Ports {
    pub ml2: Arc<Ml2>,
    pub ipam: Arc<Ipam>,
}

fn holder(record: &Record) -> Holder<'_> {
    Holder {
        port_id: record.id(),
        network_id: record.get(NETWORK_ID).unwrap_or_default(),
        mac: record.get(MAC).unwrap_or(Mac::ZERO),
        device_owner: record.get(DEVICE_OWNER).unwrap_or_default(),
        host: record.get(HOST).unwrap_or_default(),
    }
}

/// The addresses that a request asks for; None if it leaves the choice to the cloud.
fn wanted(record: &Record) -> Option<Vec<Wanted>> {
    let list = record.get(FIXED_IPS)?;
    Some(
        list.iter()
            .map(|item| Wanted {
                subnet_id: item.get("subnet_id").and_then(Value::as_str).map(str::to_owned),
                ip: item.get("ip_address").and_then(Value::as_str).and_then(|ip| ip.parse::<IpAddr>().ok()),
            })
            .collect(),
    )
}

/// The addresses of a stored port.
pub fn fixed_ips(record: &Record) -> Vec<FixedIp> {
    let list = record.get(FIXED_IPS).unwrap_or_default();
    list.iter()
        .filter_map(|item| {
            let ip = item["ip_address"].as_str()?.parse().ok()?;
            Some(FixedIp { subnet_id: item["subnet_id"].as_str()?.to_owned(), ip })
        })
        .collect()
}

fn show(ips: &[FixedIp]) -> Vec<Value> {
    ips.iter()
        .map(|fixed| serde_json::json!({"subnet_id": fixed.subnet_id, "ip_address": fixed.ip.to_string()}))
        .collect()
}

impl Ports {
    async fn mac_is_taken(&self, op: &mut Op<'_>, network: &str, mac: Mac) -> Result<bool, Fault> {
        let sql = "SELECT 1 FROM ports WHERE network_id = ? AND mac_address = ?";
        Ok(op.txn.query_one(sql, &[network.into(), mac.to_string().into()]).await?.is_some())
    }

    async fn free_mac(&self, op: &mut Op<'_>, network: &str) -> Result<Mac, Fault> {
        let settings = &self.ml2.settings;
        for _ in 0..settings.mac_generation_retries.max(1) {
            let mac = Mac::random_from(settings.base_mac);
            if !self.mac_is_taken(op, network, mac).await? {
                return Ok(mac);
            }
        }
        Err(faults::mac_generation(network))
    }

    async fn settle_mac(&self, op: &mut Op<'_>, record: &mut Record, old: Option<Mac>) -> Result<(), Fault> {
        let network = record.text("network_id").to_owned();
        match record.get(MAC) {
            Some(mac) if Some(mac) == old => {}
            Some(mac) if self.mac_is_taken(op, &network, mac).await? => {
                return Err(faults::mac_in_use(&network, &mac.to_string()));
            }
            Some(_) => {}
            None => {
                let mac = self.free_mac(op, &network).await?;
                record.set("mac_address", mac.to_string());
            }
        }
        Ok(())
    }

    fn changes_binding(old: &Record, new: &Record) -> bool {
        let failed = old.get(VIF_TYPE) == Some(FAILED);
        failed
            || ["binding:host_id", "binding:vnic_type", "binding:profile"]
                .iter()
                .any(|name| old.value(name) != new.value(name))
    }

    /// Binds a port again that could not be bound, for example when an agent of its host came alive. True if it is bound now.
    pub async fn rebind(&self, op: &mut Op<'_>, port: &Record) -> Result<bool, Fault> {
        let host = port.text("binding:host_id").to_owned();
        let outcome = binding::decide(op, &self.ml2, port, &host).await?;
        if !outcome.is_bound() {
            return Ok(false);
        }
        binding::store(op, port, &outcome, true).await?;
        provisioning::add(op, port.shared_id, provisioning::L2).await?;
        op.touch(port.shared_id).await?;
        let new = op.get("port", port.id()).await?;
        let entity = op.system.entity("port")?;
        for behaviour in &entity.behaviours {
            behaviour.updated(op, port, &new).await?;
        }
        Ok(true)
    }
}

#[async_trait]
impl Behaviour for Ports {
    async fn creating(&self, op: &mut Op<'_>, given: &mut Given) -> Result<(), Fault> {
        let record = &mut given.record;
        let network = record.text("network_id").to_owned();
        // Also for administrators, whose view has no limits.
        let scope = op.system.entity("network")?.scope(op.context);
        let mut condition = Condition::new("networks.id = ?", vec![network.as_str().into()]);
        if let Some(scope) = scope {
            condition = Condition::all(vec![condition, scope]);
        }
        let sql = format!(
            "SELECT networksecuritybindings.port_security_enabled FROM networks LEFT JOIN networksecuritybindings \
             ON networksecuritybindings.network_id = networks.id WHERE {}",
            condition.sql
        );
        let Some(row) = op.txn.query_one(&sql, &condition.args).await? else {
            return Err(faults::network_not_found(&network));
        };
        let security = row.opt_int(0).map(|flag| flag != 0);
        self.settle_mac(op, record, None).await?;
        security::settle(record, security);
        address_pairs::settle(record, self.ml2.settings.max_allowed_address_pairs)?;
        security::check(record)?;
        dhcp_options::settle(record)?;
        compute::settle(record);
        dns::check(record, &self.ml2.settings.dns_domain)?;
        if !record.has("binding:host_id") {
            record.set("binding:host_id", "");
        }
        record.set("status", "DOWN");
        // As it mostly turns out; the row has to be there before its addresses are.
        record.set("ip_allocation", IMMEDIATE);
        Ok(())
    }

    async fn inserted(&self, op: &mut Op<'_>, record: &mut Record) -> Result<(), Fault> {
        let allocated = self.ipam.allocate(op, &holder(record), wanted(record)).await?;
        if allocated.allocation != IMMEDIATE {
            let sql = "UPDATE ports SET ip_allocation = ? WHERE id = ?";
            op.txn.execute(sql, &[allocated.allocation.into(), record.id().into()]).await?;
        }
        security::insert(op, record).await?;
        address_pairs::store(op, record, false).await?;
        dhcp_options::store(op, record, false).await?;
        dns::store(op, record, false).await?;
        let host = record.text("binding:host_id").to_owned();
        let outcome = binding::decide(op, &self.ml2, record, &host).await?;
        binding::store(op, record, &outcome, false).await?;
        if outcome.is_bound() && !NEVER_WIRED.contains(&record.text("device_owner")) {
            provisioning::add(op, record.shared_id, provisioning::L2).await?;
        }
        Ok(())
    }

    async fn created(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        for driver in &self.ml2.mechanisms {
            driver.port_changed(op, PortChange { old: None, new: Some(record) }).await?;
        }
        Ok(())
    }

    async fn updating(&self, op: &mut Op<'_>, old: &Record, new: &mut Record, given: &Given) -> Result<(), Fault> {
        let id = old.id().to_owned();
        let bound = !matches!(old.get(VIF_TYPE), None | Some(UNBOUND | FAILED));
        if given.named("binding:host_id") && !new.has("binding:host_id") {
            new.set("binding:host_id", "");
        }
        if given.named("binding:profile") && !new.has("binding:profile") {
            new.set("binding:profile", Value::Object(serde_json::Map::new()));
        }
        compute::check(old, new)?;
        let host_changes = old.get(HOST) != new.get(HOST);
        if old.get(VNIC_TYPE) != new.get(VNIC_TYPE) && bound && !host_changes {
            return Err(faults::in_use(&id, old.text("network_id"), old.get(DEVICE_ID).unwrap_or_default()));
        }
        if given.named("mac_address") && old.get(MAC) != new.get(MAC) {
            if bound && !host_changes {
                return Err(faults::bound(
                    &id,
                    old.text("binding:vif_type"),
                    old.text("mac_address"),
                    new.text("mac_address"),
                ));
            }
            self.settle_mac(op, new, old.get(MAC)).await?;
        }
        let current = fixed_ips(old);
        if given.named("fixed_ips") {
            let wanted = wanted(&given.record).unwrap_or_default();
            let changed = self.ipam.change(op, &holder(new), &current, wanted).await?;
            new.set("fixed_ips", if changed.is_nothing() { show(&current) } else { show(&changed.all) });
            if old.text("ip_allocation") != "immediate" && !changed.all.is_empty() {
                new.set("ip_allocation", "immediate");
            }
        } else if old.get(MAC) != new.get(MAC) {
            let old_mac = old.get(MAC).unwrap_or(Mac::ZERO);
            let changed = self.ipam.mac_changed(op, &holder(new), old_mac, &current).await?;
            if !changed.is_nothing() {
                new.set("fixed_ips", show(&changed.all));
            }
        } else if host_changes
            && old.text("ip_allocation") == "deferred"
            && current.is_empty()
            && !new.text("binding:host_id").is_empty()
        {
            // It stays `deferred`: that says how the port came to its addresses.
            let allocated = self.ipam.allocate(op, &holder(new), None).await?;
            new.set("fixed_ips", show(&allocated.ips));
        } else if host_changes && !new.text("binding:host_id").is_empty() {
            self.ipam.check_host(op, &holder(new), &current).await?;
        }
        if given.named("allowed_address_pairs") {
            address_pairs::settle(new, self.ml2.settings.max_allowed_address_pairs)?;
            address_pairs::store(op, new, true).await?;
        }
        if given.named("port_security_enabled") {
            security::store(op, new).await?;
        }
        security::check(new)?;
        if given.named("extra_dhcp_opts") {
            dhcp_options::merge(old, new)?;
            dhcp_options::store(op, new, true).await?;
        }
        if given.named("dns_name") || given.named("dns_domain") {
            dns::check(new, &self.ml2.settings.dns_domain)?;
            dns::store(op, new, true).await?;
        }
        // A status report changes nothing that binding depends on.
        if !given.named("status") && Ports::changes_binding(old, new) {
            let host = new.text("binding:host_id").to_owned();
            let outcome = binding::decide(op, &self.ml2, new, &host).await?;
            new.set("binding:vif_type", outcome.vif_type.as_str());
            new.set("binding:vif_details", outcome.vif_details.clone());
            binding::store(op, new, &outcome, true).await?;
            if host_changes || !outcome.is_bound() {
                new.set("status", "DOWN");
            }
            if outcome.is_bound() {
                provisioning::add(op, old.shared_id, provisioning::L2).await?;
            } else {
                provisioning::remove(op, old.shared_id, provisioning::L2).await?;
            }
        }
        Ok(())
    }

    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        for driver in &self.ml2.mechanisms {
            driver.port_changed(op, PortChange { old: Some(old), new: Some(new) }).await?;
        }
        Ok(())
    }

    async fn deleting(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        self.ipam.release(op, record.id(), &fixed_ips(record)).await
    }

    async fn deleted(&self, op: &mut Op<'_>, record: &Record) -> Result<(), Fault> {
        for driver in &self.ml2.mechanisms {
            driver.port_changed(op, PortChange { old: Some(record), new: None }).await?;
        }
        Ok(())
    }

    async fn load(&self, op: &mut Op<'_>, records: &mut [Record]) -> Result<(), Fault> {
        load::networks(op, records).await?;
        records.iter_mut().for_each(compute::show);
        load::as_the_reference_wrote(op, records).await?;
        if op.wants("dns_assignment") {
            for record in records {
                let names = dns::assignment(record, &self.ml2.settings.dns_domain);
                record.set("dns_assignment", names);
            }
        }
        Ok(())
    }

    fn scope(&self, context: &Context) -> Option<Condition> {
        Some(load::scope(context))
    }

    fn filter(&self, _context: &Context, name: &str, values: &[String]) -> Option<Result<Condition, Fault>> {
        load::filter(name, values)
    }

    async fn target(&self, op: &mut Op<'_>, record: &Record) -> Result<Vec<(String, Value)>, Fault> {
        if op.context.is_admin {
            // Nothing about the network can take a right away from an administrator.
            return Ok(Vec::new());
        }
        let network = record.text("network_id");
        // A port that is not stored yet has no status. A network that the project cannot see is not there for it.
        if !record.has("status") {
            let mut condition = Condition::new("networks.id = ?", vec![network.into()]);
            if let Some(scope) = op.system.entity("network")?.scope(op.context) {
                condition = Condition::all(vec![condition, scope]);
            }
            let sql = format!("SELECT 1 FROM networks WHERE {}", condition.sql);
            if op.txn.query_one(&sql, &condition.args).await?.is_none() {
                return Err(faults::network_not_found(network));
            }
        }
        crate::network::parent_target(op, network).await
    }

    fn duplicate(&self, record: &Record, error: &store::Error) -> Option<Fault> {
        let store::Error::Duplicate { columns, .. } = error else { return None };
        // Another request took the address since we looked: look again, and then say so.
        columns.iter().any(|column| column.contains("mac_address")).then(|| {
            Fault::retry(format!("the MAC address {} was taken by another request", record.text("mac_address")))
        })
    }
}
