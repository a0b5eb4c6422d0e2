//! The agent's memory against a small server and a model host, with messages lost, doubled and late, calls that fail,
//! devices that come and go at any moment, and restarts: whatever happened, it ends where it should.

use proptest::prelude::*;

use super::*;
use crate::{
    model::{Kind, Link, Op},
    plan::plan,
    settings::Settings,
};

#[derive(Debug, Clone)]
enum Act {
    /// The server gets or changes a port: number, network, switched on.
    Put(u8, u8, bool),
    /// The server loses a port, or a network with its ports.
    Drop(u8),
    DropNetwork(u8),
    /// Devices appear, are made anew, vanish.
    Plug(u8),
    Unplug(u8),
    /// The server answers what it was asked, or does not.
    Answer(bool),
    /// It takes what was reported, or does not, or its confirmation is lost.
    Take(bool, bool),
    /// A message that waits is delivered (by place), lost, or delivered and kept.
    Deliver(usize),
    Lose(usize),
    Double(usize),
    /// The kernel refuses the next change.
    Refuse,
    /// Seconds pass.
    Wait(u16),
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => (0..8u8, 0..3u8, prop::bool::weighted(0.8)).prop_map(|(p, n, up)| Act::Put(p, n, up)),
        1 => (0..8u8).prop_map(Act::Drop),
        1 => (0..3u8).prop_map(Act::DropNetwork),
        4 => (0..8u8).prop_map(Act::Plug),
        2 => (0..8u8).prop_map(Act::Unplug),
        6 => prop::bool::weighted(0.8).prop_map(Act::Answer),
        6 => (prop::bool::weighted(0.8), prop::bool::weighted(0.8)).prop_map(|(a, b)| Act::Take(a, b)),
        4 => (0..8usize).prop_map(Act::Deliver),
        1 => (0..8usize).prop_map(Act::Lose),
        1 => (0..8usize).prop_map(Act::Double),
        1 => Just(Act::Refuse),
        2 => (1..40u16).prop_map(Act::Wait),
        1 => Just(Act::Restart),
    ]
}

#[derive(Debug, Clone)]
struct Port {
    network: u8,
    up: bool,
    status: &'static str,
}

struct World {
    state: State,
    host: Host,
    next_index: u32,
    now: Instant,
    ports: BTreeMap<u8, Port>,
    networks_gone: BTreeSet<u8>,
    mail: Vec<Notice>,
    question: Option<Vec<String>>,
    report: Option<Reports>,
    refuse: bool,
    used: BTreeSet<u8>,
    unreported: BTreeSet<u8>,
    turns: usize,
}

fn port_id(n: u8) -> String {
    format!("{n:08x}-1111-4000-8000-000000000000")
}

fn network_id(n: u8) -> String {
    format!("{n:08x}-0000-4000-8000-000000000000")
}

fn tap(n: u8) -> String {
    names::tap(&port_id(n))
}

fn fresh() -> State {
    State::new(None, Duration::from_secs(2))
}

impl World {
    fn new() -> Self {
        Self {
            state: fresh(),
            host: Host::default(),
            next_index: 1,
            now: Instant::now(),
            ports: BTreeMap::new(),
            networks_gone: BTreeSet::new(),
            mail: Vec::new(),
            question: None,
            report: None,
            refuse: false,
            used: BTreeSet::new(),
            unreported: BTreeSet::new(),
            turns: 0,
        }
    }

    /// What the loop does when something happened.
    fn turn(&mut self) {
        self.turns += 1;
        let settings = Settings::default();
        for _ in 0..4 {
            self.state.observe(&self.host, self.now);
            self.state.grow_impatient(self.now);
            let mut plan = plan(&settings, &self.state.desired, &self.host);
            self.state.hold(&mut plan, self.now);
            if plan.is_empty() {
                self.state.conclude(&plan);
                break;
            }
            let mut failures: BTreeMap<Subject, String> = BTreeMap::new();
            for step in &plan.steps {
                if failures.contains_key(&step.subject) {
                    continue;
                }
                if std::mem::take(&mut self.refuse) || self.host.apply(&step.op).is_err() {
                    failures.insert(step.subject.clone(), "refused".to_owned());
                }
            }
            self.state.refused(failures, self.now);
        }
        if self.question.is_none() {
            self.question = Some(self.state.take_questions(self.now)).filter(|names| !names.is_empty());
        }
        if self.report.is_none() {
            self.report = self.state.take_reports(self.now);
        }
        if let Some(network) = self.state.take_check(&self.host, self.now) {
            let gone = self.networks_gone.iter().any(|n| network_id(*n) == network);
            self.state.checked(network, Some(gone), self.now);
            self.turn();
        }
    }

    fn find(&mut self, device: &str) -> Option<(u8, &mut Port)> {
        self.ports.iter_mut().find(|(n, _)| tap(**n) == device).map(|(n, port)| (*n, port))
    }

    fn answer(&mut self, well: bool) {
        let Some(asked) = self.question.take() else { return };
        let answers: Vec<(String, Answer)> = asked
            .iter()
            .map(|name| {
                let answer = match self.find(name) {
                    None => Answer::Unknown,
                    Some((_, port)) => {
                        port.status = if port.up { "BUILD" } else { "DOWN" };
                        Answer::Bound(Details {
                            network: network_id(port.network),
                            segment: Segment::Local,
                            mtu: None,
                            admin_up: port.up,
                            owner: String::new(),
                        })
                    }
                };
                (name.clone(), answer)
            })
            .collect();
        // A lost answer has had its effect on the server all the same.
        match well {
            true => self.state.answered(asked, answers, &self.host, self.now),
            false => self.state.unanswered(asked, self.now),
        }
    }

    fn take(&mut self, taken: bool, confirmed: bool) {
        let Some(reports) = self.report.take() else { return };
        if taken {
            for (names, status) in [(&reports.up, "ACTIVE"), (&reports.down, "DOWN")] {
                for name in names {
                    if let Some((_, port)) = self.find(name) {
                        port.status = status;
                    }
                }
            }
        }
        let failed: Option<&[String]> = if taken && confirmed { Some(&[]) } else { None };
        self.state.reported(&reports, failed, self.now);
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Put(n, network, up) => {
                // A port does not change its network, and ids do not come back.
                if self.networks_gone.contains(&network) || !self.ports.contains_key(&n) && !self.used.insert(n) {
                    return;
                }
                let network = self.ports.get(&n).map_or(network, |port| port.network);
                let status = self.ports.get(&n).map_or("DOWN", |port| port.status);
                self.ports.insert(n, Port { network, up, status });
                self.mail.push(Notice::Port(port_id(n)));
            }
            Act::Drop(n) => {
                if self.ports.remove(&n).is_some() {
                    self.mail.push(Notice::Unplug(port_id(n)));
                }
            }
            Act::DropNetwork(n) => {
                self.ports.retain(|_, port| port.network != n);
                self.networks_gone.insert(n);
                self.mail.push(Notice::NetworkGone(network_id(n)));
            }
            Act::Plug(n) => {
                self.next_index += 1;
                self.unreported.remove(&n);
                // Also in place of one that is there: made anew.
                self.host.links.insert(tap(n), Link::new(self.next_index + 1000, Kind::Other));
            }
            Act::Unplug(n) => _ = self.host.apply(&Op::DeleteLink { name: tap(n) }),
            Act::Answer(well) => self.answer(well),
            Act::Take(taken, confirmed) => self.take(taken, confirmed),
            Act::Deliver(at) if at < self.mail.len() => _ = self.state.notice(self.mail[at].clone()),
            Act::Lose(at) if at < self.mail.len() => _ = self.mail.remove(at),
            Act::Double(at) if at < self.mail.len() => {
                let notice = self.mail.remove(at);
                self.state.notice(notice.clone());
                self.state.notice(notice);
            }
            Act::Deliver(_) | Act::Lose(_) | Act::Double(_) => {}
            Act::Refuse => self.refuse = true,
            Act::Wait(seconds) => self.now += Duration::from_secs(seconds.into()),
            Act::Restart => {
                // A device that goes while no agent runs is reported by nobody, as with the Python agent.
                self.unreported = (0..8).filter(|n| self.host.link(&tap(*n)).is_none()).collect();
                self.state = fresh();
                (self.question, self.report) = (None, None);
            }
        }
        self.turn();
    }

    /// Lets everything come to rest, with a server that answers.
    fn rest(&mut self) {
        self.refuse = false;
        self.state.notice(Notice::Resync);
        self.turn();
        // Long enough for two rounds of looking after networks without devices.
        let end = self.now + Duration::from_secs(1300);
        for _ in 0..1000 {
            self.answer(true);
            self.take(true, true);
            self.turn();
            let idle = self.question.is_none() && self.report.is_none();
            match self.state.next_wake(self.now) {
                Some(at) if idle && at > end => return,
                Some(at) if idle => self.now = self.now.max(at),
                None if idle => return,
                _ => {}
            }
        }
        panic!("it does not come to rest: {:?}", self.state);
    }

    fn check(&self) {
        for (n, port) in &self.ports {
            let status = match self.host.link(&tap(*n)) {
                Some(link) => {
                    assert_eq!(link.master, Some(names::bridge(&network_id(port.network))), "port {n}");
                    assert_eq!(link.up, port.up, "port {n}");
                    if port.up { "ACTIVE" } else { "DOWN" }
                }
                None if self.unreported.contains(n) => continue,
                None => "DOWN",
            };
            assert_eq!(port.status, status, "port {n}");
        }
        // A device whose port's end went unheard stays where it is (the server may just not know it at the moment), and
        // its bridge with it; without devices, a bridge ends with its network.
        for n in &self.networks_gone {
            let bridge = names::bridge(&network_id(*n));
            let held = self.host.ports_of(&bridge).next().is_some();
            assert!(held || self.host.link(&bridge).is_none(), "network {n} is gone and its bridge is not");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn it_ends_where_it_should(acts in proptest::collection::vec(act(), 1..60)) {
        let mut world = World::new();
        for act in acts {
            world.act(act);
        }
        world.rest();
        world.check();
    }
}

/// A device that its hypervisor has yet to plug wakes the loop once, not for ever.
#[test]
fn waiting_is_not_spinning() {
    let mut world = World::new();
    for n in 0..4 {
        world.act(Act::Plug(n));
    }
    world.rest();
    let turns = world.turns;
    // Nobody knows these devices: they are asked about ever more rarely.
    let end = world.now + Duration::from_secs(3600);
    while let Some(at) = world.state.next_wake(world.now).filter(|at| *at < end) {
        world.now = world.now.max(at);
        world.turn();
        world.answer(true);
        assert!(world.turns < turns + 1000, "it spins: {:?}", world.state);
    }
    assert!(world.turns - turns < 60, "{} turns in an hour", world.turns - turns);
}
