//! The drivers, one module each, and the lists they are picked from by name: [`types`], [`mech`].

pub mod mech;
pub mod types;
