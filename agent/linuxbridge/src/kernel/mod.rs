//! The real host behind the model: reading it, and doing steps to it.
//!
//! Steps are done one by one, since what a failed one leaves undone decides about the next: a network whose uplink did
//! not get into its bridge must keep the host's addresses where they are. What a failed network had newly made is
//! removed again, as long as nothing has yet been moved away from its old place.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    net::IpAddr,
};

use linux::{
    Handle, Idempotent, LinkSpec, Netns, Sysctl,
    addr::{self, AddOptions, Scope},
    link::{self, VxlanSpec},
    neigh::{self, Fdb, Table},
    route::{self, Protocol},
    sysctl,
};
use types::Mac;

use crate::{
    model::{Host, Kind, Link, Op, Route, Tunnel},
    plan::{Step, Subject},
    settings::Settings,
};

/// Before the network's id in the alias of a bridge, as `ip link` shows it.
const LABEL: &str = "network:";

/// What was learned of a tunnel device's tables, by its index.
type Tables = HashMap<u32, (BTreeMap<Mac, BTreeSet<IpAddr>>, BTreeMap<IpAddr, Mac>)>;

/// A network namespace's kernel.
#[derive(Debug)]
pub struct Kernel {
    handle: Handle,
    sysctl: Sysctl,
    /// Forwarding tables are large and only we change them, so they are read anew when that may not hold.
    tables: Tables,
}

/// What went wrong, by what it was for.
pub type Failures = BTreeMap<Subject, String>;

impl Kernel {
    pub fn open(namespace: &Netns) -> linux::Result<Self> {
        Ok(Self { handle: namespace.handle()?, sysctl: Sysctl::in_netns(namespace), tables: Tables::new() })
    }

    /// Forgets what is known of forwarding tables: they are read at the next observation.
    pub fn distrust(&mut self) {
        self.tables.clear();
    }

    /// Reads the whole host.
    pub fn observe(&mut self, settings: &Settings) -> linux::Result<Host> {
        let links = self.handle.links()?;
        let names: HashMap<u32, String> = links.iter().map(|link| (link.index, link.name.clone())).collect();
        let name = |index: Option<u32>| index.and_then(|index| names.get(&index).cloned());
        let mut host = Host::default();
        for link in &links {
            let kind = match &link.kind {
                link::Kind::Bridge { forward_delay, stp, .. } => {
                    Kind::Bridge { forward_delay: *forward_delay, stp: *stp }
                }
                link::Kind::Vlan { id, .. } => {
                    // An index of another namespace is not one of ours.
                    let parent = link.parent.filter(|_| link.peer_netns.is_none());
                    Kind::Vlan { parent: name(parent), id: u32::from(*id) }
                }
                link::Kind::Vxlan(info) => Kind::Vxlan(Tunnel {
                    vni: info.vni,
                    lower: name(info.dev),
                    local: info.local,
                    group: info.group,
                    port: info.port,
                    source_ports: info.source_ports,
                    ttl: Some(info.ttl).filter(|ttl| *ttl != 0),
                    tos: Some(info.tos).filter(|tos| *tos != 0),
                    proxy: info.proxy,
                }),
                _ => Kind::Other,
            };
            let mut seen = Link::new(link.index, kind);
            seen.up = link.up;
            seen.mtu = link.mtu;
            seen.mac = link.mac;
            seen.master = name(link.master);
            seen.ipv6_disabled = link.ipv6_disabled;
            seen.network = link.alias.strip_prefix(LABEL).map(str::to_owned);
            host.links.insert(link.name.clone(), seen);
        }
        for address in self.handle.addresses(None)? {
            let usable = matches!(address.scope, Scope::Global | Scope::Site | Scope::Host);
            let link = name(Some(address.index)).and_then(|name| host.links.get_mut(&name));
            link.into_iter().filter(|_| usable).for_each(|link| link.addresses.push(address.net));
        }
        for route in self.handle.routes(None)? {
            let link = name(route.dev).and_then(|name| host.links.get_mut(&name));
            if let Some(link) = link.filter(|_| route.protocol != Protocol::Kernel) {
                link.routes.push(Route {
                    destination: route.net,
                    via: route.gateway,
                    metric: route.metric,
                    source: route.source,
                    onlink: route.onlink,
                    protocol: route.protocol,
                });
            }
        }
        if settings.vxlan.as_ref().is_some_and(|vxlan| vxlan.l2_population) {
            self.read_tables(&mut host)?;
        }
        Ok(host)
    }

    fn read_tables(&mut self, host: &mut Host) -> linux::Result<()> {
        let mut fresh = Tables::new();
        for link in host.links.values_mut().filter(|link| matches!(link.kind, Kind::Vxlan(_))) {
            let tables = match self.tables.remove(&link.index) {
                Some(tables) => tables,
                None => match self.read_table(link.index) {
                    // It went while we were reading.
                    Err(error) if error.is_not_found() => continue,
                    read => read?,
                },
            };
            (link.forwarding, link.neighbours) = tables.clone();
            fresh.insert(link.index, tables);
        }
        self.tables = fresh;
        Ok(())
    }

    #[expect(clippy::type_complexity, reason = "the two tables, as the model has them")]
    fn read_table(&self, index: u32) -> linux::Result<(BTreeMap<Mac, BTreeSet<IpAddr>>, BTreeMap<IpAddr, Mac>)> {
        let mut forwarding: BTreeMap<Mac, BTreeSet<IpAddr>> = BTreeMap::new();
        for entry in self.handle.fdb(Some(index))? {
            if let (Table::Own, true, Some(remote)) = (entry.table, entry.permanent, entry.dst) {
                forwarding.entry(entry.mac).or_default().insert(remote);
            }
        }
        let known = self.handle.neighbours(Some(index))?;
        let permanent = known.into_iter().filter(|neighbour| neighbour.permanent());
        let neighbours = permanent.filter_map(|neighbour| Some((neighbour.ip, neighbour.mac?))).collect();
        Ok((forwarding, neighbours))
    }

    /// Does steps in their order. Once one has failed, the later ones for the same subject are left undone.
    pub fn apply(&mut self, steps: &[Step], host: &Host) -> Failures {
        let mut indices: HashMap<String, u32> =
            host.links.iter().map(|(name, link)| (name.clone(), link.index)).collect();
        let mut failures = Failures::new();
        let mut made: BTreeMap<&Subject, Vec<String>> = BTreeMap::new();
        let mut steps = steps.iter().peekable();
        while let Some(Step { subject, op }) = steps.next() {
            if failures.contains_key(subject) {
                continue;
            }
            // Neighbouring deletions share the kernel's grace period.
            if let Op::DeleteLink { name } = op {
                let mut names = vec![name.clone()];
                while let Some(Step { op: Op::DeleteLink { name }, .. }) =
                    steps.next_if(|next| next.subject == *subject && matches!(next.op, Op::DeleteLink { .. }))
                {
                    names.push(name.clone());
                }
                tracing::info!("delete {}", names.join(", "));
                for name in &names {
                    indices.remove(name);
                }
                if let Err(error) = self.handle.link_delete_all(names) {
                    failures.insert(subject.clone(), error.to_string());
                }
                continue;
            }
            tracing::debug!("{op}");
            match self.act(op, &mut indices) {
                Ok(()) => {
                    match op {
                        Op::AddBridge { name, .. } | Op::AddVlan { name, .. } | Op::AddVxlan { name, .. } => {
                            tracing::info!("{op}");
                            made.entry(subject).or_default().push(name.clone());
                        }
                        // From here on, what was made holds what was taken from elsewhere.
                        Op::DeleteAddress { .. } | Op::DeleteRoute { .. } => _ = made.remove(subject),
                        _ => {}
                    }
                }
                Err(error) => {
                    failures.insert(subject.clone(), format!("cannot {op}: {error}"));
                    let names = made.remove(subject).unwrap_or_default();
                    if !names.is_empty() {
                        tracing::info!("remove the half-made {} again", names.join(", "));
                        if let Err(error) = self.handle.link_delete_all(names) {
                            tracing::warn!("{error}");
                        }
                    }
                }
            }
        }
        failures
    }

    fn act(&mut self, op: &Op, indices: &mut HashMap<String, u32>) -> linux::Result<()> {
        let handle = self.handle.clone();
        let index = |name: &String| match indices.get(name) {
            Some(index) => Ok(*index),
            None => handle.index(name),
        };
        match op {
            Op::AddBridge { name, mac } => {
                let spec = LinkSpec::bridge(name);
                let spec = mac.map_or(spec.clone(), |mac| spec.mac(mac));
                // Nova's driver makes bridges too; the next look at the host compares.
                let made = handle.link_ensure(&spec)?;
                indices.insert(name.clone(), made);
            }
            Op::AddVlan { name, parent, id } => {
                let id = u16::try_from(*id).unwrap_or(u16::MAX);
                let made = handle.link_add(&LinkSpec::vlan(name, index(parent)?, id))?;
                indices.insert(name.clone(), made);
            }
            Op::AddVxlan { name, tunnel } => {
                let made = handle.link_add(&LinkSpec::vxlan(
                    name,
                    VxlanSpec {
                        vni: tunnel.vni,
                        group: tunnel.group,
                        local: tunnel.local,
                        dev: tunnel.lower.as_ref().map(&index).transpose()?,
                        ttl: tunnel.ttl,
                        tos: tunnel.tos,
                        port: Some(tunnel.port),
                        source_ports: Some(tunnel.source_ports).filter(|ports| *ports != (0, 0)),
                        proxy: tunnel.proxy,
                        ..VxlanSpec::default()
                    },
                ))?;
                indices.insert(name.clone(), made);
            }
            Op::DeleteLink { name } => {
                handle.link_delete(name)?;
                indices.remove(name);
            }
            Op::SetForwarding { name } => {
                handle.batch(link::forward_at_once(index(name)?)).into_iter().collect::<linux::Result<()>>()?;
            }
            Op::Label { name, network } => {
                handle.link_set(link::set(index(name)?).alias(&format!("{LABEL}{network}")))?;
            }
            Op::SetMac { name, mac } => handle.link_set(link::set(index(name)?).mac(*mac))?,
            Op::SetUp { name, up: true } => handle.link_set(link::set(index(name)?).up())?,
            Op::SetUp { name, up: false } => handle.link_set(link::set(index(name)?).down())?,
            Op::SetMtu { name, mtu } => handle.link_set(link::set(index(name)?).mtu(*mtu))?,
            Op::SetIpv6 { name, disabled } => {
                let done = self.sysctl.set(&sysctl::ipv6(name, "disable_ipv6"), if *disabled { "1" } else { "0" });
                self.or_without_ipv6(name, done, *disabled)?;
            }
            Op::QuietIpv6 { name } => {
                let done = self.sysctl.set(&sysctl::ipv6(name, "addr_gen_mode"), "1");
                self.or_without_ipv6(name, done, true)?;
            }
            Op::SetMaster { name, master } => {
                let bridge = index(master)?;
                handle.link_set(link::set(index(name)?).master(bridge))?;
            }
            Op::ClearMaster { name } => handle.link_set(link::set(index(name)?).no_master())?,
            Op::AddAddress { name, address } => {
                // The interface that has it now is the proof that nobody else does.
                let options = AddOptions { no_dad: true, ..AddOptions::default() };
                handle.run(addr::add(index(name)?, *address, options)).or_exists()?;
            }
            Op::DeleteAddress { name, address } => {
                handle.address_delete(index(name)?, *address)?;
            }
            Op::AddRoute { name, route } => {
                handle.run(route::append(&to_kernel(route, index(name)?))).or_exists()?;
            }
            Op::DeleteRoute { name, route } => {
                handle.route_delete(&to_kernel(route, index(name)?))?;
            }
            Op::AppendFlood { name, remote } => {
                self.table_of(index(name)?).run(neigh::fdb_append(&Fdb::flood(index(name)?, *remote)))?;
            }
            Op::ReplaceForwarding { name, mac, remote } => {
                self.table_of(index(name)?).run(neigh::fdb_replace(&Fdb::remote(index(name)?, *mac, *remote)))?;
            }
            Op::ReplaceNeighbour { name, ip, mac } => {
                self.table_of(index(name)?).neighbour_replace(index(name)?, *ip, *mac)?;
            }
            // What is gone already need not be deleted.
            Op::DeleteFlood { name, remote } => {
                self.table_of(index(name)?).fdb_delete(&Fdb::flood(index(name)?, *remote))?;
            }
            Op::DeleteForwarding { name, mac, remote } => {
                self.table_of(index(name)?).fdb_delete(&Fdb::remote(index(name)?, *mac, *remote))?;
            }
            Op::DeleteNeighbour { name, ip, .. } => {
                self.table_of(index(name)?).neighbour_delete(index(name)?, *ip)?;
            }
        }
        Ok(())
    }

    /// A kernel without IPv6 has it switched off and is quiet.
    fn or_without_ipv6(&self, name: &str, done: linux::Result<()>, fine: bool) -> linux::Result<()> {
        match done {
            Err(error) if fine && error.is_not_found() && self.handle.link(name)?.is_some() => Ok(()),
            done => done,
        }
    }

    /// To change a tunnel's tables, which are then read anew.
    fn table_of(&mut self, index: u32) -> &Handle {
        self.tables.remove(&index);
        &self.handle
    }
}

fn to_kernel(route: &Route, dev: u32) -> linux::Route {
    let mut to = linux::Route::to(route.destination).dev(dev).protocol(route.protocol);
    (to.gateway, to.metric, to.source, to.onlink) = (route.via, route.metric, route.source, route.onlink);
    to
}

#[cfg(test)]
mod tests;
