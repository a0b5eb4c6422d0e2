//! Values of rules: protocols, ports, families, prefixes, as requests and filters write them.

use std::net::{IpAddr, Ipv4Addr};

use schema::{Fault, Value};
use types::IpNet;

use crate::faults;

/// Names of IP protocols that rules may have, with IANA's numbers (neutron_lib/constants.py `IP_PROTOCOL_MAP`).
pub const NAMES: &[(&str, u8)] = &[
    ("ah", 51),
    ("dccp", 33),
    ("egp", 8),
    ("esp", 50),
    ("gre", 47),
    ("hopopt", 0),
    ("icmp", 1),
    ("icmpv6", 58),
    ("igmp", 2),
    ("ip", 0),
    ("ipip", 4),
    ("ipv6-encap", 41),
    ("ipv6-frag", 44),
    ("ipv6-icmp", 58),
    ("ipv6-nonxt", 59),
    ("ipv6-opts", 60),
    ("ipv6-route", 43),
    ("ospf", 89),
    ("pgm", 113),
    ("rsvp", 46),
    ("sctp", 132),
    ("tcp", 6),
    ("udp", 17),
    ("udplite", 136),
    ("vrrp", 112),
];

pub const ICMP: u8 = 1;
pub const IPV6_ICMP: u8 = 58;

/// Protocols with ports: DCCP, SCTP, TCP, UDP, UDP-Lite.
pub const WITH_PORTS: [u8; 5] = [33, 132, 6, 17, 136];

/// Protocols that only IPv6 has.
pub const OF_IPV6: [u8; 6] = [41, 44, IPV6_ICMP, 59, 60, 43];

/// The number of a stored protocol, which is a name or a number.
pub fn number(protocol: &str) -> Option<u8> {
    let name = NAMES.iter().find(|(name, _)| *name == protocol).map(|(_, number)| *number);
    name.or_else(|| protocol.parse().ok())
}

/// A name, in any case, or a number; kept as text. `any` is the same as none.
pub fn protocol(value: Value) -> Result<Value, Fault> {
    let text = match &value {
        Value::Null => return Ok(Value::Null),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.to_ascii_lowercase(),
        _ => return Err(faults::protocol(&value)),
    };
    if text == "any" {
        return Ok(Value::Null);
    }
    if NAMES.iter().any(|(name, _)| *name == text) {
        return Ok(Value::from(text));
    }
    match text.trim().parse::<u8>() {
        Ok(number) => Ok(Value::from(number.to_string())),
        Err(_) => Err(faults::protocol(&value)),
    }
}

/// A port, or an ICMP type or code: a number from 0 to 65535, also as text. What it may be for the protocol is checked with the
/// rule.
pub fn port(value: Value) -> Result<Value, Fault> {
    let number = match &value {
        Value::Null => return Ok(Value::Null),
        Value::Number(number) => number.as_u64().and_then(|number| u16::try_from(number).ok()),
        Value::String(text) => text.trim().parse::<u16>().ok(),
        _ => None,
    };
    number.map(Value::from).ok_or_else(|| faults::port(&value))
}

/// `IPv4` or `IPv6`, in any case.
pub fn ethertype(value: Value) -> Result<Value, Fault> {
    match value.as_str().map(str::to_ascii_lowercase).as_deref() {
        Some("ipv4") => Ok(Value::from("IPv4")),
        Some("ipv6") => Ok(Value::from("IPv6")),
        _ => Err(faults::ethertype(&value)),
    }
}

/// An address with its host bits and the length of its prefix, which may be written as a netmask or its inverse.
pub fn address_and_length(text: &str) -> Option<IpNet> {
    let Some((ip, mask)) = text.split_once('/') else { return text.parse::<IpAddr>().ok().map(IpNet::from) };
    let ip: IpAddr = ip.parse().ok()?;
    if let Ok(length) = mask.parse::<u8>() {
        return IpNet::new(ip, length).ok();
    }
    let mask: IpAddr = mask.parse().ok()?;
    IpNet::with_netmask(ip, mask).ok().or_else(|| match mask {
        IpAddr::V4(mask) => IpNet::with_netmask(ip, Ipv4Addr::from(!u32::from(mask)).into()).ok(),
        IpAddr::V6(_) => None,
    })
}

/// A prefix as the user wrote it, host bits included, always with its length. An empty one is none.
pub fn prefix(value: Value) -> Result<Value, Fault> {
    match &value {
        Value::Null => Ok(Value::Null),
        Value::String(text) if text.is_empty() => Ok(Value::Null),
        Value::String(text) => match address_and_length(text) {
            Some(net) => Ok(Value::from(net.to_string())),
            None => Err(faults::cidr(&value)),
        },
        _ => Err(faults::cidr(&value)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn protocols() {
        for (given, kept) in [
            (json!("TCP"), json!("tcp")),
            (json!(6), json!("6")),
            (json!("0"), json!("0")),
            (json!(" 06"), json!("6")),
            (json!("any"), Value::Null),
            (Value::Null, Value::Null),
            (json!("ipv6-icmp"), json!("ipv6-icmp")),
        ] {
            assert_eq!(protocol(given.clone()).unwrap(), kept, "{given}");
        }
        for given in [json!(256), json!("256"), json!(-1), json!(1.5), json!("foo"), json!(""), json!(true), json!([])]
        {
            assert_eq!(protocol(given.clone()).unwrap_err().kind(), "SecurityGroupRuleInvalidProtocol", "{given}");
        }
        assert_eq!(number("udplite"), Some(136));
        assert_eq!(number("99"), Some(99));
    }

    #[test]
    fn ports() {
        assert_eq!(port(json!("80")).unwrap(), json!(80));
        assert_eq!(port(json!(65535)).unwrap(), json!(65535));
        for given in [json!(65536), json!(-1), json!("a"), json!(""), json!(80.5), json!(true), json!([])] {
            assert_eq!(port(given.clone()).unwrap_err().kind(), "SecurityGroupInvalidPortValue", "{given}");
        }
    }

    #[test]
    fn prefixes() {
        for (given, kept) in [
            ("10.1.2.3/8", json!("10.1.2.3/8")),
            ("10.1.2.3", json!("10.1.2.3/32")),
            ("10.0.0.0/255.0.0.0", json!("10.0.0.0/8")),
            ("10.0.0.0/0.255.255.255", json!("10.0.0.0/8")),
            ("FD00::1/64", json!("fd00::1/64")),
            ("0.0.0.0/0", json!("0.0.0.0/0")),
            ("", Value::Null),
        ] {
            assert_eq!(prefix(json!(given)).unwrap(), kept, "{given}");
        }
        for given in [json!("10.0.0.0/33"), json!("abc"), json!("10.0/16"), json!("10"), json!(5), json!("10.0.0.0/")] {
            assert_eq!(prefix(given.clone()).unwrap_err().kind(), "InvalidCIDR", "{given}");
        }
    }
}
