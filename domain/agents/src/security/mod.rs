//! Packet filters of agents: what they ask about the ports of their host, and what they are told of rules and members.
//!
//! A firewall holds the rules of its ports' groups, and the members of the groups that those rules name as remote. It is told
//! the ids of groups whose rules or members changed, and asks again for the ports that have to do with them. News of address groups are
//! told as news of the rules that point at them, so that every agent follows, also one that knows no address groups.
//!
//! Reproduces neutron/api/rpc/handlers/securitygroups_rpc.py and neutron/db/securitygroups_rpc_base.py.

mod answer;
mod news;
mod plugin;

pub use news::{News, Of};
pub use plugin::Plugin;
