//! The second dnsmasq that answers clients while the first one of a large network reads its files.
//!
//! dnsmasq is one thread and needs seconds for ten thousand hosts with leases (see [`crate::agent`]); a second one without
//! the leases is ready in a tenth of that. Both have the same address and so the same server identifier; both hear
//! every broadcast, so the first one learns, late but surely, what the second one gave.

use std::net::Ipv6Addr;
use std::path::Path;

/// Lease of the second dnsmasq: clients are back at the first one soon, long before that forgets them.
const LEASE: &str = "600s";

/// The arguments of the second dnsmasq, from those of the first.
///
/// It leaves DNS alone, and takes leases that it has not heard of for granted: they are the first one's.
pub fn relief_arguments(first: &[String], pid_file: &Path, lease_file: &Path) -> Vec<String> {
    let mut args: Vec<String> = first
        .iter()
        .filter(|arg| !["--addn-hosts=", "--log-", "--server="].iter().any(|start| arg.starts_with(start)))
        .map(|arg| match arg.split_once('=') {
            Some(("--pid-file", _)) => format!("--pid-file={}", pid_file.display()),
            Some(("--dhcp-leasefile", _)) => format!("--dhcp-leasefile={}", lease_file.display()),
            Some(("--dhcp-range", range)) => match range.rsplit_once(',') {
                Some((range, lease)) if is_longer(lease) => format!("--dhcp-range={range},{LEASE}"),
                _ => arg.clone(),
            },
            _ => arg.clone(),
        })
        .collect();
    args.extend(["--port=0", "--dhcp-authoritative", "--keep-in-foreground"].map(str::to_owned));
    args
}

fn is_longer(lease: &str) -> bool {
    lease.strip_suffix('s').is_none_or(|seconds| seconds.parse().is_ok_and(|seconds: u64| seconds > 600))
}

/// The leases it starts with: the server's DUID, by which IPv6 clients know it, and the IPv6 leases, which cost it little.
pub fn relief_leases(first: &str) -> String {
    let is_v6 = |line: &str| line.split(' ').nth(2).is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok());
    first.lines().filter(|line| line.starts_with("duid ") || is_v6(line)).flat_map(|line| [line, "\n"]).collect()
}
