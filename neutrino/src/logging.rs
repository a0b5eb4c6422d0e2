//! Logs to standard error, as text or as JSON lines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

/// Starts logging. `NEUTRINO_LOG` overrides the level with a filter such as `info,network=debug`.
pub fn start(debug: bool, json: bool) {
    // Messages to agents that are away come back; the library would write each of them out whole.
    let level = format!("{},lapin::returned_messages=off", if debug { "debug" } else { "info" });
    let filter = EnvFilter::try_from_env("NEUTRINO_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let builder = fmt().with_env_filter(filter).with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    // A second start in one process (tests) keeps the first.
    let _ = if json { builder.json().flatten_event(true).try_init() } else { builder.with_target(false).try_init() };
}
