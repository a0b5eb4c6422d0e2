use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use messaging::RemoteFault;
use policy::Context;
use resource::{Op, System};
use rpc::api::Encoded;
use rpc::l2::Device;
use rpc::security_groups::{FilteredDevice, GroupsOfDevices, SecurityGroupPlugin};
use schema::{Fault, Value};

use super::answer;
use crate::l2::ports_of;
use crate::view::remote;

/// Answers firewalls.
pub struct Plugin {
    pub system: Arc<System>,
}

impl Plugin {
    async fn groups(&self, devices: Vec<String>) -> Result<GroupsOfDevices, Fault> {
        let context = Context::internal();
        let mut txn = self.system.store.read().await?;
        let mut op = Op::new(&mut txn, &context, &self.system);
        let devices: Vec<Device> = devices.into_iter().map(Device::from).collect();
        let ports = ports_of(&mut op, &devices).await?;
        answer::groups(&mut op, &ports).await
    }

    async fn written_out(&self, devices: Vec<String>) -> Result<BTreeMap<String, FilteredDevice>, Fault> {
        let context = Context::internal();
        let mut txn = self.system.store.read().await?;
        let mut op = Op::new(&mut txn, &context, &self.system);
        let devices: Vec<Device> = devices.into_iter().map(Device::from).collect();
        let ports = ports_of(&mut op, &devices).await?;
        answer::written_out(&mut op, &ports).await
    }
}

/// Whether the caller knows members with their MAC addresses: since 1.3.
fn knows_macs(version: Option<&str>) -> bool {
    let numbers: Vec<u32> = version.unwrap_or("1.2").split('.').map(|part| part.parse().unwrap_or(0)).collect();
    numbers >= vec![1, 3]
}

/// Members as bare addresses.
fn without_macs(mut groups: Value) -> Value {
    let members = groups.get_mut("sg_member_ips").and_then(Value::as_object_mut);
    for families in members.into_iter().flat_map(|members| members.values_mut()).filter_map(Value::as_object_mut) {
        for family in ["IPv4", "IPv6"] {
            let list = families.entry(family).or_insert_with(|| Value::Array(Vec::new()));
            let mut bare: Vec<Value> = Vec::new();
            for address in list.as_array().into_iter().flatten().map(|member| member[0].clone()) {
                if !bare.contains(&address) {
                    bare.push(address);
                }
            }
            *list = Value::Array(bare);
        }
    }
    groups
}

#[async_trait]
impl SecurityGroupPlugin for Plugin {
    async fn security_group_rules_for_devices(
        &self,
        _context: &messaging::Context,
        devices: Vec<String>,
    ) -> Result<Encoded<BTreeMap<String, FilteredDevice>>, RemoteFault> {
        self.written_out(devices).await.map(Encoded::from).map_err(|fault| remote(&fault))
    }

    async fn security_group_info_for_devices(
        &self,
        _context: &messaging::Context,
        devices: Vec<String>,
        call_version: Option<String>,
    ) -> Result<Encoded<GroupsOfDevices>, RemoteFault> {
        let groups = self.groups(devices).await.map_err(|fault| remote(&fault))?;
        if knows_macs(call_version.as_deref()) {
            return Ok(Encoded::from(groups));
        }
        let groups = serde_json::to_value(groups).map_err(|error| remote(&Fault::internal(error)))?;
        Ok(Encoded::json(without_macs(groups)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn old_callers_get_bare_addresses() {
        assert!(knows_macs(Some("1.3")) && knows_macs(Some("1.10")));
        assert!(!knows_macs(Some("1.2")) && !knows_macs(None));
        let members = json!({"g": {"IPv4": [["192.0.2.1", null], ["192.0.2.1", "fa:16:3e:00:00:01"]]}});
        let bare = without_macs(json!({"sg_member_ips": members}));
        assert_eq!(bare["sg_member_ips"]["g"], json!({"IPv4": ["192.0.2.1"], "IPv6": []}));
    }
}
