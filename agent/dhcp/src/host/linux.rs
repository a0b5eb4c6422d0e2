//! The real host: namespaces, devices in them, files and dnsmasq processes.
//!
//! Reference: `neutron/agent/linux/dhcp.py`, `neutron/agent/linux/interface.py`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ::linux::proc::Child;
use ::linux::route::Route;
use ::linux::{Handle, Idempotent, Netns, Process, Program, Sysctl, addr, file, link, proc, sysctl};
use futures::future::BoxFuture;
use ipnet::IpNet;

use super::{Host, HostError, InterfaceDriver, NAMESPACE_PREFIX, Release, Relief, Result, Target, namespace, release};
use crate::files::{Files, Leases, directory, initial_leases, log_dir, relief_arguments, relief_leases};
use crate::model::{Id, id};
use crate::plan::{Desired, Dnsmasq, Namespace, Observed, Op, SeenAddress, SeenDevice};
use crate::settings::Settings;

/// How long dnsmasq may take to read its files and go to the background: 10,000 hosts with leases take 6 s of processor.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long dnsmasq may take to end after SIGTERM; a reload under way has to end first.
const STOP_GRACE: Duration = Duration::from_secs(5);
/// How long a second dnsmasq may take until it answers, and how long it lasts when nobody ends it.
const RELIEF_READY: Duration = Duration::from_secs(30);
const RELIEF_LASTS: Duration = Duration::from_secs(300);
const RELIEF_PID: &str = "relief.pid";
const RELIEF_LEASES: &str = "relief.leases";
/// Between two looks at a process that is busy.
const LOOK: Duration = Duration::from_millis(5);
/// Written before the files, removed when dnsmasq was told of them.
const PENDING: &str = ".reload";

/// See the module head.
#[derive(Clone, Debug)]
pub struct LinuxHost {
    settings: Settings,
    driver: Arc<dyn InterfaceDriver>,
}

impl LinuxHost {
    /// A host on which devices are plugged by `driver`.
    pub fn new(settings: Settings, driver: Arc<dyn InterfaceDriver>) -> LinuxHost {
        LinuxHost { settings, driver }
    }

    fn path(&self, network: &Id, name: &str) -> PathBuf {
        directory(&self.settings, network).join(name)
    }

    fn dnsmasq(&self, network: &Id) -> Result<Option<Process>> {
        Ok(Process::adopt(&self.path(network, "pid"), network)?)
    }

    fn observe_namespace(&self, observed: &mut Observed, namespace: &Netns) -> Result<()> {
        let handle = namespace.handle()?;
        let addresses = handle.addresses(None)?;
        let routes = handle.routes(None)?;
        for link in handle.links()? {
            if link.name == "lo" {
                observed.lo_up = link.up;
                continue;
            }
            // Others are the kernel's (tunl0, gretap0… are in every namespace once their module is loaded), or somebody's.
            if !link.name.starts_with("ns-") && !link.name.starts_with("tap") {
                continue;
            }
            let own: Vec<_> = routes.iter().filter(|route| route.dev == Some(link.index)).collect();
            let own_link_local = link.mac.map(|mac| {
                let prefix = "fe80::/64".parse().expect("it is a prefix");
                IpAddr::V6(mac.eui64(prefix))
            });
            let default = |route: &&&Route| route.is_default() && route.protocol != ::linux::route::Protocol::Kernel;
            observed.devices.push(SeenDevice {
                mac: link.mac,
                mtu: link.mtu,
                up: link.up,
                addresses: addresses
                    .iter()
                    .filter(|address| address.index == link.index && Some(address.net.addr()) != own_link_local)
                    .map(|address| SeenAddress { net: address.net, dynamic: !address.permanent() })
                    .collect(),
                gateways: own.iter().filter(default).filter_map(|route| route.gateway).collect(),
                on_link: own.iter().filter(|route| is_on_link(route)).map(|route| route.net.addr()).collect(),
                name: link.name,
            });
        }
        Ok(())
    }

    /// The handle of the namespace, and the index of the device in it.
    fn device(&self, target: Target) -> Result<(Handle, u32)> {
        let handle = Handle::in_netns(&namespace(target.id))?;
        let name = target.desired.map_or("", |desired| &desired.device.name);
        let index = handle.index(name)?;
        Ok((handle, index))
    }

    fn write_files(&self, target: Target) -> Result<()> {
        let Some(desired) = target.desired else { return Ok(()) };
        make_directory(&directory(&self.settings, target.id))?;
        file::atomic_write(&self.path(target.id, PENDING), "")?;
        for (name, text) in desired.files.each() {
            file::write_if_changed(&self.path(target.id, name), text)?;
        }
        self.write_interface(target)
    }

    fn write_interface(&self, target: Target) -> Result<()> {
        let Some(desired) = target.desired else { return Ok(()) };
        make_directory(&directory(&self.settings, target.id))?;
        file::write_if_changed(&self.path(target.id, "interface"), &desired.device.name)?;
        Ok(())
    }

    fn told(&self, network: &Id) -> Result<()> {
        remove_file(&self.path(network, PENDING))
    }

    fn start(&self, target: Target) -> Result<()> {
        let (Some(network), Some(desired)) = (target.network, target.desired) else { return Ok(()) };
        let leases = self.path(target.id, "leases");
        let existing = read(&leases).unwrap_or_default();
        file::atomic_write(&leases, initial_leases(network, &existing))?;
        if let Some(dir) = log_dir(&self.settings, target.id)
            && let Err(error) = make_directory(&dir)
        {
            tracing::error!(network.id = %target.id, %error, "There will be no log of dnsmasq");
        }
        let inside = Netns::open(&namespace(target.id))?;
        let run = || -> Result<()> {
            let [program, arguments @ ..] = desired.args.as_slice() else { return Ok(()) };
            Program::new(program).args(arguments).netns(&inside).check(START_LIMIT)?;
            Ok(())
        };
        // A dnsmasq of this network that the pid file does not know of has the ports.
        if let Err(error) = run() {
            let ours = desired.args.iter().find(|arg| arg.starts_with("--pid-file=")).cloned().unwrap_or_default();
            let strays = proc::find(|args| args.contains(&ours))?;
            if strays.is_empty() {
                return Err(error);
            }
            for stray in strays {
                tracing::warn!(network.id = %target.id, pid = stray.pid(), "Ending a dnsmasq that nobody knew of");
                stray.terminate(STOP_GRACE)?;
            }
            run()?;
        }
        self.told(target.id)
    }

    /// Runs the second dnsmasq. It lasts a bounded time even when this agent does not.
    fn start_relief(&self, target: Target) -> Result<Option<Child>> {
        let Some(desired) = target.desired else { return Ok(None) };
        let dir = directory(&self.settings, target.id);
        let leases = read(&dir.join("leases")).unwrap_or_default();
        file::atomic_write(&dir.join(RELIEF_LEASES), relief_leases(&leases))?;
        let inside = Netns::open(&namespace(target.id))?;
        let arguments = relief_arguments(&desired.args, &dir.join(RELIEF_PID), &dir.join(RELIEF_LEASES));
        let seconds = RELIEF_LASTS.as_secs().to_string();
        Ok(Some(Program::new("timeout").arg(seconds).args(arguments).netns(&inside).spawn()?))
    }

    fn relief_pid(&self, network: &Id) -> Option<i32> {
        let process = Process::adopt(&self.path(network, RELIEF_PID), network).ok()??;
        Some(process.pid())
    }

    fn stop(&self, network: &Id, pid: i32) -> Result<()> {
        // The number may be another process's by now.
        match Process::open_marked(pid, network)? {
            Some(process) => Ok(process.terminate(STOP_GRACE)?),
            None => Ok(()),
        }
    }
}

impl Host for LinuxHost {
    fn traces(&self) -> Result<BTreeSet<Id>> {
        let mut found = BTreeSet::new();
        if let Ok(entries) = fs::read_dir(&self.settings.confs) {
            let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
            found.extend(names.filter(|name| is_uuid(name)).filter_map(|name| id(&name)));
        }
        for name in Netns::list()?.into_iter().chain(Netns::list_stale()?) {
            let network = name.strip_prefix(NAMESPACE_PREFIX).filter(|rest| is_uuid(rest));
            found.extend(network.and_then(id));
        }
        Ok(found)
    }

    fn observe(&self, network: &Id, desired: Option<&Desired>) -> Result<Observed> {
        let name = namespace(network);
        let dir = directory(&self.settings, network);
        let mut observed = Observed { directory: dir.is_dir(), ..Observed::default() };
        let inside = match Netns::open(&name) {
            Ok(inside) => {
                observed.namespace = Namespace::Present;
                self.observe_namespace(&mut observed, &inside)?;
                Some(inside)
            }
            Err(error) if error.is_not_found() => {
                if Path::new(::linux::netns::DIRECTORY).join(&name).exists() {
                    observed.namespace = Namespace::Stale;
                }
                None
            }
            Err(error) => return Err(error.into()),
        };
        if let Some(desired) = desired
            && self.driver.is_plugged(&desired.device.tap)?
        {
            observed.taps.insert(desired.device.tap.clone());
        }
        if !observed.directory {
            return Ok(observed);
        }
        observed.dnsmasq = self.dnsmasq(network)?.map(|process| Dnsmasq {
            pid: process.pid(),
            args: process.command_line(),
            in_namespace: inside
                .as_ref()
                .is_some_and(|inside| Netns::of_pid(process.pid()).is_ok_and(|its| its.same_as(inside))),
        });
        let read = |name| read(&dir.join(name));
        observed.files =
            read("host").and_then(|host| Some(Files { host, addn_hosts: read("addn_hosts")?, opts: read("opts")? }));
        observed.interface = read("interface");
        observed.reload_pending = dir.join(PENDING).exists();
        observed.relief = self.relief_pid(network);
        Ok(observed)
    }

    fn apply(&self, target: Target, op: &Op) -> Result<()> {
        let network = target.id;
        match op {
            Op::CreateNamespace => {
                Netns::create(&namespace(network)).or_exists()?;
                Ok(())
            }
            Op::PrepareNamespace => {
                let inside = Netns::open(&namespace(network))?;
                inside.handle()?.link_set(link::set("lo").up())?;
                let settings = Sysctl::in_netns(&inside);
                settings.set("net/ipv4/ip_nonlocal_bind", "1")?;
                // Addresses come from the server, which has made sure that they are unique; and several agents of a
                // network have the metadata address.
                let accept = sysctl::ipv6("default", "accept_ra");
                let detect = sysctl::ipv6("default", "accept_dad");
                settings.set_all([(&*accept, "0"), (&*detect, "0")]).or_missing()?;
                Ok(())
            }
            Op::Unplug { device } => {
                let inside = match Netns::open(&namespace(network)) {
                    Ok(inside) => Some(inside),
                    Err(error) if error.is_not_found() => None,
                    Err(error) => return Err(error.into()),
                };
                Ok(self.driver.unplug(device, inside.as_ref())?)
            }
            Op::Plug => {
                let Some(desired) = target.desired else { return Ok(()) };
                Ok(self.driver.plug(&desired.device, &Netns::open(&namespace(network))?)?)
            }
            Op::SetMac => {
                let (handle, index) = self.device(target)?;
                let Some(desired) = target.desired else { return Ok(()) };
                handle.link_set(link::set(index).mac(desired.device.mac))?;
                Ok(())
            }
            Op::SetMtu => {
                let Some(desired) = target.desired else { return Ok(()) };
                Ok(self.driver.set_mtu(&desired.device, &Netns::open(&namespace(network))?)?)
            }
            Op::SetUp => {
                let (handle, index) = self.device(target)?;
                handle.link_set(link::set(index).up())?;
                Ok(())
            }
            Op::DeleteAddress { net } => {
                let (handle, index) = self.device(target)?;
                handle.address_delete(index, *net)?;
                Ok(())
            }
            Op::AddAddress { net } => {
                let (handle, index) = self.device(target)?;
                let options = addr::AddOptions { no_dad: true, ..addr::AddOptions::default() };
                handle.run(addr::add(index, *net, options)).or_exists()?;
                Ok(())
            }
            Op::AddOnLink { ip } => {
                let (handle, index) = self.device(target)?;
                handle.route_replace(&Route::to(IpNet::from(*ip)).dev(index))?;
                Ok(())
            }
            Op::DeleteOnLink { ip } => {
                let (handle, index) = self.device(target)?;
                handle.route_delete(&Route::to(IpNet::from(*ip)).dev(index))?;
                Ok(())
            }
            Op::SetGateway { ip } => {
                let (handle, index) = self.device(target)?;
                handle.route_replace(&Route::default_via(*ip).dev(index))?;
                Ok(())
            }
            Op::DeleteGateway { ip } => {
                let (handle, index) = self.device(target)?;
                handle.route_delete(&Route::default_via(*ip).dev(index))?;
                Ok(())
            }
            Op::WriteFiles => self.write_files(target),
            Op::WriteInterface => self.write_interface(target),
            Op::StopDnsmasq { pid } => self.stop(network, *pid),
            Op::StartDnsmasq => self.start(target),
            Op::Reload { pid } => {
                if let Some(process) = Process::open_marked(*pid, network)? {
                    process.reload()?;
                }
                self.told(network)
            }
            Op::RemoveFiles => {
                let path = directory(&self.settings, network);
                match fs::remove_dir_all(&path) {
                    Err(source) if source.kind() != io::ErrorKind::NotFound => Err(HostError::File { path, source }),
                    _ => Ok(()),
                }
            }
            Op::DeleteNamespace => {
                Netns::delete(&namespace(network))?;
                Ok(())
            }
        }
    }

    fn leases(&self, network: &Id) -> Leases {
        read(&self.path(network, "leases")).map(|text| Leases::parse(&text)).unwrap_or_default()
    }

    fn release(&self, network: &Id, device: &str, releases: &[Release]) -> Result<()> {
        let inside = Netns::open(&namespace(network))?;
        let handle = inside.handle()?;
        let index = handle.index(device)?;
        let servers: Vec<(IpAddr, u8)> = handle
            .addresses(Some(index))?
            .iter()
            .map(|address| (address.net.addr(), address.net.prefix_len()))
            .collect();
        let transaction = std::process::id() ^ index;
        if let Err(error) = inside.run(|| release::send(index, &servers, releases, transaction))? {
            tracing::warn!(network.id = %network, device, %error, "Could not send the release of a lease");
        }
        Ok(())
    }

    fn relieve(&self, target: Target) -> Result<Relief> {
        let died = || HostError::Died { network: target.id.clone() };
        let child = self.start_relief(target)?.ok_or_else(died)?;
        let (pid_file, lease_file) = (self.path(target.id, RELIEF_PID), self.path(target.id, RELIEF_LEASES));
        let network = target.id.clone();
        let relief = Relief::new(move || {
            if let Err(error) = child.stop(STOP_GRACE) {
                tracing::warn!(network.id = %network, %error, "Could not end a second dnsmasq");
            }
            for path in [pid_file, lease_file] {
                let _ = fs::remove_file(path);
            }
        });
        let deadline = Instant::now() + RELIEF_READY;
        while Instant::now() < deadline {
            if let Some(pid) = self.relief_pid(target.id) {
                return if self.settle(pid, RELIEF_READY) { Ok(relief) } else { Err(died()) };
            }
            thread::sleep(LOOK);
        }
        Err(died())
    }

    fn settle(&self, pid: i32, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        let mut idle = 0;
        let mut first = None;
        while Instant::now() < deadline {
            let Some((state, sleeps)) = activity(pid) else { return false };
            // Asleep in several looks, or in between them several times: it waits for clients. Reading files it does
            // not sleep, and waking up for them is not counted.
            idle = if state == 'S' { idle + 1 } else { 0 };
            if idle == 4 || sleeps >= *first.get_or_insert(sleeps) + 4 {
                return true;
            }
            thread::sleep(LOOK);
        }
        false
    }

    fn cpu_time(&self, pid: i32) -> Option<Duration> {
        let text = read(Path::new(&format!("/proc/{pid}/schedstat")))?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }

    fn exited(&self, pid: i32) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            match Process::open(pid) {
                Ok(Some(process)) => {
                    if let Err(error) = process.exited().await {
                        tracing::warn!(pid, %error, "Cannot watch a process");
                        // Whoever waits must not take this for its end.
                        std::future::pending::<()>().await;
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(pid, %error, "Cannot watch a process");
                    std::future::pending::<()>().await;
                }
            }
        })
    }
}

/// A host route through the device itself, made by an agent: how a gateway outside of the subnet is reached.
fn is_on_link(route: &Route) -> bool {
    let host = if route.net.addr().is_ipv4() { 32 } else { 128 };
    route.gateway.is_none() && route.net.prefix_len() == host && route.protocol != ::linux::route::Protocol::Kernel
}

/// The state letter of a process, `S` while it waits, and how often it went to sleep so far.
fn activity(pid: i32) -> Option<(char, u64)> {
    let status = read(Path::new(&format!("/proc/{pid}/status")))?;
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    Some((value("State:")?.chars().next()?, value("voluntary_ctxt_switches:")?.parse().ok()?))
}

fn is_uuid(text: &str) -> bool {
    uuid::Uuid::try_parse(text).is_ok()
}

fn read(path: &Path) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// dnsmasq reads its files as an ordinary user, so it must get there.
fn make_directory(path: &Path) -> Result<()> {
    let failed = |source| HostError::File { path: path.to_owned(), source };
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(failed)
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(HostError::File { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
