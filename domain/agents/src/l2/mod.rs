//! Agents that wire devices on hosts: what they ask and what they are told.
//!
//! Reproduces neutron/plugins/ml2/rpc.py.

mod details;
mod notify;
mod plugin;

pub(crate) use details::ports as ports_of;
pub use notify::{AllMoves, News, Of};
pub use plugin::{Elsewhere, Plugin, Refresh};
