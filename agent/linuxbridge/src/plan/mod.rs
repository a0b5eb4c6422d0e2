//! From what should be and what is to the changes that lead there: pure, and empty for a host that is right.
//!
//! Rules that hold throughout:
//! - nothing is touched that the agent does not own: operators' bridges, other people's ports and interfaces;
//! - nothing is taken away before its replacement stands (addresses, routes);
//! - what cannot be done for one network or device is a [`Plan::problems`] entry and holds up no other.
//!
//! Reproduces the manager half of `linuxbridge_neutron_agent.py` (`ensure_*_bridge`, `_add_tap_interface`,
//! `delete_bridge`), where that looks at the host while it changes it.

mod network;
mod takedown;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use crate::{
    desired::{Desired, Device, Segment},
    model::{Host, Op},
    names,
    settings::Settings,
};

/// What a step is for. When one fails, the later ones for the same subject are not tried, nor those of a network's
/// devices when it was the network's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A network, by id (by bridge name when only that is known).
    Network(String),
    /// A network's forwarding entries.
    Forwarding(String),
    /// A port's device, by name.
    Device(String),
}

/// One change and what it is for.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    pub subject: Subject,
    pub op: Op,
}

/// Changes in their order, and what no change can bring about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub steps: Vec<Step>,
    /// Why a network or device cannot be built; for people.
    pub problems: BTreeMap<Subject, String>,
    /// What works, though not as asked; for people.
    pub warnings: BTreeMap<Subject, String>,
    /// Devices that someone else has yet to plug.
    pub waiting: BTreeSet<String>,
}

/// How a device stands, given the plan for the host as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Plugged, and carries traffic.
    Up,
    /// Switched off, or cannot be built.
    Down,
    /// Something is still to be done.
    Unfinished,
}

impl Plan {
    /// Whether the host is as it should be, as far as can be.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How a device stands.
    pub fn standing(&self, name: &str, device: &Device) -> Standing {
        let subjects = [Subject::Device(name.to_owned()), Subject::Network(device.network.clone())];
        if subjects.iter().any(|subject| self.problems.contains_key(subject)) {
            return Standing::Down;
        }
        if self.waiting.contains(name) || self.steps.iter().any(|step| subjects.contains(&step.subject)) {
            return Standing::Unfinished;
        }
        if device.admin_up { Standing::Up } else { Standing::Down }
    }
}

/// What must change on `host` to make it as desired.
pub fn plan(settings: &Settings, desired: &Desired, host: &Host) -> Plan {
    let mut planner = Planner::new(settings, host);
    for name in &desired.unplugged {
        planner.attempt(Subject::Device(name.clone()), |p| p.unplug(name));
    }
    let (tunnelled, others): (Vec<&str>, Vec<&str>) = desired.used_networks().into_iter().partition(|id| {
        desired.networks.get(*id).is_some_and(|network| matches!(network.segment, Segment::Vxlan { .. }))
    });
    let mut bridges = BTreeMap::new();
    for id in others {
        planner.attempt_build(desired, id, &mut bridges);
    }
    // After the others, so that an interface that one of them takes over leaves without an interruption.
    for (id, segment) in &desired.deleted {
        planner.attempt(Subject::Network(id.clone()), |p| p.take_down(&names::bridge(id), segment.as_ref()));
    }
    // After both, which may move the address that tunnels leave from.
    for id in tunnelled {
        planner.attempt_build(desired, id, &mut bridges);
    }
    for (id, network) in &desired.networks {
        planner.attempt(Subject::Forwarding(id.clone()), |p| p.forward(network));
    }
    for (name, device) in &desired.devices {
        let Some(built) = bridges.get(device.network.as_str()) else { continue };
        planner.attempt(Subject::Device(name.clone()), |p| p.connect(name, device, built));
    }
    planner.done()
}

/// What must change to leave nothing of the agent's: its bridges and tunnel devices; addresses go back.
pub fn plan_cleanup(settings: &Settings, host: &Host) -> Plan {
    let mut planner = Planner::new(settings, host);
    let bridges = host.links.iter().filter(|(name, link)| link.kind.is_bridge() && settings.owns_bridge(name));
    for (name, _) in bridges {
        planner.attempt(Subject::Network(name.clone()), |p| p.take_down(name, None));
    }
    planner.attempt(Subject::Network(names::VXLAN_PREFIX.to_owned()), Planner::delete_tunnels);
    planner.done()
}

/// A bridge that is ready for devices.
#[derive(Debug)]
struct Built {
    bridge: String,
    mtu: Option<u32>,
}

type Attempt<T = ()> = Result<T, String>;

struct Planner<'a> {
    settings: &'a Settings,
    /// The host as it is.
    before: &'a Host,
    /// The host as it will be after the steps so far.
    host: Host,
    subject: Subject,
    steps: Vec<Step>,
    problems: BTreeMap<Subject, String>,
    warnings: BTreeMap<Subject, String>,
    waiting: BTreeSet<String>,
}

impl<'a> Planner<'a> {
    fn new(settings: &'a Settings, host: &'a Host) -> Self {
        Self {
            settings,
            before: host,
            host: host.clone(),
            subject: Subject::Device(String::new()),
            steps: Vec::new(),
            problems: BTreeMap::new(),
            warnings: BTreeMap::new(),
            waiting: BTreeSet::new(),
        }
    }

    fn done(self) -> Plan {
        let Self { steps, problems, warnings, waiting, .. } = self;
        Plan { steps, problems, warnings, waiting }
    }

    fn attempt<T>(&mut self, subject: Subject, work: impl FnOnce(&mut Self) -> Attempt<T>) -> Option<T> {
        self.subject = subject;
        let begun = self.steps.len();
        match work(self) {
            Ok(value) => Some(value),
            Err(problem) => {
                self.problems.insert(self.subject.clone(), problem);
                self.undo(begun);
                None
            }
        }
    }

    /// Takes back the steps of an attempt that cannot be finished: nothing is half made.
    fn undo(&mut self, begun: usize) {
        if self.steps.len() == begun {
            return;
        }
        self.steps.truncate(begun);
        self.host = self.before.clone();
        for step in &self.steps {
            // They have gone well on the same host before.
            _ = self.host.apply(&step.op);
        }
    }

    fn attempt_build<'d>(&mut self, desired: &Desired, id: &'d str, bridges: &mut BTreeMap<&'d str, Built>) {
        let built = self.attempt(Subject::Network(id.to_owned()), |planner| match desired.networks.get(id) {
            Some(network) => planner.build(id, network),
            None => Err(format!("network {id} has no details yet")),
        });
        bridges.extend(built.map(|built| (id, built)));
    }

    fn emit(&mut self, op: Op) -> Attempt {
        self.host.apply(&op).map_err(|refusal| format!("cannot {op}: {refusal}"))?;
        self.steps.push(Step { subject: self.subject.clone(), op });
        Ok(())
    }

    fn warn(&mut self, text: String) {
        self.warnings.insert(self.subject.clone(), text);
    }

    /// Whether a link may leave its master: it has none, or the master is a bridge of ours.
    fn is_free(&self, name: &str) -> bool {
        let master = self.host.link(name).and_then(|link| link.master.as_deref());
        master.is_none_or(|master| self.settings.owns_bridge(master))
    }

    fn enslave(&mut self, name: &str, bridge: &str) -> Attempt {
        let master = self.host.link(name).and_then(|link| link.master.clone());
        match master {
            Some(master) if master == bridge => Ok(()),
            Some(master) if !self.settings.owns_bridge(&master) => {
                Err(format!("{name} belongs to {master}, which is not this agent's; take it out of there"))
            }
            _ => self.emit(Op::SetMaster { name: name.to_owned(), master: bridge.to_owned() }),
        }
    }

    fn bring_up(&mut self, name: &str) -> Attempt {
        match self.host.link(name) {
            Some(link) if !link.up => self.emit(Op::SetUp { name: name.to_owned(), up: true }),
            _ => Ok(()),
        }
    }

    fn resize(&mut self, name: &str, mtu: Option<u32>) -> Attempt {
        match (self.host.link(name), mtu) {
            (Some(link), Some(mtu)) if link.mtu != mtu => self.emit(Op::SetMtu { name: name.to_owned(), mtu }),
            _ => Ok(()),
        }
    }

    fn set_ipv6(&mut self, name: &str, disabled: bool) -> Attempt {
        match self.host.link(name) {
            Some(link) if link.ipv6_disabled != disabled => self.emit(Op::SetIpv6 { name: name.to_owned(), disabled }),
            _ => Ok(()),
        }
    }

    /// Plugs a port's device. Its MTU comes first: a device of 1500 would pull down a bridge that follows its ports.
    fn connect(&mut self, name: &str, device: &Device, built: &Built) -> Attempt {
        let Some(link) = self.host.link(name) else {
            return Err(format!("{name} is gone"));
        };
        let master = link.master.clone();
        self.resize(name, built.mtu)?;
        match master {
            Some(master) if master == built.bridge => {}
            None if !device.plug => {
                self.waiting.insert(name.to_owned());
            }
            _ => self.enslave(name, &built.bridge)?,
        }
        let up = self.host.link(name).is_some_and(|link| link.up);
        if up == device.admin_up {
            return Ok(());
        }
        self.emit(Op::SetUp { name: name.to_owned(), up: device.admin_up })
    }

    /// Takes a device that is no longer a port's out of our bridge.
    fn unplug(&mut self, name: &str) -> Attempt {
        let master = self.host.link(name).and_then(|link| link.master.as_deref());
        match master {
            Some(master) if self.settings.owns_bridge(master) => self.emit(Op::ClearMaster { name: name.to_owned() }),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Network(id) => write!(f, "network {id}"),
            Subject::Forwarding(id) => write!(f, "forwarding of network {id}"),
            Subject::Device(name) => write!(f, "device {name}"),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{}", step.op)?;
        }
        for (subject, problem) in &self.problems {
            writeln!(f, "problem: {subject}: {problem}")?;
        }
        for (subject, warning) in &self.warnings {
            writeln!(f, "warning: {subject}: {warning}")?;
        }
        for name in &self.waiting {
            writeln!(f, "waiting: {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
