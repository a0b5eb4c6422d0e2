//! Prefixes as API users write them: host bits are masked off, a bare address is a host prefix.

use std::net::IpAddr;

use ipnet::IpNet;

/// Parses `text` and masks the host bits: `192.0.2.5/24` is `192.0.2.0/24`, `192.0.2.5` is `192.0.2.5/32`.
/// Netmask notation (`192.0.2.0/255.255.255.0`) is accepted for IPv4. None if it is no prefix.
pub fn parse(text: &str) -> Option<IpNet> {
    let Some((ip, mask)) = text.split_once('/') else { return text.parse::<IpAddr>().ok().map(IpNet::from) };
    // By the standard library, which refuses numbers with leading zeros: some would read them as octal.
    let ip: IpAddr = ip.parse().ok()?;
    let net = match mask.parse::<u8>() {
        Ok(length) => IpNet::new(ip, length).ok()?,
        Err(_) => IpNet::with_netmask(ip, mask.parse().ok()?).ok()?,
    };
    Some(net.trunc())
}

/// True if `text` is a prefix whose host bits are zero, with an explicit length.
pub fn is_exact(text: &str) -> bool {
    let Some((ip, _)) = text.split_once('/') else { return false };
    match (ip.parse::<IpAddr>(), parse(text)) {
        (Ok(ip), Some(net)) => net.network() == ip,
        _ => false,
    }
}

/// True if the two prefixes share an address.
pub fn overlap(a: &IpNet, b: &IpNet) -> bool {
    a.contains(b) || b.contains(a)
}

/// 4 or 6.
pub fn version(net: &IpNet) -> i64 {
    match net {
        IpNet::V4(_) => 4,
        IpNet::V6(_) => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_and_rejects() {
        assert_eq!(parse("192.0.2.5/24").unwrap().to_string(), "192.0.2.0/24");
        assert_eq!(parse("192.0.2.5").unwrap().to_string(), "192.0.2.5/32");
        assert_eq!(parse("192.0.2.0/255.255.255.0").unwrap().to_string(), "192.0.2.0/24");
        assert_eq!(parse("2001:DB8::1/64").unwrap().to_string(), "2001:db8::/64");
        for text in ["", "x", "192.0.2.0/33", "192.0.2/24", "::/129", "192.0.2.0/255.0.255.0", "010.0.0.0/8"] {
            assert!(parse(text).is_none(), "{text}");
        }
        assert!(is_exact("10.0.0.0/8") && !is_exact("10.0.0.1/8") && !is_exact("10.0.0.1") && !is_exact("010.0.0.0/8"));
    }
}
