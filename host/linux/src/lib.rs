//! The Linux host, as our agents touch it: devices, addresses, namespaces, processes. Knows nothing of what they are for.
//!
//! Everything is synchronous and quick (the kernel answers a netlink request while taking it); from async code call it
//! directly, or through `spawn_blocking` when many devices are deleted or a program is waited for.
//! Errors are one type, [`Error`], with a [`ErrorKind`] to decide on and a text that names the object;
//! [`Idempotent`] turns "exists" or "not found" into success.
//!
//! | for | see |
//! |---|---|
//! | a netlink socket, here or in a namespace; one request or a batch | [`Handle::new`], [`Handle::in_netns`], [`Handle::run`], [`Handle::batch`] |
//! | namespaces: create (with repair), ensure, open, list, delete, run inside | [`Netns`] |
//! | devices: list, look up | [`Handle::links`], [`Handle::link`], [`Handle::index`] |
//! | create veth, bridge, VLAN, VXLAN, dummy | [`link::LinkSpec`], [`Handle::link_add`], [`Handle::link_ensure`], [`link::add`] |
//! | change: up, MTU, MAC, bridge, name, group, alias, namespace | [`link::set`], [`Handle::link_set`], [`Handle::link_master`], [`Handle::link_rename`] |
//! | delete one, many within one grace period, a group | [`Handle::link_delete`], [`Handle::link_delete_all`], [`link::delete_group`] |
//! | routes: list, default, replace, delete, link scope | [`route`], [`route::Route`], [`Handle::routes`], [`Handle::default_route`], [`Handle::route_replace`], [`Handle::route_delete`] |
//! | IP neighbours | [`neigh`], [`Handle::neighbours`], [`Handle::neighbour_replace`], [`Handle::neighbour_delete`] |
//! | forwarding databases of bridges and VXLAN devices | [`neigh::Fdb`], [`Handle::fdb`], [`neigh::fdb_append`], [`neigh::fdb_replace`], [`Handle::fdb_delete`] |
//! | be told of changes | [`monitor::Monitor`], [`monitor::Event`] |
//! | run a program, start a daemon, both in a namespace; adopt, watch, reload, end | [`proc`], [`Program`], [`Process`] |
//! | what a device leaves to hardware | [`offload`] |
//! | kernel settings, per namespace | [`sysctl`], [`Sysctl`] |
//! | replace a file whole | [`file::atomic_write`], [`file::write_if_changed`] |
//! | surroundings that vanish with the program | [`sandbox`] |
//! | tap devices | [`tap::TapSpec`] |
//! | real DHCP clients in a namespace | [`dhcp_client::DhcpClient`] |
//! | IP addresses | [`addr`], [`Handle::addresses`], [`Handle::address_add`], [`Handle::address_delete`] |

pub mod addr;
pub mod dhcp_client;
mod error;
pub mod file;
pub mod link;
pub mod monitor;
pub mod neigh;
mod netlink;
pub mod netns;
pub mod offload;
pub mod proc;
mod ready;
pub mod route;
pub mod sandbox;
pub mod sysctl;
pub mod tap;
#[cfg(test)]
mod testing;

pub use error::{Error, ErrorKind, Idempotent, Result};
pub use link::{Dev, Link, LinkSpec};
pub use monitor::Monitor;
pub use netlink::{Handle, Request};
pub use netns::Netns;
pub use proc::{Process, Program};
pub use route::Route;
pub use sysctl::Sysctl;
pub use types::{IpNet, Mac};

/// Whether this process may do what root may.
pub fn is_root() -> bool {
    nix::unistd::Uid::effective().is_root()
}
