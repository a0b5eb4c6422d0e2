//! Agents: what they report, what is scheduled to them, what they ask and what they are told.
//!
//! Rooms: [`agent`] (records, liveness), [`dhcp`] (scheduling networks to DHCP agents, their questions and news), [`l2`] (the
//! same for agents that wire devices), [`security`] (the same for firewalls), [`objects`] (versioned objects), [`zones`]
//! (availability zones), [`settings`], [`Turns`] (what one process does for all).

pub mod agent;
pub mod dhcp;
pub mod faults;
pub mod l2;
pub mod objects;
pub mod security;
pub mod settings;
mod turns;
mod view;
pub mod zones;

pub use turns::Turns;
pub use view::{remote, rpc_context, to_json};
