//! One binary for all integration tests of the program: linking it costs more than any of them.

mod invariants;
mod kill;
