//! Named network namespaces, kept as `ip netns` keeps them: a bind mount of the namespace at `/run/netns/<name>`.
//!
//! A name whose file is there but holds no namespace (left by a crash between making the file and mounting, or by a
//! reboot with a persistent `/run`) is *stale*: [`Netns::exists`] says no, [`Netns::create`] repairs it,
//! [`Netns::delete`] removes it.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, RawFd},
        unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use nix::{
    errno::Errno,
    fcntl::{Flock, FlockArg},
    mount::{MntFlags, MsFlags, mount, umount2},
    sched::{CloneFlags, setns, unshare},
    sys::statfs::{FsType, fstatfs},
};

use crate::{
    error::{Error, ErrorKind, Result},
    netlink::Handle,
};

/// Where named namespaces are.
pub const DIRECTORY: &str = "/run/netns";
/// `NSFS_MAGIC` of `linux/magic.h`: the file system that namespaces' files are on.
const NSFS: FsType = FsType(0x6e73_6673);

/// An open network namespace. It lives at least as long as this value, even when its name is deleted.
#[derive(Debug, Clone)]
pub struct Netns {
    file: Arc<File>,
    name: Arc<str>,
}

impl Netns {
    /// Opens a named namespace; `NotFound` when there is none of that name, or only a stale file.
    pub fn open(name: &str) -> Result<Self> {
        let path = path_of(name)?;
        let file = File::open(&path).map_err(|e| Error::from_io("open namespace", name, &e))?;
        if !is_namespace(&file) {
            return Err(Error::from_errno("open namespace", name, Errno::ENOENT as i32)
                .detail(format!("{} is a file without a namespace", path.display())));
        }
        Ok(Self { file: Arc::new(file), name: name.into() })
    }

    /// The namespace of the calling thread.
    pub fn current() -> Result<Self> {
        let file = File::open("/proc/thread-self/ns/net")
            .map_err(|e| Error::from_io("open namespace", "of this thread", &e))?;
        Ok(Self { file: Arc::new(file), name: "".into() })
    }

    /// The namespace of a process.
    pub fn of_pid(pid: i32) -> Result<Self> {
        let file = File::open(format!("/proc/{pid}/ns/net"))
            .map_err(|e| Error::from_io("open namespace", format!("of process {pid}"), &e))?;
        Ok(Self { file: Arc::new(file), name: "".into() })
    }

    /// A new namespace without a name, which ends with the last value, process or device that holds it.
    pub fn anonymous() -> Result<Self> {
        let made = on_thread("create namespace", || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            nix::Result::Ok(File::open("/proc/thread-self/ns/net"))
        })?;
        let file = made
            .map_err(|e| Error::from_errno("create namespace", "without a name", e as i32))?
            .map_err(|e| Error::from_io("create namespace", "without a name", &e))?;
        Ok(Self { file: Arc::new(file), name: "".into() })
    }

    /// Makes a named namespace with `lo` down, as `ip netns add` does; `Exists` when there is one of that name.
    ///
    /// A stale file is replaced. The directory is made, and made a shared mount, so that other mount namespaces
    /// see the new one.
    pub fn create(name: &str) -> Result<Self> {
        let path = path_of(name)?;
        let failed = |e: io::Error| Error::from_io("create namespace", name, &e);
        // As `ip netns` does: a name whose maker is between file and mount must not look stale to another maker.
        let _lock = prepare_directory().map_err(failed)?;
        let mut repaired = false;
        loop {
            match create_file(&path) {
                Ok(()) => break,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && !repaired => {
                    if File::open(&path).is_ok_and(|file| is_namespace(&file)) {
                        return Err(failed(e));
                    }
                    tracing::warn!(namespace = name, "replacing a file without a namespace");
                    remove_file(&path).map_err(failed)?;
                    repaired = true;
                }
                Err(e) => return Err(failed(e)),
            }
        }
        let target = path.clone();
        let mounted = on_thread("create namespace", move || {
            unshare(CloneFlags::CLONE_NEWNET)?;
            mount(Some("/proc/thread-self/ns/net"), &target, Some("none"), MsFlags::MS_BIND, None::<&str>)
        })?;
        if let Err(errno) = mounted {
            let _ = fs::remove_file(&path);
            return Err(Error::from_errno("create namespace", name, errno as i32));
        }
        Self::open(name)
    }

    /// Opens a named namespace, making it first when it is not there.
    pub fn ensure(name: &str) -> Result<Self> {
        match Self::open(name) {
            Err(e) if e.is_not_found() => match Self::create(name) {
                Err(e) if e.is_exists() => Self::open(name),
                other => other,
            },
            other => other,
        }
    }

    /// Whether there is a namespace of that name (a stale file is none).
    pub fn exists(name: &str) -> bool {
        Self::open(name).is_ok()
    }

    /// The names of all namespaces, sorted; stale files are left out.
    pub fn list() -> Result<Vec<String>> {
        Ok(entries()?.into_iter().filter(|name| Self::exists(name)).collect())
    }

    /// The names of files in the directory that hold no namespace, sorted.
    pub fn list_stale() -> Result<Vec<String>> {
        Ok(entries()?.into_iter().filter(|name| !Self::exists(name)).collect())
    }

    /// Removes the name, stale or not; `false` when there was none.
    ///
    /// The kernel frees the namespace, with its devices, when nothing holds it any more: processes in it keep it.
    pub fn delete(name: &str) -> Result<bool> {
        let path = path_of(name)?;
        match remove_file(&path) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(e) => Err(Error::from_io("delete namespace", name, &e)),
        }
    }

    /// Its name; empty for one that was not opened by name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Opens a netlink socket that lives in this namespace; the calling thread stays where it is.
    pub fn handle(&self) -> Result<Handle> {
        self.run(Handle::new)?
    }

    /// Runs a closure on a thread of its own inside this namespace and waits for it. Sockets and files that it opens
    /// stay in the namespace; `/proc/sys/net` and `/proc/thread-self/net` are the namespace's.
    ///
    /// # Panics
    /// When the closure panics, with its panic.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let entered = on_thread("enter namespace", || {
            setns(self.as_fd(), CloneFlags::CLONE_NEWNET)?;
            nix::Result::Ok(work())
        })?;
        entered.map_err(|errno| Error::from_errno("enter namespace", self.label(), errno as i32))
    }

    /// Moves the calling thread into this namespace for good. For threads that do nothing else.
    pub fn enter(&self) -> Result<()> {
        setns(self.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(|errno| Error::from_errno("enter namespace", self.label(), errno as i32))
    }

    /// Whether two values are the same namespace.
    pub fn same_as(&self, other: &Self) -> bool {
        match (self.file.metadata(), other.file.metadata()) {
            (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
            _ => false,
        }
    }

    /// Whether a process is in this namespace; `false` when it has ended or must not be looked at.
    pub fn holds(&self, pid: i32) -> bool {
        match (self.file.metadata(), fs::metadata(format!("/proc/{pid}/ns/net"))) {
            (Ok(own), Ok(its)) => (own.dev(), own.ino()) == (its.dev(), its.ino()),
            _ => false,
        }
    }

    pub(crate) fn raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    fn label(&self) -> String {
        if self.name.is_empty() { "without a name".to_owned() } else { self.name.to_string() }
    }
}

impl AsFd for Netns {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn path_of(name: &str) -> Result<PathBuf> {
    if name.is_empty() || name == "." || name == ".." || name.len() > 255 || name.contains(['/', '\0']) {
        let why = "a namespace name has 1 to 255 bytes, none of them '/'";
        return Err(Error::new(ErrorKind::Invalid, "name namespace", name, why));
    }
    Ok(Path::new(DIRECTORY).join(name))
}

fn is_namespace(file: &File) -> bool {
    fstatfs(file).is_ok_and(|stat| stat.filesystem_type() == NSFS)
}

fn entries() -> Result<Vec<String>> {
    let listed = match fs::read_dir(DIRECTORY) {
        Ok(listed) => listed,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::from_io("list namespaces", DIRECTORY, &e)),
    };
    let mut names: Vec<String> = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

fn create_file(path: &Path) -> io::Result<()> {
    // Mode 0, as `ip netns` has it: nobody reads the file, and the mount hides it.
    OpenOptions::new().write(true).create_new(true).mode(0o000).open(path).map(drop)
}

fn remove_file(path: &Path) -> io::Result<()> {
    loop {
        match umount2(path, MntFlags::MNT_DETACH) {
            // Two mounts can lie over each other; take them all.
            Ok(()) => continue,
            // Not a mount point: a stale file.
            Err(Errno::EINVAL) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    fs::remove_file(path)
}

/// Makes `/run/netns`, locks it, and makes it a shared mount, as `ip netns add` does.
fn prepare_directory() -> io::Result<Flock<File>> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(DIRECTORY)?;
    let lock = Flock::lock(File::open(DIRECTORY)?, FlockArg::LockExclusive).map_err(|(_, errno)| errno)?;
    let share = || {
        let flags = MsFlags::MS_SHARED | MsFlags::MS_REC;
        mount(Some(""), DIRECTORY, Some("none"), flags, None::<&str>)
    };
    match share() {
        // Not a mount point yet: mount it on itself, then share it.
        Err(Errno::EINVAL) => {
            let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
            mount(Some(DIRECTORY), DIRECTORY, Some("none"), flags, None::<&str>)?;
            share()?;
        }
        other => other?,
    }
    Ok(lock)
}

/// Runs `work` on a thread of its own, so that what it does to the thread's namespace ends with it.
fn on_thread<T: Send>(operation: &'static str, work: impl FnOnce() -> T + Send) -> Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("netns".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|e| Error::from_io(operation, "helper thread", &e))?;
        thread.join().map_or_else(|panic| std::panic::resume_unwind(panic), Ok)
    })
}
