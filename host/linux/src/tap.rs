//! Tap devices: network cards whose other end is a file, for virtual machines and tests.

#![allow(unsafe_code, reason = "the ioctls of /dev/net/tun have no safe wrapper")]

use std::{
    fs::{File, OpenOptions},
    os::fd::AsRawFd,
};

use nix::libc;

use crate::{
    error::{Error, Result},
    link::check_name,
    netns::Netns,
};

nix::ioctl_write_int!(set_interface, b'T', 202);
nix::ioctl_write_int!(set_persistent, b'T', 203);
nix::ioctl_write_int!(set_owner, b'T', 204);

/// How a tap device is made.
#[derive(Debug, Clone, Default)]
pub struct TapSpec {
    name: String,
    vnet_header: bool,
    multi_queue: bool,
    owner: Option<u32>,
    namespace: Option<Netns>,
}

impl TapSpec {
    /// A tap device of this name, without protocol information before the frames.
    pub fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    /// Frames carry a virtio header, as QEMU's `vhdr` wants it.
    pub fn vnet_header(mut self) -> Self {
        self.vnet_header = true;
        self
    }

    /// Several files can be attached at once.
    pub fn multi_queue(mut self) -> Self {
        self.multi_queue = true;
        self
    }

    /// The user who may attach without privileges.
    pub fn owner(mut self, uid: u32) -> Self {
        self.owner = Some(uid);
        self
    }

    /// Made in another namespace.
    pub fn netns(mut self, namespace: &Netns) -> Self {
        self.namespace = Some(namespace.clone());
        self
    }

    /// Makes the device so that it stays when nobody is attached, and delete it with the other links
    /// ([`Handle::link_delete`](crate::Handle::link_delete)). One that is there already is kept; `Busy` when somebody
    /// is attached to it, `Invalid` when it was made otherwise.
    pub fn create(&self) -> Result<()> {
        self.inside(|| {
            let file = self.attach_here()?;
            if let Some(uid) = self.owner {
                // SAFETY: TUNSETOWNER takes a number.
                unsafe { set_owner(file.as_raw_fd(), uid.into()) }.map_err(|e| self.failed(e))?;
            }
            // SAFETY: TUNSETPERSIST takes a number.
            unsafe { set_persistent(file.as_raw_fd(), 1) }.map_err(|e| self.failed(e))?;
            Ok(())
        })
    }

    /// Attaches to the device, making it when it is not there: one frame per read and write. A device that was not
    /// made persistent ends with the file.
    pub fn attach(&self) -> Result<File> {
        self.inside(|| self.attach_here())
    }

    fn inside<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        match &self.namespace {
            Some(namespace) => namespace.run(work)?,
            None => work(),
        }
    }

    fn attach_here(&self) -> Result<File> {
        check_name("create tap", &self.name)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/net/tun")
            .map_err(|e| Error::from_io("open", "/dev/net/tun", &e))?;
        let mut flags = libc::IFF_TAP | libc::IFF_NO_PI;
        if self.vnet_header {
            flags |= libc::IFF_VNET_HDR;
        }
        if self.multi_queue {
            flags |= libc::IFF_MULTI_QUEUE;
        }
        // SAFETY: ifreq is plain data for which zeroes are valid.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(self.name.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: TUNSETIFF takes the address of an ifreq, which lives over the call.
        unsafe { set_interface(file.as_raw_fd(), &raw mut request as libc::c_ulong) }.map_err(|e| self.failed(e))?;
        Ok(file)
    }

    fn failed(&self, errno: nix::errno::Errno) -> Error {
        Error::from_errno("create tap", self.name.clone(), errno as i32)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;
    use crate::{ErrorKind, link, testing::host};

    #[test]
    fn a_tap_stays_until_it_is_deleted() {
        let (namespace, handle) = host();
        let spec = TapSpec::new("tap0123456789ab").netns(&namespace).owner(1000);
        spec.create().unwrap();
        spec.create().unwrap();
        assert_eq!(handle.link("tap0123456789ab").unwrap().unwrap().kind, link::Kind::Tun);
        assert_eq!(TapSpec::new("tap0123456789abc").create().unwrap_err().kind(), ErrorKind::Invalid);

        let mut file = spec.attach().unwrap();
        assert_eq!(spec.attach().unwrap_err().kind(), ErrorKind::Busy);
        handle.link_set(link::set("tap0123456789ab").up()).unwrap();
        // The kernel sends something at once: it joins IPv6 multicast groups.
        let mut frame = [0; 2048];
        assert!(file.read(&mut frame).unwrap() > 14);
        drop(file);
        assert!(handle.link_delete("tap0123456789ab").unwrap());
    }
}
