//! The shortest, the longest and the usual prefix that a pool gives. Pure.

use schema::Fault;

use super::faults;

/// Prefix lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    pub min: i64,
    pub max: i64,
    pub default: i64,
}

/// Bits of an address.
pub fn bits(version: i64) -> i64 {
    if version == 6 { 128 } else { 32 }
}

/// The length of what quotas count: addresses for IPv4, /64 for IPv6.
pub fn quota_unit(version: i64) -> i64 {
    if version == 6 { 64 } else { 32 }
}

impl Bounds {
    /// With the defaults of the family, checked. The usual length is the shortest unless given.
    pub fn settle(version: i64, min: Option<i64>, max: Option<i64>, default: Option<i64>) -> Result<Bounds, Fault> {
        let min = min.unwrap_or(if version == 6 { 64 } else { 8 });
        let max = max.unwrap_or(bits(version));
        let default = default.unwrap_or(min);
        if min > max {
            return Err(faults::bounds("min_prefixlen", min, "max_prefixlen", max));
        }
        if max > bits(version) {
            return Err(faults::bounds("max_prefixlen", max, "ip_version_max", bits(version)));
        }
        if default < min {
            return Err(faults::bounds("default_prefixlen", default, "min_prefixlen", min));
        }
        if default > max {
            return Err(faults::bounds("default_prefixlen", default, "max_prefixlen", max));
        }
        Ok(Bounds { min, max, default })
    }

    pub fn check(&self, length: i64) -> Result<(), Fault> {
        if length > self.max {
            return Err(faults::too_long(length, self.max));
        }
        if length < self.min {
            return Err(faults::too_short(length, self.min));
        }
        Ok(())
    }
}
