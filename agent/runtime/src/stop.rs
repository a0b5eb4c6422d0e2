//! One token that says: finish what you do and end.

use tokio::sync::watch;

/// Cloned into every task. Asking is final.
#[derive(Clone, Debug)]
pub struct Stop {
    asked: watch::Sender<bool>,
}

impl Default for Stop {
    fn default() -> Self {
        Self { asked: watch::Sender::new(false) }
    }
}

impl Stop {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks all holders to end.
    pub fn ask(&self) {
        self.asked.send_replace(true);
    }

    #[must_use]
    pub fn asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Returns once asked.
    pub async fn wait(&self) {
        let mut changes = self.asked.subscribe();
        // The sender lives in `self`, so this ends only by being asked.
        let _ = changes.wait_for(|asked| *asked).await;
    }

    /// Runs `work` unless asked to stop before it is done; `None` if so.
    pub async fn unless<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.wait() => None,
            done = work => Some(done),
        }
    }
}
