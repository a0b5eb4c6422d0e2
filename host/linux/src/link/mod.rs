//! Network devices: what there is, and the requests that make, change and delete them.
//!
//! Devices are named by name or by index ([`Dev`]); names have 1 to 15 bytes, and a longer one is refused before the
//! kernel sees it. Requests can be sent alone ([`Handle::run`]) or many at once ([`Handle::batch`]).
//!
//! Deleting one device costs the kernel a grace period of 16 to 20 ms, and deleting a thousand in one request hardly
//! more: use [`Handle::link_delete_all`] for more than one.

mod decode;
mod spec;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, Ordering};

use netlink_packet_route::{
    RouteNetlinkMessage,
    link::{
        BridgeStpState, InfoBridge, InfoData, InfoKind, LinkAttribute, LinkExtentMask, LinkFlags, LinkInfo, LinkMessage,
    },
};

pub use self::{
    decode::{Kind, Link, OperState, VxlanInfo},
    spec::{Df, LinkSpec, VxlanSpec, add},
};
use types::Mac;

use crate::{
    error::{Error, ErrorKind, Idempotent, Result},
    netlink::{Handle, Request},
    netns::Netns,
};

/// The longest device name, in bytes (`IFNAMSIZ` less the final zero).
pub const NAME_MAX: usize = 15;

/// How a request names a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dev {
    /// By name, looked up by the kernel.
    Name(String),
    /// By index, which survives renaming.
    Index(u32),
}

impl Dev {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Name(name) => name.clone(),
            Self::Index(index) => format!("device {index}"),
        }
    }

    fn fill(&self, message: &mut LinkMessage) {
        match self {
            Self::Name(name) => message.attributes.push(LinkAttribute::IfName(name.clone())),
            Self::Index(index) => message.header.index = *index,
        }
    }

    fn fault(&self, operation: &'static str) -> Option<Error> {
        match self {
            Self::Name(name) => check_name(operation, name).err(),
            Self::Index(0) => Some(Error::new(ErrorKind::Invalid, operation, "device 0", "no device has index 0")),
            Self::Index(_) => None,
        }
    }
}

impl From<&str> for Dev {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<&String> for Dev {
    fn from(name: &String) -> Self {
        Self::Name(name.clone())
    }
}

impl From<String> for Dev {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<u32> for Dev {
    fn from(index: u32) -> Self {
        Self::Index(index)
    }
}

impl From<&Link> for Dev {
    fn from(link: &Link) -> Self {
        Self::Index(link.index)
    }
}

/// Refuses a device name that the kernel would refuse: empty, over 15 bytes, `.`, `..`, or with `/`, `:` or space.
pub fn check_name(operation: &'static str, name: &str) -> Result<()> {
    let why = if name.is_empty() {
        "a device name cannot be empty"
    } else if name.len() > NAME_MAX {
        "a device name has at most 15 bytes"
    } else if name == "."
        || name == ".."
        || name.bytes().any(|b| b == b'/' || b == b':' || b == 0 || b.is_ascii_whitespace())
    {
        "a device name cannot be '.' or '..' nor hold '/', ':' or space"
    } else {
        return Ok(());
    };
    Err(Error::new(ErrorKind::Invalid, operation, name, why))
}

/// A change of an existing device: build it up, then [`Change::request`] (or [`Handle::link_set`]).
///
/// All parts of one change are applied in one request, the device's flags last.
#[derive(Debug, Clone)]
pub struct Change {
    dev: Dev,
    message: LinkMessage,
    namespace: Option<Netns>,
    fault: Option<Error>,
}

/// Starts a change of a device.
pub fn set(dev: impl Into<Dev>) -> Change {
    Change { dev: dev.into(), message: LinkMessage::default(), namespace: None, fault: None }
}

impl Change {
    /// Sets the device administratively up.
    pub fn up(self) -> Self {
        self.flag(LinkFlags::Up, true)
    }

    /// Sets the device administratively down.
    pub fn down(self) -> Self {
        self.flag(LinkFlags::Up, false)
    }

    /// Sets promiscuous mode.
    pub fn promiscuous(self, on: bool) -> Self {
        self.flag(LinkFlags::Promisc, on)
    }

    /// Sets the MTU in bytes; the kernel refuses what the device cannot carry.
    pub fn mtu(self, bytes: u32) -> Self {
        self.with(LinkAttribute::Mtu(bytes))
    }

    /// Sets the link-layer address.
    pub fn mac(self, mac: Mac) -> Self {
        self.with(LinkAttribute::Address(mac.0.to_vec()))
    }

    /// Puts the device into the bridge with this index.
    pub fn master(self, index: u32) -> Self {
        self.with(LinkAttribute::Controller(index))
    }

    /// Takes the device out of its bridge.
    pub fn no_master(self) -> Self {
        self.with(LinkAttribute::Controller(0))
    }

    /// Renames; the device must then be named by index ([`Handle::link_rename`] looks it up).
    pub fn name(mut self, name: &str) -> Self {
        self.fault = self.fault.or(check_name("rename to", name).err());
        if let Dev::Name(_) = self.dev {
            let why = "to rename a device name it by its index";
            self.fault = self.fault.or(Some(Error::new(ErrorKind::Invalid, "rename", self.dev.text(), why)));
        }
        self.with(LinkAttribute::IfName(name.to_owned()))
    }

    /// Puts the device into a group, so that it can be deleted with it ([`delete_group`]).
    pub fn group(self, group: u32) -> Self {
        self.with(LinkAttribute::Group(group))
    }

    /// Sets the free text that `ip link` shows as alias, at most 255 bytes; empty removes it.
    pub fn alias(self, alias: &str) -> Self {
        self.with(LinkAttribute::IfAlias(alias.to_owned()))
    }

    /// Moves the device to another namespace, where it is down and may have another index.
    pub fn netns(mut self, namespace: &Netns) -> Self {
        self.namespace = Some(namespace.clone());
        self.with(LinkAttribute::NetNsFd(namespace.raw_fd()))
    }

    /// The request that does it.
    pub fn request(mut self) -> Request {
        let fault = self.fault.or_else(|| self.dev.fault("change"));
        self.dev.fill(&mut self.message);
        Request::new(RouteNetlinkMessage::SetLink(self.message), 0, "change", self.dev.text())
            .fault(fault)
            .holding(self.namespace)
    }

    fn flag(mut self, flag: LinkFlags, on: bool) -> Self {
        self.message.header.flags.set(flag, on);
        self.message.header.change_mask |= flag;
        self
    }

    fn with(mut self, attribute: LinkAttribute) -> Self {
        self.message.attributes.push(attribute);
        self
    }
}

/// Makes an existing bridge forward at once: no spanning tree, then forward delay 0, which the kernel refuses while
/// that runs. `NotFound` when there is no such bridge.
pub fn forward_at_once(bridge: impl Into<Dev>) -> [Request; 2] {
    let dev = bridge.into();
    [InfoBridge::StpState(BridgeStpState::Disabled), InfoBridge::ForwardDelay(0)].map(|setting| {
        let mut message = LinkMessage::default();
        dev.fill(&mut message);
        let info = vec![LinkInfo::Kind(InfoKind::Bridge), LinkInfo::Data(InfoData::Bridge(vec![setting]))];
        message.attributes.push(LinkAttribute::LinkInfo(info));
        // Only the message that also creates changes what is particular to a kind; without the flag it creates nothing.
        Request::new(RouteNetlinkMessage::NewLink(message), 0, "change", dev.text()).fault(dev.fault("change"))
    })
}

/// Deletes a device (and its veth peer with it). Hardware and `lo` cannot be deleted: `Unsupported`.
pub fn delete(dev: impl Into<Dev>) -> Request {
    let dev = dev.into();
    let mut message = LinkMessage::default();
    dev.fill(&mut message);
    Request::new(RouteNetlinkMessage::DelLink(message), 0, "delete", dev.text()).fault(dev.fault("delete"))
}

/// Deletes all devices of a group in one request, and so within one grace period of the kernel.
///
/// `NotFound` when there are none; `Invalid` for group 0, in which every device starts its life.
pub fn delete_group(group: u32) -> Request {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::Group(group));
    let object = format!("devices of group {group}");
    let fault = (group == 0)
        .then(|| Error::new(ErrorKind::Invalid, "delete", &*object, "group 0 holds every device that nobody grouped"));
    Request::new(RouteNetlinkMessage::DelLink(message), 0, "delete", object).fault(fault)
}

impl Handle {
    /// All devices of the namespace, in order of index.
    pub fn links(&self) -> Result<Vec<Link>> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        let raws = self.dump(RouteNetlinkMessage::GetLink(message), "list", "network devices")?;
        let mut links: Vec<Link> = raws.iter().filter_map(|raw| Link::decode(&raw.payload)).collect();
        links.sort_by_key(|link| link.index);
        Ok(links)
    }

    /// One device, `None` when there is no such.
    pub fn link(&self, dev: impl Into<Dev>) -> Result<Option<Link>> {
        let dev = dev.into();
        if let Some(fault) = dev.fault("look up") {
            return if matches!(dev, Dev::Name(_)) { Ok(None) } else { Err(fault) };
        }
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
        dev.fill(&mut message);
        match self.get(RouteNetlinkMessage::GetLink(message), "look up", &dev.text()) {
            Ok(raws) => Ok(raws.iter().find_map(|raw| Link::decode(&raw.payload))),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// The index of a device; `NotFound` when there is no such.
    pub fn index(&self, dev: impl Into<Dev>) -> Result<u32> {
        let dev = dev.into();
        match dev {
            Dev::Index(index) => Ok(index),
            Dev::Name(ref name) => match self.link(dev.clone())? {
                Some(link) => Ok(link.index),
                None => Err(Error::from_errno("look up", name.clone(), nix::libc::ENODEV)),
            },
        }
    }

    /// Creates a device; its index.
    pub fn link_add(&self, spec: &LinkSpec) -> Result<u32> {
        self.run(add(spec))?;
        self.index(spec.name())
    }

    /// Makes sure that a device of that name is there, creating it if not; its index.
    ///
    /// It does not compare an existing one with `spec`.
    pub fn link_ensure(&self, spec: &LinkSpec) -> Result<u32> {
        self.run(add(spec)).or_exists()?;
        self.index(spec.name())
    }

    /// Applies a change.
    pub fn link_set(&self, change: Change) -> Result<()> {
        self.run(change.request())
    }

    /// Puts a device into a bridge, both by name or index.
    pub fn link_master(&self, dev: impl Into<Dev>, bridge: impl Into<Dev>) -> Result<()> {
        let bridge = self.index(bridge)?;
        self.link_set(set(dev).master(bridge))
    }

    /// Renames a device. Kernels before 6.2 want it down.
    pub fn link_rename(&self, dev: impl Into<Dev>, name: &str) -> Result<()> {
        let index = self.index(dev)?;
        self.link_set(set(index).name(name))
    }

    /// Deletes a device; `false` when it was not there.
    pub fn link_delete(&self, dev: impl Into<Dev>) -> Result<bool> {
        self.run(delete(dev)).or_missing()
    }

    /// Deletes many devices within one grace period: they are put into a fresh group and the group is deleted.
    ///
    /// Devices that are gone already do not matter. How many were there.
    pub fn link_delete_all(&self, devs: impl IntoIterator<Item = impl Into<Dev>>) -> Result<usize> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let devs: Vec<Dev> = devs.into_iter().map(Into::into).collect();
        if let [dev] = &devs[..] {
            return self.link_delete(dev.clone()).map(usize::from);
        }
        // The upper half is ours: groups in use are small numbers given by people.
        let unique = NEXT.fetch_add(1, Ordering::Relaxed) & 0x3ff;
        let group = 0x8000_0000 | (std::process::id() & 0x1f_ffff) << 10 | unique;
        let mut found = 0;
        for result in self.batch(devs.into_iter().map(|dev| set(dev).group(group).request())) {
            found += usize::from(result.or_missing()?);
        }
        if found > 0 {
            self.run(delete_group(group)).or_missing()?;
        }
        Ok(found)
    }
}
