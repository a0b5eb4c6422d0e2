//! Agents that wire devices on hosts: what they ask and what they are told.
//!
//! Reproduces neutron/plugins/ml2/rpc.py.

mod details;
mod notify;
mod plugin;

pub use notify::{News, Of};
pub use plugin::{Elsewhere, Plugin, Refresh};

pub(crate) use details::ports as ports_of;
