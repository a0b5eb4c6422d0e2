//! Real DHCP clients for devices in a namespace: busybox's `udhcpc` for IPv4, ISC's `dhclient -6` for IPv6.
//!
//! They are started detached and go on renewing. What they get they apply by a script of ours, which also notes it in
//! a file of the client's directory. The resolver's configuration is never touched.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    fs,
    net::IpAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use types::IpNet;

use crate::{
    error::{Error, ErrorKind, Result},
    file::atomic_write,
    netns::Netns,
    proc::{Process, Program},
};

/// How often the lease's file is looked for. The client's script cannot call us.
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// How long a client gets to end by itself.
const GRACE: Duration = Duration::from_secs(3);

/// Which protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// DHCP for IPv4 (RFC 2131), by `udhcpc`.
    V4,
    /// DHCPv6 with an address (RFC 8415, "stateful"), by `dhclient -6`.
    V6,
}

/// What a server gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The address. The length of its prefix is the server's for IPv4, the client's setting for IPv6.
    pub net: IpNet,
    values: BTreeMap<String, String>,
}

impl Lease {
    /// The address alone.
    pub fn ip(&self) -> IpAddr {
        self.net.addr()
    }

    /// A value that came with it, empty when none did: `router`, `dns`, `domain`, `mtu`, `routes` (destination and
    /// gateway in turn), `server`, `seconds`.
    pub fn value(&self, name: &str) -> &str {
        self.values.get(name).map_or("", String::as_str)
    }

    /// None for a text that is not whole yet: `seconds` is its last line.
    fn parse(text: &str) -> Option<Self> {
        if !text.ends_with('\n') || !text.lines().last()?.starts_with("seconds=") {
            return None;
        }
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        let values: BTreeMap<String, String> = pairs.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        Some(Self { net: values.get("address")?.parse().ok()?, values })
    }
}

/// The clients of one device.
#[derive(Debug, Clone)]
pub struct DhcpClient {
    namespace: Netns,
    device: String,
    directory: PathBuf,
    prefix_length: u8,
}

impl DhcpClient {
    /// Clients for a device of a namespace, with their files in a directory, which is made and must allow programs.
    pub fn new(namespace: &Netns, device: &str, directory: &Path) -> Self {
        let (namespace, device) = (namespace.clone(), device.to_owned());
        Self { namespace, device, directory: directory.to_owned(), prefix_length: 64 }
    }

    /// The length of the prefix that an IPv6 address gets, 64 unless set. DHCPv6 does not carry it.
    pub fn prefix_length(mut self, length: u8) -> Self {
        self.prefix_length = length;
        self
    }

    /// Starts the client, unless it runs already, and waits for its lease, at most `limit`.
    ///
    /// `NotFound` when the program is not installed; `TimedOut` when no server answered: the client goes on asking.
    pub fn acquire(&self, family: Family, limit: Duration) -> Result<Lease> {
        let deadline = Instant::now() + limit;
        let process = self.start(family)?;
        loop {
            if let Some(lease) = self.lease(family) {
                return Ok(lease);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let why = format!("no server has answered within {limit:?}");
                return Err(Error::new(ErrorKind::TimedOut, "lease address for", &*self.device, why));
            }
            if process.wait_exit(Duration::ZERO) {
                let log = fs::read_to_string(self.path(family, "log")).unwrap_or_default();
                let why = format!("the client has ended: {}", log.lines().last().unwrap_or("it said nothing"));
                return Err(Error::new(ErrorKind::Failed, "lease address for", &*self.device, why));
            }
            thread::sleep(LOOK_EVERY.min(left));
        }
    }

    /// The lease that the client holds now.
    pub fn lease(&self, family: Family) -> Option<Lease> {
        Lease::parse(&fs::read_to_string(self.path(family, "lease")).ok()?)
    }

    /// Ends a client, as when a machine loses its power: the server is not told, the address stays on the device.
    pub fn stop(&self, family: Family) -> Result<()> {
        if let Some(process) = self.running(family)? {
            process.terminate(GRACE)?;
        }
        let _ = fs::remove_file(self.path(family, "lease"));
        let _ = fs::remove_file(self.path(family, "pid"));
        Ok(())
    }

    /// The client's process, when it runs.
    pub fn running(&self, family: Family) -> Result<Option<Process>> {
        Process::adopt(&self.path(family, "pid"), &self.script(family).to_string_lossy())
    }

    fn start(&self, family: Family) -> Result<Process> {
        if let Some(process) = self.running(family)? {
            return Ok(process);
        }
        let failed = |e: std::io::Error| Error::from_io("prepare", self.directory.display().to_string(), &e);
        fs::create_dir_all(&self.directory).map_err(failed)?;
        let script = self.script(family);
        let text = match family {
            Family::V4 => include_str!("v4.sh"),
            Family::V6 => include_str!("v6.sh"),
        };
        atomic_write(&script, text)?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let _ = fs::remove_file(self.path(family, "lease"));
        let process = self.program(family).detach_logging(&self.path(family, "log"))?;
        atomic_write(&self.path(family, "pid"), process.pid().to_string())?;
        Ok(process)
    }

    fn program(&self, family: Family) -> Program {
        let program = match family {
            Family::V4 => Program::new("udhcpc")
                .args(["-f", "-t", "10", "-T", "1", "-A", "2", "-O", "staticroutes", "-O", "mtu", "-s"])
                .arg(self.script(family))
                .arg("-i"),
            Family::V6 => Program::new("dhclient")
                .args(["-6", "-d", "-1", "-D", "LL", "-cf", "/dev/null", "-e"])
                .arg(format!("PREFIX_LENGTH={}", self.prefix_length))
                .arg("-sf")
                .arg(self.script(family))
                .arg("-lf")
                .arg(self.path(family, "leases"))
                .arg("-pf")
                .arg(self.path(family, "own-pid")),
        };
        program.arg(&self.device).netns(&self.namespace)
    }

    fn script(&self, family: Family) -> PathBuf {
        self.directory.join(match family {
            Family::V4 => format!("{}.dhcp4", self.device),
            Family::V6 => format!("{}.dhcp6", self.device),
        })
    }

    fn path(&self, family: Family, suffix: &str) -> PathBuf {
        let mut path = self.script(family).into_os_string();
        path.push(".");
        path.push(suffix);
        path.into()
    }
}
