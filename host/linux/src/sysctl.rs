//! Kernel settings under `/proc/sys`, here or in a network namespace.
//!
//! Settings are named by path (`net/ipv6/conf/eth0.100/disable_ipv6`), not with dots: device names may hold dots.

use std::{fs, path::PathBuf};

use crate::{
    error::{Error, ErrorKind, Result},
    netns::Netns,
};

/// Where settings are read and written.
#[derive(Debug, Clone, Default)]
pub struct Sysctl {
    namespace: Option<Netns>,
}

impl Sysctl {
    /// The settings of the calling thread's namespace.
    pub fn new() -> Self {
        Self::default()
    }

    /// The settings of a network namespace.
    pub fn in_netns(namespace: &Netns) -> Self {
        Self { namespace: Some(namespace.clone()) }
    }

    /// A setting's value without white space around it; `NotFound` when the kernel has no such setting.
    pub fn get(&self, path: &str) -> Result<String> {
        let file = file_of(path)?;
        self.inside(|| fs::read_to_string(&file))?
            .map(|text| text.trim().to_owned())
            .map_err(|e| Error::from_io("read setting", path, &e))
    }

    /// Sets a value. One that is set already is not written again, since some writes cost the kernel much.
    pub fn set(&self, path: &str, value: &str) -> Result<()> {
        self.set_all([(path, value)])
    }

    /// Sets several values in order, entering the namespace once; stops at the first that is refused.
    pub fn set_all<'a>(&self, settings: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<()> {
        let mut files = Vec::new();
        for (path, value) in settings {
            files.push((path, file_of(path)?, value));
        }
        self.inside(|| {
            for (path, file, value) in &files {
                if fs::read_to_string(file).is_ok_and(|old| old.trim() == *value) {
                    continue;
                }
                fs::write(file, value).map_err(|e| Error::from_io("write setting", *path, &e))?;
            }
            Ok(())
        })?
    }

    /// Whether the kernel speaks IPv6 at all (it may be left out, or disabled at boot).
    pub fn ipv6_available(&self) -> bool {
        self.get("net/ipv6/conf/default/disable_ipv6").is_ok()
    }

    fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        match &self.namespace {
            Some(namespace) => namespace.run(work),
            None => Ok(work()),
        }
    }
}

/// The path of an IPv4 setting of a device, or of `all` or `default`: `arp_ignore`, `forwarding`, `rp_filter`…
pub fn ipv4(device: &str, setting: &str) -> String {
    format!("net/ipv4/conf/{device}/{setting}")
}

/// The path of an IPv6 setting of a device, or of `all` or `default`: `disable_ipv6`, `accept_ra`, `forwarding`…
pub fn ipv6(device: &str, setting: &str) -> String {
    format!("net/ipv6/conf/{device}/{setting}")
}

/// The path of a setting of the bridge's packet filter hooks: `iptables`, `ip6tables`, `arptables`.
pub fn bridge_nf_call(table: &str) -> String {
    format!("net/bridge/bridge-nf-call-{table}")
}

fn file_of(path: &str) -> Result<PathBuf> {
    if path.is_empty() || path.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Err(Error::new(ErrorKind::Invalid, "name setting", path, "not a path below /proc/sys"));
    }
    Ok(PathBuf::from("/proc/sys").join(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkSpec, testing::host};

    #[test]
    fn settings_are_those_of_the_namespace() {
        let (namespace, handle) = host();
        handle.link_add(&LinkSpec::veth("eth0.1", "peer")).unwrap();
        let settings = Sysctl::in_netns(&namespace);
        let path = ipv6("eth0.1", "disable_ipv6");
        assert_eq!(settings.get(&path).unwrap(), "0");
        settings.set(&path, "1").unwrap();
        settings.set_all([(&*ipv4("all", "forwarding"), "1"), (&*ipv6("eth0.1", "accept_ra"), "0")]).unwrap();
        assert_eq!(settings.get(&path).unwrap(), "1");
        assert_eq!(settings.get("net/ipv4/ip_forward").unwrap(), "1");
        // The calling thread's namespace has no such device.
        assert!(Sysctl::new().get(&path).unwrap_err().is_not_found());
        assert!(settings.ipv6_available());
    }

    #[test]
    fn bad_paths_and_values_are_refused() {
        let (namespace, _handle) = host();
        let settings = Sysctl::in_netns(&namespace);
        for path in ["", "/etc/passwd", "net/../../../etc/passwd", "net//ipv4"] {
            assert_eq!(settings.get(path).unwrap_err().kind(), ErrorKind::Invalid, "{path}");
        }
        let error = settings.set("net/ipv4/ip_forward", "perhaps").unwrap_err();
        assert_eq!((error.kind(), error.object()), (ErrorKind::Invalid, "net/ipv4/ip_forward"));
    }
}
