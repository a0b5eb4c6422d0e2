//! Programs: starting them (in a namespace, with a time bound, or detached from us), finding, adopting, ending them.
//!
//! All of the project's processes start here. A [`Process`] holds a pidfd, so that what is signalled is what was
//! opened, even when the number has been given to another process since.

mod pidfd;
mod program;
#[cfg(test)]
mod tests;

use std::{
    fs, io,
    os::fd::OwnedFd,
    path::Path,
    time::{Duration, Instant},
};

pub use nix::sys::signal::Signal;
use nix::{
    errno::Errno,
    libc,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

pub use self::program::{Child, Output, Program};
use crate::{
    error::{Error, Result},
    netns::Netns,
    ready,
};

/// A process, ours or not, held by a pidfd.
#[derive(Debug)]
pub struct Process {
    pid: i32,
    fd: OwnedFd,
}

impl Process {
    /// Opens a process; `None` when there is none of that number.
    pub fn open(pid: i32) -> Result<Option<Self>> {
        match pidfd::open(pid) {
            Ok(fd) => Ok(Some(Self { pid, fd })),
            // EINVAL: not a number of a process (zero, negative, a thread's).
            Err(Errno::ESRCH | Errno::EINVAL) => Ok(None),
            Err(errno) => Err(Error::from_errno("open process", pid.to_string(), errno as i32)),
        }
    }

    /// Opens the process whose number is in a file, if it runs and `marker` occurs in its command line.
    ///
    /// `None` when the file is missing or damaged, or the number is that of another process by now.
    pub fn adopt(pid_file: &Path, marker: &str) -> Result<Option<Self>> {
        match read_pid(pid_file)? {
            Some(pid) => Self::open_marked(pid, marker),
            None => Ok(None),
        }
    }

    /// Opens a process if it runs and `marker` occurs in its command line.
    pub fn open_marked(pid: i32, marker: &str) -> Result<Option<Self>> {
        let Some(process) = Self::open(pid)? else { return Ok(None) };
        let marked = process.command_line().iter().any(|argument| argument.contains(marker));
        // Still alive after the reading: so what was read was of this process.
        Ok((marked && process.is_alive()).then_some(process))
    }

    /// Its number.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it still runs; one that has ended but was not waited for does not.
    pub fn is_alive(&self) -> bool {
        !self.wait_exit(Duration::ZERO)
    }

    /// Its arguments, program first; empty when it has ended.
    pub fn command_line(&self) -> Vec<String> {
        command_line(self.pid)
    }

    /// Sends a signal; `NotFound` when it has ended.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        pidfd::signal(&self.fd, signal)
            .map_err(|errno| Error::from_errno("signal process", self.pid.to_string(), errno as i32))
    }

    /// Asks it to read its configuration again (`SIGHUP`).
    pub fn reload(&self) -> Result<()> {
        self.signal(Signal::SIGHUP)
    }

    /// Waits until it ends, at most `limit`; whether it has.
    pub fn wait_exit(&self, limit: Duration) -> bool {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            // Rounded up, so that the last millisecond is not spent in a busy loop.
            let milliseconds = left.as_micros().div_ceil(1000).min(i32::MAX as u128) as i32;
            let mut fds = [PollFd::new(std::os::fd::AsFd::as_fd(&self.fd), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::try_from(milliseconds).unwrap_or(PollTimeout::MAX)) {
                Ok(0) if Instant::now() >= deadline => return false,
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Waits until it ends, without holding a thread. Needs a tokio runtime with I/O.
    pub async fn exited(&self) -> Result<()> {
        let failed = |e: io::Error| Error::from_io("watch process", self.pid.to_string(), &e);
        let own = self.fd.try_clone().map_err(failed)?;
        let fd = ready::readable(own).map_err(failed)?;
        let _ready = fd.readable().await.map_err(failed)?;
        Ok(())
    }

    /// Ends it: `SIGTERM`, and `SIGKILL` when it has not ended within `grace`. Returns when it is gone.
    ///
    /// `TimedOut` when even the kill has no effect within 10 s (stuck in the kernel).
    pub fn terminate(&self, grace: Duration) -> Result<()> {
        for (signal, limit) in [(Signal::SIGTERM, grace), (Signal::SIGKILL, Duration::from_secs(10))] {
            match self.signal(signal) {
                Ok(()) => {}
                Err(e) if e.is_not_found() => return Ok(()),
                Err(e) => return Err(e),
            }
            if self.wait_exit(limit) {
                return Ok(());
            }
        }
        Err(Error::from_errno("end process", self.pid.to_string(), libc::ETIMEDOUT))
    }
}

/// The number in a pid file; `None` when the file is missing, empty or damaged.
pub fn read_pid(path: &Path) -> Result<Option<i32>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.trim().parse().ok().filter(|pid| *pid > 0)),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::InvalidData) => Ok(None),
        Err(e) => Err(Error::from_io("read", path.display().to_string(), &e)),
    }
}

/// All processes whose arguments satisfy `wanted` (the program is the first), without this one.
pub fn find(wanted: impl Fn(&[String]) -> bool) -> Result<Vec<Process>> {
    let me = std::process::id() as i32;
    let mut found = Vec::new();
    for pid in pids()? {
        if pid == me || !wanted(&command_line(pid)) {
            continue;
        }
        if let Some(process) = Process::open(pid)?
            && wanted(&process.command_line())
        {
            found.push(process);
        }
    }
    Ok(found)
}

/// All processes whose network namespace is this one.
pub fn find_in_netns(namespace: &Netns) -> Result<Vec<Process>> {
    let mut found = Vec::new();
    // Those of other owners, or that end meanwhile, cannot be looked at.
    for pid in pids()?.filter(|pid| namespace.holds(*pid)) {
        if let Some(process) = Process::open(pid)?
            && namespace.holds(pid)
        {
            found.push(process);
        }
    }
    Ok(found)
}

fn pids() -> Result<impl Iterator<Item = i32>> {
    let entries = fs::read_dir("/proc").map_err(|e| Error::from_io("list processes", "/proc", &e))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

fn command_line(pid: i32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_suffix('\0').unwrap_or(&text);
    if text.is_empty() { Vec::new() } else { text.split('\0').map(str::to_owned).collect() }
}
