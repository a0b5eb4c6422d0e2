use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use ipnet::Ipv6Net;
use serde::{Deserialize, Serialize};

/// An EUI-48 (MAC) address. Printed in lower case with colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Mac(pub [u8; 6]);

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{0}' is not a MAC address; write six octets such as fa:16:3e:00:00:01")]
pub struct MacError(pub String);

impl Mac {
    /// The all-zero address, which no device may use.
    pub const ZERO: Mac = Mac([0; 6]);

    pub fn is_zero(&self) -> bool {
        *self == Mac::ZERO
    }

    /// Group bit of the first octet (IEEE 802).
    pub fn is_multicast(&self) -> bool {
        self.0[0] & 1 == 1
    }

    /// The modified EUI-64 interface identifier (RFC 4291, appendix A) under a prefix.
    /// The prefix should be 64 bits long; the low 64 bits are replaced.
    pub fn eui64(&self, prefix: Ipv6Net) -> Ipv6Addr {
        let m = self.0;
        let id = u64::from_be_bytes([m[0] ^ 2, m[1], m[2], 0xff, 0xfe, m[3], m[4], m[5]]);
        let high = u128::from(prefix.network()) & !u128::from(u64::MAX);
        Ipv6Addr::from(high | u128::from(id))
    }

    /// True if `ip` carries this address as its EUI-64 interface identifier.
    pub fn is_eui64_of(&self, ip: IpAddr) -> bool {
        match ip {
            IpAddr::V6(ip) => Ipv6Net::new(ip, 64).is_ok_and(|net| self.eui64(net) == ip),
            IpAddr::V4(_) => false,
        }
    }

    /// A random address that keeps the octets of `base` that are not zero from the fourth on, and always the
    /// first three. A base of `fa:16:3e:00:00:00` leaves 24 bits to chance, `fa:16:3e:4f:00:00` 16.
    pub fn random_from(base: Mac) -> Mac {
        let r: [u8; 6] = rand::random();
        let mut octets = base.0;
        for i in if base.0[3] == 0 { 3..6 } else { 4..6 } {
            octets[i] = r[i];
        }
        Mac(octets)
    }
}

impl FromStr for Mac {
    type Err = MacError;

    /// Accepts `aa:bb:cc:dd:ee:ff`, `aa-bb-…`, `aabb.ccdd.eeff` and `aabbccddeeff`, in any case; one-digit octets
    /// are accepted between separators.
    fn from_str(text: &str) -> Result<Self, MacError> {
        let bad = || MacError(text.chars().take(64).collect());
        let mut octets = [0u8; 6];
        let separator = if text.contains(':') {
            Some(':')
        } else if text.contains('-') {
            Some('-')
        } else {
            None
        };
        if let Some(separator) = separator {
            let mut count = 0;
            for part in text.split(separator) {
                let valid = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
                if count == 6 || !valid {
                    return Err(bad());
                }
                octets[count] = u8::from_str_radix(part, 16).map_err(|_| bad())?;
                count += 1;
            }
            return if count == 6 { Ok(Mac(octets)) } else { Err(bad()) };
        }
        let digits: String = if text.contains('.') {
            let parts: Vec<&str> = text.split('.').collect();
            if parts.len() != 3 || parts.iter().any(|p| p.len() != 4) {
                return Err(bad());
            }
            parts.concat()
        } else {
            text.to_owned()
        };
        if digits.len() != 12 || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        for (i, octet) in octets.iter_mut().enumerate() {
            *octet = u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).map_err(|_| bad())?;
        }
        Ok(Mac(octets))
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let m = self.0;
        write!(f, "{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}", m[0], m[1], m[2], m[3], m[4], m[5])
    }
}

impl TryFrom<String> for Mac {
    type Error = MacError;
    fn try_from(text: String) -> Result<Self, MacError> {
        text.parse()
    }
}

impl From<Mac> for String {
    fn from(mac: Mac) -> String {
        mac.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation_reads_the_same() {
        let want = Mac([0xfa, 0x16, 0x3e, 0xaa, 0xbb, 0xcc]);
        for text in ["fa:16:3e:aa:bb:cc", "FA-16-3E-AA-BB-CC", "fa16.3eaa.bbcc", "FA163EAABBCC"] {
            assert_eq!(text.parse(), Ok(want), "{text}");
        }
        for text in ["", "fa:16:3e:aa:bb", "fa:16:3e:aa:bb:cc:dd", "fa:16:3e:aa:bb:gg", "fa1.63eaa.bbcc", "ü:1:2:3:4:5"]
        {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
    }

    #[test]
    fn eui64_flips_the_universal_bit() {
        let mac: Mac = "fa:16:3e:12:34:59".parse().unwrap();
        let ip = mac.eui64("2001:db8:6::/64".parse().unwrap());
        assert_eq!(ip.to_string(), "2001:db8:6:0:f816:3eff:fe12:3459");
        assert!(mac.is_eui64_of(ip.into()));
        assert!(!mac.is_eui64_of("2001:db8:6::99".parse().unwrap()));
    }
}
