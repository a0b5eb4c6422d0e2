//! The server: the only place that lists domains, drivers and who reacts to what, in order ([`wiring`]), and runs them
//! ([`Server`]) with the options of the configuration ([`Setup`]).

pub mod auth;
pub mod database;
mod former;
pub mod nova;
pub mod options;
pub mod policies;
mod projects;
mod rules;
mod run;
pub mod wiring;

pub use options::Setup;
pub use run::{Roles, Server, open_store, serve_rpc, store_options};

/// The lists of the server's parts.
static LISTS: &[config::Options] =
    &[options::OPTIONS, auth::OPTIONS, database::OPTIONS, policies::OPTIONS, nova::options::OPTIONS];

/// All options that the server reads.
pub static OPTIONS: config::Options = &joined::<{ count(LISTS) }>(LISTS);

const fn count(lists: &[config::Options]) -> usize {
    let (mut list, mut count) = (0, 0);
    while list < lists.len() {
        count += lists[list].len();
        list += 1;
    }
    count
}

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
