//! Waiting longer after each failure.

use std::time::Duration;

/// Doubles from `first` to `max`.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    pub first: Duration,
    pub max: Duration,
}

impl Backoff {
    #[must_use]
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self { first, max }
    }

    /// How long to wait after this many failures in a row; nothing after none.
    #[must_use]
    pub fn after(&self, failures: u32) -> Duration {
        match failures {
            0 => Duration::ZERO,
            n => self.first.saturating_mul(1u32.checked_shl(n - 1).unwrap_or(u32::MAX)).min(self.max),
        }
    }
}

impl Default for Backoff {
    /// One second to one minute.
    fn default() -> Self {
        Self::new(Duration::from_secs(1), Duration::from_secs(60))
    }
}
