//! Waiting longer after each failure.

use std::time::{Duration, Instant};

/// A pause that doubles each time it begins, up to a maximum, until it is reset.
#[derive(Debug, Clone)]
pub struct Pause {
    first: Duration,
    longest: Duration,
    next: Duration,
    until: Option<Instant>,
}

impl Pause {
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, next: first, until: None }
    }

    /// Something failed: pause, and longer the next time.
    pub fn begin(&mut self, now: Instant) {
        self.until = Some(now + self.next);
        self.next = (self.next * 2).min(self.longest);
    }

    /// It went well.
    pub fn reset(&mut self) {
        self.next = self.first;
        self.until = None;
    }

    /// The pause has led to another attempt, whose outcome decides; the length stays.
    pub fn wait_for_answer(&mut self) {
        self.until = None;
    }

    /// Whether nothing is waited for.
    pub fn is_over(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| now >= until)
    }

    /// Whether a pause was begun and is over.
    pub fn is_due(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now >= until)
    }

    /// When the pause ends.
    pub fn due(&self) -> Option<Instant> {
        self.until
    }
}
