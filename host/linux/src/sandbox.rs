//! Throw-away surroundings: namespaces for network, mounts and processes of one's own. What happens in there stays in there,
//! and the kernel takes it all away, processes included, when the program ends in whatever way.

use std::ffi::OsStr;

use nix::mount::{MsFlags, mount};

use crate::{
    error::{Error, Result},
    link,
    netlink::Handle,
    proc::Program,
};

/// Replaces this process by `program`, run inside as the first process, with the settings that the caller has put on it (environment,
/// arguments). Returns only when that fails.
///
/// The process that remains outside has this process's id; in its namespaces is the inside, for `nsenter`.
pub fn exec(program: impl AsRef<OsStr>, arguments: &[&str], environment: &[(&str, &str)]) -> Error {
    let outside = Program::new("unshare")
        .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"])
        .arg(program)
        .args(arguments);
    environment.iter().fold(outside, |outside, (name, value)| outside.env(name, value)).exec()
}

/// To be called inside, first: `lo` is up, `/run` is empty and in memory, `/sys` shows the inside's devices.
pub fn settle() -> Result<()> {
    let failed = |what: &'static str| move |errno| Error::from_errno("mount", what, errno as i32);
    mount(Some("tmpfs"), "/run", Some("tmpfs"), MsFlags::MS_NOSUID, Some("mode=0755")).map_err(failed("/run"))?;
    // Where that is forbidden, nothing of ours reads it.
    let _ = mount(Some("sysfs"), "/sys", Some("sysfs"), MsFlags::empty(), None::<&str>);
    Handle::new()?.link_set(link::set("lo").up())?;
    Ok(())
}
