//! Running a transaction again after a deadlock.

use std::time::Duration;

use rand::RngExt;

use crate::Error;

/// Attempts in all, the first one included.
const ATTEMPTS: u32 = 10;
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Errors that may wrap a [`Error::Retry`]; implemented by the errors of domains too.
pub trait Retriable {
    /// Whether running the whole transaction again is safe and may succeed.
    fn is_retriable(&self) -> bool;
}

impl Retriable for Error {
    fn is_retriable(&self) -> bool {
        Error::is_retriable(self)
    }
}

/// Counts attempts and pauses between them, longer each time and never the same for two tasks.
///
/// ```no_run
/// # use store::{Attempts, Error, Store};
/// # async fn once(_: &Store) -> Result<(), Error> { Ok(()) }
/// # async fn all(store: &Store) -> Result<(), Error> {
/// let mut attempts = Attempts::new();
/// loop {
///     match once(store).await {
///         Err(error) if attempts.again(&error).await => continue,
///         outcome => return outcome,
///     }
/// }
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Attempts {
    made: u32,
}

impl Attempts {
    pub fn new() -> Self {
        Attempts::default()
    }

    /// After a failed attempt: pauses and says `true` when another attempt is due, `false` when the error is final.
    pub async fn again<E: Retriable + ?Sized>(&mut self, error: &E) -> bool {
        let retriable = error.is_retriable();
        self.made += 1;
        if !retriable || self.made >= ATTEMPTS {
            return false;
        }
        metrics::counter!("store_retries_total").increment(1);
        let most = LONGEST_PAUSE.min(FIRST_PAUSE * 2u32.pow(self.made - 1));
        let pause = most.mul_f64(rand::rng().random_range(0.25..1.0));
        tokio::time::sleep(pause).await;
        true
    }
}

/// Runs `attempt` until it succeeds, fails for good, or has failed ten times (about two seconds in all).
///
/// The attempt opens and commits its own transaction, so that every run starts from what is stored.
pub async fn retry<T, E, F, A>(mut attempt: A) -> Result<T, E>
where
    E: Retriable,
    A: FnMut() -> F,
    F: Future<Output = Result<T, E>>,
{
    let mut attempts = Attempts::new();
    loop {
        match attempt().await {
            Err(error) if attempts.again(&error).await => continue,
            outcome => return outcome,
        }
    }
}
