//! The server: the only place that lists domains, drivers and who reacts to what, in order ([`wiring`]), and runs them
//! ([`Server`]) with the options of the configuration ([`Setup`]).

pub mod options;
mod projects;
mod rules;
mod run;
pub mod wiring;

pub use options::{OPTIONS, Setup};
pub use run::{Server, database_url, open_store};
