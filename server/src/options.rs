//! The options of `neutron.conf` and `ml2_conf.ini` that the server reads, and what they come to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use admin::quota::Limits;
use agents::settings::Choice;
use anyhow::{Context as _, anyhow};
use config::{Config, Opt, Options};
use drivers::types::TypeOptions;
use types::Mac;

pub static BIND_HOST: Opt<String> =
    Opt::host_address("DEFAULT", "bind_host").default("127.0.0.1").help("Address that the API listens on.");
pub static BIND_PORT: Opt<u16> =
    Opt::tcp_port("DEFAULT", "bind_port").default("9696").help("TCP port that the API listens on.");
static DNS_DOMAIN: Opt<String> =
    Opt::str("DEFAULT", "dns_domain").default("openstacklocal").help("Domain of the names of ports.");
static BASE_MAC: Opt<String> =
    Opt::str("DEFAULT", "base_mac").default("fa:16:3e:00:00:00").help("First octets of generated MAC addresses.");
static GLOBAL_MTU: Opt<i64> =
    Opt::int("DEFAULT", "global_physnet_mtu").min(0).default("1500").help("MTU of the physical networks, bytes.");
static MAX_FIXED_IPS: Opt<i64> =
    Opt::int("DEFAULT", "max_fixed_ips_per_port").min(1).default("5").help("Most addresses of a port.");
static MAX_PAIRS: Opt<i64> =
    Opt::int("DEFAULT", "max_allowed_address_pair").min(1).default("10").help("Most allowed address pairs of a port.");
static MAX_NAMESERVERS: Opt<i64> =
    Opt::int("DEFAULT", "max_dns_nameservers").min(0).default("5").help("Most name servers of a subnet.");
static MAX_ROUTES: Opt<i64> =
    Opt::int("DEFAULT", "max_subnet_host_routes").min(0).default("20").help("Most host routes of a subnet.");
static IPAM_DRIVER: Opt<String> =
    Opt::str("DEFAULT", "ipam_driver").default("internal").help("Who hands out addresses.");
static PD_ENABLED: Opt<bool> = Opt::bool("DEFAULT", "ipv6_pd_enabled").default("false").help("IPv6 prefix delegation.");
static PAGE_LIMIT: Opt<i64> = Opt::int("DEFAULT", "pagination_max_limit")
    .min(-1)
    .default("-1")
    .help("Most objects of a list in one answer; -1 for no limit.");
static LINK_PREFIX: Opt<Option<String>> = Opt::str("DEFAULT", "network_link_prefix")
    .help("URL that goes before the links of the API, instead of the address that the client used.")
    .optional();
static KEEP_ALIVE: Opt<bool> =
    Opt::bool("DEFAULT", "wsgi_keep_alive").default("true").help("Connections serve more than one request.");
static SOCKET_TIMEOUT: Opt<i64> = Opt::int("DEFAULT", "client_socket_timeout")
    .min(0)
    .default("900")
    .help("Seconds that a connection may be idle, or a client take for a request; 0 for a day.");
static SHUTDOWN_TIMEOUT: Opt<i64> = Opt::int("DEFAULT", "graceful_shutdown_timeout")
    .min(0)
    .default("60")
    .help("Seconds that requests may go on after the stop; 0 for a day.");
static MAX_BODY: Opt<i64> = Opt::int("oslo_middleware", "max_request_body_size")
    .deprecated(&[("DEFAULT", "osapi_max_request_body_size"), ("DEFAULT", "max_request_body_size")])
    .min(0)
    .default("114688")
    .help("Largest body of a request, bytes.");
static PROXY_HEADERS: Opt<bool> = Opt::bool("oslo_middleware", "enable_proxy_headers_parsing")
    .default("false")
    .help("A proxy stands before the API: believe its Forwarded and X-Forwarded-* headers.");
static HEALTH_FILE: Opt<Option<String>> =
    Opt::str("healthcheck", "disable_by_file_path").help("While this file is there, /healthcheck says 503.").optional();
static SLOW_REQUEST: Opt<f64> = Opt::float("neutrino", "slow_request_seconds")
    .range(0.0, 86_400.0)
    .default("2")
    .help("Requests that take as long are warned of in the log; 0 for none.");
static AGENT_DOWN_TIME: Opt<i64> = Opt::int("DEFAULT", "agent_down_time")
    .min(1)
    .default("75")
    .help("Seconds without a report until an agent counts as dead.");
static AGENTS_PER_NETWORK: Opt<i64> =
    Opt::int("DEFAULT", "dhcp_agents_per_network").min(1).default("1").help("DHCP agents that serve one network.");
static AUTO_SCHEDULE: Opt<bool> =
    Opt::bool("DEFAULT", "network_auto_schedule").default("true").help("Schedule networks to DHCP agents by itself.");
static FAILOVER: Opt<bool> = Opt::bool("DEFAULT", "allow_automatic_dhcp_failover")
    .default("true")
    .help("Move networks from DHCP agents that are dead.");
static SCHEDULER: Opt<String> = Opt::str("DEFAULT", "network_scheduler_driver")
    .default("neutron.scheduler.dhcp_agent_scheduler.WeightScheduler")
    .help("How DHCP agents are chosen: WeightScheduler, ChanceScheduler or AZAwareWeightScheduler.");
static DEFAULT_ZONES: Opt<Vec<String>> =
    Opt::list("DEFAULT", "default_availability_zones").default("").help("Zones of networks that ask for none.");
static SERVE_DOWN: Opt<bool> = Opt::bool("DEFAULT", "enable_services_on_agents_with_admin_state_down")
    .default("false")
    .help("Agents that an operator disabled keep serving what they have.");
static TYPE_DRIVERS: Opt<Vec<String>> =
    Opt::list("ml2", "type_drivers").default("local,flat,vlan,gre,vxlan,geneve").help("Network types.");
static SERVICE_PLUGINS: Opt<Vec<String>> = Opt::list("DEFAULT", "service_plugins")
    .default("")
    .help("network_segment_range has administrators say at run time which segmentation ids there are. All else that is built is always on.");
/// The alias and the class, either of which the reference takes.
const SEGMENT_RANGES: [&str; 2] =
    ["network_segment_range", "neutron.services.network_segment_range.plugin.NetworkSegmentRangePlugin"];
static TENANT_TYPES: Opt<Vec<String>> = Opt::list("ml2", "tenant_network_types")
    .deprecated(&[("ml2", "project_network_types")])
    .default("local")
    .help("Types of projects' networks, in order of preference.");
static MECHANISMS: Opt<Vec<String>> = Opt::list("ml2", "mechanism_drivers")
    .default("")
    .help("Mechanism drivers, in the order in which they may bind a port.");
static EXTENSION_DRIVERS: Opt<Vec<String>> =
    Opt::list("ml2", "extension_drivers").default("").help("Extension drivers; their attributes are always on here.");
static PATH_MTU: Opt<i64> = Opt::int("ml2", "path_mtu")
    .min(0)
    .default("0")
    .help("MTU of the way between tunnel endpoints, bytes; 0 for that of the physical network.");
static PHYSICAL_MTUS: Opt<BTreeMap<String, String>> =
    Opt::dict("ml2", "physical_network_mtus").default("").help("MTU by physical network, bytes.");
static EXTERNAL_TYPE: Opt<Option<String>> =
    Opt::str("ml2", "external_network_type").help("Type of external networks without provider attributes.").optional();
static OVERLAY_VERSION: Opt<i64> =
    Opt::int("ml2", "overlay_ip_version").range(4, 6).default("4").help("IP version between tunnel endpoints.");
static FLAT_NETWORKS: Opt<Vec<String>> =
    Opt::list("ml2_type_flat", "flat_networks").default("*").help("Physical networks that may be flat; * for any.");
static VLAN_RANGES: Opt<Vec<String>> = Opt::list("ml2_type_vlan", "network_vlan_ranges")
    .default("")
    .help("<physical network>[:<min>:<max>] of VLANs for projects.");
static VXLAN_RANGES: Opt<Vec<String>> =
    Opt::list("ml2_type_vxlan", "vni_ranges").default("").help("<min>:<max> of VXLAN networks for projects.");
static GRE_RANGES: Opt<Vec<String>> =
    Opt::list("ml2_type_gre", "tunnel_id_ranges").default("").help("<min>:<max> of GRE networks for projects.");
static GENEVE_RANGES: Opt<Vec<String>> =
    Opt::list("ml2_type_geneve", "vni_ranges").default("").help("<min>:<max> of Geneve networks for projects.");
static GENEVE_HEADER: Opt<i64> = Opt::int("ml2_type_geneve", "max_header_size")
    .min(0)
    .default("30")
    .help("Bytes that a Geneve header takes with its options.");
static DEFAULT_QUOTA: Opt<i64> =
    Opt::int("QUOTAS", "default_quota").default("-1").help("Limit of what has no option of its own; -1 for none.");

/// The limit of one kind of object; below zero for none.
const fn quota(name: &'static str, default: &'static str) -> Opt<i64> {
    Opt::int("QUOTAS", name).default(default).help("Most of them that a project may own; -1 for no limit.")
}

static QUOTA_NETWORK: Opt<i64> = quota("quota_network", "100");
static QUOTA_SUBNET: Opt<i64> = quota("quota_subnet", "100");
static QUOTA_PORT: Opt<i64> = quota("quota_port", "500");
static QUOTA_ROUTER: Opt<i64> = quota("quota_router", "10");
static QUOTA_ROUTE: Opt<i64> = quota("quota_router_route", "30");
static QUOTA_FLOATING_IP: Opt<i64> = quota("quota_floatingip", "50");
static QUOTA_RBAC: Opt<i64> = quota("quota_rbac_policy", "10");
static QUOTA_GROUP: Opt<i64> = quota("quota_security_group", "10");
static QUOTA_RULE: Opt<i64> = quota("quota_security_group_rule", "100");

/// By kind of object.
static QUOTAS: &[(&str, &Opt<i64>)] = &[
    ("network", &QUOTA_NETWORK),
    ("subnet", &QUOTA_SUBNET),
    ("port", &QUOTA_PORT),
    ("router", &QUOTA_ROUTER),
    ("router_route", &QUOTA_ROUTE),
    ("floatingip", &QUOTA_FLOATING_IP),
    ("rbac_policy", &QUOTA_RBAC),
    ("security_group", &QUOTA_GROUP),
    ("security_group_rule", &QUOTA_RULE),
];

/// All of them.
pub static OPTIONS: Options = &[
    &BIND_HOST,
    &BIND_PORT,
    &DNS_DOMAIN,
    &BASE_MAC,
    &GLOBAL_MTU,
    &MAX_FIXED_IPS,
    &MAX_PAIRS,
    &MAX_NAMESERVERS,
    &MAX_ROUTES,
    &IPAM_DRIVER,
    &PD_ENABLED,
    &PAGE_LIMIT,
    &LINK_PREFIX,
    &KEEP_ALIVE,
    &SOCKET_TIMEOUT,
    &SHUTDOWN_TIMEOUT,
    &MAX_BODY,
    &PROXY_HEADERS,
    &HEALTH_FILE,
    &SLOW_REQUEST,
    &AGENT_DOWN_TIME,
    &AGENTS_PER_NETWORK,
    &AUTO_SCHEDULE,
    &FAILOVER,
    &SCHEDULER,
    &DEFAULT_ZONES,
    &SERVE_DOWN,
    &TYPE_DRIVERS,
    &SERVICE_PLUGINS,
    &TENANT_TYPES,
    &MECHANISMS,
    &EXTENSION_DRIVERS,
    &PATH_MTU,
    &PHYSICAL_MTUS,
    &EXTERNAL_TYPE,
    &OVERLAY_VERSION,
    &FLAT_NETWORKS,
    &VLAN_RANGES,
    &VXLAN_RANGES,
    &GRE_RANGES,
    &GENEVE_RANGES,
    &GENEVE_HEADER,
    &DEFAULT_QUOTA,
    &QUOTA_NETWORK,
    &QUOTA_SUBNET,
    &QUOTA_PORT,
    &QUOTA_ROUTER,
    &QUOTA_ROUTE,
    &QUOTA_FLOATING_IP,
    &QUOTA_RBAC,
    &QUOTA_GROUP,
    &QUOTA_RULE,
];

/// What a server is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    pub bind: String,
    /// With no URL: a file under the state path.
    pub database: store::Options,
    pub rest: rest::Options,
    pub limits: rest::Limits,
    pub network: Arc<network::settings::Settings>,
    pub agents: Arc<agents::settings::Settings>,
    pub types: TypeOptions,
    /// Segmentation ids come from `/network_segment_ranges`.
    pub segment_ranges: bool,
    pub mechanisms: Vec<String>,
    pub quotas: Limits,
    pub auth: crate::auth::Settings,
    pub policy: policy::Options,
    /// None: Nova is not told anything.
    pub nova: Option<crate::nova::Settings>,
}

fn count(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// 0 means for ever in the reference; a day is that, for a connection.
fn seconds(value: i64) -> Duration {
    Duration::from_secs(u64::try_from(value).ok().filter(|value| *value > 0).unwrap_or(86_400))
}

impl Setup {
    /// Reads the options; an error names file, section and option.
    pub fn read(config: &Config) -> anyhow::Result<Setup> {
        let base_mac: Mac = config.get(&BASE_MAC)?.parse().context("[DEFAULT] base_mac")?;
        if base_mac.is_multicast() {
            return Err(anyhow!("[DEFAULT] base_mac: {base_mac} is a multicast address, which no device may have"));
        }
        let mut physical_network_mtus = std::collections::HashMap::new();
        for (name, mtu) in config.get(&PHYSICAL_MTUS)? {
            let mtu = mtu
                .trim()
                .parse()
                .map_err(|_| anyhow!("[ml2] physical_network_mtus: '{mtu}' of {name} is no number of bytes"))?;
            physical_network_mtus.insert(name, mtu);
        }
        let overlay_ip_version = config.get(&OVERLAY_VERSION)?;
        if overlay_ip_version == 5 {
            return Err(anyhow!("[ml2] overlay_ip_version: 5 is not 4 or 6"));
        }
        let agent_down_time = config.get(&AGENT_DOWN_TIME)?;
        let network = network::settings::Settings {
            global_physnet_mtu: config.get(&GLOBAL_MTU)?,
            path_mtu: config.get(&PATH_MTU)?,
            physical_network_mtus,
            overlay_ip_version,
            tenant_network_types: config.get(&TENANT_TYPES)?,
            external_network_type: config.get(&EXTERNAL_TYPE)?.filter(|name| !name.is_empty()),
            base_mac,
            dns_domain: config.get(&DNS_DOMAIN)?,
            max_fixed_ips_per_port: count(config.get(&MAX_FIXED_IPS)?),
            max_allowed_address_pairs: count(config.get(&MAX_PAIRS)?),
            max_dns_nameservers: count(config.get(&MAX_NAMESERVERS)?),
            max_subnet_host_routes: count(config.get(&MAX_ROUTES)?),
            ipam_driver: config.get(&IPAM_DRIVER)?,
            ipv6_pd_enabled: config.get(&PD_ENABLED)?,
            agent_down_time,
            ..network::settings::Settings::default()
        };
        let driver = config.get(&SCHEDULER)?;
        let choice = Choice::by_driver(&driver)
            .ok_or_else(|| anyhow!("[DEFAULT] network_scheduler_driver: there is no scheduler '{driver}'"))?;
        let agents = agents::settings::Settings {
            agent_down_time,
            dhcp_agents_per_network: count(config.get(&AGENTS_PER_NETWORK)?),
            network_auto_schedule: config.get(&AUTO_SCHEDULE)?,
            allow_automatic_dhcp_failover: config.get(&FAILOVER)?,
            choice,
            default_availability_zones: config.get(&DEFAULT_ZONES)?,
            serve_with_admin_state_down: config.get(&SERVE_DOWN)?,
        };
        let types = TypeOptions {
            type_drivers: config.get(&TYPE_DRIVERS)?,
            flat_networks: config.get(&FLAT_NETWORKS)?,
            network_vlan_ranges: config.get(&VLAN_RANGES)?,
            vxlan_ranges: config.get(&VXLAN_RANGES)?,
            gre_ranges: config.get(&GRE_RANGES)?,
            geneve_ranges: config.get(&GENEVE_RANGES)?,
            geneve_max_header_size: config.get(&GENEVE_HEADER)?,
        };
        let mut limits = Vec::with_capacity(QUOTAS.len());
        for (kind, option) in QUOTAS {
            limits.push((*kind, config.get(*option)?));
        }
        let limit_of = |name: &str| limits.iter().find(|(kind, _)| *kind == name).map(|(_, limit)| *limit);
        let quotas = Limits::new(config.get(&DEFAULT_QUOTA)?, |kind| limit_of(kind.name));
        let patience = seconds(config.get(&SOCKET_TIMEOUT)?);
        let rest = rest::Options {
            max_body: count(config.get(&MAX_BODY)?),
            body_timeout: patience,
            page_limit: usize::try_from(config.get(&PAGE_LIMIT)?).ok().filter(|limit| *limit > 0),
            link_prefix: config.get(&LINK_PREFIX)?.filter(|prefix| !prefix.is_empty()),
            proxy_headers: config.get(&PROXY_HEADERS)?,
            health_file: config.get(&HEALTH_FILE)?.filter(|path| !path.is_empty()).map(PathBuf::from),
            roles: Vec::new(),
            slow: Some(config.get(&SLOW_REQUEST)?).filter(|seconds| *seconds > 0.0).map(Duration::from_secs_f64),
        };
        let limits = rest::Limits {
            header_timeout: patience,
            keep_alive: config.get(&KEEP_ALIVE)?,
            drain: seconds(config.get(&SHUTDOWN_TIMEOUT)?),
        };
        let host = config.get(&BIND_HOST)?;
        let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host };
        Ok(Setup {
            bind: format!("{host}:{}", config.get(&BIND_PORT)?),
            database: crate::database::read(config)?,
            rest,
            limits,
            network: Arc::new(network),
            agents: Arc::new(agents),
            types,
            segment_ranges: config.get(&SERVICE_PLUGINS)?.iter().any(|name| SEGMENT_RANGES.contains(&name.as_str())),
            mechanisms: config.get(&MECHANISMS)?,
            quotas,
            auth: crate::auth::Settings::read(config)?,
            policy: crate::policies::read(config)?,
            nova: crate::nova::Settings::read(config)?,
        })
    }
}

/// Extensions that say how the API behaves, rather than adding attributes.
pub static EXTENSIONS: &[&schema::Extension] = &[
    &schema::Extension {
        alias: "pagination",
        name: "Pagination support",
        description: "Lists come in pages",
        updated: "2016-06-12T00:00:00-00:00",
    },
    &schema::Extension {
        alias: "sorting",
        name: "Sorting support",
        description: "Lists come in the order asked for",
        updated: "2016-06-12T00:00:00-00:00",
    },
    &schema::Extension {
        alias: "project-id",
        name: "project_id field enabled",
        description: "The owner of an object is its project_id, beside tenant_id",
        updated: "2016-09-09T09:09:09-09:09",
    },
    &schema::Extension {
        alias: "filter-validation",
        name: "Filter parameters validation",
        description: "Unknown filters are refused",
        updated: "2018-03-21T10:00:00-00:00",
    },
    &schema::Extension {
        alias: "empty-string-filtering",
        name: "Empty String Filtering Extension",
        description: "An empty filter value asks for attributes that are empty",
        updated: "2018-05-01T10:00:00-00:00",
    },
    &schema::Extension {
        alias: "ip-substring-filtering",
        name: "IP address substring filtering",
        description: "Ports can be listed by a part of their address",
        updated: "2017-11-28T09:00:00-00:00",
    },
];
