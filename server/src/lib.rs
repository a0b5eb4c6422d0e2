//! The server: the only place that lists domains, drivers and who reacts to what, in order ([`wiring`]), and runs them
//! ([`Server`]) with the options of the configuration ([`Setup`]).

pub mod auth;
pub mod database;
pub mod options;
mod projects;
mod rules;
mod run;
pub mod wiring;

pub use options::Setup;
pub use run::{Server, open_store, store_options};

/// All options that the server reads.
pub static OPTIONS: config::Options = &joined::<
    { options::OPTIONS.len() + auth::OPTIONS.len() + database::OPTIONS.len() },
>(&[options::OPTIONS, auth::OPTIONS, database::OPTIONS]);

const fn joined<const N: usize>(lists: &[config::Options]) -> [&'static dyn config::Declared; N] {
    let mut all = [lists[0][0]; N];
    let (mut list, mut at, mut next) = (0, 0, 0);
    while list < lists.len() {
        while at < lists[list].len() {
            all[next] = lists[list][at];
            at += 1;
            next += 1;
        }
        list += 1;
        at = 0;
    }
    all
}
