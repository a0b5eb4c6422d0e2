//! Arguments of dnsmasq.

use std::path::PathBuf;

use ipnet::IpNet;

use super::directory;
use crate::model::{Id, Network, V6Mode};
use crate::settings::Settings;

/// Directory of the network's dnsmasq log, when `dnsmasq_base_log_dir` is set; it has to exist before dnsmasq starts.
pub fn log_dir(settings: &Settings, network: &Id) -> Option<PathBuf> {
    settings.log_dir.as_ref().map(|base| base.join(&**network))
}

/// The command line, program first. A running dnsmasq with exactly this command line is as good as a new one.
pub fn arguments(settings: &Settings, network: &Network) -> Vec<String> {
    let dir = directory(settings, &network.id);
    let file = |option: &str, name: &str| format!("--{option}={}", dir.join(name).display());
    let mut args = vec!["dnsmasq".to_owned(), "--no-hosts".to_owned()];
    if !settings.dns_servers.is_empty() || !settings.local_resolv {
        args.push("--no-resolv".to_owned());
    }
    args.extend([
        file("pid-file", "pid"),
        file("dhcp-hostsfile", "host"),
        file("addn-hosts", "addn_hosts"),
        file("dhcp-optsfile", "opts"),
        file("dhcp-leasefile", "leases"),
        "--dhcp-match=set:ipxe,175".to_owned(),
        "--dhcp-userclass=set:ipxe6,iPXE".to_owned(),
        "--local-service".to_owned(),
        "--bind-dynamic".to_owned(),
    ]);

    let lease = match settings.lease_duration {
        -1 => "infinite".to_owned(),
        seconds => format!("{seconds}s"),
    };
    let mut leases: u128 = 0;
    for subnet in network.all_subnets().filter(|subnet| subnet.enable_dhcp) {
        let cidr = subnet.cidr;
        let (id, first) = (&subnet.id, cidr.network());
        if subnet.is_v4() {
            args.push(format!("--dhcp-range=set:subnet-{id},{first},static,{},{lease}", cidr.netmask()));
        } else {
            let served = match subnet.address_mode {
                Some(V6Mode::Stateful | V6Mode::Stateless) => true,
                Some(V6Mode::Slaac) => false,
                // Neither mode set is how stateful subnets looked before there were modes.
                None => subnet.ra_mode.is_none(),
            };
            // dnsmasq refuses to start with an IPv6 range wider than /64.
            if !served || cidr.prefix_len() < 64 {
                continue;
            }
            args.push(format!("--dhcp-range=set:subnet-{id},{first},static,{},{lease}", cidr.prefix_len()));
        }
        leases = leases.saturating_add(size(&cidr));
    }

    if network.mtu > 0 {
        args.push(format!("--dhcp-option-force=option:mtu,{}", network.mtu));
    }
    args.push(format!("--dhcp-lease-max={}", leases.min(u128::from(settings.lease_max))));
    if settings.renewal_time > 0 {
        args.push(format!("--dhcp-option-force=option:T1,{}s", settings.renewal_time));
    }
    if settings.rebinding_time > 0 {
        args.push(format!("--dhcp-option-force=option:T2,{}s", settings.rebinding_time));
    }
    if !settings.txt_record.is_empty() {
        args.push(format!("--txt-record={}", settings.txt_record));
    }
    let config = settings.config_file.trim();
    args.push(format!("--conf-file={}", if config.is_empty() { "/dev/null" } else { config }));
    args.extend(settings.dns_servers.iter().map(|server| format!("--server={server}")));
    if !settings.dns_domain.is_empty() {
        args.push(format!("--domain={}", settings.dns_domain));
    }
    if settings.as_root {
        args.push("--user=root".to_owned());
    }
    if settings.broadcast_reply {
        args.push("--dhcp-broadcast".to_owned());
    }
    if let Some(dir) = log_dir(settings, &network.id) {
        args.extend([
            "--log-queries".to_owned(),
            "--log-dhcp".to_owned(),
            format!("--log-facility={}", dir.join("dhcp_dns_log").display()),
        ]);
    }
    args
}

/// Number of addresses of the prefix, saturating.
fn size(cidr: &IpNet) -> u128 {
    1u128.checked_shl(u32::from(cidr.max_prefix_len() - cidr.prefix_len())).unwrap_or(u128::MAX)
}
