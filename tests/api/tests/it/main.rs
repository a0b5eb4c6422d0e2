//! Black-box tests of the API, named after the cases they settle. One binary, since linking costs more than running.

mod bindings;
mod collation;
mod conventions;
mod dhcp;
mod networks;
mod policy;
mod ports;
mod restart;
mod segment_ranges;
mod segments;
mod subnets;
mod turns;
