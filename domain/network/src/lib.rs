//! Networks, subnets, ports and what they stand on: segments, address management, binding.
//!
//! Rooms: [`network`] (with segments), [`ml2`] (seams of type and mechanism drivers, binding), [`port`],
//! [`ipam`] (addresses of ports), [`subnet`], [`subnetpool`], [`address_scope`],
//! [`segment_range`], [`standard`] (attributes that most resources share), [`settings`] (the options this domain
//! reads).

pub mod address_scope;
pub mod ip_availability;
pub mod ipam;
pub mod ml2;
pub mod network;
pub mod port;
pub mod segment_range;
pub mod settings;
pub mod sharing;
pub mod standard;
pub mod subnet;
pub mod subnetpool;
mod turn;

#[cfg(test)]
mod testing;
