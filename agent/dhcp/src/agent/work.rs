//! One round for one network: from what the server says to what is on the host.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use messaging::CallError;
use runtime::log::chain;

use super::board::{Lane, Work};
use super::port::PortError;
use super::{Agent, leases, port};
use crate::host::{HostError, Release, Target};
use crate::model::{Id, Network, Port};
use crate::plan::{Desired, Observed, Op, plan, want};

/// Wait after a first failure; it doubles with each further one.
const RETRY: Duration = Duration::from_secs(1);
const RETRY_MAX: Duration = Duration::from_secs(60);
/// Wait where an event is expected to tell that it is worth another try.
const RETRY_SLOW: Duration = Duration::from_secs(60);
/// How often a lease is given back until dnsmasq has let go of it.
const RELEASE_TRIES: u32 = 3;
/// How long dnsmasq may take each time.
const RELEASE_WAIT: Duration = Duration::from_millis(300);
const RELEASE_LOOK: Duration = Duration::from_millis(30);

/// Why a round did not come to its end.
#[derive(Debug, thiserror::Error)]
enum WorkError {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Port(#[from] PortError),
    #[error(transparent)]
    Host(#[from] HostError),
    #[error("a step on the host broke")]
    Broken(#[from] tokio::task::JoinError),
}

impl WorkError {
    fn call(&self) -> Option<&CallError> {
        match self {
            WorkError::Call(call) | WorkError::Port(PortError::Call(call)) => Some(call),
            _ => None,
        }
    }
}

impl Agent {
    /// Takes networks one by one, until the agent ends.
    pub(super) async fn run_worker(self: Arc<Self>, lane: Lane) {
        loop {
            let mut next = tokio::select! {
                biased;
                () = self.closing.wait() => return,
                work = self.board.next(lane) => Some(work),
            };
            while let Some(work) = next {
                let network = work.network.clone();
                self.one(work).await;
                next = self.board.done(&network);
                if self.closing.asked() {
                    return;
                }
            }
        }
    }

    async fn one(self: &Arc<Self>, work: Work) {
        let network = work.network.clone();
        let start = Instant::now();
        let result = self.round(&work).await;
        metrics::histogram!("dhcp_round_seconds").record(start.elapsed().as_secs_f64());
        let Err(error) = result else {
            self.failures.lock().unwrap_or_else(PoisonError::into_inner).remove(&network);
            return;
        };
        metrics::counter!("dhcp_round_failures_total").increment(1);
        self.board.failed(&work);
        let text = chain(&error);
        let (wait, fetch) = match error.call() {
            Some(call) if call.is_temporary() => {
                // The server is away: one sync when it is back, instead of a retry for each network.
                tracing::warn!(network.id = %network, error = text, "The server did not answer");
                self.request_sync();
                return;
            }
            Some(call) if call.class() == Some("IpAddressGenerationFailure") => {
                tracing::warn!(network.id = %network, error = text, "No address for the DHCP port");
                (RETRY_SLOW, true)
            }
            Some(call) if call.class() == Some("NetworkNotFound") => {
                tracing::info!(network.id = %network, error = text, "The network is no longer this agent's");
                self.board.removed(&network, u8::MAX);
                return;
            }
            _ if matches!(error, WorkError::Port(PortError::Changed)) => {
                tracing::info!(network.id = %network, error = text, "No DHCP port for now");
                (RETRY_SLOW, true)
            }
            _ => {
                tracing::error!(network.id = %network, error = text, "DHCP could not be put in place; trying again");
                (self.backoff(&network), true)
            }
        };
        self.board.again_at(&network, Instant::now() + wait, fetch);
    }

    fn backoff(&self, network: &Id) -> Duration {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let count = failures.entry(network.clone()).or_default();
        *count = count.saturating_add(1);
        RETRY.saturating_mul(1 << (*count - 1).min(10)).min(RETRY_MAX)
    }

    async fn round(self: &Arc<Self>, work: &Work) -> Result<(), WorkError> {
        let id = &work.network;
        if work.gone {
            return self.leave(id).await;
        }
        let mut fetched = false;
        let network = match &work.known {
            Some(known) if !work.fetch => Arc::clone(known),
            _ => match self.plugin.network(id).await? {
                Some(network) => {
                    fetched = true;
                    self.board.fetched(network, work.seen)
                }
                None => return self.leave(id).await,
            },
        };
        if !network.wants_dhcp() {
            return self.disable(&network).await;
        }
        if self.serve(&network).await? {
            // Of the network as it was put in place; ports that came since are the next round's.
            let all = work.all_ready || fetched;
            let fresh = work.fresh.iter().filter(|port| network.ports.contains_key(*port)).cloned();
            let others = network.ports.keys().filter(|port| all && !work.fresh.contains(*port)).cloned();
            self.ready.add(fresh.collect(), others.collect());
        } else {
            self.board.not_ready(work);
        }
        Ok(())
    }

    /// The network is not this agent's any more.
    async fn leave(self: &Arc<Self>, id: &Id) -> Result<(), WorkError> {
        self.take_down(id).await?;
        self.plugin.release_port(id, &self.device_id(id)).await?;
        self.board.forget(id);
        tracing::info!(network.id = %id, "A network left this host");
        Ok(())
    }

    /// The network is still this agent's, but there is nothing to serve.
    async fn disable(self: &Arc<Self>, network: &Network) -> Result<(), WorkError> {
        let had = self.take_down(&network.id).await?;
        let device_id = self.device_id(&network.id);
        if had || network.ports.values().any(|port| super::board::is_own(port, &device_id)) {
            self.plugin.release_port(&network.id, &device_id).await?;
        }
        Ok(())
    }

    /// Removes everything from the host; whether there was anything.
    async fn take_down(self: &Arc<Self>, id: &Id) -> Result<bool, WorkError> {
        self.pace.forget(id);
        self.unwatch(id, None);
        let (agent, network) = (Arc::clone(self), id.clone());
        let had = tokio::task::spawn_blocking(move || -> Result<bool, HostError> {
            let observed = agent.host.observe(&network, None)?;
            let ops = plan(None, &observed);
            agent.apply(Target { id: &network, network: None, desired: None }, &ops)?;
            Ok(!ops.is_empty())
        });
        Ok(had.await??)
    }

    /// Puts the network in place; `false` when dnsmasq may not be told of the files yet and a later round has to.
    async fn serve(self: &Arc<Self>, network: &Arc<Network>) -> Result<bool, WorkError> {
        let (network, own) = port::ensure(&self.plugin, Arc::clone(network), &self.device_id(&network.id)).await?;
        self.board.put_own_port(&network.id, own.clone());
        let id = network.id.clone();
        let agent = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || agent.put_in_place(&network, &own));
        let Placed { pid, later, releases, device } = done.await??;
        if let Some(pid) = pid {
            self.watch(&id, pid);
        }
        if let Some(due) = later {
            self.board.again_at(&id, due, false);
        }
        self.see_released(id, device, releases);
        Ok(later.is_none())
    }

    fn put_in_place(&self, network: &Network, own: &Port) -> Result<Placed, HostError> {
        let id = &network.id;
        let desired = want(&self.settings, network, own);
        let observed = self.host.observe(id, Some(&desired))?;
        let mut placed = Placed { device: desired.device.name.clone(), ..Placed::default() };

        let mut known_leases = 0;
        if observed.dnsmasq.is_some() {
            let known = self.host.leases(id);
            known_leases = known.leases.len();
            let old_hosts = observed.files.as_ref().map(|files| files.host.as_str()).unwrap_or_default();
            placed.releases = leases::stale(&known, old_hosts, network);
        }
        let mut ops = plan(Some(&desired), &observed);
        let reload = ops.iter().find_map(|op| match op {
            Op::Reload { pid } => Some(*pid),
            _ => None,
        });
        let cpu = reload.and_then(|pid| self.host.cpu_time(pid));
        if let Some(pid) = reload
            && let Some(due) = self.pace.not_before(id, pid, cpu)
        {
            ops.retain(|op| !matches!(op, Op::WriteFiles | Op::Reload { .. }));
            placed.later = Some(due);
            metrics::counter!("dhcp_reloads_deferred_total").increment(1);
        }
        if !placed.releases.is_empty() && device_is_there(&desired, &observed) {
            self.host.release(id, &desired.device.name, &placed.releases)?;
        }
        let target = Target { id, network: Some(network), desired: Some(&desired) };
        let size = (desired.files.host.lines().count(), known_leases);
        let starts = ops.contains(&Op::StartDnsmasq);
        // A start reads the files too, and the leases of all hosts.
        let busy = (reload.is_some() && placed.later.is_none() && self.pace.needs_relief(size.0, size.1))
            || (starts && self.pace.needs_relief(size.0, size.0));
        if busy {
            self.apply_relieved(target, &ops)?;
        } else {
            self.apply(target, &ops)?;
        }
        if let Some(pid) = reload
            && placed.later.is_none()
        {
            self.pace.reloaded(id, pid, cpu, size, busy);
        }
        let mut running = observed.dnsmasq;
        if starts {
            running = self.host.observe(id, Some(&desired))?.dnsmasq;
            if running.is_none() {
                return Err(HostError::Died { network: id.clone() });
            }
        }
        placed.pid = running.map(|running| running.pid);
        Ok(placed)
    }

    /// Applies with a second dnsmasq that serves while the first one reads its files. When there can be none, clients
    /// wait: late answers are better than none to new ones.
    fn apply_relieved(&self, target: Target, ops: &[Op]) -> Result<(), HostError> {
        const LIMIT: Duration = Duration::from_secs(120);
        // The first steps make what both need: namespace, device and files.
        let busy = |op: &Op| matches!(op, Op::StopDnsmasq { .. } | Op::StartDnsmasq | Op::Reload { .. });
        let start = ops.iter().position(busy).unwrap_or(ops.len());
        // A stop before the files are written, as in a restart, may come after them as well.
        let (stops, rest): (Vec<&Op>, Vec<&Op>) =
            ops[start..].iter().partition(|op| matches!(op, Op::StopDnsmasq { .. }));
        let (before, after): (Vec<&Op>, Vec<&Op>) = rest.into_iter().partition(|op| !busy(op));
        for op in ops[..start].iter().chain(before) {
            self.step(target, op)?;
        }
        let relief = match self.host.relieve(target) {
            Ok(relief) => Some(relief),
            Err(error) => {
                tracing::warn!(network.id = %target.id, error = chain(&error),
                    "No second dnsmasq while the first is busy; clients wait");
                None
            }
        };
        metrics::counter!("dhcp_reliefs_total").increment(u64::from(relief.is_some()));
        for op in stops.into_iter().chain(after) {
            self.step(target, op)?;
            let pid = match op {
                Op::Reload { pid } => Some(*pid),
                Op::StartDnsmasq => self.host.observe(target.id, target.desired)?.dnsmasq.map(|running| running.pid),
                _ => None,
            };
            if let Some(pid) = pid
                && !self.host.settle(pid, LIMIT)
            {
                tracing::warn!(network.id = %target.id, pid, "dnsmasq is still busy with its files after {LIMIT:?}");
            }
        }
        drop(relief);
        Ok(())
    }

    fn step(&self, target: Target, op: &Op) -> Result<(), HostError> {
        match op {
            Op::Reload { .. } => metrics::counter!("dhcp_reloads_total").increment(1),
            Op::StartDnsmasq => metrics::counter!("dhcp_starts_total").increment(1),
            _ => {}
        }
        tracing::debug!(network.id = %target.id, ?op, "Step");
        // The end that is on purpose is nothing to look after.
        if let Op::StopDnsmasq { pid } = op {
            self.unwatch(target.id, Some(*pid));
        }
        self.host.apply(target, op)?;
        if *op == Op::StartDnsmasq {
            tracing::info!(network.id = %target.id, "Started dnsmasq");
        }
        Ok(())
    }

    fn apply(&self, target: Target, ops: &[Op]) -> Result<(), HostError> {
        ops.iter().try_for_each(|op| self.step(target, op))
    }

    /// Has an eye on a network's dnsmasq, and a new look at the network when it ends.
    fn watch(self: &Arc<Self>, network: &Id, pid: i32) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.get(network).is_some_and(|(known, task)| *known == pid && !task.is_finished()) {
            return;
        }
        let (agent, id) = (Arc::clone(self), network.clone());
        let task = tokio::spawn(async move {
            agent.host.exited(pid).await;
            let current = {
                let mut watched = agent.watched.lock().unwrap_or_else(PoisonError::into_inner);
                let current = watched.get(&id).is_some_and(|(known, _)| *known == pid);
                if current {
                    watched.remove(&id);
                }
                current
            };
            if current {
                metrics::counter!("dhcp_deaths_total").increment(1);
                tracing::warn!(network.id = %id, pid, "dnsmasq ended; looking after it");
                agent.board.again(&id);
            }
        });
        if let Some((_, old)) = watched.insert(network.clone(), (pid, task)) {
            old.abort();
        }
    }

    /// Forgets a network's dnsmasq, or only the one with that id.
    fn unwatch(&self, network: &Id, only: Option<i32>) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if watched.get(network).is_some_and(|(pid, _)| only.is_none_or(|only| only == *pid))
            && let Some((_, task)) = watched.remove(network)
        {
            task.abort();
        }
    }

    /// Sees to it that dnsmasq lets go of leases that were given back, in the background.
    fn see_released(self: &Arc<Self>, network: Id, device: String, releases: Vec<Release>) {
        if releases.is_empty() || !self.releasing.lock().unwrap_or_else(PoisonError::into_inner).insert(network.clone())
        {
            return;
        }
        let agent = Arc::clone(self);
        tokio::spawn(async move {
            let left = agent.release_until_gone(&network, &device, releases).await;
            agent.releasing.lock().unwrap_or_else(PoisonError::into_inner).remove(&network);
            if !left.is_empty() {
                let ips: Vec<String> = left.iter().map(|release| release.ip().to_string()).collect();
                tracing::warn!(network.id = %network, ips = ips.join(","),
                    "dnsmasq kept leases although they were given back {RELEASE_TRIES} times");
            }
        });
    }

    async fn release_until_gone(self: &Arc<Self>, network: &Id, device: &str, mut left: Vec<Release>) -> Vec<Release> {
        for attempt in 1..=RELEASE_TRIES {
            let deadline = Instant::now() + RELEASE_WAIT;
            while Instant::now() < deadline {
                tokio::time::sleep(RELEASE_LOOK).await;
                let (agent, id) = (Arc::clone(self), network.clone());
                let Ok(leases) = tokio::task::spawn_blocking(move || agent.host.leases(&id)).await else { return left };
                left.retain(|release| release.is_held(&leases));
                if left.is_empty() {
                    return left;
                }
            }
            if attempt < RELEASE_TRIES {
                let (agent, id, name, again) = (Arc::clone(self), network.clone(), device.to_owned(), left.clone());
                let sent = tokio::task::spawn_blocking(move || agent.host.release(&id, &name, &again)).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return left;
                }
            }
        }
        left
    }
}

/// What a round came to.
#[derive(Debug, Default)]
struct Placed {
    pid: Option<i32>,
    later: Option<Instant>,
    releases: Vec<Release>,
    device: String,
}

fn device_is_there(desired: &Desired, observed: &Observed) -> bool {
    observed.devices.iter().any(|device| device.name == desired.device.name)
}
