use serde::{Deserialize, Serialize};

macro_rules! bounded {
    ($(#[$doc:meta])* $name:ident, $min:literal ..= $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "i64", into = "i64")]
        pub struct $name(u32);

        impl $name {
            pub const MIN: i64 = $min;
            pub const MAX: i64 = $max;

            pub fn new(id: i64) -> Option<Self> {
                (Self::MIN..=Self::MAX).contains(&id).then_some(Self(id as u32))
            }

            pub fn get(self) -> u32 {
                self.0
            }
        }

        impl TryFrom<i64> for $name {
            type Error = String;
            fn try_from(id: i64) -> Result<Self, String> {
                Self::new(id).ok_or_else(|| format!("{id} is outside {} to {}", Self::MIN, Self::MAX))
            }
        }

        impl From<$name> for i64 {
            fn from(id: $name) -> i64 {
                i64::from(id.0)
            }
        }
    };
}

bounded!(
    /// An 802.1Q VLAN identifier, 1 to 4094 (0 and 4095 are reserved by the standard).
    VlanId, 1..=4094
);
bounded!(
    /// A VXLAN network identifier (RFC 7348), 1 to 2^24-1.
    Vni, 1..=16777215
);
