//! Declared options: where they stand, what they take, their default.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::net::IpAddr;

use crate::{Config, ConfigError, FromText};

/// What an option takes, named after oslo.config's types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text, or one of `choices` if there are some.
    Str {
        choices: &'static [&'static str],
        ignore_case: bool,
        max_length: usize,
    },
    /// An integer within bounds; empty means unset.
    Int {
        min: i64,
        max: i64,
    },
    Float {
        min: f64,
        max: f64,
    },
    /// `true`, `1`, `on`, `yes`, or `false`, `0`, `off`, `no`, in any case.
    Bool,
    /// Separated by commas.
    List,
    /// `key:value` separated by commas.
    Dict,
    /// Every assignment counts.
    MultiStr,
    /// 0 to 65535.
    TcpPort,
    Ip,
    /// An address or a host name.
    HostAddress,
}

/// All of an option but its Rust type.
#[derive(Debug)]
pub struct Spec {
    pub section: &'static str,
    pub name: &'static str,
    /// Former sections and names.
    pub deprecated: &'static [(&'static str, &'static str)],
    pub kind: Kind,
    /// As it would stand in a file.
    pub default: Option<&'static str>,
    pub help: &'static str,
    /// Never shown, neither in errors nor in the effective configuration.
    pub secret: bool,
}

/// An option that gives a `T`.
#[derive(Debug)]
pub struct Opt<T> {
    pub spec: Spec,
    of: PhantomData<fn() -> T>,
}

/// An option whatever its type, for lists of options.
pub trait Declared: Sync {
    fn spec(&self) -> &Spec;
    /// Whether the configuration gives it a value that can be taken.
    fn check(&self, config: &Config) -> Result<(), ConfigError>;
}

/// The options of a room.
pub type Options = &'static [&'static dyn Declared];

impl<T: FromText> Declared for Opt<T> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn check(&self, config: &Config) -> Result<(), ConfigError> {
        config.get(self).map(drop)
    }
}

impl<T> Opt<T> {
    const fn new(section: &'static str, name: &'static str, kind: Kind) -> Self {
        let spec = Spec { section, name, deprecated: &[], kind, default: None, help: "", secret: false };
        Self { spec, of: PhantomData }
    }

    /// What holds when no file says anything, written as in a file. It may refer to other options.
    #[must_use]
    pub const fn default(mut self, text: &'static str) -> Self {
        self.spec.default = Some(text);
        self
    }

    #[must_use]
    pub const fn help(mut self, text: &'static str) -> Self {
        self.spec.help = text;
        self
    }

    #[must_use]
    pub const fn deprecated(mut self, names: &'static [(&'static str, &'static str)]) -> Self {
        self.spec.deprecated = names;
        self
    }

    #[must_use]
    pub const fn secret(mut self) -> Self {
        self.spec.secret = true;
        self
    }

    /// The same option where being unset is a value of its own.
    #[must_use]
    pub const fn optional(self) -> Opt<Option<T>> {
        let Spec { section, name, deprecated, kind, default, help, secret } = self.spec;
        Opt { spec: Spec { section, name, deprecated, kind, default, help, secret }, of: PhantomData }
    }
}

impl Opt<String> {
    #[must_use]
    pub const fn str(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::Str { choices: &[], ignore_case: false, max_length: usize::MAX })
    }

    #[must_use]
    pub const fn choice(section: &'static str, name: &'static str, choices: &'static [&'static str]) -> Self {
        Self::new(section, name, Kind::Str { choices, ignore_case: false, max_length: usize::MAX })
    }

    #[must_use]
    pub const fn host_address(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::HostAddress)
    }

    /// Characters at most.
    #[must_use]
    pub const fn max_length(mut self, max: usize) -> Self {
        if let Kind::Str { choices, ignore_case, .. } = self.spec.kind {
            self.spec.kind = Kind::Str { choices, ignore_case, max_length: max };
        }
        self
    }

    #[must_use]
    pub const fn ignore_case(mut self) -> Self {
        if let Kind::Str { choices, max_length, .. } = self.spec.kind {
            self.spec.kind = Kind::Str { choices, ignore_case: true, max_length };
        }
        self
    }
}

impl Opt<i64> {
    #[must_use]
    pub const fn int(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::Int { min: i64::MIN, max: i64::MAX })
    }

    /// Both ends included.
    #[must_use]
    pub const fn range(mut self, min: i64, max: i64) -> Self {
        self.spec.kind = Kind::Int { min, max };
        self
    }

    #[must_use]
    pub const fn min(self, min: i64) -> Self {
        self.range(min, i64::MAX)
    }
}

impl Opt<f64> {
    #[must_use]
    pub const fn float(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::Float { min: f64::NEG_INFINITY, max: f64::INFINITY })
    }

    /// Both ends included.
    #[must_use]
    pub const fn range(mut self, min: f64, max: f64) -> Self {
        self.spec.kind = Kind::Float { min, max };
        self
    }
}

impl Opt<bool> {
    #[must_use]
    pub const fn bool(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::Bool)
    }
}

impl Opt<Vec<String>> {
    #[must_use]
    pub const fn list(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::List)
    }

    #[must_use]
    pub const fn multi(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::MultiStr)
    }
}

impl Opt<BTreeMap<String, String>> {
    #[must_use]
    pub const fn dict(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::Dict)
    }
}

impl Opt<u16> {
    #[must_use]
    pub const fn tcp_port(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::TcpPort)
    }
}

impl Opt<IpAddr> {
    #[must_use]
    pub const fn ip(section: &'static str, name: &'static str) -> Self {
        Self::new(section, name, Kind::Ip)
    }
}
