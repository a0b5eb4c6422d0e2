//! What a device leaves to hardware (ethtool).
//!
//! A virtual device says that its hardware fills in checksums, and so hands packets on without them. Receivers that
//! read packets raw (old DHCP clients) then take them for damaged.

#![allow(unsafe_code, reason = "an ioctl without a safe wrapper")]

use std::os::fd::AsRawFd;

use nix::{
    errno::Errno,
    libc,
    sys::socket::{AddressFamily, SockFlag, SockType, socket},
};

use crate::{
    error::{Error, Result},
    link::check_name,
    netns::Netns,
};

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const GET_TX_CHECKSUM: u32 = 0x16;
const SET_TX_CHECKSUM: u32 = 0x17;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

/// `struct ifreq` with its union as a pointer.
#[repr(C)]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: *mut Value,
    rest: [u8; 16],
}

/// Whether a device of a namespace leaves checksums of what it sends to hardware.
pub fn tx_checksum(namespace: &Netns, device: &str) -> Result<bool> {
    ask(namespace, device, GET_TX_CHECKSUM, 0).map(|data| data != 0)
}

/// Has checksums of what a device of a namespace sends left to hardware, or computed before.
pub fn set_tx_checksum(namespace: &Netns, device: &str, on: bool) -> Result<()> {
    ask(namespace, device, SET_TX_CHECKSUM, u32::from(on)).map(drop)
}

fn ask(namespace: &Netns, device: &str, command: u32, data: u32) -> Result<u32> {
    check_name("set offload of", device)?;
    let failed = |errno: Errno| Error::from_errno("set offload of", device, errno as i32);
    namespace.run(|| {
        let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).map_err(failed)?;
        let mut value = Value { command, data };
        let mut request = Request { name: [0; libc::IFNAMSIZ], data: &mut value, rest: [0; 16] };
        // Checked to be shorter than the field.
        request.name[..device.len()].copy_from_slice(device.as_bytes());
        // SAFETY: the request has the layout of the kernel's ifreq (40 bytes at most) and points to an ethtool_value;
        // both outlive the call.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &mut request) };
        Errno::result(result).map_err(failed)?;
        Ok(value.data)
    })?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkSpec, testing::host};

    #[test]
    fn checksums_are_switched() {
        let (namespace, handle) = host();
        handle.link_add(&LinkSpec::veth("a", "b")).unwrap();
        assert!(tx_checksum(&namespace, "a").unwrap());
        set_tx_checksum(&namespace, "a", false).unwrap();
        assert!(!tx_checksum(&namespace, "a").unwrap());
        assert!(tx_checksum(&namespace, "b").unwrap());
        assert!(set_tx_checksum(&namespace, "none", false).unwrap_err().is_not_found());
        assert!(set_tx_checksum(&namespace, "a-name-that-is-too-long", false).is_err());
    }
}
