//! What must be done to a host so that a network has the DHCP it should: pure, from what is wanted and what is there.
//!
//! Invariants: the plan of an applied plan is empty; nothing that serves is taken away to be made again when it can be
//! changed in place; a dnsmasq with the right arguments is kept, whoever started it.
//!
//! Reference: class `DeviceManager` in `neutron/agent/linux/dhcp.py`, `neutron/agent/linux/interface.py`.

#[cfg(test)]
mod tests;
mod want;

use std::collections::BTreeSet;
use std::net::IpAddr;

use ipnet::IpNet;
use types::Mac;

pub use want::{Desired, Device, Gateway, METADATA_V4, METADATA_V6, device_name, tap_name, want};

use crate::files::Files;

/// What is on the host for one network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The namespace.
    pub namespace: Namespace,
    /// Whether `lo` of the namespace is up.
    pub lo_up: bool,
    /// Devices in the namespace other than `lo`.
    pub devices: Vec<SeenDevice>,
    /// Host ends (`tap…`) that exist in the host's namespace, of those we may ask about.
    pub taps: BTreeSet<String>,
    /// The running dnsmasq of the pid file.
    pub dnsmasq: Option<Dnsmasq>,
    /// The `host`, `addn_hosts` and `opts` files; `None` when one is missing.
    pub files: Option<Files>,
    /// The `interface` file.
    pub interface: Option<String>,
    /// Files were written, and dnsmasq may not have been told: the agent ended in between.
    pub reload_pending: bool,
    /// A second dnsmasq that an agent which ended in between has left.
    pub relief: Option<i32>,
    /// Whether the directory of the network exists.
    pub directory: bool,
}

/// State of a namespace's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Namespace {
    /// Nothing of that name.
    #[default]
    Missing,
    /// A file of that name with no namespace behind it.
    Stale,
    /// There, and can be entered.
    Present,
}

/// A device in the namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenDevice {
    /// Its name.
    pub name: String,
    /// Its Ethernet address.
    pub mac: Option<Mac>,
    /// Its MTU in octets.
    pub mtu: u32,
    /// Whether it is administratively up.
    pub up: bool,
    /// Its addresses, without the kernel's own link-local one.
    pub addresses: Vec<SeenAddress>,
    /// Its default gateways.
    pub gateways: Vec<IpAddr>,
    /// Gateways' own routes: host routes with link scope.
    pub on_link: BTreeSet<IpAddr>,
}

/// An address of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenAddress {
    /// Address and prefix length.
    pub net: IpNet,
    /// From a router advertisement, and so going to expire.
    pub dynamic: bool,
}

/// A running dnsmasq.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dnsmasq {
    /// Process id.
    pub pid: i32,
    /// Its command line, program first.
    pub args: Vec<String>,
    /// Whether it runs in the network's namespace as that is now.
    pub in_namespace: bool,
}

/// One step. Steps of a plan are done in order; after a failure the rest is left for the next round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Make the namespace, over a stale file if need be.
    CreateNamespace,
    /// Bring `lo` up and set the namespace's IPv6 defaults: no router advertisements, no duplicate detection.
    PrepareNamespace,
    /// Remove a device of the namespace, or a host end that lost its other end.
    Unplug { device: String },
    /// Make the device: in the namespace, with the port's MAC and MTU, up, its host end ready for the switch.
    Plug,
    /// Give the device the port's MAC.
    SetMac,
    /// Give both ends the network's MTU.
    SetMtu,
    /// Bring the device up.
    SetUp,
    /// Take an address off the device.
    DeleteAddress { net: IpNet },
    /// Put an address on the device.
    AddAddress { net: IpNet },
    /// Reach a gateway outside of the device's prefixes.
    AddOnLink { ip: IpAddr },
    /// Drop the route to a former gateway.
    DeleteOnLink { ip: IpAddr },
    /// Set the default route of the gateway's IP version.
    SetGateway { ip: IpAddr },
    /// Drop a default route.
    DeleteGateway { ip: IpAddr },
    /// Write the files that dnsmasq reads; `interface` too.
    WriteFiles,
    /// Write the `interface` file alone.
    WriteInterface,
    /// End the process: SIGTERM, SIGKILL only when it stays.
    StopDnsmasq { pid: i32 },
    /// Seed the leases file and start dnsmasq.
    StartDnsmasq,
    /// Tell dnsmasq to read its files again.
    Reload { pid: i32 },
    /// Remove the network's directory.
    RemoveFiles,
    /// Remove the namespace with all that is in it.
    DeleteNamespace,
}

/// Steps from `observed` to `desired`; `None` means that the network is to be gone from this host.
pub fn plan(desired: Option<&Desired>, observed: &Observed) -> Vec<Op> {
    match desired {
        Some(desired) => serve(desired, observed),
        None => remove(observed),
    }
}

fn remove(observed: &Observed) -> Vec<Op> {
    let mut ops = Vec::new();
    ops.extend(observed.relief.map(|pid| Op::StopDnsmasq { pid }));
    if let Some(dnsmasq) = &observed.dnsmasq {
        ops.push(Op::StopDnsmasq { pid: dnsmasq.pid });
    }
    // Devices go with the namespace, but only once the kernel gets to it; the switch should see its end go now.
    if observed.namespace == Namespace::Present {
        ops.extend(observed.devices.iter().map(|device| Op::Unplug { device: device.name.clone() }));
    }
    if observed.namespace != Namespace::Missing {
        ops.push(Op::DeleteNamespace);
    }
    // Last: the directory says that there is something to remove.
    if observed.directory {
        ops.push(Op::RemoveFiles);
    }
    ops
}

fn serve(desired: &Desired, observed: &Observed) -> Vec<Op> {
    let mut ops = Vec::new();
    let fresh = observed.namespace != Namespace::Present;
    if fresh {
        ops.push(Op::CreateNamespace);
    }
    if fresh || !observed.lo_up {
        ops.push(Op::PrepareNamespace);
    }
    device(&mut ops, desired, observed, fresh);

    // Devices of ports that this network no longer has here.
    let strangers = observed.devices.iter().filter(|seen| !fresh && seen.name != desired.device.name);
    ops.extend(strangers.map(|seen| Op::Unplug { device: seen.name.clone() }));

    let written = observed.files.as_ref() == Some(&desired.files);
    let interface = observed.interface.as_deref() == Some(&*desired.device.name);
    match &observed.dnsmasq {
        Some(running) if !fresh && running.in_namespace && same_command(&running.args, &desired.args) => {
            if !written {
                ops.push(Op::WriteFiles);
            } else if !interface {
                ops.push(Op::WriteInterface);
            }
            if !written || observed.reload_pending {
                ops.push(Op::Reload { pid: running.pid });
            }
        }
        other => {
            if let Some(running) = other {
                ops.push(Op::StopDnsmasq { pid: running.pid });
            }
            if !written || !interface {
                ops.push(Op::WriteFiles);
            }
            ops.push(Op::StartDnsmasq);
        }
    }
    // Last: until then it serves.
    ops.extend(observed.relief.map(|pid| Op::StopDnsmasq { pid }));
    ops
}

fn device(ops: &mut Vec<Op>, desired: &Desired, observed: &Observed, fresh: bool) {
    let want = &desired.device;
    let tap = observed.taps.contains(&want.tap);
    let seen = observed.devices.iter().find(|seen| !fresh && seen.name == want.name);
    let blank = SeenDevice::default();
    let seen = match seen {
        Some(seen) if tap => {
            if seen.mac != Some(want.mac) {
                ops.push(Op::SetMac);
            }
            if want.mtu > 0 && seen.mtu != want.mtu {
                ops.push(Op::SetMtu);
            }
            if !seen.up {
                ops.push(Op::SetUp);
            }
            seen
        }
        // One end without the other cannot be mended.
        other => {
            if other.is_some() {
                ops.push(Op::Unplug { device: want.name.clone() });
            }
            if tap {
                ops.push(Op::Unplug { device: want.tap.clone() });
            }
            ops.push(Op::Plug);
            &blank
        }
    };

    let is_kept = |address: &SeenAddress| want.addresses.contains(&address.net) && !address.dynamic;
    let gone = seen.addresses.iter().filter(|address| !is_kept(address));
    ops.extend(gone.map(|address| Op::DeleteAddress { net: address.net }));
    let there: BTreeSet<IpNet> = seen.addresses.iter().filter(|address| is_kept(address)).map(|a| a.net).collect();
    ops.extend(want.addresses.difference(&there).map(|net| Op::AddAddress { net: *net }));

    for v4 in [true, false] {
        let wanted = want.gateways.iter().find(|gateway| gateway.ip.is_ipv4() == v4);
        let old: Vec<IpAddr> = seen.gateways.iter().copied().filter(|ip| ip.is_ipv4() == v4).collect();
        let settled = matches!((wanted, old.as_slice()), (Some(wanted), [old]) if wanted.ip == *old);
        if let Some(wanted) = wanted
            && !settled
        {
            if wanted.on_link && !seen.on_link.contains(&wanted.ip) {
                ops.push(Op::AddOnLink { ip: wanted.ip });
            }
            ops.push(Op::SetGateway { ip: wanted.ip });
        }
        let leftover = old.into_iter().filter(|old| wanted.is_none_or(|wanted| wanted.ip != *old));
        // Setting the IPv4 gateway replaces the one before; IPv6 would keep both.
        ops.extend(leftover.filter(|_| wanted.is_none() || !v4).map(|ip| Op::DeleteGateway { ip }));
        let unused = seen.on_link.iter().copied().filter(|ip| ip.is_ipv4() == v4);
        let unused = unused.filter(|ip| !wanted.is_some_and(|wanted| wanted.on_link && wanted.ip == *ip));
        ops.extend(unused.map(|ip| Op::DeleteOnLink { ip }));
    }
}

/// Whether two command lines are the same: the program's path and empty arguments (the Python agent leaves one) aside.
fn same_command(a: &[String], b: &[String]) -> bool {
    let rest = |args: &'_ [String]| args.iter().skip(1).filter(|arg| !arg.is_empty()).cloned().collect::<Vec<_>>();
    let name = |args: &[String]| args.first().map(|path| path.rsplit('/').next().unwrap_or_default().to_owned());
    name(a) == name(b) && rest(a) == rest(b)
}
