//! The scenario with a real guest: a kernel under QEMU, in software, on a tap device that is plugged as its port's.
//!
//! The guest's first process (`tools/guest/init`) says what it does on the serial console, in lines that begin with `guest:`.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use linux::{Handle, LinkSpec, Program, link, tap::TapSpec};
use serde_json::json;

use super::{
    HOST, STATE,
    checks::{Checks, round_trip},
    paper::{Paper, time},
    scenario::{boot, network, subnet, wait_for_agents, wait_for_dhcp},
};
use crate::instance::{Api, Identity, Port};

/// A guest without KVM takes some seconds, on a busy machine many.
const PATIENCE: Duration = Duration::from_secs(120);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_secs(2);

/// What the guest has said, line by line.
struct Console {
    path: PathBuf,
    start: Instant,
    read: usize,
}

impl Console {
    /// Waits for the next line of the guest's own, and when it came.
    fn next(&mut self) -> Result<(String, Duration)> {
        loop {
            let text = String::from_utf8_lossy(&fs::read(&self.path).unwrap_or_default()).into_owned();
            // Only whole lines.
            let whole = text.rsplit_once('\n').map(|(whole, _)| whole).unwrap_or_default();
            let mut lines = whole.lines().filter_map(|line| line.trim_end().strip_prefix("guest: "));
            if let Some(line) = lines.nth(self.read) {
                self.read += 1;
                return Ok((line.to_owned(), self.start.elapsed()));
            }
            if self.start.elapsed() > PATIENCE {
                let last: Vec<&str> = whole.lines().rev().take(15).collect();
                let last: Vec<&str> = last.into_iter().rev().collect();
                bail!("the guest has said nothing more for {PATIENCE:?}; its console ends with:\n{}", last.join("\n"));
            }
            thread::sleep(LOOK_EVERY);
        }
    }
}

pub fn play(paper: &Paper, checks: &mut Checks, endpoint: &str, image: &Path) -> Result<()> {
    let api = Api::new(endpoint, Identity::default())?;
    wait_for_agents(&api)?;
    paper.step("server", &format!("API on {endpoint}, DHCP agent and Linux bridge agent alive"));
    let blue = network(&api, paper, "blue", json!({}))?;
    let options = json!({"ip_version": 4, "cidr": "192.0.2.0/24", "dns_nameservers": ["192.0.2.53"]});
    subnet(&api, paper, "blue", &blue, options)?;
    let neighbour = wait_for_dhcp(&api, paper, "blue", &blue, 1)?;
    let vm1 = boot(&api, paper, "vm1", "blue", neighbour)?;
    let vm1_ip = vm1.address_like(true)?;

    let start = Instant::now();
    let port = api.create_port(&blue, "guest", &uuid::Uuid::new_v4().to_string(), HOST)?;
    let own = port.fixed_ips.first().context("the guest's port has an address")?.ip_address;
    paper.step("guest", &format!("port {} on network blue: {} {own}", port.id, port.mac_address));
    let tap = plug(&port)?;
    paper.step("guest", &format!("plugged in as {tap}"));
    let path = Path::new(STATE).join("guest.console");
    let qemu = start_guest(image, &tap, &port, vm1_ip, &path)?;
    paper.step("guest", "QEMU started, without KVM");

    let mut said = listen(paper, Console { path, start, read: 0 })?;
    paper.line("");
    let active = wait_active(&api, &port)?;
    checks.note(paper, active, "the port of the guest is ACTIVE", "");
    let kernel = said.remove_first("kernel");
    checks.note(
        paper,
        kernel.is_some(),
        "a kernel of its own runs in it",
        kernel.as_deref().unwrap_or("it said nothing"),
    );
    let card = said.remove_first("card").unwrap_or_default();
    checks.note(paper, card == port.mac_address.to_string(), "its card has the port's MAC address", &card);
    let lease = said.remove_first("lease").unwrap_or_default();
    let is_own = lease.starts_with(&format!("{own}/24 "));
    checks.note(paper, is_own, &format!("it leased {own} from the DHCP agent"), &lease);
    let answered = said.remove_first("ping");
    checks.note(paper, answered.is_some(), &format!("it pings vm1 at {vm1_ip}"), &said.failure);
    let back = round_trip(&vm1.namespace, own)?;
    checks.note(
        paper,
        back.is_some(),
        &format!("vm1 pings it at {own}"),
        &back.map_or_else(|| "no answer".into(), time),
    );
    qemu.stop(GRACE)?;
    Ok(())
}

/// As a hypervisor does: a tap device in the network's bridge.
fn plug(port: &Port) -> Result<String> {
    let tap = format!("tap{}", port.id.chars().take(11).collect::<String>());
    let host = Handle::new()?;
    TapSpec::new(&tap).create()?;
    let bridge = host.link_ensure(&LinkSpec::bridge(&linuxbridge::names::bridge(&port.network_id)).up())?;
    host.link_set(link::set(tap.as_str()).master(bridge).up())?;
    Ok(tap)
}

fn start_guest(image: &Path, tap: &str, port: &Port, ping: IpAddr, console: &Path) -> Result<linux::proc::Child> {
    // Its graphics, firmware and devices would take most of the time: it has a serial line and a card.
    let qemu = Program::new("qemu-system-x86_64")
        .args(["-machine", "q35,accel=tcg", "-cpu", "max", "-smp", "1", "-m", "256"])
        .args(["-nodefaults", "-display", "none", "-no-reboot", "-monitor", "none"])
        .args(["-serial".to_owned(), format!("file:{}", console.display())])
        .arg("-kernel")
        .arg(image.join("kernel"))
        .arg("-initrd")
        .arg(image.join("initrd"))
        .args(["-append".to_owned(), format!("console=ttyS0 quiet rdinit=/init panic=-1 neutrino.ping={ping}")])
        .args(["-netdev".to_owned(), format!("tap,id=net0,ifname={tap},script=no,downscript=no")])
        .args(["-device".to_owned(), format!("virtio-net-pci,netdev=net0,mac={},romfile=", port.mac_address)]);
    Ok(qemu.spawn_logging(&Path::new(STATE).join("qemu.log"))?)
}

#[derive(Default)]
struct Said {
    lines: Vec<(String, String)>,
    failure: String,
}

impl Said {
    fn remove_first(&mut self, what: &str) -> Option<String> {
        let index = self.lines.iter().position(|(word, _)| word == what)?;
        Some(self.lines.remove(index).1)
    }
}

fn listen(paper: &Paper, mut console: Console) -> Result<Said> {
    let mut said = Said::default();
    loop {
        let (line, _) = console.next()?;
        let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match word {
            "done" => return Ok(said),
            "failed" => {
                paper.step("guest", &format!("says: {line}"));
                said.failure = rest.to_owned();
            }
            "ping" => {
                paper.step(
                    "guest",
                    &format!("ping to {rest} is answered, {} after the port", time(console.start.elapsed())),
                );
                said.lines.push((word.to_owned(), rest.to_owned()));
            }
            _ => {
                paper.step("guest", &format!("says: {line}"));
                said.lines.push((word.to_owned(), rest.to_owned()));
            }
        }
    }
}

fn wait_active(api: &Api, port: &Port) -> Result<bool> {
    let deadline = Instant::now() + Duration::from_secs(10);
    while Instant::now() < deadline {
        if api.port(&port.id)?.status == "ACTIVE" {
            return Ok(true);
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(false)
}
