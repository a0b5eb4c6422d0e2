//! How often dnsmasq may be told to read its files again.
//!
//! dnsmasq is one thread, and a reload compares every host with every other and every lease with every host: it gives
//! no answers meanwhile. Measured (dnsmasq 2.90, 2 GHz): 6 µs a host, 2.5 ns a pair of hosts, 30 ns a pair of host and
//! lease: 8 ms for 1,000 hosts, 310 ms for 10,000, and 3.3 s for 10,000 with a lease each. So:
//!
//! - a reload that takes long gets a second dnsmasq that answers meanwhile ([`Pace::needs_relief`]);
//! - after a reload the next one waits: nine times as long as it took when clients had to wait, else twice.
//!
//! See `docs/adr/0003-dhcp-reloads.md`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::Id;

/// Pause after a reload, in durations of it: with clients waiting meanwhile, and without.
const PAUSE: u32 = 9;
const PAUSE_RELIEVED: u32 = 2;
/// Clients do not wait longer than this for an answer.
pub const RELIEF_FROM: Duration = Duration::from_millis(50);
/// Even an enormous network gets its changes within this.
const PAUSE_MAX: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Reload {
    at: Instant,
    predicted: Duration,
    pid: i32,
    cpu: Option<Duration>,
    relieved: bool,
}

/// See the module head.
#[derive(Debug)]
pub struct Pace {
    /// `bulk_reload_interval`: no two reloads of a network closer than this.
    least: Duration,
    relief_from: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    last: HashMap<Id, Reload>,
    /// Measured over predicted: how this machine compares with the one of the constants.
    factor: f64,
}

/// Processor time of one reload.
fn predicted(hosts: usize, leases: usize) -> Duration {
    let (hosts, leases) = (hosts as f64, leases as f64);
    Duration::from_secs_f64(6e-6 * hosts + 2.5e-9 * hosts * hosts + 30e-9 * hosts * leases)
}

impl Pace {
    /// With `least` between two reloads, and relief for those that take `relief_from` or more.
    pub fn new(least: Duration, relief_from: Duration) -> Pace {
        Pace { least, relief_from, state: Mutex::new(State { last: HashMap::new(), factor: 1.0 }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether dnsmasq will be busy for so long with reading its files that clients must be served by another one.
    pub fn needs_relief(&self, hosts: usize, leases: usize) -> bool {
        predicted(hosts, leases).mul_f64(self.state().factor) >= self.relief_from
    }

    /// When the network's dnsmasq may be told again; `None` for now. `cpu` is the processor time it has used so far.
    pub fn not_before(&self, network: &Id, pid: i32, cpu: Option<Duration>) -> Option<Instant> {
        let mut state = self.state();
        let State { last, factor } = &mut *state;
        let reload = last.get_mut(network).filter(|reload| reload.pid == pid)?;
        // What it has used since is at least the reload, once that is over; answers to clients are small beside it.
        if let (Some(before), Some(now)) = (reload.cpu, cpu)
            && reload.predicted > Duration::from_millis(5)
            && reload.at.elapsed() > reload.predicted * 4
        {
            let ratio = now.saturating_sub(before).as_secs_f64() / reload.predicted.as_secs_f64();
            *factor = (0.8 * *factor + 0.2 * ratio).clamp(0.2, 10.0);
            reload.cpu = None;
        }
        let cost = reload.predicted.mul_f64(*factor);
        let pause = if reload.relieved { cost * PAUSE_RELIEVED } else { cost * (PAUSE + 1) };
        let due = reload.at + pause.min(PAUSE_MAX).max(self.least);
        (due > Instant::now()).then_some(due)
    }

    /// dnsmasq was told just now, or, `relieved`, has read its files just now. `cpu` is what it had used before.
    pub fn reloaded(&self, network: &Id, pid: i32, cpu: Option<Duration>, size: (usize, usize), relieved: bool) {
        let predicted = predicted(size.0, size.1);
        let reload = Reload { at: Instant::now(), predicted, pid, cpu, relieved };
        self.state().last.insert(network.clone(), reload);
    }

    /// The network is gone.
    pub fn forget(&self, network: &Id) {
        self.state().last.remove(network);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::id;

    #[test]
    fn large_networks_wait_longer() {
        let pace = Pace::new(Duration::ZERO, RELIEF_FROM);
        let network = id("a").unwrap();
        assert_eq!(pace.not_before(&network, 1, None), None, "never told");
        pace.reloaded(&network, 1, None, (10_000, 10_000), false);
        let wait = pace.not_before(&network, 1, None).unwrap() - Instant::now();
        assert!((25..40).contains(&wait.as_secs()), "{wait:?}");
        assert_eq!(pace.not_before(&network, 2, None), None, "another process has not been told");
        pace.reloaded(&network, 1, None, (10_000, 10_000), true);
        let wait = pace.not_before(&network, 1, None).unwrap() - Instant::now();
        assert!((5..9).contains(&wait.as_secs()), "{wait:?}");
        assert!(pace.needs_relief(10_000, 0) && !pace.needs_relief(1_000, 1_000));
        pace.reloaded(&network, 1, None, (100, 100), false);
        let wait = pace.not_before(&network, 1, None).map_or(Duration::ZERO, |due| due - Instant::now());
        assert!(wait < Duration::from_millis(20), "{wait:?}");
        pace.reloaded(&network, 1, None, (1_000_000, 1_000_000), false);
        assert!(pace.not_before(&network, 1, None).unwrap() - Instant::now() <= PAUSE_MAX);
        pace.forget(&network);
        assert_eq!(pace.not_before(&network, 1, None), None);
    }

    #[test]
    fn the_operators_interval_is_kept() {
        let pace = Pace::new(Duration::from_secs(7), RELIEF_FROM);
        let network = id("a").unwrap();
        pace.reloaded(&network, 1, None, (1, 1), false);
        assert!(pace.not_before(&network, 1, None).unwrap() - Instant::now() > Duration::from_secs(6));
    }

    #[test]
    fn the_constants_give_the_measured_times() {
        let ms = |hosts, leases| predicted(hosts, leases).as_millis();
        assert!((6..11).contains(&ms(1_000, 0)));
        assert!((280..340).contains(&ms(10_000, 0)));
        assert!((3_000..3_600).contains(&ms(10_000, 10_000)));
    }
}
