//! Taking a network down: the host's addresses go back to the interface that they came from, what the agent made goes.

use super::{Attempt, Planner};
use crate::{
    desired::Segment,
    model::{Kind, Op},
    names,
};

impl Planner<'_> {
    /// Removes a network's bridge and its way to other hosts. Nothing there is not an error, and an operator's bridge
    /// is not touched.
    pub(super) fn take_down(&mut self, bridge: &str, segment: Option<&Segment>) -> Attempt {
        let is_bridge = self.host.link(bridge).is_some_and(|link| link.kind.is_bridge());
        if is_bridge && self.settings.owns_bridge(bridge) {
            self.return_addresses(bridge)?;
            let tunnels: Vec<String> = self
                .host
                .ports_of(bridge)
                .filter(|(name, link)| name.starts_with(names::VXLAN_PREFIX) && matches!(link.kind, Kind::Vxlan(_)))
                .map(|(name, _)| name.clone())
                .collect();
            for name in tunnels {
                self.emit(Op::DeleteLink { name })?;
            }
            self.emit(Op::DeleteLink { name: bridge.to_owned() })?;
        }
        // A tunnel that never got into its bridge.
        if let Some(Segment::Vxlan { vni }) = segment {
            let name = names::vxlan(*vni);
            let it = |kind: &Kind| matches!(kind, Kind::Vxlan(tunnel) if tunnel.vni == *vni);
            if self.host.link(&name).is_some_and(|link| it(&link.kind) && link.master.is_none()) {
                self.emit(Op::DeleteLink { name })?;
            }
        }
        Ok(())
    }

    /// Gives addresses and routes back to the physical interface in the bridge. A sub-interface that gets none was
    /// made by the agent, and goes.
    fn return_addresses(&mut self, bridge: &str) -> Attempt {
        let Some(link) = self.host.link(bridge) else { return Ok(()) };
        let (addresses, routes) = (link.addresses.clone(), link.routes.clone());
        let physical = |name: &str| self.settings.interface_mappings.values().any(|interface| interface == name);
        let ours = |name: &str, kind: &Kind| match kind {
            Kind::Vlan { parent: Some(parent), id } => physical(parent) && names::sub_interface(parent, *id) == name,
            _ => false,
        };
        let uplinks: Vec<(String, bool)> = self
            .host
            .ports_of(bridge)
            .map(|(name, link)| (name.clone(), ours(name, &link.kind)))
            .filter(|(name, ours)| *ours || physical(name))
            .collect();
        let Some((uplink, made_here)) = uplinks.into_iter().next() else { return Ok(()) };
        if addresses.is_empty() && routes.is_empty() {
            // A physical interface just leaves with the bridge.
            return if made_here { self.emit(Op::DeleteLink { name: uplink }) } else { Ok(()) };
        }
        if addresses.iter().any(|address| address.addr().is_ipv6()) {
            self.set_ipv6(&uplink, false)?;
        }
        self.copy_addresses(&addresses, &uplink)?;
        self.emit(Op::ClearMaster { name: uplink.clone() })?;
        self.copy_routes(&routes, &uplink)?;
        self.strip(bridge)
    }

    /// Tunnel devices by our names that are in no bridge of anybody else's.
    pub(super) fn delete_tunnels(&mut self) -> Attempt {
        let tunnels: Vec<String> = self
            .host
            .links
            .iter()
            .filter(|(name, link)| matches!(&link.kind, Kind::Vxlan(t) if **name == names::vxlan(t.vni)))
            .filter(|(name, _)| self.is_free(name))
            .map(|(name, _)| name.clone())
            .collect();
        for name in tunnels {
            self.emit(Op::DeleteLink { name })?;
        }
        Ok(())
    }
}
