//! Pure value types of networking: parse, print, compute. No I/O, no async.
//!
//! - [`Mac`]: an EUI-48 address and its EUI-64 interface identifier;
//! - [`cidr`]: parsing of prefixes with host bits masked, as API users write them;
//! - [`IpRange`], [`IpSet`]: address ranges and sets of them, for both families, on `u128` arithmetic;
//! - [`Vni`], [`VlanId`]: segmentation identifiers with their bounds.

pub mod cidr;
mod mac;
mod range;
mod segment;

pub use ipnet::{IpNet, Ipv4Net, Ipv6Net};
pub use mac::{Mac, MacError};
pub use range::{IpRange, IpSet, from_number, number};
pub use segment::{VlanId, Vni};
