//! A host in memory: it does what it is told, counts it, and can be made to fail.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Notify;

use super::{Host, HostError, Release, Relief, Result, Target};
use crate::files::Leases;
use crate::model::Id;
use crate::plan::{Desired, Dnsmasq, Namespace, Observed, Op, SeenAddress, SeenDevice};

#[derive(Clone, Default)]
pub(crate) struct FakeHost {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

#[derive(Default)]
struct State {
    nets: BTreeMap<Id, Observed>,
    done: Vec<(Id, Op)>,
    next_pid: i32,
    fail: HashMap<Id, u32>,
    ended: HashMap<i32, Arc<Notify>>,
    reliefs: Vec<(Id, bool)>,
    at_stop: Option<Box<dyn Fn() + Send>>,
}

impl FakeHost {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Does that before a dnsmasq is stopped.
    pub fn at_stop(&self, look: impl Fn() + Send + 'static) {
        self.state().at_stop = Some(Box::new(look));
    }

    /// The next `times` steps for the network fail.
    pub fn fail(&self, network: &Id, times: u32) {
        self.state().fail.insert(network.clone(), times);
    }

    /// What there is of a network.
    pub fn of(&self, network: &Id) -> Observed {
        self.state().nets.get(network).cloned().unwrap_or_default()
    }

    /// Every step done so far.
    pub fn done(&self) -> Vec<(Id, Op)> {
        self.state().done.clone()
    }

    pub fn count(&self, wanted: impl Fn(&Op) -> bool) -> usize {
        self.state().done.iter().filter(|(_, op)| wanted(op)).count()
    }

    /// Beginnings and ends of second dnsmasqs.
    pub fn reliefs(&self) -> Vec<bool> {
        self.state().reliefs.iter().map(|(_, begins)| *begins).collect()
    }

    /// Kills the network's dnsmasq.
    pub fn kill(&self, network: &Id) {
        let mut state = self.state();
        let dnsmasq = state.nets.get_mut(network).and_then(|seen| seen.dnsmasq.take());
        if let Some(ended) = dnsmasq.and_then(|dnsmasq| state.ended.remove(&dnsmasq.pid)) {
            ended.notify_one();
        }
    }

    /// Waits until `wanted` of the host, at most ten seconds.
    pub async fn until(&self, what: &str, wanted: impl Fn(&FakeHost) -> bool) {
        let waiting = async {
            loop {
                let changed = self.changed.notified();
                if wanted(self) {
                    return;
                }
                let _ = tokio::time::timeout(Duration::from_millis(50), changed).await;
            }
        };
        if tokio::time::timeout(Duration::from_secs(10), waiting).await.is_err() {
            panic!("not in time: {what}; done were {:#?}", self.done());
        }
    }
}

/// What the host looks like after a step.
pub(crate) fn step(seen: &mut Observed, desired: Option<&Desired>, op: &Op, pid: i32) {
    let name = desired.map(|desired| desired.device.name.clone()).unwrap_or_default();
    let with = |seen: &mut Observed, change: &dyn Fn(&mut SeenDevice)| {
        change(seen.devices.iter_mut().find(|device| device.name == name).expect("the device is there"));
    };
    match op {
        Op::CreateNamespace => {
            seen.namespace = Namespace::Present;
            seen.devices.clear();
            seen.lo_up = false;
        }
        Op::PrepareNamespace => seen.lo_up = true,
        Op::Unplug { device } => {
            seen.devices.retain(|seen| seen.name != *device);
            seen.taps.remove(device);
            seen.taps.remove(&device.replace("ns-", "tap"));
        }
        Op::Plug => {
            let want = &desired.unwrap().device;
            assert!(!seen.taps.contains(&want.tap), "the name of the host end is taken");
            seen.taps.insert(want.tap.clone());
            let (mac, mtu) = (Some(want.mac), want.mtu);
            seen.devices.push(SeenDevice { name: name.clone(), mac, mtu, up: true, ..SeenDevice::default() });
        }
        Op::SetMac => with(seen, &|device| device.mac = Some(desired.unwrap().device.mac)),
        Op::SetMtu => with(seen, &|device| device.mtu = desired.unwrap().device.mtu),
        Op::SetUp => with(seen, &|device| device.up = true),
        Op::DeleteAddress { net } => with(seen, &|device| device.addresses.retain(|a| a.net != *net)),
        Op::AddAddress { net } => {
            with(seen, &|device| device.addresses.push(SeenAddress { net: *net, dynamic: false }));
        }
        Op::AddOnLink { ip } => with(seen, &|device| assert!(device.on_link.insert(*ip))),
        Op::DeleteOnLink { ip } => with(seen, &|device| assert!(device.on_link.remove(ip))),
        Op::SetGateway { ip } => with(seen, &|device| {
            device.gateways.retain(|old| !(old.is_ipv4() && ip.is_ipv4()) && old != ip);
            device.gateways.push(*ip);
        }),
        Op::DeleteGateway { ip } => with(seen, &|device| device.gateways.retain(|old| old != ip)),
        Op::WriteFiles => {
            seen.files = Some(desired.unwrap().files.clone());
            seen.interface = Some(name.clone());
            seen.directory = true;
            seen.reload_pending = true;
        }
        Op::WriteInterface => seen.interface = Some(name.clone()),
        Op::StopDnsmasq { pid } if seen.relief == Some(*pid) => seen.relief = None,
        Op::StopDnsmasq { .. } => seen.dnsmasq = None,
        Op::StartDnsmasq => {
            assert!(seen.dnsmasq.is_none(), "one dnsmasq at a time");
            let args = desired.unwrap().args.clone();
            seen.dnsmasq = Some(Dnsmasq { pid, args, in_namespace: true });
            seen.reload_pending = false;
        }
        Op::Reload { pid } => {
            assert_eq!(seen.dnsmasq.as_ref().unwrap().pid, *pid);
            seen.reload_pending = false;
        }
        Op::RemoveFiles => {
            seen.directory = false;
            (seen.files, seen.interface, seen.reload_pending) = (None, None, false);
        }
        Op::DeleteNamespace => {
            assert!(seen.dnsmasq.is_none(), "nothing may run in it");
            seen.namespace = Namespace::Missing;
            seen.devices.clear();
            seen.lo_up = false;
        }
    }
}

impl Host for FakeHost {
    fn traces(&self) -> Result<BTreeSet<Id>> {
        let state = self.state();
        let there = state.nets.iter().filter(|(_, seen)| seen.directory || seen.namespace != Namespace::Missing);
        Ok(there.map(|(id, _)| id.clone()).collect())
    }

    fn observe(&self, network: &Id, _: Option<&Desired>) -> Result<Observed> {
        Ok(self.of(network))
    }

    fn apply(&self, target: Target, op: &Op) -> Result<()> {
        let mut state = self.state();
        if let Some(left) = state.fail.get_mut(target.id).filter(|left| **left > 0) {
            *left -= 1;
            let source = std::io::Error::other("made to fail");
            return Err(HostError::File { path: target.id.as_ref().into(), source });
        }
        state.next_pid += 1;
        let pid = 1000 + state.next_pid;
        if *op == Op::StartDnsmasq {
            state.ended.insert(pid, Arc::default());
        }
        if let Op::StopDnsmasq { pid } = op {
            state.at_stop.iter().for_each(|look| look());
            if let Some(ended) = state.ended.remove(pid) {
                ended.notify_one();
            }
        }
        step(state.nets.entry(target.id.clone()).or_default(), target.desired, op, pid);
        state.done.push((target.id.clone(), op.clone()));
        drop(state);
        self.changed.notify_waiters();
        Ok(())
    }

    fn leases(&self, _: &Id) -> Leases {
        Leases::default()
    }

    fn release(&self, _: &Id, _: &str, _: &[Release]) -> Result<()> {
        Ok(())
    }

    fn relieve(&self, target: Target) -> Result<Relief> {
        let state = Arc::clone(&self.state);
        let network = target.id.clone();
        state.lock().unwrap().reliefs.push((network.clone(), true));
        Ok(Relief::new(move || state.lock().unwrap().reliefs.push((network, false))))
    }

    fn settle(&self, _: i32, _: Duration) -> bool {
        true
    }

    fn cpu_time(&self, _: i32) -> Option<Duration> {
        None
    }

    fn exited(&self, pid: i32) -> BoxFuture<'static, ()> {
        let ended = self.state().ended.get(&pid).cloned();
        Box::pin(async move {
            // Else it ended before anybody looked.
            if let Some(ended) = ended {
                ended.notified().await;
            }
        })
    }
}
