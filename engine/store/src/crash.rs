//! Numbered points where a test kills the process.
//!
//! `NEUTRINO_CRASH_POINT=name` aborts at the first time that the point is reached, `name:3` at the third. Without the
//! variable a point costs one load.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Aborts the process when the environment names this point.
#[macro_export]
macro_rules! crash_point {
    ($name:expr) => {
        $crate::crash::reached($name)
    };
}

struct Armed {
    name: String,
    left: AtomicU64,
}

/// See [`crash_point!`].
pub fn reached(name: &str) {
    static ARMED: OnceLock<Option<Armed>> = OnceLock::new();
    let armed = ARMED.get_or_init(|| std::env::var("NEUTRINO_CRASH_POINT").ok().map(|text| parse(&text)));
    if let Some(armed) = armed
        && armed.name == name
        && armed.left.fetch_sub(1, Ordering::Relaxed) == 1
    {
        std::process::abort();
    }
}

fn parse(text: &str) -> Armed {
    let (name, count) = match text.rsplit_once(':') {
        Some((name, count)) if count.parse::<u64>().is_ok() => (name, count.parse().unwrap_or(1)),
        _ => (text, 1),
    };
    Armed { name: name.to_owned(), left: AtomicU64::new(count.max(1)) }
}
