//! The reference's agents with our server, and our agents with the reference's server: real programs from PyPI, a real broker.
//!
//! The scenarios are the programs `their-agents` and `our-agents` beside this, which run in namespaces of their own and say what they check.
//! `make interop` runs all of them; the tests run those that the time for all tests allows.

#[cfg(test)]
mod tests;
