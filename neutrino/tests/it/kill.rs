//! kill -9 of the whole process at random moments of a load of creates, updates and deletes (NUMBERS: I1 to I8, I11, I12).
//!
//! After each restart: no invariant is broken, every acknowledged write is there and every acknowledged delete is not, the
//! host is as the database says within 10 s. Two instances ping each other all the while and lose nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linux::proc::Signal;
use linux::{Netns, Process, Program};
use neutrino::instance::{self, Api, Identity, Request, Store};
use serde_json::{Value, json};
use testkit::database::{Kind, Server};
use testkit::lab::Lab;

use crate::invariants;

/// How often the process is killed; the environment may ask for another number.
fn rounds(usual: usize) -> usize {
    std::env::var("KILL_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

const CONVERGED: Duration = Duration::from_secs(10);
const WORKERS: usize = 4;

/// A small generator, so that a failure can be repeated from its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % sides.max(1)
    }
}

/// What was acknowledged, by path of the object: the name it must have, or that it must be gone. Objects that a request
/// was under way for when the process died are unknown and left out.
#[derive(Default)]
struct Acknowledged(Mutex<BTreeMap<String, Option<String>>>);

impl Acknowledged {
    fn set(&self, path: &str, name: Option<&str>) {
        self.0.lock().unwrap().insert(path.to_owned(), name.map(str::to_owned));
    }
    fn forget(&self, path: &str) {
        self.0.lock().unwrap().remove(path);
    }
    fn all(&self) -> BTreeMap<String, Option<String>> {
        self.0.lock().unwrap().clone()
    }
}

struct Service {
    process: Process,
    endpoint: String,
}

pub fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(20)))
        .build()
        .into()
}

pub fn send(agent: &ureq::Agent, method: &str, url: &str, body: Option<Value>) -> Result<(u16, Value), ureq::Error> {
    let text = body.map(|body| body.to_string());
    let mut answer = match (method, &text) {
        ("POST", Some(text)) => agent.post(url).header("Content-Type", "application/json").send(text.as_str())?,
        ("PUT", Some(text)) => agent.put(url).header("Content-Type", "application/json").send(text.as_str())?,
        ("DELETE", _) => agent.delete(url).call()?,
        _ => agent.get(url).call()?,
    };
    let status = answer.status().as_u16();
    let body = answer.body_mut().read_to_string()?;
    Ok((status, serde_json::from_str(&body).unwrap_or(Value::Null)))
}

fn start(state: &Path, url: &str, port: u16) -> Service {
    let process = Program::new(env!("CARGO_BIN_EXE_neutrino"))
        .args(["up", "--state-dir"])
        .arg(state)
        .args([
            "--bind_port",
            &port.to_string(),
            "--database-connection",
            url,
            "--quotas-quota_port",
            "-1",
            "--quotas-quota_network",
            "-1",
            "--quotas-quota_subnet",
            "-1",
        ])
        .detach_logging(&state.join("log"))
        .unwrap();
    let endpoint = format!("http://127.0.0.1:{port}");
    let begun = Instant::now();
    while send(&agent(), "GET", &endpoint, None).is_err() {
        let log = || std::fs::read_to_string(state.join("log")).unwrap_or_default();
        assert!(begun.elapsed() < Duration::from_secs(30), "the process does not answer after a start:\n{}", log());
        std::thread::yield_now();
    }
    Service { process, endpoint }
}

/// Creates, renames and deletes networks with a subnet, and ports on them, until told to stop or the process is gone.
fn work(endpoint: &str, seed: u64, host: &str, known: &Acknowledged, stop: &AtomicBool) {
    let mut dice = Dice(seed);
    let agent = agent();
    let mut networks: Vec<String> = Vec::new();
    let mut ports: Vec<String> = Vec::new();
    let url = |path: &str| format!("{endpoint}/v2.0/{path}");
    let name = format!("n{seed:x}");
    while !stop.load(Ordering::Relaxed) {
        let choice = dice.roll(10);
        let done: Result<(), ureq::Error> = (|| {
            match choice {
                0 if networks.len() < 2 => {
                    let (status, body) =
                        send(&agent, "POST", &url("networks"), Some(json!({"network": {"name": name}})))?;
                    assert_eq!(status, 201, "{body}");
                    let id = body["network"]["id"].as_str().unwrap().to_owned();
                    known.set(&format!("networks/{id}"), Some(&name));
                    let cidr = format!("10.{}.{}.0/24", dice.roll(200), dice.roll(250));
                    networks.push(id.clone());
                    let subnet = json!({"subnet": {"network_id": id, "ip_version": 4, "cidr": cidr, "name": name}});
                    let (status, body) = send(&agent, "POST", &url("subnets"), Some(subnet))?;
                    assert_eq!(status, 201, "{body}");
                    known.set(&format!("subnets/{}", body["subnet"]["id"].as_str().unwrap()), Some(&name));
                }
                1..=4 if !networks.is_empty() => {
                    let network = &networks[dice.roll(networks.len())];
                    let port = json!({"port": {"network_id": network, "name": name, "binding:host_id": host, "device_owner": "compute:nova"}});
                    let (status, body) = send(&agent, "POST", &url("ports"), Some(port))?;
                    assert_eq!(status, 201, "{body}");
                    let id = body["port"]["id"].as_str().unwrap().to_owned();
                    known.set(&format!("ports/{id}"), Some(&name));
                    ports.push(id);
                }
                5 | 6 if !ports.is_empty() => {
                    let path = format!("ports/{}", ports[dice.roll(ports.len())]);
                    let new = format!("{name}-{}", dice.roll(1000));
                    known.forget(&path);
                    let (status, body) = send(&agent, "PUT", &url(&path), Some(json!({"port": {"name": new}})))?;
                    assert_eq!(status, 200, "{body}");
                    known.set(&path, Some(&new));
                }
                7 | 8 if !ports.is_empty() => {
                    let id = ports.swap_remove(dice.roll(ports.len()));
                    let path = format!("ports/{id}");
                    known.forget(&path);
                    let (status, body) = send(&agent, "DELETE", &url(&path), None)?;
                    assert_eq!(status, 204, "{body}");
                    known.set(&path, None);
                }
                9 if !networks.is_empty() && ports.is_empty() => {
                    let id = networks.swap_remove(0);
                    let path = format!("networks/{id}");
                    known.forget(&path);
                    // Its subnet goes with it.
                    known.0.lock().unwrap().retain(|path, _| !path.starts_with("subnets/"));
                    let (status, body) = send(&agent, "DELETE", &url(&path), None)?;
                    assert_eq!(status, 204, "{body}");
                    known.set(&path, None);
                }
                _ => {}
            }
            Ok(())
        })();
        // The process is gone.
        if done.is_err() {
            return;
        }
    }
}

fn list(endpoint: &str, path: &str) -> Vec<Value> {
    let (status, body) = send(&agent(), "GET", &format!("{endpoint}/v2.0/{path}"), None).unwrap();
    assert_eq!(status, 200, "{body}");
    body[path.split('?').next().unwrap()].as_array().cloned().unwrap_or_default()
}

fn check_acknowledged(endpoint: &str, known: &BTreeMap<String, Option<String>>) {
    let mut there: BTreeMap<String, String> = BTreeMap::new();
    for kind in ["networks", "subnets", "ports"] {
        for object in list(endpoint, &format!("{kind}?fields=id&fields=name")) {
            there.insert(
                format!("{kind}/{}", object["id"].as_str().unwrap()),
                object["name"].as_str().unwrap().to_owned(),
            );
        }
    }
    for (path, name) in known {
        assert_eq!(there.get(path), name.as_ref(), "{path}: what was acknowledged is not what there is");
    }
}

/// Why the host is not as the service says; empty if it is.
fn differences(endpoint: &str, state: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for subnet in list(endpoint, "subnets?enable_dhcp=true") {
        wanted.entry(subnet["network_id"].as_str().unwrap().to_owned()).or_default();
    }
    for port in list(endpoint, "ports") {
        let network = port["network_id"].as_str().unwrap();
        if port["device_owner"] != "network:dhcp"
            && let Some(macs) = wanted.get_mut(network)
            && port["fixed_ips"].as_array().is_some_and(|ips| !ips.is_empty())
        {
            macs.insert(port["mac_address"].as_str().unwrap().to_owned());
        }
    }
    let namespaces: BTreeSet<String> =
        Netns::list().unwrap().iter().filter_map(|name| name.strip_prefix("qdhcp-").map(str::to_owned)).collect();
    let expected: BTreeSet<String> = wanted.keys().cloned().collect();
    if namespaces != expected {
        found.push(format!("namespaces {namespaces:?} instead of {expected:?}"));
    }
    for (network, macs) in &wanted {
        let hosts = std::fs::read_to_string(state.join("dhcp").join(network).join("host")).unwrap_or_default();
        let served: BTreeSet<String> =
            hosts.lines().filter_map(|line| line.split(',').next().map(str::to_owned)).collect();
        if served != *macs {
            found.push(format!("DHCP of {network} serves {} ports instead of {}", served.len(), macs.len()));
        }
    }
    found
}

fn await_convergence(endpoint: &str, state: &Path, round: usize) -> Duration {
    let begun = Instant::now();
    loop {
        let found = differences(endpoint, state);
        if found.is_empty() {
            return begun.elapsed();
        }
        assert!(
            begun.elapsed() < CONVERGED,
            "round {round}: the host did not converge within {CONVERGED:?}: {found:#?}"
        );
        // Between two looks, not instead of a condition.
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn killed_at_random_moments_nothing_is_lost() {
    let lab = Lab::new();
    let host = lab.host("killed");
    let state = host.directory().join("state");
    std::fs::create_dir_all(&state).unwrap();
    let url = format!("sqlite:///{}", state.join("neutrino.sqlite").display());
    host.run(|| run(&state, &url, rounds(200)));
}

#[test]
fn killed_at_random_moments_nothing_is_lost_on_mariadb() {
    let lab = Lab::new();
    let host = lab.host("killed");
    let state = host.directory().join("state");
    std::fs::create_dir_all(&state).unwrap();
    host.run(|| {
        let server = Server::start(Kind::Mariadb);
        let database = server.database();
        run(&state, &database.url(), rounds(40));
    });
}

fn run(state: &Path, url: &str, rounds: usize) {
    let seed: u64 = std::env::var("KILL_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(20_261_130);
    println!("KILL_SEED={seed} KILL_ROUNDS={rounds}");
    let mut dice = Dice(seed);
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

    let service = start(state, url, 19_700);
    let (status, network) = send(
        &agent(),
        "POST",
        &format!("{}/v2.0/networks", service.endpoint),
        Some(json!({"network": {"name": "base"}})),
    )
    .unwrap();
    assert_eq!(status, 201, "{network}");
    let subnet = json!({"subnet": {"network_id": network["network"]["id"], "ip_version": 4, "cidr": "192.0.2.0/24"}});
    let (status, body) = send(&agent(), "POST", &format!("{}/v2.0/subnets", service.endpoint), Some(subnet)).unwrap();
    assert_eq!(status, 201, "{body}");
    let store = Store::new(state);
    let api = Api::new(&service.endpoint, Identity::default()).unwrap();
    let boot = |name: &str| {
        let request = Request {
            network: "base".into(),
            name: Some(name.into()),
            host: None,
            timeout: Duration::from_secs(30),
            keep: false,
        };
        instance::create(&api, &store, &request, &mut |_, _| {}).unwrap()
    };
    let (_first, second) = (boot("one"), boot("two"));
    let log = state.join("ping");
    let target = second.leased[0].to_string();
    let netns = Netns::open("instance-one").unwrap();
    let ping =
        Program::new("ping").args(["-n", "-i", "0.01", "-W", "5", &target]).netns(&netns).detach_logging(&log).unwrap();

    let known = Acknowledged::default();
    let mut service = service;
    let (mut writes, mut slowest) = (0, Duration::ZERO);
    for round in 0..rounds {
        let stop = AtomicBool::new(false);
        let moment = Duration::from_millis(20 + dice.roll(400) as u64);
        std::thread::scope(|scope| {
            for worker in 0..WORKERS {
                let (endpoint, known, stop, name) = (service.endpoint.as_str(), &known, &stop, name.as_str());
                let seed = seed ^ ((round * WORKERS + worker + 1) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                scope.spawn(move || work(endpoint, seed, name, known, stop));
            }
            std::thread::park_timeout(moment);
            service.process.signal(Signal::SIGKILL).unwrap();
            assert!(service.process.wait_exit(Duration::from_secs(10)), "it survives a SIGKILL");
            stop.store(true, Ordering::Relaxed);
        });
        let broken = runtime.block_on(invariants::violations(url));
        assert!(broken.is_empty(), "round {round}: {broken:#?}");
        service = start(state, url, 19_700);
        let acknowledged = known.all();
        writes = writes.max(acknowledged.len());
        check_acknowledged(&service.endpoint, &acknowledged);
        slowest = slowest.max(await_convergence(&service.endpoint, state, round));
        // Keeps the rounds alike: what is left of the round goes.
        if round % 5 == 4 {
            clear(&service.endpoint, &known);
        }
    }
    ping.signal(Signal::SIGINT).unwrap();
    assert!(ping.wait_exit(Duration::from_secs(10)), "ping does not end");
    let report = std::fs::read_to_string(&log).unwrap();
    let summary = report
        .lines()
        .find(|line| line.contains("packets transmitted"))
        .unwrap_or_else(|| panic!("no summary in {report}"));
    println!(
        "{rounds} kills, up to {writes} objects acknowledged at once, slowest convergence {slowest:?}; ping: {summary}"
    );
    let numbers: Vec<u64> = summary.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    // One may be under way at the end.
    assert!(numbers[0] > 100 && numbers[0] - numbers[1] <= 1, "pings were lost: {summary}");
    clear(&service.endpoint, &known);
    for name in ["one", "two"] {
        instance::delete(&api, &store, name).unwrap();
    }
    await_convergence(&service.endpoint, state, rounds);
    let broken = runtime.block_on(invariants::violations(url));
    assert!(broken.is_empty(), "{broken:#?}");
    service.process.terminate(Duration::from_secs(20)).unwrap();
}

/// Deletes all that the load made.
fn clear(endpoint: &str, known: &Acknowledged) {
    let agent = agent();
    for (kind, filter) in [("ports", "ports?device_owner=compute:nova"), ("networks", "networks")] {
        for object in list(endpoint, filter) {
            let name = object["name"].as_str().unwrap_or_default();
            if !name.starts_with('n') {
                continue;
            }
            let path = format!("{kind}/{}", object["id"].as_str().unwrap());
            let (status, body) = send(&agent, "DELETE", &format!("{endpoint}/v2.0/{path}"), None).unwrap();
            assert_eq!(status, 204, "{path}: {body}");
        }
    }
    known.0.lock().unwrap().clear();
}
