//! What the tests share: hosts made of namespaces of their own, so that nothing of the machine is touched.

use std::time::Duration;

use linux::{Handle, LinkSpec, Netns, Program, link};
use types::Mac;

pub fn mac(last: u8) -> Mac {
    Mac([0xfa, 0x16, 0x3e, 0, 0, last])
}

/// A host in a namespace, and what is beyond its interfaces in another. Both end with the value.
pub struct Lab {
    pub host: Netns,
    pub handle: Handle,
    /// Where the other ends of its interfaces are.
    pub outside: Netns,
    pub outside_handle: Handle,
}

impl Lab {
    pub fn new() -> Self {
        let open = || {
            let namespace =
                Netns::anonymous().expect("these tests need root: run them with `make test`, or under `unshare -nm`");
            let handle = namespace.handle().unwrap();
            handle.link_set(link::set("lo").up()).unwrap();
            (namespace, handle)
        };
        let ((host, handle), (outside, outside_handle)) = (open(), open());
        Self { host, handle, outside, outside_handle }
    }

    /// An interface with addresses, connected to one of the same name outside. IPv6 is usable at once.
    pub fn uplink(&self, name: &str, addresses: &[&str]) {
        let peer = format!("{name}-far");
        self.handle.link_add(&LinkSpec::veth(name, &peer).peer_netns(&self.outside).up()).unwrap();
        self.outside_handle.link_set(link::set(&*peer).up()).unwrap();
        let index = self.handle.index(name).unwrap();
        for address in addresses {
            let options = linux::addr::AddOptions { no_dad: true, ..Default::default() };
            self.handle.run(linux::addr::add(index, address.parse().unwrap(), options)).unwrap();
        }
    }

    pub fn default_routes(&self, gateways: &[&str]) {
        for gateway in gateways {
            self.handle.route_replace(&linux::Route::default_via(gateway.parse().unwrap())).unwrap();
        }
    }

    /// A device of a port, with its other end outside.
    pub fn tap(&self, name: &str) {
        let peer = format!("g{}", &name[3..]);
        self.handle.link_add(&LinkSpec::veth(name, &peer).peer_netns(&self.outside)).unwrap();
    }

    /// Runs a shell command on the host.
    pub fn sh(&self, script: &str) -> String {
        sh(&self.host, script)
    }
}

/// Runs a shell command in a namespace; it must succeed.
pub fn sh(namespace: &Netns, script: &str) -> String {
    Program::new("sh").args(["-ec", script]).netns(namespace).check(Duration::from_secs(30)).unwrap().stdout
}
