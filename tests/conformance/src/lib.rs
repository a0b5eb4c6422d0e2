//! The public API suites of OpenStack (tempest and neutron-tempest-plugin from PyPI, unmodified) against the whole service, with a real
//! Keystone before it.
//!
//! `passes.txt` names the tests that pass on the reference and concern what is built here. All of them are run, and none may fail. Keystone
//! and the suites are installed into `target/conformance` once. `tokens.rs` shows what they do not: scopes, revocation, an outage.

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tokens;
