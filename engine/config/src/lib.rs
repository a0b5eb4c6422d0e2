//! Configuration files as oslo.config reads them, into typed values that know where they came from.
//!
//! | to… | use |
//! |---|---|
//! | declare an option | `pub static REPORT_INTERVAL: Opt<f64> = Opt::float("AGENT", "report_interval").default("30").help("…");` |
//! | list the options of a room | `pub static OPTIONS: Options = &[&REPORT_INTERVAL, …];` |
//! | read files | `Loader::new().declare(OPTIONS).file("/etc/neutron/neutron.conf").dir("/etc/neutron/conf.d").load()?` |
//! | take a command line | [`Loader::arguments`] with [`default_files`] |
//! | get a value | `config.get(&REPORT_INTERVAL)?` |
//! | warn of what nobody reads | [`Config::warn_unknown`] |
//! | check everything at start | [`Config::check`] |
//! | print what holds | [`Config::effective`] |
//!
//! Rules, as oslo.config has them: later files win over earlier ones and within a file the last assignment, except for
//! multi-valued options, which collect all; section names other than `DEFAULT` ignore case; `-` and `_` in names are one;
//! `$name`, `${name}` and `$section.name` are replaced by the value of that option, first of the same section, then of `DEFAULT`, and
//! stay as they are when there is no such option; `$$` and `\$` give a dollar. An option under a deprecated name is taken
//! unless its own name occurs in the same or a later file.
//!
//! Reproduces: oslo_config/{iniparser,cfg,types}.py.

mod arguments;
mod ini;
mod interpolate;
mod load;
mod opt;
#[cfg(test)]
mod tests;
mod value;

pub use arguments::{ArgumentError, DefaultFiles, default_files};
pub use ini::{Assignment, Ini, SyntaxError};
pub use load::{Config, ConfigError, Loader, Origin, Unknown};
pub use opt::{Declared, Kind, Opt, Options, Spec};
pub use value::FromText;
