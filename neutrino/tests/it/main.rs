//! One binary for all integration tests of the program: linking it costs more than any of them.

#![expect(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

mod invariants;
mod kill;
mod processes;
