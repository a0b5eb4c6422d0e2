use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agents::l2::Elsewhere;
use async_trait::async_trait;
use network::port::{HOST, STATUS};
use resource::{Behaviour, Op};
use schema::{Fault, Record};

use super::{Event, Nova};

/// For how long a wiring on another host is remembered: as long as a live migration may take.
const MIGRATION: Duration = Duration::from_secs(3600);

/// Tells Nova of ports, after the commit.
///
/// In a live migration Nova waits for the port to be wired on the target before it moves the instance, and hears of it then. That the
/// port goes to DOWN and comes back when the binding follows is no news any more: it is held back for the host that was told of.
pub struct News {
    nova: Arc<Nova>,
    /// By port: the host that it was wired on without being bound there, and when.
    wired: Mutex<HashMap<String, (String, Instant)>>,
}

/// Whether a user asked for it. What agents report is told by the status.
fn is_asked_for(op: &Op<'_>) -> bool {
    !op.context.user_id.is_empty()
}

impl News {
    pub fn new(nova: Arc<Nova>) -> News {
        News { nova, wired: Mutex::default() }
    }

    fn tell(&self, op: &mut Op<'_>, event: Option<Event>) {
        let Some(event) = event else { return };
        let nova = self.nova.clone();
        op.txn.after_commit("nova", async move { nova.queue(event) });
    }

    /// Whether Nova knows of the port on its present host from a migration; `is_last` if this is the end of it.
    fn is_known(&self, port: &Record, is_last: bool) -> bool {
        let mut wired = self.wired.lock().unwrap_or_else(PoisonError::into_inner);
        let known = wired
            .get(port.id())
            .is_some_and(|(host, since)| port.get(HOST) == Some(host) && since.elapsed() < MIGRATION);
        if known && is_last {
            wired.remove(port.id());
        }
        known
    }

    fn status(&self, op: &mut Op<'_>, before: Option<&str>, port: &Record) {
        if !self.nova.settings.status_changes || before == port.get(STATUS) {
            return;
        }
        let Some(event) = Event::of_status(before, port) else { return };
        if !self.is_known(port, port.get(STATUS) == Some("ACTIVE")) {
            self.tell(op, Some(event));
        }
    }
}

#[async_trait]
impl Behaviour for News {
    async fn created(&self, op: &mut Op<'_>, port: &Record) -> Result<(), Fault> {
        self.status(op, None, port);
        Ok(())
    }

    async fn updated(&self, op: &mut Op<'_>, old: &Record, new: &Record) -> Result<(), Fault> {
        self.status(op, old.get(STATUS), new);
        if self.nova.settings.data_changes && is_asked_for(op) {
            self.tell(op, Event::changed(new));
        }
        Ok(())
    }

    async fn deleted(&self, op: &mut Op<'_>, port: &Record) -> Result<(), Fault> {
        if self.nova.settings.data_changes && is_asked_for(op) {
            self.tell(op, Event::deleted(port));
        }
        Ok(())
    }
}

#[async_trait]
impl Elsewhere for News {
    async fn wired(&self, op: &mut Op<'_>, port: &Record, host: &str) -> Result<(), Fault> {
        let Some(event) = Event::plugged(port).filter(|_| self.nova.settings.status_changes) else { return Ok(()) };
        let known = {
            let mut wired = self.wired.lock().unwrap_or_else(PoisonError::into_inner);
            wired.retain(|_, (_, since)| since.elapsed() < MIGRATION);
            wired.insert(port.id().to_owned(), (host.to_owned(), Instant::now()))
        };
        // An agent that reports once more says nothing new.
        if known.is_none_or(|(before, _)| before != host) {
            self.tell(op, Some(event));
        }
        Ok(())
    }
}
