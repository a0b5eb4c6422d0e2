//! Parts of the `neutrino` program that can be used without its command line.

pub mod demo;
pub mod embedded;
pub mod instance;
pub mod reference;
