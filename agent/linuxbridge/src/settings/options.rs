//! The options of `linuxbridge_agent.ini`, by their names and defaults in `neutron/conf/plugins/ml2/drivers/linuxbridge.py`
//! and `agent.py` of 2024.2, read and checked.

use std::{collections::BTreeMap, net::IpAddr, time::Duration};

use config::{Config, ConfigError, Opt, Options};
use types::IpNet;

use super::{DEFAULT_VXLAN_PORT, GroupRange, Settings, TOS_INHERIT, Vxlan};

pub static PHYSICAL_INTERFACE_MAPPINGS: Opt<Vec<String>> = Opt::list("LINUX_BRIDGE", "physical_interface_mappings")
    .help("<physical network>:<interface>, for flat and VLAN networks.");
pub static BRIDGE_MAPPINGS: Opt<Vec<String>> = Opt::list("LINUX_BRIDGE", "bridge_mappings")
    .help("<physical network>:<bridge>: bridges of the operator, which the agent uses and never changes.");

pub static ENABLE_VXLAN: Opt<bool> =
    Opt::bool("VXLAN", "enable_vxlan").default("true").help("Serve VXLAN networks. Needs local_ip.");
pub static LOCAL_IP: Opt<Option<IpAddr>> = Opt::ip("VXLAN", "local_ip")
    .optional()
    .help("Address of this host's end of all tunnels; an interface must have it.");
pub static VXLAN_GROUP: Opt<Option<String>> = Opt::str("VXLAN", "vxlan_group")
    .default("224.0.0.1")
    .optional()
    .help("Multicast group that floods tunnels, or a range in CIDR notation of which each VNI takes one. The same on all hosts.");
pub static MULTICAST_RANGES: Opt<Vec<String>> = Opt::list("VXLAN", "multicast_ranges")
    .help("<multicast group>:<first VNI>:<last VNI>: groups of their own for ranges of VNIs.");
pub static TTL: Opt<Option<i64>> =
    Opt::int("VXLAN", "ttl").range(0, 255).optional().help("TTL of tunnelled packets. Default: the kernel's.");
pub static TOS: Opt<Option<i64>> = Opt::int("VXLAN", "tos")
    .range(0, 255)
    .optional()
    .help("TOS of tunnelled packets. Deprecated: use dscp in section AGENT.");
pub static UDP_SRCPORT_MIN: Opt<u16> =
    Opt::tcp_port("VXLAN", "udp_srcport_min").default("0").help("Lowest UDP source port of tunnels.");
pub static UDP_SRCPORT_MAX: Opt<u16> =
    Opt::tcp_port("VXLAN", "udp_srcport_max").default("0").help("Highest UDP source port of tunnels.");
pub static UDP_DSTPORT: Opt<Option<u16>> = Opt::tcp_port("VXLAN", "udp_dstport")
    .optional()
    .help("UDP port of tunnels. Default: the kernel's 8472; IANA gave 4789.");
pub static L2_POPULATION: Opt<bool> = Opt::bool("VXLAN", "l2_population")
    .default("false")
    .help("Take forwarding entries from the server's l2population driver; nothing is flooded by multicast then.");
pub static ARP_RESPONDER: Opt<bool> = Opt::bool("VXLAN", "arp_responder")
    .default("false")
    .help("With l2_population: answer ARP and neighbour solicitations here instead of flooding them.");

pub static POLLING_INTERVAL: Opt<i64> = Opt::int("AGENT", "polling_interval")
    .min(1)
    .default("2")
    .help("Seconds that a hypervisor may take to plug a device. Changes themselves are seen at once.");
pub static QUITTING_RPC_TIMEOUT: Opt<i64> = Opt::int("AGENT", "quitting_rpc_timeout")
    .min(0)
    .default("10")
    .help("Seconds that a stop waits for the server to take what was just reported.");
pub static DSCP: Opt<Option<i64>> =
    Opt::int("AGENT", "dscp").range(0, 63).optional().help("DSCP of tunnelled packets.");
pub static DSCP_INHERIT: Opt<bool> =
    Opt::bool("AGENT", "dscp_inherit").default("false").help("Tunnelled packets take the DSCP of the inner ones.");
pub static EXTENSIONS: Opt<Vec<String>> = Opt::list("agent", "extensions").help("Extensions of the agent. None yet.");

/// All of them.
pub static OPTIONS: Options = &[
    &PHYSICAL_INTERFACE_MAPPINGS,
    &BRIDGE_MAPPINGS,
    &ENABLE_VXLAN,
    &LOCAL_IP,
    &VXLAN_GROUP,
    &MULTICAST_RANGES,
    &TTL,
    &TOS,
    &UDP_SRCPORT_MIN,
    &UDP_SRCPORT_MAX,
    &UDP_DSTPORT,
    &L2_POPULATION,
    &ARP_RESPONDER,
    &POLLING_INTERVAL,
    &QUITTING_RPC_TIMEOUT,
    &DSCP,
    &DSCP_INHERIT,
    &EXTENSIONS,
];

/// Options that cannot be worked with. The agent does not start.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{option} has '{text}', which is not <physical network>:<device>")]
    Mapping { option: &'static str, text: String },
    #[error("{option} has '{text}' twice; every physical network and every device occurs once")]
    Repeated { option: &'static str, text: String },
    #[error("enable_vxlan needs local_ip in section VXLAN: the address of an interface for tunnels to leave from")]
    NoLocalIp,
    #[error(
        "vxlan_group '{0}' is not a multicast group or range in the address family of local_ip; \
         correct it, or set l2_population"
    )]
    Group(String),
    #[error("multicast_ranges has '{0}', which is not <multicast group of local_ip's family>:<first VNI>:<last VNI>")]
    Range(String),
    #[error("udp_srcport_min {0} is above udp_srcport_max {1}")]
    SourcePorts(u16, u16),
}

/// How the agent behaves, beside what its devices look like.
#[derive(Debug, Clone)]
pub struct Behaviour {
    pub polling_interval: Duration,
    pub quitting_timeout: Duration,
}

/// Reads and checks the options.
pub fn read(config: &Config) -> Result<(Settings, Behaviour), SettingsError> {
    let mappings = read_mappings(config)?;
    let vxlan = if config.get(&ENABLE_VXLAN)? { Some(vxlan(config)?) } else { None };
    let extensions = config.get(&EXTENSIONS)?;
    if !extensions.is_empty() {
        tracing::warn!("agent extensions are not supported and not loaded: {}", extensions.join(", "));
    }
    let seconds = |opt| config.get(opt).map(|seconds: i64| Duration::from_secs(seconds.unsigned_abs()));
    let behaviour =
        Behaviour { polling_interval: seconds(&POLLING_INTERVAL)?, quitting_timeout: seconds(&QUITTING_RPC_TIMEOUT)? };
    Ok((Settings { vxlan, ..mappings }, behaviour))
}

/// The mappings alone, for work that makes no tunnels.
pub fn read_mappings(config: &Config) -> Result<Settings, SettingsError> {
    Ok(Settings {
        interface_mappings: mappings("physical_interface_mappings", &config.get(&PHYSICAL_INTERFACE_MAPPINGS)?)?,
        bridge_mappings: mappings("bridge_mappings", &config.get(&BRIDGE_MAPPINGS)?)?,
        vxlan: None,
    })
}

fn mappings(option: &'static str, texts: &[String]) -> Result<BTreeMap<String, String>, SettingsError> {
    let mut found = BTreeMap::new();
    for text in texts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        let bad = || SettingsError::Mapping { option, text: text.to_owned() };
        let (physical, device) = text.split_once(':').ok_or_else(bad)?;
        let (physical, device) = (physical.trim(), device.trim());
        if physical.is_empty() || device.is_empty() || device.contains(':') {
            return Err(bad());
        }
        if found.values().any(|known| known == device) || found.insert(physical.to_owned(), device.to_owned()).is_some()
        {
            return Err(SettingsError::Repeated { option, text: text.to_owned() });
        }
    }
    Ok(found)
}

fn vxlan(config: &Config) -> Result<Vxlan, SettingsError> {
    let local_ip = config.get(&LOCAL_IP)?.ok_or(SettingsError::NoLocalIp)?;
    let l2_population = config.get(&L2_POPULATION)?;
    let text = config.get(&VXLAN_GROUP)?.unwrap_or_default();
    // What is not used need not fit: an IPv6 local_ip with l2 population and the default group of IPv4.
    let group = match (text.trim(), l2_population) {
        (_, true) => None,
        (text, false) => {
            let group = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
            let group = group.filter(|net| net.addr().is_ipv4() == local_ip.is_ipv4() && is_multicast(net));
            Some(group.ok_or_else(|| SettingsError::Group(text.to_owned()))?)
        }
    };
    let mut ranges = Vec::new();
    for text in config.get(&MULTICAST_RANGES)? {
        ranges.push(range(&text, local_ip).ok_or(SettingsError::Range(text))?);
    }
    let source_ports = (config.get(&UDP_SRCPORT_MIN)?, config.get(&UDP_SRCPORT_MAX)?);
    if source_ports.0 > source_ports.1 {
        return Err(SettingsError::SourcePorts(source_ports.0, source_ports.1));
    }
    let byte = |number: i64| u8::try_from(number).ok().filter(|byte| *byte != 0);
    let dscp = config.get(&DSCP)?.and_then(|dscp| byte(dscp << 2));
    let tos = match config.get(&TOS)?.and_then(byte) {
        Some(tos) => {
            if dscp.is_some() || config.get(&DSCP_INHERIT)? {
                tracing::warn!(
                    "tos in section VXLAN is deprecated, and wins over dscp and dscp_inherit in section AGENT"
                );
            }
            Some(tos)
        }
        None if config.get(&DSCP_INHERIT)? => Some(TOS_INHERIT),
        None => dscp,
    };
    Ok(Vxlan {
        local_ip,
        group,
        ranges,
        ttl: config.get(&TTL)?.and_then(byte),
        tos,
        port: config.get(&UDP_DSTPORT)?.filter(|port| *port != 0).unwrap_or(DEFAULT_VXLAN_PORT),
        source_ports,
        l2_population,
        arp_responder: config.get(&ARP_RESPONDER)?,
    })
}

fn is_multicast(net: &IpNet) -> bool {
    net.network().is_multicast() && net.broadcast().is_multicast()
}

/// An IPv6 group has colons of its own, so the numbers are taken from the end.
fn range(text: &str, local_ip: IpAddr) -> Option<GroupRange> {
    let (rest, last) = text.rsplit_once(':')?;
    let (group, first) = rest.rsplit_once(':')?;
    let group: IpAddr = group.trim().parse().ok()?;
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let fits = group.is_multicast() && group.is_ipv4() == local_ip.is_ipv4() && first <= last;
    fits.then_some(GroupRange { group, first, last })
}

#[cfg(test)]
mod tests {
    use config::Loader;

    use super::*;

    fn load(text: &str) -> Result<Settings, SettingsError> {
        let config = Loader::new().declare(OPTIONS).text("linuxbridge_agent.ini", text).load().unwrap();
        read(&config).map(|(settings, _)| settings)
    }

    #[test]
    fn an_ordinary_file_of_upstreams_is_read_as_it_is() {
        let settings = load(
            "[linux_bridge]\nphysical_interface_mappings = physnet1:eth0, physnet2 : bond0.7\n\
             bridge_mappings = physnet3:br-ex\n[vxlan]\nlocal_ip = 192.0.2.201\nl2_population = true\n\
             arp_responder = True\nttl = 32\nudp_dstport = 4789\n[agent]\ndscp = 10\npolling_interval = 2\n",
        )
        .unwrap();
        assert_eq!(settings.interface_mappings["physnet2"], "bond0.7");
        assert_eq!(settings.bridge_mappings["physnet3"], "br-ex");
        let vxlan = settings.vxlan.unwrap();
        assert_eq!((vxlan.ttl, vxlan.tos, vxlan.port), (Some(32), Some(40), 4789));
        assert!(vxlan.l2_population && vxlan.arp_responder && vxlan.group.is_none());
    }

    #[test]
    fn defaults_are_upstreams() {
        let vxlan = load("[VXLAN]\nlocal_ip = 192.0.2.1\n").unwrap().vxlan.unwrap();
        assert_eq!(vxlan.group, Some("224.0.0.1/32".parse().unwrap()));
        assert_eq!((vxlan.port, vxlan.ttl, vxlan.tos, vxlan.source_ports), (8472, None, None, (0, 0)));
        assert!(!vxlan.l2_population && !vxlan.arp_responder);
        assert_eq!(load("[VXLAN]\nenable_vxlan = false\n").unwrap(), Settings::default());
    }

    #[test]
    fn ranges_and_inheritance() {
        let text = "[VXLAN]\nlocal_ip = 2001:db8::1\nvxlan_group = ff05::/120\nmulticast_ranges = ff06::1:10:20,ff06::2:21:30\n\
                    [AGENT]\ndscp_inherit = true\n";
        let vxlan = load(text).unwrap().vxlan.unwrap();
        assert_eq!(vxlan.group_of(25), Some("ff06::2".parse().unwrap()));
        assert_eq!(vxlan.group_of(0x105), Some("ff05::5".parse().unwrap()));
        assert_eq!(vxlan.tos, Some(TOS_INHERIT));
    }

    #[test]
    fn what_cannot_work_is_refused_at_the_start() {
        let error = |text: &str| load(text).unwrap_err().to_string();
        insta::assert_snapshot!(error(""), @"enable_vxlan needs local_ip in section VXLAN: the address of an interface for tunnels to leave from");
        insta::assert_snapshot!(error("[VXLAN]\nlocal_ip=::1\n"), @"vxlan_group '224.0.0.1' is not a multicast group or range in the address family of local_ip; correct it, or set l2_population");
        insta::assert_snapshot!(error("[VXLAN]\nlocal_ip=192.0.2.1\nvxlan_group=\n"), @"vxlan_group '' is not a multicast group or range in the address family of local_ip; correct it, or set l2_population");
        insta::assert_snapshot!(error("[VXLAN]\nlocal_ip=192.0.2.1\nvxlan_group=192.0.2.9\n"), @"vxlan_group '192.0.2.9' is not a multicast group or range in the address family of local_ip; correct it, or set l2_population");
        insta::assert_snapshot!(error("[VXLAN]\nlocal_ip=192.0.2.1\nmulticast_ranges=239.0.0.1:9:3\n"), @"multicast_ranges has '239.0.0.1:9:3', which is not <multicast group of local_ip's family>:<first VNI>:<last VNI>");
        insta::assert_snapshot!(error("[VXLAN]\nlocal_ip=192.0.2.1\nudp_srcport_min=9\n"), @"udp_srcport_min 9 is above udp_srcport_max 0");
        insta::assert_snapshot!(error("[LINUX_BRIDGE]\nphysical_interface_mappings=physnet1\n"), @"physical_interface_mappings has 'physnet1', which is not <physical network>:<device>");
        insta::assert_snapshot!(error("[LINUX_BRIDGE]\nphysical_interface_mappings=a:eth0,b:eth0\n"), @"physical_interface_mappings has 'b:eth0' twice; every physical network and every device occurs once");
        insta::assert_snapshot!(error("[LINUX_BRIDGE]\nbridge_mappings=a:br0,a:br1\n"), @"bridge_mappings has 'a:br1' twice; every physical network and every device occurs once");
        insta::assert_snapshot!(error("[VXLAN]\nlocal_ip=192.0.2.1\nttl=300\n"), @r#"linuxbridge_agent.ini:3: [VXLAN] ttl = "300": it is more than 255"#);
    }
}
