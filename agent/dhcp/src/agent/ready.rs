//! Tells the server for which ports DHCP is in place: in batches, new ports before old ones, again until it answers.
//!
//! Reference: `_dhcp_ready_ports_loop` in `neutron/agent/dhcp/agent.py`.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::log::chain;
use tokio::sync::Notify;

use crate::model::Id;
use crate::plugin::Plugin;

/// Ports of one message.
const BATCH: usize = 64;
const RETRY: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(10);

/// Ports that the server has to hear of; each once, however often it is added.
#[derive(Debug, Default)]
pub struct Ready {
    waiting: Mutex<Waiting>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    fresh: BTreeSet<Id>,
    others: BTreeSet<Id>,
}

impl Ready {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds new ports, and others.
    pub fn add(&self, fresh: BTreeSet<Id>, others: BTreeSet<Id>) {
        if fresh.is_empty() && others.is_empty() {
            return;
        }
        let mut waiting = self.waiting();
        waiting.fresh.extend(fresh);
        waiting.others.extend(others);
        drop(waiting);
        self.more.notify_one();
    }

    fn take(&self) -> (Vec<Id>, Vec<Id>) {
        let mut waiting = self.waiting();
        let mut take = |from: fn(&mut Waiting) -> &mut BTreeSet<Id>, most: usize| -> Vec<Id> {
            let set = from(&mut waiting);
            (0..most).map_while(|_| set.pop_first()).collect()
        };
        let fresh = take(|waiting| &mut waiting.fresh, BATCH);
        let others = take(|waiting| &mut waiting.others, BATCH - fresh.len());
        (fresh, others)
    }

    /// Sends, for ever.
    pub async fn run(&self, plugin: &Plugin) {
        let mut retry = RETRY;
        loop {
            let more = self.more.notified();
            let (fresh, others) = self.take();
            let ports: Vec<Id> = fresh.iter().chain(&others).cloned().collect();
            if ports.is_empty() {
                more.await;
                continue;
            }
            match plugin.ready(&ports).await {
                Ok(()) => {
                    metrics::counter!("dhcp_ports_ready_total").increment(ports.len() as u64);
                    tracing::info!(ports = ports.len(), first = %ports[0], "DHCP is in place for ports");
                    retry = RETRY;
                }
                Err(error) => {
                    tracing::warn!(ports = ports.len(), error = %chain(&error), "The server was not told of ready ports");
                    {
                        let mut waiting = self.waiting();
                        waiting.fresh.extend(fresh);
                        waiting.others.extend(others);
                    }
                    tokio::time::sleep(retry).await;
                    retry = (retry * 2).min(RETRY_MAX);
                }
            }
        }
    }
}
