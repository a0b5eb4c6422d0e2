//! Injected database errors, for tests: the same seed gives the same sequence of decisions.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// How often write transactions fail; each is "one in n", 0 for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Faults {
    pub seed: u64,
    /// A statement, or the commit, fails with [`crate::Error::Retry`].
    pub deadlock: u32,
    /// The connection is lost while committing, and nothing was stored.
    pub lost_before: u32,
    /// The connection is lost while committing, and everything was stored; effects are lost with the connection.
    pub lost_after: u32,
}

impl Faults {
    /// The rates that the invariants are tested at: deadlock 1/50, lost 1/400 before and 1/400 after.
    pub fn usual(seed: u64) -> Self {
        Faults { seed, deadlock: 50, lost_before: 400, lost_after: 400 }
    }
}

/// What happens to one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Fine,
    /// The statement with this number (from 1) fails, or the commit if there are fewer.
    Deadlock(u32),
    LostBefore,
    LostAfter,
}

#[derive(Debug)]
pub(crate) struct Dice {
    faults: Faults,
    random: std::sync::Mutex<StdRng>,
}

impl Dice {
    pub fn new(faults: Faults) -> Self {
        Dice { faults, random: std::sync::Mutex::new(StdRng::seed_from_u64(faults.seed)) }
    }

    pub fn throw(&self) -> Fate {
        let mut random = self.random.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut hit = |one_in: u32| one_in > 0 && random.random_range(0..one_in) == 0;
        if hit(self.faults.lost_before) {
            Fate::LostBefore
        } else if hit(self.faults.lost_after) {
            Fate::LostAfter
        } else if hit(self.faults.deadlock) {
            Fate::Deadlock(random.random_range(1..=12))
        } else {
            Fate::Fine
        }
    }
}
