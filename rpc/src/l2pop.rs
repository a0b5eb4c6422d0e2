//! L2 population: which MAC and IP addresses are behind which tunnel endpoint.
//!
//! Facts: neutron/plugins/ml2/drivers/l2pop/{rpc,mech_driver}.py and rpc_manager/l2population_rpc.py.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use types::Mac;

use crate::api::api;
use crate::topics;

/// A MAC and an IP address of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PortInfo(pub Mac, pub IpAddr);

impl PortInfo {
    /// Broadcast, unknown and multicast traffic also goes to this endpoint.
    pub const FLOOD: PortInfo = PortInfo(Mac::ZERO, IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED));
}

/// Entries of one network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entries {
    pub segment_id: Option<u32>,
    pub network_type: String,
    /// By tunnel endpoint.
    pub ports: BTreeMap<IpAddr, Vec<PortInfo>>,
}

/// Entries by network id.
pub type FdbEntries = BTreeMap<String, Entries>;

/// Addresses of ports that changed while their place did not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedIps {
    /// By network id, then by tunnel endpoint.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub chg_ip: BTreeMap<String, BTreeMap<IpAddr, IpChange>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IpChange {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<PortInfo>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<PortInfo>,
}

api! {
    /// What the server tells agents that populate forwarding tables: `everyone()`, or one host that (re)started.
    trait L2popAgent, client L2popNotifier, endpoint L2popAgentEndpoint, table L2POP_AGENT,
    topic topics::L2POPULATION_UPDATE, version (1, 5);

    cast (1, 0) fn add_fdb_entries(
        fdb_entries: FdbEntries,
        /// Old servers name a host here in a fanout; the others ignore it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    );
    cast (1, 0) fn remove_fdb_entries(
        fdb_entries: FdbEntries,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    );
    cast (1, 0) fn update_fdb_entries(
        fdb_entries: ChangedIps,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        host: Option<String>,
    );
}
