//! What is counted, and pings.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use linux::{Netns, Program};

use super::paper::Paper;

/// The longest that a ping may take to get through.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two pings of an instance that is being booted.
const AGAIN: Duration = Duration::from_millis(5);
const LIMIT: Duration = Duration::from_secs(30);

/// Checks so far.
#[derive(Debug, Default)]
pub struct Checks {
    pub passed: usize,
    pub failed: usize,
}

impl Checks {
    /// Counts and prints one.
    pub fn note(&mut self, paper: &Paper, passed: bool, what: &str, detail: &str) {
        if passed {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        paper.check(passed, what, detail);
    }
}

fn ping(from: &Netns, arguments: &[&str], to: IpAddr) -> Result<linux::proc::Output> {
    let program = Program::new("ping").args(["-n"]).args(arguments).arg(to.to_string()).netns(from);
    Ok(program.run(LIMIT)?)
}

/// When an address first answers pings from a namespace, which may not be there yet.
pub fn first_answer(namespace: &str, to: IpAddr, given_up: &AtomicBool) -> Result<Instant> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // Short, since a request may be lost to a bridge that is being built; without an address it fails at once.
        if let Ok(from) = Netns::open(namespace)
            && ping(&from, &["-c", "1", "-W", "0.1"], to)?.success()
        {
            return Ok(Instant::now());
        }
        if Instant::now() >= deadline || given_up.load(Ordering::Relaxed) {
            bail!("{to} does not answer pings from {namespace}");
        }
        thread::sleep(AGAIN);
    }
}

/// The round trip of an address that is to answer.
pub fn round_trip(from: &Netns, to: IpAddr) -> Result<Option<Duration>> {
    let output = ping(from, &["-c", "3", "-i", "0.05", "-W", "1"], to)?;
    if !output.success() {
        return Ok(None);
    }
    // `rtt min/avg/max/mdev = 0.030/0.047/0.060/0.012 ms`
    let times = output.stdout.rsplit_once(" = ").map(|(_, times)| times).unwrap_or_default();
    let least = times.split('/').next().and_then(|text| text.trim().parse::<f64>().ok());
    Ok(least.map(|milliseconds| Duration::from_secs_f64(milliseconds / 1000.0)))
}

/// Whether none of several pings gets an answer.
pub fn is_silent(from: &Netns, to: IpAddr) -> Result<bool> {
    Ok(!ping(from, &["-c", "3", "-i", "0.2", "-W", "0.5"], to)?.success())
}
