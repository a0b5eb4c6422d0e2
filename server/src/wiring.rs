//! Who is there, and who reacts to what, in order. To know what happens when a port is created, read the list of `port` from top
//! to bottom: its own behaviour first, then those who react.

use std::sync::Arc;

use admin::quota::{self, Quotas};
use admin::rbac::{self, RBAC_POLICY, RbacPolicies};
use admin::tag;
use agents::agent::{AGENT, Agents, Clocks, Reports};
use agents::dhcp::{HostedNetworks, Scheduler};
use agents::objects::{Kind, Pusher, Pushes, Versions};
use agents::{dhcp, l2, objects, security as filters, zones};
use anyhow::Context as _;
use messaging::Bus;
use network::address_scope::{ADDRESS_SCOPE, AddressScopes, NetworkScopes, ON_NETWORK};
use network::ip_availability::{self, Availabilities};
use network::ipam::Ipam;
use network::ml2::{Ml2, Ranges};
use network::network::segment_resource::{self, SEGMENT, Segments};
use network::network::{NETWORK, Networks};
use network::port::bindings::Bindings;
use network::port::{self, PORT, Ports};
use network::segment_range::{SEGMENT_RANGE, SegmentRanges};
use network::standard;
use network::subnet::{self, SUBNET, Subnets};
use network::subnetpool::{self, PoolActions, SUBNETPOOL, SubnetPools};
use resource::{Behaviour, Entity, System, is_last_attempt};
use rpc::dhcp::DhcpNotifier;
use rpc::l2::{L2Notifier, TunnelNotifier};
use rpc::resources::{ResourceVersionsNotifier, ResourcesNotifier};
use rpc::security_groups::SecurityGroupNotifier;
use schema::{Extend, Fault, Model, Resource};
use security::address_group::{ADDRESS_GROUP, AddressActions, AddressGroups};
use security::group::{DefaultGroups, Groups, SECURITY_GROUP};
use security::port::{ON_PORT, PortGroups};
use security::rule::{Rules, SECURITY_GROUP_RULE};
use security::statefulness::{DEFAULT_STATEFULNESS, Statefulness};
use security::template::{DEFAULT_SECURITY_GROUP_RULE, Templates};
use store::Store;

use crate::Setup;
use crate::auth::Strategy;
use crate::nova::{self, Nova};

/// Attributes that one domain adds to another's resource.
static EXTENDS: &[&Extend] =
    &[&port::SECURITY_OF_NETWORK, &port::dns::OF_NETWORK, &zones::OF_NETWORK, &ON_NETWORK, &ON_PORT];

/// A composed server, before it listens.
pub struct Wired {
    pub system: Arc<System>,
    pub ports: Arc<Ports>,
    pub reports: Arc<Reports>,
    pub dhcp: Arc<dhcp::Plugin>,
    pub dhcp_news: Arc<dhcp::News>,
    pub l2: Arc<l2::Plugin>,
    pub filters: Arc<filters::Plugin>,
    pub objects: Arc<objects::Plugin>,
    pub versions: Arc<Versions>,
    /// The way to the compute service, unless it is switched off.
    pub nova: Option<Arc<Nova>>,
}

fn entity(resource: &'static Resource, mut behaviours: Vec<Arc<dyn Behaviour>>) -> anyhow::Result<Entity> {
    let model = Model::new(resource, EXTENDS.iter().copied().chain(tag::extends()))?;
    if model.attr("tags").is_some() {
        behaviours.push(Arc::new(tag::Tagged { of: resource }));
    }
    Ok(Entity::new(model, behaviours))
}

/// Composes the system over a store and a bus.
pub async fn wire(setup: &Setup, store: Store, bus: &Bus) -> anyhow::Result<Wired> {
    let types = drivers::types::all(&setup.types, &setup.network)?;
    let l2pop = drivers::mech::L2Population::new(bus.clone());
    let mechanisms = drivers::mech::all(&setup.mechanisms, &l2pop)?;
    let ranges = if setup.segment_ranges { Ranges::Stored } else { Ranges::Configured };
    let ml2 = Arc::new(Ml2 { settings: setup.network.clone(), ranges, types, mechanisms });
    let quotas = Arc::new(Quotas::new(setup.quotas.clone()));
    // Several servers may start at once on one database.
    let mut attempt = 0;
    loop {
        let started: Result<(), Fault> = async {
            let mut txn = store.write().await?;
            quotas.start(&mut txn).await?;
            ml2.start(&mut txn).await?;
            Ok(txn.commit().await?)
        }
        .await;
        match started {
            Err(fault) if !is_last_attempt(&fault, attempt).await => attempt += 1,
            started => break started.context("quotas and segmentation ids")?,
        }
    }
    let ipam = Ipam::new(&setup.network.ipam_driver)
        .with_context(|| format!("[DEFAULT] ipam_driver: there is no driver '{}'", setup.network.ipam_driver))?;

    let scheduler = Arc::new(Scheduler { settings: setup.agents.clone() });
    let dhcp_notifier = DhcpNotifier::new(bus.clone());
    let dhcp_news = |of| Arc::new(dhcp::News { scheduler: scheduler.clone(), notifier: dhcp_notifier.clone(), of });
    let l2_notifier = Arc::new(L2Notifier::new(bus.clone()));
    let l2_news = |of| Arc::new(l2::News { notifier: l2_notifier.clone(), of });
    let filter_notifier = Arc::new(SecurityGroupNotifier::new(bus.clone()));
    let filter_news = |of| Arc::new(filters::News { notifier: filter_notifier.clone(), of });
    let pusher = Pusher::new(ResourcesNotifier::new(bus.clone()));
    let pushes = |kind| Arc::new(Pushes { kind, pusher: pusher.clone() });
    let ports = Arc::new(Ports { ml2: ml2.clone(), ipam: ipam.clone() });

    let policy = crate::policies::enforcer(&setup.policy).context("[oslo_policy]")?;
    let mut system = System::new(store, Arc::new(policy), &standard::SHARED);
    system.add(entity(
        &NETWORK,
        vec![
            Arc::new(Networks { ml2: ml2.clone() }),
            Arc::new(NetworkScopes),
            Arc::new(DefaultGroups),
            dhcp_news(dhcp::Of::Networks),
            l2_news(l2::Of::Networks),
            pushes(Kind::Network),
        ],
    )?);
    system.add(entity(
        &SUBNET,
        vec![
            Arc::new(Subnets { ml2: ml2.clone(), ipam: ipam.clone() }),
            dhcp_news(dhcp::Of::Subnets),
            pushes(Kind::Subnet),
        ],
    )?);
    system.add(entity(&SEGMENT, vec![Arc::new(Segments { ml2: ml2.clone() })])?);
    if ranges == Ranges::Stored {
        system.add(entity(&SEGMENT_RANGE, vec![Arc::new(SegmentRanges { ml2: ml2.clone() })])?);
    }
    system.add(entity(&SUBNETPOOL, vec![Arc::new(SubnetPools)])?);
    system.add(entity(&ADDRESS_SCOPE, vec![Arc::new(AddressScopes)])?);
    let nova = setup.nova.clone().map(Nova::start).transpose().context("[nova]")?;
    let nova_news = nova.clone().map(|nova| Arc::new(nova::News::new(nova)));
    let mut of_ports: Vec<Arc<dyn Behaviour>> = vec![
        ports.clone(),
        Arc::new(PortGroups),
        dhcp_news(dhcp::Of::Ports),
        filter_news(filters::Of::Ports),
        l2_news(l2::Of::Ports),
        pushes(Kind::Port),
    ];
    of_ports.extend(nova_news.clone().map(|news| news as Arc<dyn Behaviour>));
    system.add(entity(&PORT, of_ports)?);
    // The news first: they look at rules that go with a group.
    system.add(entity(
        &SECURITY_GROUP,
        vec![filter_news(filters::Of::Groups), Arc::new(Groups), pushes(Kind::SecurityGroup)],
    )?);
    system.add(entity(
        &SECURITY_GROUP_RULE,
        vec![Arc::new(Rules), filter_news(filters::Of::Rules), pushes(Kind::SecurityGroupRule)],
    )?);
    system.add(entity(&DEFAULT_SECURITY_GROUP_RULE, vec![Arc::new(Templates)])?);
    system.add(entity(&DEFAULT_STATEFULNESS, vec![Arc::new(Statefulness)])?);
    system.add(entity(
        &ADDRESS_GROUP,
        vec![Arc::new(AddressGroups), filter_news(filters::Of::AddressGroups), pushes(Kind::AddressGroup)],
    )?);
    system.add(entity(&RBAC_POLICY, vec![Arc::new(RbacPolicies)])?);
    system.add(entity(
        &AGENT,
        vec![Arc::new(Agents { settings: setup.agents.clone(), notifier: dhcp_notifier.clone() })],
    )?);

    let moves = dhcp_news(dhcp::Of::Networks);
    system.actions = vec![
        Arc::new(HostedNetworks { news: moves.clone() }),
        Arc::new(PoolActions),
        Arc::new(AddressActions),
        Arc::new(Bindings {
            ml2: ml2.clone(),
            moves: Arc::new(l2::AllMoves(vec![l2_news(l2::Of::Ports), pushes(Kind::Port)])),
        }),
        Arc::new(Availabilities),
        Arc::new(zones::Zones { settings: setup.agents.clone() }),
        Arc::new(tag::Api::of(&system)),
        Arc::new(quota::Api { quotas: quotas.clone() }),
    ];
    if setup.auth.strategy() != Strategy::Keystone {
        // There is no identity service that a client could ask for projects.
        system.actions.push(Arc::new(crate::projects::Projects));
    }
    system.quota = Some(quotas);
    for extension in [
        standard::EXTENSIONS,
        network::network::EXTENSIONS,
        segment_resource::EXTENSIONS,
        subnet::EXTENSIONS,
        subnetpool::EXTENSIONS,
        ip_availability::EXTENSIONS,
        port::EXTENSIONS,
        security::EXTENSIONS,
        agents::agent::EXTENSIONS,
        zones::EXTENSIONS,
        &[&dhcp::EXTENSION],
        tag::EXTENSIONS,
        quota::EXTENSIONS,
        rbac::EXTENSIONS,
        crate::options::EXTENSIONS,
    ]
    .into_iter()
    .flatten()
    {
        system.announce(extension);
    }
    let system = Arc::new(system);
    let versions = Versions::load(&system, ResourceVersionsNotifier::new(bus.clone())).await?;
    pusher.start(&system, versions.clone());
    Ok(Wired {
        reports: Arc::new(Reports {
            system: system.clone(),
            settings: setup.agents.clone(),
            ports: ports.clone(),
            news: moves.clone(),
            versions: versions.clone(),
            clocks: Clocks::new(chrono::Utc::now().naive_utc()),
        }),
        dhcp: Arc::new(dhcp::Plugin { system: system.clone(), scheduler }),
        filters: Arc::new(filters::Plugin { system: system.clone() }),
        dhcp_news: moves,
        l2: Arc::new(l2::Plugin {
            system: system.clone(),
            tunnels: TunnelNotifier::new(bus.clone()),
            refresh: l2pop,
            elsewhere: nova_news.map(|news| news as Arc<dyn l2::Elsewhere>),
        }),
        objects: Arc::new(objects::Plugin { system: system.clone() }),
        nova,
        versions,
        ports,
        system,
    })
}
