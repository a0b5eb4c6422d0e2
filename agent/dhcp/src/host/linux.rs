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
use std::time::Duration;

use ::linux::route::Route;
use ::linux::{Handle, Idempotent, Netns, Process, Program, Sysctl, addr, file, link, proc, sysctl};
use futures::future::BoxFuture;
use ipnet::IpNet;

use super::{Host, HostError, InterfaceDriver, NAMESPACE_PREFIX, Release, Result, Target, namespace, release};
use crate::files::{Files, Leases, directory, initial_leases, log_dir};
use crate::model::{Id, id};
use crate::plan::{Desired, Dnsmasq, Namespace, Observed, Op, SeenAddress, SeenDevice};
use crate::settings::Settings;

/// How long dnsmasq may take to read its files and go to the background: 10,000 hosts with leases take 6 s of processor.
const START_LIMIT: Duration = Duration::from_secs(120);
/// How long dnsmasq may take to end after SIGTERM; a reload under way has to end first.
const STOP_GRACE: Duration = Duration::from_secs(5);
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
