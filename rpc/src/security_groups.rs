//! Security groups of devices: what firewalls of L2 agents ask, and what the server tells them.
//!
//! Facts: neutron/api/rpc/handlers/securitygroups_rpc.py (served version 1.3), neutron/db/securitygroups_rpc_base.py.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use types::Mac;

use crate::api::api;
use crate::topics;
use crate::view::{AddressPair, Extra};

/// A rule, reduced to what a packet filter needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// `ingress` or `egress`.
    pub direction: String,
    /// `IPv4` or `IPv6`.
    pub ethertype: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_range_min: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port_range_max: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port_range_min: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_port_range_max: Option<u32>,
    /// Of ingress rules: where packets may come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_ip_prefix: Option<String>,
    /// Of egress rules: where packets may go to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dest_ip_prefix: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_group_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_address_group_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub security_group_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stateful: Option<bool>,
    #[serde(flatten)]
    pub extra: Extra,
}

/// A device and its groups. Unlike elsewhere, `fixed_ips` are bare addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FilteredDevice {
    pub id: String,
    /// As the agent named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    pub mac_address: Mac,
    #[serde(default)]
    pub network_id: String,
    #[serde(default)]
    pub device_owner: String,
    #[serde(default)]
    pub fixed_ips: Vec<IpAddr>,
    #[serde(default)]
    pub allowed_address_pairs: Vec<AddressPair>,
    #[serde(default = "yes")]
    pub port_security_enabled: bool,
    #[serde(default)]
    pub security_groups: Vec<String>,
    /// Rules of no group: what every port may receive (DHCP answers, router advertisements).
    #[serde(default)]
    pub security_group_rules: Vec<Rule>,
    #[serde(default)]
    pub security_group_source_groups: Vec<String>,
    #[serde(default)]
    pub security_group_remote_address_groups: Vec<String>,
    #[serde(flatten)]
    pub extra: Extra,
}

fn yes() -> bool {
    true
}

/// Members by ethertype, each address with its MAC (null for address groups).
pub type Members = BTreeMap<String, Vec<(String, Option<String>)>>;

/// Groups once, and devices that refer to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupsOfDevices {
    /// Rules by group.
    #[serde(default)]
    pub security_groups: BTreeMap<String, Vec<Rule>>,
    /// Members by remote group or address group.
    #[serde(default)]
    pub sg_member_ips: BTreeMap<String, Members>,
    /// By port id.
    #[serde(default)]
    pub devices: BTreeMap<String, FilteredDevice>,
}

api! {
    /// What firewalls ask of the server. Trusted ports (the network's own) are left out of the answers.
    trait SecurityGroupPlugin, client SecurityGroupClient, endpoint SecurityGroupPluginEndpoint,
    table SECURITY_GROUP_PLUGIN,
    topic topics::PLUGIN, version (1, 3);

    /// The old form: each device with all its rules written out, by port id.
    query (1, 1) fn security_group_rules_for_devices(devices: Vec<String>) -> BTreeMap<String, FilteredDevice>;

    /// `call_version` below 1.3 (or absent) gets members as bare addresses.
    query (1, 2) fn security_group_info_for_devices(
        devices: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_version: Option<String>,
    ) -> GroupsOfDevices;
}

api! {
    /// What the server tells firewalls.
    trait SecurityGroupAgent, client SecurityGroupNotifier, endpoint SecurityGroupAgentEndpoint,
    table SECURITY_GROUP_AGENT,
    topic topics::SECURITY_GROUP_UPDATE, version (1, 5);

    /// Rules of these groups changed.
    fanout (1, 1) fn security_groups_rule_updated(security_groups: Vec<String>);
    /// Members of these groups changed.
    fanout (1, 1) fn security_groups_member_updated(security_groups: Vec<String>);
}
