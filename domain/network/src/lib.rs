//! Networks, subnets, ports and what they stand on: segments, address management, binding.
//!
//! Rooms: [`network`] (with segments), [`ml2`] (seams of type and mechanism drivers, binding), [`port`],
//! [`ipam`] (addresses of ports), [`standard`] (attributes that most resources share), [`settings`] (the options this domain
//! reads).

pub mod ipam;
pub mod ml2;
pub mod network;
pub mod port;
pub mod settings;
pub mod standard;
