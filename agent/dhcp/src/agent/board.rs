//! The agent's memory: every network it has to look after, what changed about it, and who works on it.
//!
//! Events only write here; workers take one network at a time, so one network's changes are applied in order while
//! different networks go in parallel. Whatever number of events arrives while a network is worked on, one more round
//! follows. Nothing here waits, and nothing grows with the number of events.
//!
//! Invariants: a port never goes back to an older revision, a deleted port never comes back, and an address has one
//! owner, the newest; a network is worked on by one worker at a time.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::model::{Id, Network, OWNER_DHCP, Port};

/// Deleted ports are remembered this long, against messages that come late.
const DELETED_FOR: Duration = Duration::from_secs(86400);
/// And at most so many of them.
const DELETED_MAX: usize = 50_000;

/// Who picks a network up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    /// For news: many workers, so that a new port does not wait behind a sync.
    Events,
    /// For syncs: `num_sync_threads` workers.
    Sync,
}

/// What a worker has to do for a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The network's id.
    pub network: Id,
    /// Ask the server for it first.
    pub fetch: bool,
    /// It has to go from this host.
    pub gone: bool,
    /// It as known, when known.
    pub known: Option<Arc<Network>>,
    /// The number of the last event it includes; to be handed back with what was fetched.
    pub seen: u64,
    /// New ports of it: to be reported ready, before others.
    pub fresh: BTreeSet<Id>,
    /// Every port of it is to be reported ready.
    pub all_ready: bool,
}

#[derive(Debug, Default)]
struct Entry {
    known: Option<Arc<Network>>,
    /// Number of the event that last touched a port.
    touched: HashMap<Id, u64>,
    fetch: bool,
    /// Number of the event that last asked to fetch.
    refreshed: u64,
    /// Number of the last event before the last fetch began.
    fetched: u64,
    gone: bool,
    dirty: bool,
    running: bool,
    /// What a failed round had to do, for when it is tried again.
    parked: Parked,
    /// Ports to report once the network is in place: new ones first.
    fresh: BTreeSet<Id>,
    all_ready: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Parked {
    fetch: bool,
    gone: bool,
}

#[derive(Debug, Default)]
struct State {
    nets: HashMap<Id, Entry>,
    events: BinaryHeap<Reverse<(u8, u64, Id)>>,
    syncs: VecDeque<Id>,
    /// (due, network): looked at again then.
    later: Vec<(Instant, Id)>,
    deleted: HashMap<Id, Instant>,
    deleted_order: VecDeque<(Instant, Id)>,
    clock: u64,
    /// While a sync is under way: the networks taken from us since it began, which its answer may still have.
    syncing: Option<BTreeSet<Id>>,
}

/// See the module head.
#[derive(Debug, Default)]
pub struct Board {
    state: Mutex<State>,
    events: Notify,
    syncs: Notify,
    timers: Notify,
}

/// Size of what is known, for the state report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Networks served.
    pub networks: usize,
    /// Their subnets.
    pub subnets: usize,
    /// Their ports.
    pub ports: usize,
}

impl Board {
    fn state(&self) -> MutexGuard<'_, State> {
        // Every method leaves the state whole before anything can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a network on the list that has traces on this host but is not known yet.
    pub fn expect(&self, network: Id) {
        self.state().nets.entry(network).or_default();
    }

    /// The server says to look at a network (again), for example because a subnet changed.
    pub fn refresh(&self, network: Id, priority: u8) {
        let mut state = self.state();
        if let Some(removed) = &mut state.syncing {
            removed.remove(&network);
        }
        state.clock += 1;
        let clock = state.clock;
        let entry = state.nets.entry(network.clone()).or_default();
        (entry.fetch, entry.gone, entry.refreshed) = (true, false, clock);
        entry.parked = Parked::default();
        state.push_event(network, priority);
        drop(state);
        self.events.notify_one();
    }

    /// Like [`Board::refresh`], for a network that is here; others stay unknown.
    pub fn refresh_known(&self, network: Id, priority: u8) {
        let here = self.state().nets.contains_key(&network);
        if here {
            self.refresh(network, priority);
        }
    }

    /// A network was deleted or taken from this agent. Networks that are not here stay unknown.
    pub fn removed(&self, network: &Id, priority: u8) {
        let mut state = self.state();
        if let Some(removed) = &mut state.syncing {
            removed.insert(network.clone());
        }
        let Some(entry) = state.nets.get_mut(network) else { return };
        (entry.gone, entry.fetch) = (true, false);
        state.push_event(network.clone(), priority);
        drop(state);
        self.events.notify_one();
    }

    /// The network that has the subnet.
    pub fn network_of_subnet(&self, subnet: &str) -> Option<Id> {
        let state = self.state();
        let has = |net: &Network| net.all_subnets().any(|known| &*known.id == subnet);
        state.nets.values().filter_map(|entry| entry.known.as_ref()).find(|net| has(net)).map(|net| net.id.clone())
    }

    /// A port was created or changed. `ours` says whether it is this agent's own DHCP port.
    pub fn port(&self, port: Port, ours: bool, priority: u8) {
        let mut state = self.state();
        if state.deleted.contains_key(&port.id) {
            tracing::debug!(port.id = %port.id, "Passed over news of a deleted port");
            return;
        }
        state.clock += 1;
        let clock = state.clock;
        let network = port.network_id.clone();
        // A network that is not ours: no news.
        let Some(entry) = state.nets.get_mut(&network) else { return };
        let Some(known) = &mut entry.known else {
            // On this host from before, not fetched yet: now is the time.
            if port.needs_host() {
                entry.fresh.insert(port.id.clone());
            }
            entry.fetch = !entry.gone;
            state.push_event(network, priority);
            drop(state);
            self.events.notify_one();
            return;
        };
        let old = known.ports.get(&port.id);
        if old.is_some_and(|old| old.revision > port.revision) {
            tracing::debug!(port.id = %port.id, revision = port.revision, "Passed over old news of a port");
            return;
        }
        let same = old.is_some_and(|old| Port { revision: port.revision, ..old.clone() } == port);
        let needs_host = port.needs_host() || old.is_some_and(Port::needs_host);
        if needs_host {
            entry.fresh.insert(port.id.clone());
        } else if ours && !same {
            // Its subnets may have changed with it, in the middle of their own deletion: ask.
            entry.fetch = true;
        }
        entry.touched.insert(port.id.clone(), clock);
        let known = Arc::make_mut(known);
        take_addresses(known, &port);
        known.ports.insert(port.id.clone(), port);
        if !needs_host && (!ours || same) {
            // Host files have no line of it; other files follow with the next change.
            return;
        }
        entry.dirty = true;
        state.push_event(network, priority);
        drop(state);
        self.events.notify_one();
    }

    /// A port was deleted. `ours` tells this agent's own DHCP ports by their device id.
    pub fn port_removed(&self, port: Id, network: Option<&Id>, ours: impl Fn(&Port) -> bool, priority: u8) {
        let mut state = self.state();
        state.clock += 1;
        state.remember_deleted(port.clone());
        let network = match network {
            Some(network) => network.clone(),
            None => {
                let has = |entry: &Entry| entry.known.as_ref().is_some_and(|net| net.ports.contains_key(&port));
                match state.nets.iter().find(|(_, entry)| has(entry)) {
                    Some((network, _)) => network.clone(),
                    None => return,
                }
            }
        };
        let Some(entry) = state.nets.get_mut(&network) else { return };
        entry.fresh.remove(&port);
        entry.touched.remove(&port);
        let Some(known) = entry.known.as_mut().filter(|known| known.ports.contains_key(&port)) else { return };
        let Some(old) = Arc::make_mut(known).ports.remove(&port) else { return };
        if ours(&old) {
            entry.fetch = !entry.gone;
        } else if !old.needs_host() {
            return;
        }
        entry.dirty = true;
        state.push_event(network, priority);
        drop(state);
        self.events.notify_one();
    }

    /// Sets a network as the server gave it in a sync, or in answer to a `fetch` (then `work` is that worker's).
    /// Ports that events have touched since `seen` are newer than the answer. Returns the network as now known.
    pub fn fetched(&self, network: Network, seen: u64) -> Arc<Network> {
        let mut state = self.state();
        let State { nets, deleted, .. } = &mut *state;
        let entry = nets.entry(network.id.clone()).or_default();
        entry.fetched = seen;
        merge(entry, network, seen, deleted)
    }

    /// Begins a full sync: the answer asked for from here on is to be handed to [`Board::synced`].
    pub fn begin_sync(&self) -> u64 {
        let mut state = self.state();
        state.syncing = Some(BTreeSet::new());
        state.clock
    }

    /// Takes over the server's answer to a sync begun at `seen`, whole: `all` are the networks of this host, and the
    /// others have to go.
    pub fn synced(&self, all: Vec<Network>, seen: u64) {
        let mut state = self.state();
        let removed = state.syncing.take().unwrap_or_default();
        let active: BTreeSet<Id> = all.iter().map(|network| network.id.clone()).collect();
        let State { nets, deleted, syncs, .. } = &mut *state;
        for network in all.into_iter().filter(|network| !removed.contains(&network.id)) {
            let id = network.id.clone();
            let entry = nets.entry(id.clone()).or_default();
            (entry.gone, entry.dirty, entry.all_ready) = (false, true, true);
            entry.parked = Parked::default();
            // A fetch that began later has the newer answer.
            if entry.fetched <= seen || entry.known.is_none() {
                merge(entry, network, seen, deleted);
            }
            syncs.push_back(id);
        }
        for (id, entry) in nets.iter_mut().filter(|(id, _)| !active.contains(*id)) {
            // Unless it was scheduled to us while the answer was on its way.
            if entry.refreshed <= seen && !entry.touched.values().any(|touched| *touched > seen) {
                entry.gone = true;
                syncs.push_back(id.clone());
            }
        }
        drop(state);
        self.syncs.notify_one();
    }

    /// The sync failed.
    pub fn abandon_sync(&self) {
        self.state().syncing = None;
    }

    /// Puts a changed port into the network as known: this agent's own, as the server returned it.
    pub fn put_own_port(&self, network: &Id, port: Port) {
        let mut state = self.state();
        state.clock += 1;
        let clock = state.clock;
        if let Some(entry) = state.nets.get_mut(network)
            && let Some(known) = &mut entry.known
            && known.ports.get(&port.id).is_none_or(|old| old.revision <= port.revision)
        {
            entry.touched.insert(port.id.clone(), clock);
            Arc::make_mut(known).ports.insert(port.id.clone(), port);
        }
    }

    /// Waits for a network to work on.
    pub async fn next(&self, lane: Lane) -> Work {
        let notify = match lane {
            Lane::Events => &self.events,
            Lane::Sync => &self.syncs,
        };
        loop {
            let notified = notify.notified();
            if let Some(work) = self.state().pop(lane) {
                // There may be more for another worker.
                notify.notify_one();
                return work;
            }
            notified.await;
        }
    }

    /// Says that the work was done (or given up for now). Returns the next round, when there were news meanwhile.
    pub fn done(&self, network: &Id) -> Option<Work> {
        let mut state = self.state();
        let entry = state.nets.get_mut(network)?;
        entry.running = false;
        state.start(network)
    }

    /// Says that the network is gone from this host.
    pub fn forget(&self, network: &Id) {
        let mut state = self.state();
        if let Some(entry) = state.nets.get_mut(network) {
            entry.known = None;
            entry.touched.clear();
            entry.fresh.clear();
            entry.dirty = false;
            // Unless it came back while it was taken down.
            if !entry.fetch {
                state.nets.remove(network);
            }
        }
    }

    /// The work's ports could not be reported ready yet; the next round's are these too.
    pub fn not_ready(&self, work: &Work) {
        if let Some(entry) = self.state().nets.get_mut(&work.network) {
            entry.fresh.extend(work.fresh.iter().cloned());
            entry.all_ready |= work.all_ready;
        }
    }

    /// Has the network looked at again at a time; `fetch` to ask the server for it too.
    pub fn again_at(&self, network: &Id, due: Instant, fetch: bool) {
        let mut state = self.state();
        let Some(entry) = state.nets.get_mut(network) else { return };
        entry.parked.fetch |= fetch;
        match state.later.iter_mut().find(|(_, id)| id == network) {
            Some((old, _)) => *old = due.min(*old),
            None => state.later.push((due, network.clone())),
        }
        drop(state);
        self.timers.notify_one();
    }

    /// The round failed: what it had to do is not done, and is done again with [`Board::again_at`] or a sync.
    pub fn failed(&self, work: &Work) {
        if let Some(entry) = self.state().nets.get_mut(&work.network) {
            entry.parked = Parked { fetch: work.fetch, gone: work.gone };
        }
        self.not_ready(work);
    }

    /// Has the network looked at again now.
    pub fn again(&self, network: &Id) {
        let mut state = self.state();
        let Some(entry) = state.nets.get_mut(network) else { return };
        let parked = std::mem::take(&mut entry.parked);
        entry.gone |= parked.gone;
        entry.fetch |= parked.fetch && !entry.gone;
        entry.dirty = true;
        state.push_event(network.clone(), u8::MAX);
        drop(state);
        self.events.notify_one();
    }

    /// Runs the timers of [`Board::again_at`], for ever.
    pub async fn run_timers(&self) {
        loop {
            let notified = self.timers.notified();
            let now = Instant::now();
            let mut due = Vec::new();
            let next = {
                let mut state = self.state();
                state.later.retain(|(at, id)| {
                    if *at <= now {
                        due.push(id.clone());
                    }
                    *at > now
                });
                state.later.iter().map(|(at, _)| *at).min()
            };
            for network in &due {
                self.again(network);
            }
            match next {
                Some(at) => {
                    let _ = tokio::time::timeout_at(at.into(), notified).await;
                }
                None => notified.await,
            }
        }
    }

    /// Sizes.
    pub fn counts(&self) -> Counts {
        let state = self.state();
        state.nets.values().filter_map(|entry| entry.known.as_ref()).fold(Counts::default(), |counts, net| Counts {
            networks: counts.networks + 1,
            subnets: counts.subnets + net.all_subnets().count(),
            ports: counts.ports + net.ports.len(),
        })
    }

    /// Networks that wait for a worker or are worked on.
    pub fn backlog(&self) -> usize {
        let state = self.state();
        state.nets.values().filter(|entry| entry.running || entry.dirty || entry.fetch || entry.gone).count()
    }
}

impl State {
    fn push_event(&mut self, network: Id, priority: u8) {
        // Duplicates cost a look each; the entry says whether there is anything left to do.
        self.clock += 1;
        self.events.push(Reverse((priority, self.clock, network)));
    }

    fn pop(&mut self, lane: Lane) -> Option<Work> {
        loop {
            let network = match lane {
                Lane::Events => self.events.pop()?.0.2,
                Lane::Sync => self.syncs.pop_front()?,
            };
            if let Some(work) = self.start(&network) {
                return Some(work);
            }
        }
    }

    fn start(&mut self, network: &Id) -> Option<Work> {
        let seen = self.clock;
        let entry = self.nets.get_mut(network)?;
        let wanted = entry.gone || entry.fetch || entry.dirty;
        if entry.running || !wanted {
            return None;
        }
        let work = Work {
            network: network.clone(),
            fetch: std::mem::take(&mut entry.fetch),
            gone: std::mem::take(&mut entry.gone),
            known: entry.known.clone(),
            seen,
            fresh: std::mem::take(&mut entry.fresh),
            all_ready: std::mem::take(&mut entry.all_ready),
        };
        entry.running = true;
        entry.dirty = false;
        Some(work)
    }

    fn remember_deleted(&mut self, port: Id) {
        let now = Instant::now();
        while self.deleted_order.len() >= DELETED_MAX
            || self.deleted_order.front().is_some_and(|(at, _)| now.duration_since(*at) > DELETED_FOR)
        {
            if let Some((_, old)) = self.deleted_order.pop_front() {
                self.deleted.remove(&old);
            }
        }
        if self.deleted.insert(port.clone(), now).is_none() {
            self.deleted_order.push_back((now, port));
        }
    }
}

/// An address has one owner: whoever got it last. Its former owner is being deleted, whatever order the news come in.
fn take_addresses(network: &mut Network, port: &Port) {
    if port.fixed_ips.is_empty() {
        return;
    }
    let taken: BTreeSet<_> = port.addresses().collect();
    for other in network.ports.values_mut().filter(|other| other.id != port.id) {
        if other.addresses().any(|ip| taken.contains(&ip)) {
            other.fixed_ips.retain(|fixed| !taken.contains(&fixed.ip));
            tracing::info!(port.id = %port.id, former = %other.id, "A port took over an address");
        }
    }
}

/// Takes over what the server said, except where events know better.
fn merge(entry: &mut Entry, mut network: Network, seen: u64, deleted: &HashMap<Id, Instant>) -> Arc<Network> {
    network.ports.retain(|id, _| !deleted.contains_key(id));
    if let Some(old) = entry.known.take() {
        for (id, port) in &old.ports {
            let touched = entry.touched.get(id).copied().unwrap_or(0) > seen;
            match network.ports.get(id) {
                Some(new) if new.revision >= port.revision => {}
                Some(_) => {
                    network.ports.insert(id.clone(), port.clone());
                }
                // Created since the server answered.
                None if touched => {
                    take_addresses(&mut network, port);
                    network.ports.insert(id.clone(), port.clone());
                }
                None => {}
            }
        }
    }
    entry.touched.retain(|id, touched| *touched > seen && network.ports.contains_key(id));
    let network = Arc::new(network);
    entry.known = Some(Arc::clone(&network));
    network
}

/// Whether the port is the DHCP port with this device id.
pub fn is_own(port: &Port, device_id: &str) -> bool {
    port.device_owner == OWNER_DHCP && port.device_id == device_id
}
