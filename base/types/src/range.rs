use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

/// An inclusive range of addresses of one family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IpRange {
    pub first: IpAddr,
    pub last: IpAddr,
}

/// An address as a number, whatever its family.
pub fn number(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    }
}

/// The address of a number; `like` gives the family. IPv4 takes the low 32 bits.
pub fn from_number(n: u128, like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::from(n as u32)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from(n)),
    }
}

impl IpRange {
    /// None if the families differ or the range is empty.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<IpRange> {
        (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(IpRange { first, last })
    }

    /// The addresses of a prefix that hosts may use: without network and broadcast address for IPv4 prefixes shorter
    /// than /31, without the subnet-router anycast address (RFC 4291, 2.6.1) for IPv6 prefixes shorter than /127.
    pub fn hosts(net: &IpNet) -> IpRange {
        let (mut first, mut last) = (number(net.network()), number(net.broadcast()));
        match net {
            IpNet::V4(net) if net.prefix_len() < 31 => {
                first += 1;
                last -= 1;
            }
            IpNet::V6(net) if net.prefix_len() < 127 => first += 1,
            _ => {}
        }
        IpRange { first: from_number(first, net.addr()), last: from_number(last, net.addr()) }
    }

    pub fn contains(&self, ip: IpAddr) -> bool {
        ip.is_ipv4() == self.first.is_ipv4() && self.first <= ip && ip <= self.last
    }

    pub fn overlaps(&self, other: &IpRange) -> bool {
        self.first.is_ipv4() == other.first.is_ipv4() && self.first <= other.last && other.first <= self.last
    }

    /// How many addresses, saturating at `u128::MAX`.
    pub fn size(&self) -> u128 {
        (number(self.last) - number(self.first)).saturating_add(1)
    }
}

/// A set of addresses of one family, kept as disjoint ranges that do not touch. Insertion, removal and look-up are
/// logarithmic in the number of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IpSet {
    ranges: BTreeMap<u128, u128>,
}

impl IpSet {
    pub fn insert_range(&mut self, first: u128, last: u128) {
        let (mut first, mut last) = (first, last);
        let touching: Vec<u128> = self
            .ranges
            .range(..=last.saturating_add(1))
            .rev()
            .take_while(|(_, end)| end.saturating_add(1) >= first)
            .map(|(start, _)| *start)
            .collect();
        for start in touching {
            if let Some(end) = self.ranges.remove(&start) {
                first = first.min(start);
                last = last.max(end);
            }
        }
        self.ranges.insert(first, last);
    }

    pub fn insert(&mut self, n: u128) {
        self.insert_range(n, n);
    }

    /// Removes one number; false if it was not there.
    pub fn remove(&mut self, n: u128) -> bool {
        let Some((&start, &end)) = self.ranges.range(..=n).next_back() else { return false };
        if end < n {
            return false;
        }
        self.ranges.remove(&start);
        if start < n {
            self.ranges.insert(start, n - 1);
        }
        if n < end {
            self.ranges.insert(n + 1, end);
        }
        true
    }

    pub fn contains(&self, n: u128) -> bool {
        self.ranges.range(..=n).next_back().is_some_and(|(_, end)| *end >= n)
    }

    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub fn len(&self) -> u128 {
        self.ranges.iter().fold(0u128, |sum, (start, end)| sum.saturating_add((end - start).saturating_add(1)))
    }

    pub fn first(&self) -> Option<u128> {
        self.ranges.keys().next().copied()
    }

    /// The disjoint ranges in ascending order.
    pub fn ranges(&self) -> impl Iterator<Item = (u128, u128)> + '_ {
        self.ranges.iter().map(|(start, end)| (*start, *end))
    }

    /// The `index`-th of the lowest numbers; None beyond the end. Linear in the ranges passed over.
    pub fn nth(&self, index: u128) -> Option<u128> {
        let mut left = index;
        for (start, end) in &self.ranges {
            let size = (end - start).saturating_add(1);
            if left < size {
                return Some(start + left);
            }
            left -= size;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn host_range_of_prefixes() {
        let range = |text: &str| {
            let range = IpRange::hosts(&text.parse().unwrap());
            format!("{}-{}", range.first, range.last)
        };
        assert_eq!(range("192.0.2.0/24"), "192.0.2.1-192.0.2.254");
        assert_eq!(range("192.0.2.0/31"), "192.0.2.0-192.0.2.1");
        assert_eq!(range("192.0.2.9/32"), "192.0.2.9-192.0.2.9");
        assert_eq!(range("2001:db8::/64"), "2001:db8::1-2001:db8::ffff:ffff:ffff:ffff");
        assert_eq!(range("2001:db8::/127"), "2001:db8::-2001:db8::1");
    }

    #[test]
    fn set_agrees_with_a_plain_set() {
        let mut set = IpSet::default();
        let mut model = BTreeSet::new();
        let mut state = 7u64;
        for _ in 0..4000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let n = u128::from((state >> 33) % 64);
            if (state >> 20).is_multiple_of(2) {
                set.insert(n);
                model.insert(n);
            } else {
                assert_eq!(set.remove(n), model.remove(&n));
            }
            assert_eq!(set.len(), model.len() as u128);
            assert_eq!(set.first(), model.first().copied());
            assert_eq!(set.nth(3), model.iter().nth(3).copied());
        }
    }
}
