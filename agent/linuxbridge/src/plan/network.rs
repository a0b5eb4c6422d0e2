//! Building one network: its bridge, its way to other hosts, its forwarding entries.

use std::collections::BTreeSet;

use types::{IpNet, Mac};

use super::{Attempt, Built, Planner, Subject};
use crate::{
    desired::{Network, Segment},
    model::{Kind, Op, Route, Tunnel},
    names,
    settings::Vxlan,
};

impl Planner<'_> {
    pub(super) fn build(&mut self, id: &str, network: &Network) -> Attempt<Built> {
        let bridge = names::bridge(id);
        let mtu = network.mtu;
        match &network.segment {
            Segment::Local => {
                self.bridge(&bridge, None, true)?;
                self.finish(bridge, mtu)
            }
            Segment::Flat { physical } | Segment::Vlan { physical, .. } => {
                if let Some(operators) = self.settings.bridge_mappings.get(physical) {
                    return self.operators_bridge(operators, physical, mtu);
                }
                let interface = self.interface(physical)?;
                let port = match network.segment {
                    Segment::Vlan { id, .. } => self.sub_interface(&interface, id)?,
                    _ => interface,
                };
                self.attach_physical(&port, &bridge)?;
                let limit = self.host.link(&port).map(|link| link.mtu);
                if let (Some(mtu), Some(limit)) = (mtu, limit)
                    && mtu > limit
                {
                    self.warn(format!("the network's MTU of {mtu} is more than the {limit} of {port}"));
                }
                let carried = mtu.map(|mtu| mtu.min(limit.unwrap_or(mtu)));
                self.resize(&bridge, carried)?;
                self.bring_up(&bridge)?;
                Ok(Built { bridge, mtu })
            }
            Segment::Vxlan { vni } => {
                let Some(vxlan) = self.settings.vxlan.clone() else {
                    return Err("VXLAN is switched off here (enable_vxlan in section VXLAN)".to_owned());
                };
                let mtu = self.check_tunnel(&vxlan, *vni, mtu)?;
                self.bridge(&bridge, None, true)?;
                let name = self.tunnel(&vxlan, *vni, mtu)?;
                self.enslave(&name, &bridge)?;
                self.bring_up(&name)?;
                self.finish(bridge, mtu)
            }
        }
    }

    fn finish(&mut self, bridge: String, mtu: Option<u32>) -> Attempt<Built> {
        self.resize(&bridge, mtu)?;
        self.bring_up(&bridge)?;
        Ok(Built { bridge, mtu })
    }

    fn operators_bridge(&self, name: &str, physical: &str, mtu: Option<u32>) -> Attempt<Built> {
        match self.host.link(name) {
            Some(link) if link.kind.is_bridge() => Ok(Built { bridge: name.to_owned(), mtu }),
            Some(_) => Err(format!("bridge_mappings maps {physical} to {name}, which is not a bridge")),
            None => Err(format!("bridge_mappings maps {physical} to {name}, which does not exist; create it")),
        }
    }

    /// The interface of a physical network, checked.
    fn interface(&self, physical: &str) -> Attempt<String> {
        let Some(name) = self.settings.interface_mappings.get(physical) else {
            return Err(format!(
                "physical network {physical} has no interface here; add it to physical_interface_mappings"
            ));
        };
        match self.host.link(name) {
            None => Err(format!("interface {name} of physical network {physical} does not exist")),
            Some(link) if link.kind.is_bridge() => Err(format!(
                "physical_interface_mappings maps {physical} to {name}, which is a bridge; \
                 name it in bridge_mappings instead"
            )),
            Some(_) => Ok(name.clone()),
        }
    }

    fn sub_interface(&mut self, parent: &str, id: u32) -> Attempt<String> {
        let name = names::sub_interface(parent, id);
        let is_it = |kind: &Kind| matches!(kind, Kind::Vlan { parent: Some(p), id: i } if p == parent && *i == id);
        match self.host.link(&name) {
            Some(link) if is_it(&link.kind) => {}
            Some(_) => return Err(format!("{name} exists and is not VLAN {id} of {parent}; rename it")),
            None => {
                if let Some((other, _)) = self.host.links.iter().find(|(_, link)| is_it(&link.kind)) {
                    return Err(format!("VLAN {id} of {parent} is in use as {other}; rename that to {name}"));
                }
                self.emit(Op::AddVlan { name: name.clone(), parent: parent.to_owned(), id })?;
                self.set_ipv6(&name, true)?;
            }
        }
        self.bring_up(&name)?;
        Ok(name)
    }

    /// Makes or corrects a bridge; with `mac`, it keeps that address (the host's, when its IP addresses move there, so
    /// that neighbours notice nothing). `closed` bridges have no host addresses: without IPv6, the host does not take
    /// part in a network of somebody else's.
    fn bridge(&mut self, name: &str, mac: Option<Mac>, closed: bool) -> Attempt {
        match self.host.link(name).map(|link| link.kind.clone()) {
            None => self.emit(Op::AddBridge { name: name.to_owned(), mac })?,
            Some(Kind::Bridge { forward_delay: 0, stp: false }) => {}
            Some(Kind::Bridge { .. }) => self.emit(Op::SetForwarding { name: name.to_owned() })?,
            Some(_) => return Err(format!("{name} exists and is not a bridge; rename it")),
        }
        if let Subject::Network(id) = &self.subject
            && self.host.link(name).is_some_and(|link| link.network.as_ref() != Some(id))
        {
            self.emit(Op::Label { name: name.to_owned(), network: id.clone() })?;
        }
        if let Some(mac) = mac
            && self.host.link(name).is_some_and(|link| link.mac != Some(mac))
        {
            self.emit(Op::SetMac { name: name.to_owned(), mac })?;
        }
        self.set_ipv6(name, closed)
    }

    /// Puts an interface into a bridge together with the addresses and routes that the host has on it.
    ///
    /// The order keeps the host reachable: the bridge has the addresses before frames arrive there, routes stand
    /// twice for a moment, and what the interface had goes last.
    fn attach_physical(&mut self, port: &str, bridge: &str) -> Attempt {
        let Some(link) = self.host.link(port) else {
            return Err(format!("{port} is gone"));
        };
        let mac = link.mac;
        let former = link.master.clone().filter(|master| master != bridge);
        if let Some(master) = &former
            && !self.is_free(port)
        {
            return Err(format!("{port} belongs to {master}, which is not this agent's; take it out of there"));
        }
        // A bridge of ours that the interface leaves was a former network's: no two share an untagged interface.
        let sources: Vec<String> = former.iter().cloned().chain([port.to_owned()]).collect();
        let moving = sources.iter().filter_map(|name| self.host.link(name));
        let (mut addresses, mut routes): (Vec<IpNet>, Vec<Route>) = (Vec::new(), Vec::new());
        for source in moving {
            addresses.extend(&source.addresses);
            routes.extend(&source.routes);
        }
        let own = self.host.link(bridge).into_iter().flat_map(|link| &link.addresses);
        let ipv6 = addresses.iter().chain(own).any(|address| address.addr().is_ipv6());
        self.bridge(bridge, mac.filter(|_| !addresses.is_empty()), !ipv6)?;
        if !addresses.is_empty() {
            self.bring_up(bridge)?;
        }
        self.copy_addresses(&addresses, bridge)?;
        self.enslave(port, bridge)?;
        self.copy_routes(&routes, bridge)?;
        for source in &sources {
            self.strip(source)?;
        }
        match former {
            Some(former) if self.host.ports_of(&former).next().is_none() => self.emit(Op::DeleteLink { name: former }),
            _ => Ok(()),
        }
    }

    pub(super) fn copy_addresses(&mut self, addresses: &[IpNet], to: &str) -> Attempt {
        for address in addresses {
            if self.host.link(to).is_some_and(|link| !link.has_address(address.addr())) {
                self.emit(Op::AddAddress { name: to.to_owned(), address: *address })?;
            }
        }
        Ok(())
    }

    pub(super) fn copy_routes(&mut self, routes: &[Route], to: &str) -> Attempt {
        // Routes to gateways come after those that reach the gateways.
        let (near, far): (Vec<Route>, Vec<Route>) = routes.iter().partition(|route| route.via.is_none());
        for route in near.into_iter().chain(far) {
            if self.host.link(to).is_some_and(|link| !link.routes.contains(&route)) {
                self.emit(Op::AddRoute { name: to.to_owned(), route })?;
            }
        }
        Ok(())
    }

    /// Takes addresses and routes off an interface: gateways first, secondary addresses before their primary.
    pub(super) fn strip(&mut self, name: &str) -> Attempt {
        let Some(link) = self.host.link(name) else { return Ok(()) };
        let (routes, addresses) = (link.routes.clone(), link.addresses.clone());
        let (near, far): (Vec<Route>, Vec<Route>) = routes.into_iter().partition(|route| route.via.is_none());
        for route in far.into_iter().chain(near) {
            self.emit(Op::DeleteRoute { name: name.to_owned(), route })?;
        }
        for address in addresses.into_iter().rev() {
            self.emit(Op::DeleteAddress { name: name.to_owned(), address })?;
        }
        Ok(())
    }

    /// Checks before anything is made, so that nothing half-made has to be removed. Gives the MTU that fits.
    fn check_tunnel(&mut self, vxlan: &Vxlan, vni: u32, mtu: Option<u32>) -> Attempt<Option<u32>> {
        let name = names::vxlan(vni);
        let lower = self.lower(vxlan, &name)?;
        let exists = match self.host.link(&name).map(|link| &link.kind) {
            None => false,
            Some(Kind::Vxlan(tunnel)) if tunnel.vni == vni => true,
            Some(_) => return Err(format!("{name} exists and is not the tunnel of VNI {vni}; rename it")),
        };
        let same = |kind: &Kind| matches!(kind, Kind::Vxlan(tunnel) if tunnel.vni == vni && tunnel.port == vxlan.port);
        // Ours holds the VNI already, or nobody does.
        let mut others = self.host.links.iter().filter(|_| !exists);
        if let Some((other, _)) = others.find(|(_, link)| same(&link.kind)) {
            return Err(format!("VNI {vni} is in use by {other}; remove it"));
        }
        let Some(mtu) = mtu else { return Ok(None) };
        let below = self.host.link(&lower).map_or(u32::MAX, |link| link.mtu);
        let limit = below.saturating_sub(vxlan.overhead());
        if mtu <= limit {
            return Ok(Some(mtu));
        }
        let text = format!(
            "an MTU of {mtu} for {name} is too high for {lower}, whose MTU of {below} leaves {limit} in a tunnel; \
             raise the MTU of {lower} or lower the network's"
        );
        if !exists {
            return Err(text);
        }
        self.warn(text);
        Ok(Some(limit))
    }

    /// The interface under a tunnel: the one that has `local_ip`.
    fn lower(&self, vxlan: &Vxlan, name: &str) -> Attempt<String> {
        let current = match self.host.link(name).map(|link| &link.kind) {
            Some(Kind::Vxlan(tunnel)) => tunnel.lower.clone(),
            _ => None,
        };
        let current = current.filter(|l| self.host.link(l).is_some_and(|link| link.has_address(vxlan.local_ip)));
        current.or_else(|| self.host.holder_of(vxlan.local_ip).map(|(name, _)| name.clone())).ok_or_else(|| {
            format!("no interface has local_ip {}, which tunnels leave from; add it to one", vxlan.local_ip)
        })
    }

    fn tunnel(&mut self, vxlan: &Vxlan, vni: u32, mtu: Option<u32>) -> Attempt<String> {
        let name = names::vxlan(vni);
        let tunnel = Tunnel {
            vni,
            lower: Some(self.lower(vxlan, &name)?),
            local: Some(vxlan.local_ip),
            group: vxlan.group_of(vni),
            port: vxlan.port,
            source_ports: vxlan.source_ports,
            ttl: vxlan.ttl,
            tos: vxlan.tos,
            proxy: vxlan.l2_population && vxlan.arp_responder,
        };
        let fits = match self.host.link(&name).map(|link| &link.kind) {
            Some(Kind::Vxlan(now)) => Some(
                now.lower == tunnel.lower
                    && now.port == tunnel.port
                    && now.group == tunnel.group
                    && now.proxy == tunnel.proxy
                    // The Python agent names no local address when it floods by multicast.
                    && (now.local == tunnel.local || now.local.is_none() && tunnel.group.is_some()),
            ),
            _ => None,
        };
        // What differs cannot be changed on a living device, and a tunnel to other ends carries nothing anyway.
        if fits == Some(false) {
            self.emit(Op::DeleteLink { name: name.clone() })?;
        }
        if fits != Some(true) {
            let proxy = tunnel.proxy;
            self.emit(Op::AddVxlan { name: name.clone(), tunnel })?;
            self.resize(&name, mtu)?;
            // A responder answers for IPv6 neighbours too, which the kernel keeps only where IPv6 is on.
            match proxy {
                true => self.emit(Op::QuietIpv6 { name: name.clone() })?,
                false => self.set_ipv6(&name, true)?,
            }
        } else {
            self.resize(&name, mtu)?;
        }
        Ok(name)
    }

    /// Forwarding entries and neighbours of a tunnel, when the server keeps them.
    pub(super) fn forward(&mut self, network: &Network) -> Attempt {
        let (Segment::Vxlan { vni }, Some(vxlan)) = (&network.segment, self.settings.vxlan.clone()) else {
            return Ok(());
        };
        let name = names::vxlan(*vni);
        let Some(link) = self.host.link(&name) else { return Ok(()) };
        if !vxlan.l2_population || !matches!(&link.kind, Kind::Vxlan(tunnel) if tunnel.vni == *vni) {
            return Ok(());
        }
        let (has, known) = (link.forwarding.clone(), link.neighbours.clone());
        let usable =
            |remote: &std::net::IpAddr| remote.is_ipv4() == vxlan.local_ip.is_ipv4() && *remote != vxlan.local_ip;
        let none = BTreeSet::new();
        let floods = has.get(&Mac::ZERO).unwrap_or(&none);
        let table = &network.forwarding;
        for remote in table.flood().iter().copied().filter(usable).filter(|remote| !floods.contains(remote)) {
            self.emit(Op::AppendFlood { name: name.clone(), remote })?;
        }
        for (mac, remote) in table.unicast().iter().filter(|(_, remote)| usable(remote)) {
            if has.get(mac).is_none_or(|remotes| remotes.len() != 1 || !remotes.contains(remote)) {
                self.emit(Op::ReplaceForwarding { name: name.clone(), mac: *mac, remote: *remote })?;
            }
        }
        if vxlan.arp_responder {
            // The Python agent switches IPv6 off, and then has no IPv6 neighbours; since a responder also swallows
            // questions that it cannot answer, IPv6 did not work across such a tunnel.
            if self.host.link(&name).is_some_and(|link| link.ipv6_disabled)
                && table.neighbours().keys().any(std::net::IpAddr::is_ipv6)
            {
                self.emit(Op::QuietIpv6 { name: name.clone() })?;
                self.set_ipv6(&name, false)?;
            }
            for (ip, mac) in table.neighbours() {
                if known.get(ip) != Some(mac) {
                    self.emit(Op::ReplaceNeighbour { name: name.clone(), ip: *ip, mac: *mac })?;
                }
            }
        }
        // Old entries go last: an address that moved has been replaced above and is not among them.
        for remote in floods.iter().filter(|remote| !table.flood().contains(remote)) {
            self.emit(Op::DeleteFlood { name: name.clone(), remote: *remote })?;
        }
        for (mac, remotes) in has.iter().filter(|(mac, _)| !mac.is_zero() && !table.unicast().contains_key(mac)) {
            for remote in remotes {
                self.emit(Op::DeleteForwarding { name: name.clone(), mac: *mac, remote: *remote })?;
            }
        }
        for (ip, mac) in known.iter().filter(|(ip, _)| !table.neighbours().contains_key(ip)) {
            self.emit(Op::DeleteNeighbour { name: name.clone(), ip: *ip, mac: *mac })?;
        }
        Ok(())
    }
}
