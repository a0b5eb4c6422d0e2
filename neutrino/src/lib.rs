//! Parts of the `neutrino` program that can be used without its command line.

pub mod embedded;
pub mod instance;
