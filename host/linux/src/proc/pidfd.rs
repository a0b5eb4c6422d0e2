//! The two system calls on pidfds (Linux 5.3), which libc and nix do not wrap.

#![allow(unsafe_code, reason = "system calls without a safe wrapper")]

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use nix::{errno::Errno, libc, sys::signal::Signal};

pub(super) fn open(pid: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: pidfd_open takes two integers and touches no memory of ours.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = Errno::result(result)? as RawFd;
    // SAFETY: the kernel has just made this descriptor for us (close-on-exec); nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub(super) fn signal(fd: &OwnedFd, signal: Signal) -> Result<(), Errno> {
    let info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the descriptor is open; a null siginfo asks for the one that kill(2) would send.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd.as_raw_fd(), signal as i32, info, 0) };
    Errno::result(result).map(drop)
}
