//! One binary for all integration tests of this crate: linking is most of their cost.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic; the lint sees only test functions as tests")]

mod golden;
mod roundtrip;
