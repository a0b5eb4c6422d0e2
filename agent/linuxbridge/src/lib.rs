//! The Linux bridge agent: it notices the devices of ports on this host, asks the server about them, connects them to
//! their networks by bridges, VLAN and VXLAN devices, and reports them up.
//!
//! A reconciler: [`Desired`] (what the server said) and [`Host`] (what the kernel says) go into [`plan`]; its steps are
//! applied, and the host is looked at again. Messages and kernel events only say when to look. A restart is the same
//! turn with empty memory, so it makes nothing anew and traffic does not notice.
//!
//! Replaces `neutron-linuxbridge-agent` of Neutron up to 2024.2 (`linuxbridge_neutron_agent.py`, `_common_agent.py`).

mod agent;
mod desired;
mod forwarding;
mod kernel;
mod model;
pub mod names;
mod news;
mod plan;
mod server;
mod settings;
mod state;
#[cfg(test)]
mod testing;

pub use agent::{AgentError, cleanup, run};
pub use desired::{Desired, Device, Network, Segment};
pub use forwarding::{Entry, Forwarding};
pub use model::{Host, Kind, Link, Op, Refusal, Route, Tunnel};
pub use plan::{Plan, Standing, Step, Subject, plan, plan_cleanup};
pub use settings::{
    Behaviour, DEFAULT_VXLAN_PORT, GroupRange, OPTIONS, Settings, SettingsError, TOS_INHERIT, Vxlan,
    read as read_settings,
};
