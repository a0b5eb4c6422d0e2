//! How a DHCP port's device comes to the switch of the host.
//!
//! Reference: `neutron/agent/linux/interface.py`; the Linux bridge driver as of 2024.2.

use std::fmt::Debug;

use ::linux::{Handle, Idempotent, LinkSpec, Netns, Result, Sysctl, link, offload, sysctl};

use crate::plan::Device;

/// A way to connect a namespace with the switch of the host. Another switch is another one of these.
pub trait InterfaceDriver: Debug + Send + Sync + 'static {
    /// Whether the host's end of a device is there.
    fn is_plugged(&self, tap: &str) -> Result<bool>;

    /// Makes the device in the namespace, with MAC and MTU, up; and its end on the host, where the L2 agent finds it.
    /// A failure leaves nothing behind.
    fn plug(&self, device: &Device, inside: &Netns) -> Result<()>;

    /// Removes a device by the name of either end. That it is gone already is no failure.
    fn unplug(&self, device: &str, inside: Option<&Netns>) -> Result<()>;

    /// Changes the MTU of both ends.
    fn set_mtu(&self, device: &Device, inside: &Netns) -> Result<()>;
}

/// A veth pair: `ns-…` in the namespace, `tap…` on the host, which the Linux bridge agent puts into its bridge.
#[derive(Clone, Debug)]
pub struct LinuxBridge {
    root: Handle,
    host: Netns,
}

impl LinuxBridge {
    /// With the host's ends in the namespace `host`.
    pub fn new(host: &Netns) -> Result<LinuxBridge> {
        Ok(LinuxBridge { root: host.handle()?, host: host.clone() })
    }
}

impl InterfaceDriver for LinuxBridge {
    fn is_plugged(&self, tap: &str) -> Result<bool> {
        Ok(self.root.link(tap)?.is_some())
    }

    fn plug(&self, device: &Device, inside: &Netns) -> Result<()> {
        let mut pair = LinkSpec::veth(&device.tap, &device.name).peer_netns(inside).peer_mac(device.mac);
        if device.mtu > 0 {
            pair = pair.mtu(device.mtu).peer_mtu(device.mtu);
        }
        self.root.link_add(&pair)?;
        let finish = || -> Result<()> {
            // The host's end belongs to a bridge: it has no addresses of its own, not even automatic ones.
            Sysctl::in_netns(&self.host).set(&sysctl::ipv6(&device.tap, "disable_ipv6"), "1").or_missing()?;
            // Guests that read packets raw, as old DHCP clients do, want checksums.
            offload::set_tx_checksum(inside, &device.name, false)?;
            inside.handle()?.link_set(link::set(&device.name).up())?;
            self.root.link_set(link::set(&device.tap).up())
        };
        finish().inspect_err(|_| {
            if let Err(error) = self.root.link_delete(&device.tap) {
                tracing::warn!(device = device.tap, %error, "Could not take back a device");
            }
        })
    }

    fn unplug(&self, device: &str, inside: Option<&Netns>) -> Result<()> {
        let on_host = device.starts_with("tap") && self.root.link_delete(device)?;
        if let Some(inside) = inside.filter(|_| !on_host) {
            inside.handle()?.link_delete(device)?;
        }
        Ok(())
    }

    fn set_mtu(&self, device: &Device, inside: &Netns) -> Result<()> {
        self.root.link_set(link::set(&device.tap).mtu(device.mtu))?;
        inside.handle()?.link_set(link::set(&device.name).mtu(device.mtu))
    }
}
