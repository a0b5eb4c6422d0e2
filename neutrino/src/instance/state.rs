//! What is remembered of instances: a directory each, with a description and the files of its DHCP clients.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result, bail};
use linux::{
    Handle, Netns,
    dhcp_client::{DhcpClient, Family},
    file::atomic_write,
    proc,
};
use serde::{Deserialize, Serialize};

/// Before an instance's name, that of its namespace.
const PREFIX: &str = "instance-";
/// How long a program in an instance gets to end by itself.
const GRACE: Duration = Duration::from_millis(500);

/// The instances of this host.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

/// What is known of an instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Instance {
    /// Its name.
    pub name: String,
    /// Its id, which is the port's `device_id`.
    pub id: String,
    /// Id of its network.
    pub network: String,
    /// Name of its network.
    pub network_name: String,
    /// Id of its port, once that is made.
    pub port: Option<String>,
    /// MAC address of its card; empty before it has a port.
    pub mac: String,
    /// Name of its device on the host; empty before it has a port.
    pub tap: String,
}

impl Store {
    /// Instances under `<state>/instances`.
    pub fn new(state: &Path) -> Self {
        // The DHCP clients run with another working directory in mind: their files need whole paths.
        let state = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
        Self { directory: state.join("instances") }
    }

    /// All instances, by name.
    pub fn list(&self) -> Result<Vec<Instance>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e).with_context(|| format!("cannot list {}", self.directory.display())),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry?;
            if let Some(name) = entry.file_name().to_str()
                && entry.path().join("instance.json").exists()
            {
                found.push(self.get(name)?);
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    /// One instance.
    pub fn get(&self, name: &str) -> Result<Instance> {
        check_name(name)?;
        let path = self.file(name);
        match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).with_context(|| format!("{} is damaged", path.display())),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                bail!("there is no instance {name}; `neutrino instance list` shows those of this host")
            }
            Err(e) => Err(e).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Whether there is one of that name.
    pub fn has(&self, name: &str) -> bool {
        self.file(name).exists()
    }

    /// The first free name of vm1, vm2…
    pub fn free_name(&self) -> String {
        let mut names = (1u32..).map(|i| format!("vm{i}"));
        names.find(|name| !self.has(name)).unwrap_or_else(|| "vm".to_owned())
    }

    /// Remembers an instance.
    pub fn put(&self, instance: &Instance) -> Result<()> {
        let directory = self.directory(&instance.name);
        fs::create_dir_all(&directory).with_context(|| format!("cannot make {}", directory.display()))?;
        atomic_write(&self.file(&instance.name), serde_json::to_string_pretty(instance)?)?;
        Ok(())
    }

    /// Forgets an instance with the files of its clients.
    pub fn forget(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let directory = self.directory(name);
        fs::remove_dir_all(&directory).with_context(|| format!("cannot remove {}", directory.display()))
    }

    fn directory(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory(name).join("instance.json")
    }
}

/// The name of an instance's namespace.
pub fn netns_name(instance: &str) -> String {
    format!("{PREFIX}{instance}")
}

/// Refuses a name that cannot be a directory and a namespace.
pub(super) fn check_name(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 63 || !name.chars().all(fits) || name.starts_with(['.', '-']) {
        bail!("'{name}' cannot be the name of an instance; use up to 63 letters, digits, '-', '_' and '.'");
    }
    Ok(())
}

impl Instance {
    /// The name of its namespace.
    pub fn netns_name(&self) -> String {
        netns_name(&self.name)
    }

    /// Its namespace.
    pub fn netns(&self) -> linux::Result<Netns> {
        Netns::open(&self.netns_name())
    }

    /// Its DHCP clients.
    pub fn dhcp(&self, store: &Store, namespace: &Netns) -> DhcpClient {
        DhcpClient::new(namespace, "eth0", &store.directory(&self.name))
    }

    /// The addresses of its card, without link-local ones; none when it is not running.
    pub fn addresses(&self) -> Vec<String> {
        let read = || -> linux::Result<Vec<String>> {
            let handle = self.netns()?.handle()?;
            let all = handle.addresses(Some(handle.index("eth0")?))?;
            let global = all.iter().filter(|address| address.scope == linux::addr::Scope::Global);
            Ok(global.map(|address| address.net.addr().to_string()).collect())
        };
        read().unwrap_or_default()
    }

    /// Takes its part on the host away: clients, other processes, devices, namespace. What is gone already is fine.
    pub fn unplug(&self, store: &Store) -> Result<()> {
        if let Ok(namespace) = self.netns() {
            let dhcp = self.dhcp(store, &namespace);
            dhcp.stop(Family::V4)?;
            dhcp.stop(Family::V6)?;
            for process in proc::find_in_netns(&namespace)? {
                process.terminate(GRACE)?;
            }
        }
        if !self.tap.is_empty() {
            Handle::new()?.link_delete(&self.tap)?;
        }
        Netns::delete(&self.netns_name())?;
        Ok(())
    }
}
