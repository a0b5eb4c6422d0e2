//! Files that other programs read while we change them.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
};

use crate::error::{Error, Result};

/// Mode of a new file.
const MODE: u32 = 0o644;

/// Replaces a file whole: a reader sees the old content or the new, never a part. An existing file's mode is kept, a
/// new one gets 0644.
///
/// The new content is written beside it under a hidden name (dnsmasq and others that watch a directory skip those)
/// and renamed over it. It is not forced to the disk: a power cut may leave the old content.
pub fn atomic_write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let failed = |e: io::Error| Error::from_io("write", path.display().to_string(), &e);
    let mode = fs::metadata(path).map_or(MODE, |old| old.permissions().mode() & 0o7777);
    let (temporary, mut file) = create_beside(path, mode).map_err(failed)?;
    // The mode at creation is cut by the umask.
    let written = file.write_all(content.as_ref()).and_then(|()| file.set_permissions(Permissions::from_mode(mode)));
    written.and_then(|()| fs::rename(&temporary, path)).map_err(|e| {
        let _ = fs::remove_file(&temporary);
        failed(e)
    })
}

/// As [`atomic_write`], but a file that has this content already is left alone; whether it was written.
pub fn write_if_changed(path: &Path, content: impl AsRef<[u8]>) -> Result<bool> {
    if fs::read(path).is_ok_and(|old| old == content.as_ref()) {
        return Ok(false);
    }
    atomic_write(path, content).map(|()| true)
}

fn create_beside(path: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = path.file_name().ok_or(io::Error::from(io::ErrorKind::InvalidInput))?.to_string_lossy();
    loop {
        let unique = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(".{name}.{}.{unique}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            // Left by a process of the same number that was killed.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_whole_with_its_mode() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hosts");
        atomic_write(&path, "one").unwrap();
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(), 0o644);
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        atomic_write(&path, "two").unwrap();
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), mode()), ("two", 0o600));
        assert!(!write_if_changed(&path, "two").unwrap());
        assert!(write_if_changed(&path, "three").unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
        assert!(atomic_write(&directory.path().join("no/such"), "x").unwrap_err().is_not_found());
        // A directory in the way: an error, and nothing left beside it.
        fs::create_dir(directory.path().join("taken")).unwrap();
        assert!(atomic_write(&directory.path().join("taken"), "x").is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
