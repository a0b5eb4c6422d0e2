//! Waiting for conditions.

use std::{
    fmt::Debug,
    thread,
    time::{Duration, Instant},
};

/// Between two looks, at first; doubled up to the longest.
const SHORTEST: Duration = Duration::from_micros(500);
const LONGEST: Duration = Duration::from_millis(50);

/// Looks until `condition` gives something, and returns that; panics after `limit`.
#[track_caller]
pub fn until<T>(limit: Duration, mut condition: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    let mut pause = SHORTEST;
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(Instant::now() < deadline, "the condition did not hold within {limit:?}");
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
    }
}

/// Looks until `condition` holds, by `true`, `Some` or `Ok`; panics after `limit`, with the last error.
#[track_caller]
pub fn eventually<C: Condition>(limit: Duration, mut condition: impl FnMut() -> C) {
    let mut last = String::new();
    let deadline = Instant::now() + limit;
    let mut pause = SHORTEST;
    loop {
        match condition().holds() {
            Ok(()) => return,
            Err(why) => last.clone_from(&why),
        }
        assert!(Instant::now() < deadline, "the condition did not hold within {limit:?}: {last}");
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST);
    }
}

/// What can be waited for.
pub trait Condition {
    /// `Err` with the reason while it does not hold.
    fn holds(self) -> Result<(), String>;
}

impl Condition for bool {
    fn holds(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("it is false".to_owned()) }
    }
}

impl<T> Condition for Option<T> {
    fn holds(self) -> Result<(), String> {
        self.map(drop).ok_or_else(|| "there is none".to_owned())
    }
}

impl<T, E: Debug> Condition for Result<T, E> {
    fn holds(self) -> Result<(), String> {
        self.map(drop).map_err(|e| format!("{e:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_waited_for() {
        let mut looks = 0;
        let mut third = || {
            looks += 1;
            looks >= 3
        };
        eventually(Duration::from_secs(10), &mut third);
        assert_eq!(looks, 3);
        assert_eq!(until(Duration::from_secs(10), || Some(4)), 4);
    }

    #[test]
    #[should_panic(expected = "no such thing")]
    fn the_last_reason_is_told() {
        eventually(Duration::from_millis(5), || Err::<(), _>("no such thing"));
    }
}
