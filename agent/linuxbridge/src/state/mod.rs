//! What the agent remembers between turns, and every decision that needs no I/O: which devices to ask the server about,
//! what its answers and messages mean, what to report and when to try again.
//!
//! Messages only say "look again": what a port is comes from its details, asked for when it appears, when its device was
//! made anew (its index changed), when the server hints, and all together after a restart or a revival.
//! What could not be asked or reported is tried again with growing pauses; nothing here is ever undone because the server
//! is silent.
//!
//! Reproduces `scan_devices` and `treat_devices_*` of `_common_agent.py`, as one state instead of sets carried along.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::IpAddr,
    time::{Duration, Instant},
};

use crate::{
    desired::{Desired, Device, Network, Segment},
    forwarding::{Entry, Forwarding},
    model::Host,
    names,
    plan::{Plan, Standing, Subject},
};

mod pause;

pub use pause::Pause;

/// Devices asked about or reported in one call.
const BATCH: usize = 100;
/// Owners of instances' ports begin so; hypervisors plug their devices themselves.
const COMPUTE: &str = "compute:";
/// Pauses before asking again about a device that the server does not know: it may be somebody else's.
const UNKNOWN: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(300));
/// Between two rounds of asking whether networks without devices still exist.
const IDLE_CHECK: Duration = Duration::from_secs(600);
/// Pauses before trying a step again that the kernel refused.
const REFUSED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Pauses before calling a server again that failed to answer.
const SERVER: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));

/// What the server says of a device.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is a port's, bound here.
    Bound(Details),
    /// An instance's port that is active on another host (live migration).
    Elsewhere,
    /// No port of this server, or not bound (yet).
    Unknown,
    /// It says something that makes no sense; why.
    Malformed(String),
}

/// The part of a port's details that matters here.
#[derive(Debug, Clone, PartialEq)]
pub struct Details {
    /// Network id.
    pub network: String,
    pub segment: Segment,
    pub mtu: Option<u32>,
    pub admin_up: bool,
    pub owner: String,
}

/// News from the server. None carries truth.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// A port changed, or its binding became active here.
    Port(String),
    /// A port is gone, or its binding here ended.
    Unplug(String),
    Network(String),
    NetworkGone(String),
    /// Forwarding entries, by network, then by agent address.
    AddForwarding(Vec<(String, Agents)>),
    RemoveForwarding(Vec<(String, Agents)>),
    /// Changed addresses: network, before, after.
    ChangeAddresses(Vec<(String, Vec<Entry>, Vec<Entry>)>),
    /// The server took this agent for dead: everything may have been missed.
    Resync,
}

/// Entries by the address of the agent that has them.
pub type Agents = Vec<(IpAddr, Vec<Entry>)>;

/// What a device is reported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    Up,
    Down,
}

/// One call's worth of reports.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reports {
    pub up: Vec<String>,
    pub down: Vec<String>,
    /// The agent is new or was thought dead: the server is to send all forwarding entries.
    pub refresh_tunnels: bool,
}

/// A device that is on the host.
#[derive(Debug)]
struct Tap {
    index: u32,
    /// When it was first seen in this incarnation.
    since: Instant,
    /// The server has been asked, so it may think that the port is being built.
    asked: bool,
    owner: String,
    reported: Option<Report>,
    /// Counts answers: a report made before the last answer says nothing about what the server holds now.
    answers: u64,
    /// For a device that the server does not know.
    again: Pause,
}

/// See the module head.
#[derive(Debug)]
pub struct State {
    pub desired: Desired,
    /// With l2 population: this agent's own tunnel address, whose entries are not for it.
    l2_population: Option<IpAddr>,
    /// How long a hypervisor may take to plug a device that it made.
    patience: Duration,
    taps: BTreeMap<String, Tap>,
    /// To be asked about.
    questions: BTreeSet<String>,
    /// Asked and not yet answered.
    asking: BTreeSet<String>,
    /// Networks deleted while the server was being asked: its answer may still speak of them.
    outdated: BTreeSet<String>,
    /// Networks that have a bridge and no device here, to be asked about: the word of their end may have been lost.
    idle: VecDeque<String>,
    /// One of them is being asked about.
    checking: bool,
    /// When the next round of that begins.
    next_check: Option<Instant>,
    /// Gone from the host, to be reported down.
    gone: BTreeSet<String>,
    /// To be reported, as of the last turn.
    due: BTreeMap<String, Report>,
    /// Reported and not yet confirmed, with the count of answers at that time.
    reporting: BTreeMap<String, (Report, u64)>,
    ask_pause: Pause,
    check_pause: Pause,
    report_pause: Pause,
    refresh_tunnels: bool,
    /// What could not be done, until when it is left alone, and why.
    held: BTreeMap<Subject, (Pause, String)>,
    /// What has been said about subjects, so that it is said once.
    said: BTreeMap<String, String>,
}

impl State {
    /// A fresh memory. `patience` is the polling interval.
    pub fn new(l2_population: Option<IpAddr>, patience: Duration) -> Self {
        Self {
            desired: Desired::default(),
            l2_population,
            patience,
            taps: BTreeMap::new(),
            questions: BTreeSet::new(),
            asking: BTreeSet::new(),
            outdated: BTreeSet::new(),
            idle: VecDeque::new(),
            checking: false,
            next_check: None,
            gone: BTreeSet::new(),
            held: BTreeMap::new(),
            due: BTreeMap::new(),
            reporting: BTreeMap::new(),
            ask_pause: Pause::new(SERVER.0, SERVER.1),
            check_pause: Pause::new(SERVER.0, IDLE_CHECK),
            report_pause: Pause::new(SERVER.0, SERVER.1),
            refresh_tunnels: l2_population.is_some(),
            said: BTreeMap::new(),
        }
    }

    /// How many devices of ports there are.
    pub fn devices(&self) -> usize {
        self.taps.len()
    }

    /// Whether every device that was here at the start has been asked about and nothing waits to be reported.
    pub fn is_settled(&self) -> bool {
        self.questions.is_empty() && self.asking.is_empty() && self.due.is_empty() && self.reporting.is_empty()
    }

    /// Takes note of the devices on the host.
    pub fn observe(&mut self, host: &Host, now: Instant) {
        let present = |name: &String| host.links.contains_key(name);
        let vanished: Vec<String> = self.taps.keys().filter(|name| !present(name)).cloned().collect();
        for name in vanished {
            let asked = self.taps.remove(&name).is_some_and(|tap| tap.asked) || self.asking.contains(&name);
            tracing::info!(device.name = name, "device is gone");
            self.forget(&name);
            if asked {
                self.gone.insert(name);
            }
        }
        for (name, link) in host.links.iter().filter(|(name, _)| names::is_tap(name)) {
            if self.taps.get(name).is_some_and(|tap| tap.index == link.index) {
                continue;
            }
            tracing::info!(device.name = name, device.index = link.index, "device appeared");
            self.forget(name);
            let before = self.taps.get(name);
            let tap = Tap {
                index: link.index,
                since: now,
                // Of the device before, under this name, the server has not yet heard the end.
                asked: self.gone.remove(name)
                    || before.is_some_and(|tap| tap.asked)
                    || self.asking.contains(name)
                    || self.reporting.contains_key(name),
                owner: String::new(),
                reported: None,
                answers: before.map_or(0, |tap| tap.answers + 1),
                again: Pause::new(UNKNOWN.0, UNKNOWN.1),
            };
            self.taps.insert(name.clone(), tap);
            self.questions.insert(name.clone());
        }
        let deleted = &mut self.desired.deleted;
        deleted.retain(|id, segment| {
            let tunnel = match segment {
                Some(Segment::Vxlan { vni }) => host.links.contains_key(&names::vxlan(*vni)),
                _ => false,
            };
            host.links.contains_key(&names::bridge(id)) || tunnel
        });
    }

    fn forget(&mut self, name: &str) {
        self.desired.devices.remove(name);
        self.desired.unplugged.remove(name);
        self.questions.remove(name);
        self.due.remove(name);
    }

    /// Takes in news. Says whether forwarding entries changed.
    pub fn notice(&mut self, notice: Notice) -> bool {
        match notice {
            Notice::Port(id) => self.ask(&names::tap(&id)),
            Notice::Unplug(id) => {
                let name = names::tap(&id);
                if self.taps.contains_key(&name) {
                    self.desired.devices.remove(&name);
                    self.due.remove(&name);
                    self.desired.unplugged.insert(name);
                }
            }
            Notice::Network(id) => {
                let devices: Vec<String> = self
                    .desired
                    .devices
                    .iter()
                    .filter(|(_, d)| d.network == id)
                    .map(|(name, _)| name.clone())
                    .collect();
                for name in devices {
                    self.ask(&name);
                }
            }
            Notice::NetworkGone(id) => {
                self.desired.devices.retain(|_, device| device.network != id);
                let segment = self.desired.networks.remove(&id).map(|network| network.segment);
                if !self.asking.is_empty() {
                    self.outdated.insert(id.clone());
                }
                self.desired.deleted.insert(id, segment);
            }
            Notice::AddForwarding(networks) => return self.forwarding(networks, |table, agents| table.add(agents)),
            Notice::RemoveForwarding(networks) => {
                return self.forwarding(networks, |table, agents| table.remove(agents));
            }
            Notice::ChangeAddresses(networks) => {
                let mut changed = false;
                for (id, before, after) in networks {
                    if let Some(network) = self.tunnelled(&id) {
                        network.forwarding.change_addresses(&before, &after);
                        changed = true;
                    }
                }
                return changed;
            }
            Notice::Resync => {
                self.refresh_tunnels = self.l2_population.is_some();
                self.next_check = None;
                let all: Vec<String> = self.taps.keys().cloned().collect();
                for name in all {
                    self.ask(&name);
                }
            }
        }
        false
    }

    fn ask(&mut self, name: &str) {
        if self.taps.contains_key(name) {
            self.questions.insert(name.to_owned());
        }
    }

    /// A known network that is a tunnel here. Others are passed over one by one: what else a message says still counts.
    fn tunnelled(&mut self, id: &str) -> Option<&mut Network> {
        self.desired.networks.get_mut(id).filter(|network| matches!(network.segment, Segment::Vxlan { .. }))
    }

    fn forwarding(&mut self, networks: Vec<(String, Agents)>, change: fn(&mut Forwarding, &Agents)) -> bool {
        let own = self.l2_population;
        let mut changed = false;
        for (id, mut agents) in networks {
            agents.retain(|(agent, _)| Some(*agent) != own);
            if let Some(network) = self.tunnelled(&id) {
                change(&mut network.forwarding, &agents);
                changed = true;
            }
        }
        changed
    }

    /// Devices to ask the server about now. The caller must come back with [`State::answered`] or
    /// [`State::unanswered`].
    pub fn take_questions(&mut self, now: Instant) -> Vec<String> {
        if !self.ask_pause.is_over(now) {
            return Vec::new();
        }
        let again = self.taps.iter_mut().filter(|(name, tap)| tap.again.is_due(now) && !self.asking.contains(*name));
        for (name, tap) in again {
            tap.again.wait_for_answer();
            self.questions.insert(name.clone());
        }
        let names: Vec<String> = self.questions.iter().take(BATCH).cloned().collect();
        for name in &names {
            self.questions.remove(name);
            self.asking.insert(name.clone());
            if let Some(tap) = self.taps.get_mut(name) {
                tap.asked = true;
            }
        }
        names
    }

    /// The server's answer. What was asked and is not in it is asked again.
    pub fn answered(&mut self, asked: Vec<String>, answers: Vec<(String, Answer)>, host: &Host, now: Instant) {
        let mut missing: BTreeSet<String> = asked.into_iter().collect();
        for name in &missing {
            self.asking.remove(name);
        }
        for (name, answer) in answers {
            let outdated = matches!(&answer, Answer::Bound(details) if self.outdated.contains(&details.network));
            if outdated {
                self.ask(&name);
                missing.remove(&name);
            } else if missing.remove(&name) {
                self.learn(&name, answer, host, now);
            }
        }
        self.outdated.clear();
        if missing.is_empty() {
            self.ask_pause.reset();
        } else {
            // One that fails holds up no other: these wait for their turn, the others have been heard.
            self.ask_pause.begin(now);
            for name in missing {
                self.ask(&name);
            }
        }
    }

    /// The server did not answer.
    pub fn unanswered(&mut self, asked: Vec<String>, now: Instant) {
        self.ask_pause.begin(now);
        self.outdated.clear();
        for name in asked {
            self.asking.remove(&name);
            self.ask(&name);
        }
    }

    fn learn(&mut self, name: &str, answer: Answer, host: &Host, now: Instant) {
        // The device may have gone, or been made anew, while the server was thinking; the latter is asked again.
        let Some(tap) = self.taps.get_mut(name) else { return };
        tap.answers += 1;
        tap.reported = None;
        match answer {
            Answer::Bound(details) => {
                tap.again.reset();
                tap.owner = details.owner;
                let device = Device { network: details.network.clone(), admin_up: details.admin_up, plug: false };
                self.desired.unplugged.remove(name);
                self.desired.devices.insert(name.to_owned(), device);
                self.desired.deleted.remove(&details.network);
                self.learn_network(details.network, details.segment, details.mtu, host);
            }
            Answer::Elsewhere => {
                tap.again.reset();
                self.desired.devices.remove(name);
                tracing::info!(device.name = name, "its port is active on another host");
            }
            Answer::Unknown => {
                tap.again.begin(now);
                self.desired.devices.remove(name);
                tracing::info!(device.name = name, "the server knows no port bound here for this device");
            }
            Answer::Malformed(why) => {
                tap.again.begin(now);
                tracing::error!(device.name = name, "the server's details make no sense: {why}");
            }
        }
    }

    fn learn_network(&mut self, id: String, segment: Segment, mtu: Option<u32>, host: &Host) {
        match self.desired.networks.get_mut(&id) {
            Some(network) if network.segment == segment => network.mtu = mtu,
            _ => {
                let mut forwarding = Forwarding::default();
                if let Segment::Vxlan { vni } = segment
                    && let Some(link) = host.link(&names::vxlan(vni))
                    && link.master.as_deref() == Some(&names::bridge(&id))
                {
                    forwarding.adopt(link);
                }
                self.desired.networks.insert(id, Network { segment, mtu, forwarding });
            }
        }
    }

    /// A network to ask about, once everything else is settled: it has a bridge here and nothing in it. The caller must
    /// come back with [`State::checked`].
    pub fn take_check(&mut self, host: &Host, now: Instant) -> Option<String> {
        if self.checking || !self.is_settled() || !self.check_pause.is_over(now) {
            return None;
        }
        if self.idle.is_empty() && self.next_check.is_none_or(|at| now >= at) {
            self.next_check = Some(now + IDLE_CHECK);
            let used = self.desired.used_networks();
            let mut taken: BTreeSet<&str> = BTreeSet::new();
            for (_, port) in host.links.iter().filter(|(name, _)| names::is_tap(name)) {
                taken.extend(port.master.as_deref());
            }
            let bridges = host.links.iter().filter(|(name, _)| !taken.contains(name.as_str()));
            let labelled = bridges.filter_map(|(name, link)| Some((name, link.network.as_ref()?)));
            // A label on anything else is not ours.
            let ours = labelled.filter(|(name, id)| **name == names::bridge(id) && !used.contains(id.as_str()));
            self.idle = ours.map(|(_, id)| id.clone()).collect();
        }
        let next = self.idle.pop_front()?;
        self.checking = true;
        Some(next)
    }

    /// What the server said of a network: it is gone, it is there, or (`None`) nothing.
    pub fn checked(&mut self, id: String, gone: Option<bool>, now: Instant) {
        self.checking = false;
        if gone.is_some() {
            self.check_pause.reset();
        }
        match gone {
            Some(true) if !self.desired.used_networks().contains(id.as_str()) => {
                tracing::info!(network.id = id, "the network was deleted unnoticed");
                self.notice(Notice::NetworkGone(id));
            }
            Some(_) => {}
            None => {
                self.idle.push_back(id);
                self.check_pause.begin(now);
            }
        }
    }

    /// Lets the agent plug instances' devices that their hypervisor has left unplugged for too long.
    pub fn grow_impatient(&mut self, now: Instant) {
        for (name, device) in &mut self.desired.devices {
            let tap = self.taps.get(name);
            let hypervisors = tap.is_some_and(|tap| tap.owner.starts_with(COMPUTE));
            device.plug = !hypervisors || tap.is_some_and(|tap| now >= tap.since + self.patience);
        }
    }

    /// Takes out of a plan what was refused a short while ago, and counts it as a problem until it is tried again.
    pub fn hold(&mut self, plan: &mut Plan, now: Instant) {
        let wanted: BTreeSet<&Subject> = plan.steps.iter().map(|step| &step.subject).collect();
        self.held.retain(|subject, _| wanted.contains(subject));
        let held: BTreeMap<Subject, String> = self
            .held
            .iter()
            .filter(|(_, (pause, _))| !pause.is_over(now))
            .map(|(subject, (_, text))| (subject.clone(), text.clone()))
            .collect();
        plan.steps.retain(|step| !held.contains_key(&step.subject));
        plan.problems.extend(held);
    }

    /// The kernel refused these.
    pub fn refused(&mut self, failures: BTreeMap<Subject, String>, now: Instant) {
        for (subject, text) in failures {
            let held = self.held.entry(subject).or_insert((Pause::new(REFUSED.0, REFUSED.1), String::new()));
            held.0.begin(now);
            held.1 = text;
        }
    }

    /// Draws conclusions from the plan for the host as it is now: what to report, what to tell the operator.
    pub fn conclude(&mut self, plan: &Plan) {
        self.due.retain(|name, _| self.desired.devices.contains_key(name));
        for (name, device) in &self.desired.devices {
            let Some(tap) = self.taps.get(name) else { continue };
            let report = match plan.standing(name, device) {
                Standing::Up => Report::Up,
                Standing::Down => Report::Down,
                Standing::Unfinished => {
                    self.due.remove(name);
                    continue;
                }
            };
            let in_flight = self.reporting.get(name) == Some(&(report, tap.answers));
            if tap.reported == Some(report) || in_flight || self.questions.contains(name) || self.asking.contains(name)
            {
                self.due.remove(name);
            } else {
                self.due.insert(name.clone(), report);
            }
        }
        self.speak(plan);
    }

    fn speak(&mut self, plan: &Plan) {
        let mut now = BTreeMap::new();
        for (subject, text) in &plan.problems {
            let key = subject.to_string();
            if self.said.get(&key) != Some(text) {
                tracing::error!("{key}: {text}");
            }
            now.insert(key, text.clone());
        }
        for (subject, text) in &plan.warnings {
            let key = format!("{subject} works");
            if self.said.get(&key) != Some(text) {
                tracing::warn!("{subject}: {text}");
            }
            now.insert(key, text.clone());
        }
        self.said = now;
    }

    /// Devices to report now, none if there is nothing to say. The caller must come back with [`State::reported`].
    pub fn take_reports(&mut self, now: Instant) -> Option<Reports> {
        if !self.report_pause.is_over(now) || !self.reporting.is_empty() {
            return None;
        }
        let mut reports = Reports::default();
        // One that is still being asked about would be set to building again by that.
        for name in self.gone.iter().filter(|name| !self.asking.contains(*name)).take(BATCH) {
            reports.down.push(name.clone());
            self.reporting.insert(name.clone(), (Report::Down, 0));
        }
        for name in &reports.down {
            self.gone.remove(name);
        }
        let room = BATCH - reports.down.len();
        let due: Vec<(String, Report)> =
            self.due.iter().take(room).map(|(name, report)| (name.clone(), *report)).collect();
        for (name, report) in due {
            self.due.remove(&name);
            let answers = self.taps.get(&name).map_or(0, |tap| tap.answers);
            self.reporting.insert(name.clone(), (report, answers));
            match report {
                Report::Up => reports.up.push(name),
                Report::Down => reports.down.push(name),
            }
        }
        if reports.up.is_empty() && reports.down.is_empty() {
            return None;
        }
        reports.refresh_tunnels = self.refresh_tunnels && !reports.up.is_empty();
        Some(reports)
    }

    /// How a report went: the devices that the server failed to take, or `None` when it did not answer at all.
    pub fn reported(&mut self, reports: &Reports, failed: Option<&[String]>, now: Instant) {
        let done = failed.is_some();
        let failed = |name: &String| failed.is_none_or(|failed| failed.contains(name));
        let mut all_done = done;
        for name in reports.up.iter().chain(&reports.down) {
            let Some((report, answers)) = self.reporting.remove(name) else { continue };
            match self.taps.get_mut(name) {
                Some(tap) if failed(name) => {
                    all_done = false;
                    tap.reported = None;
                    if tap.answers == answers && self.desired.devices.contains_key(name) {
                        self.due.entry(name.clone()).or_insert(report);
                    }
                }
                Some(tap) if tap.answers == answers => tap.reported = Some(report),
                Some(_) => {}
                None if failed(name) => {
                    all_done = false;
                    self.gone.insert(name.clone());
                }
                // It went while it was reported up.
                None if report == Report::Up => _ = self.gone.insert(name.clone()),
                None => {}
            }
        }
        if all_done {
            self.report_pause.reset();
        } else {
            self.report_pause.begin(now);
        }
        // All ports of the start have been told with it once the queue has run dry.
        if done && reports.refresh_tunnels && self.due.is_empty() && self.questions.is_empty() && self.asking.is_empty()
        {
            self.refresh_tunnels = false;
        }
    }

    /// When there is something to do next without anything happening, at the earliest.
    pub fn next_wake(&self, now: Instant) -> Option<Instant> {
        let unplugged = self.desired.devices.iter().filter(|(_, device)| !device.plug);
        let impatient = unplugged.filter_map(|(name, _)| self.taps.get(name)).map(|tap| tap.since + self.patience);
        let refused = self.held.values().filter_map(|(pause, _)| pause.due());
        let again = self.taps.values().filter_map(|tap| tap.again.due()).min();
        let ask = if self.questions.is_empty() { again } else { Some(now) };
        let ask = ask.filter(|_| self.asking.is_empty()).map(|at| self.ask_pause.due().unwrap_or(at).max(at));
        let gone = self.gone.iter().any(|name| !self.asking.contains(name));
        let tell = (!self.due.is_empty() || gone).then_some(now);
        let tell = tell.filter(|_| self.reporting.is_empty()).map(|at| self.report_pause.due().unwrap_or(at).max(at));
        let check = if self.idle.is_empty() { self.next_check.unwrap_or(now) } else { now };
        let check = Some(check).filter(|_| self.is_settled() && !self.checking);
        let check = check.map(|at| self.check_pause.due().unwrap_or(at).max(at));
        impatient.chain(refused).chain(ask).chain(tell).chain(check).min()
    }
}

#[cfg(test)]
mod tests;
