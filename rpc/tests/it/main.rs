//! One binary for all integration tests of this crate: linking is most of their cost.

mod golden;
mod roundtrip;
