//! Where a message goes: exchange, topic, server, and the API version it needs.

use std::fmt;
use std::str::FromStr;

/// The exchange of every Neutron process unless `control_exchange` says otherwise.
pub const DEFAULT_EXCHANGE: &str = "neutron";

/// An address, or on the serving side the name under which to listen. Mirrors `oslo_messaging.Target`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// AMQP exchange of the topic; `neutron` by default.
    pub exchange: String,
    pub topic: String,
    /// One server of the topic. Without it any server may take the message.
    pub server: Option<String>,
    /// Every server of the topic gets a copy; `server` is then ignored.
    pub fanout: bool,
    /// Selects among the endpoints of a topic. Neutron's namespaces are all `None` on the wire.
    pub namespace: Option<String>,
    /// The least version of the API that the message needs; `1.0` on the wire if `None`.
    pub version: Option<Version>,
}

impl Target {
    #[must_use]
    pub fn topic(topic: impl Into<String>) -> Self {
        Self {
            exchange: DEFAULT_EXCHANGE.to_owned(),
            topic: topic.into(),
            server: None,
            fanout: false,
            namespace: None,
            version: None,
        }
    }

    #[must_use]
    pub fn server(mut self, server: impl Into<String>) -> Self {
        self.server = Some(server.into());
        self.fanout = false;
        self
    }

    #[must_use]
    pub fn fanout(mut self) -> Self {
        self.fanout = true;
        self
    }

    #[must_use]
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    #[must_use]
    pub fn namespace(mut self, namespace: Option<&str>) -> Self {
        self.namespace = namespace.map(str::to_owned);
        self
    }

    #[must_use]
    pub fn exchange(mut self, exchange: impl Into<String>) -> Self {
        self.exchange = exchange.into();
        self
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.topic)?;
        if self.fanout {
            f.write_str(" (fanout)")
        } else if let Some(server) = &self.server {
            write!(f, ".{server}")
        } else {
            Ok(())
        }
    }
}

/// A version `major.minor` of an API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    pub major: u16,
    pub minor: u16,
}

/// Text that is no `major.minor` version.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a version of the form major.minor")]
pub struct BadVersion(pub String);

impl Version {
    #[must_use]
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// Whether an implementation of this version serves a request made for `wanted`: same major, at least its minor.
    #[must_use]
    pub fn serves(self, wanted: Version) -> bool {
        self.major == wanted.major && self.minor >= wanted.minor
    }
}

impl Default for Version {
    fn default() -> Self {
        Self::new(1, 0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Version {
    type Err = BadVersion;

    /// A third part (a revision) is accepted and ignored: it never breaks compatibility.
    fn from_str(text: &str) -> Result<Self, BadVersion> {
        let bad = || BadVersion(text.to_owned());
        let mut parts = text.split('.').map(|part| part.parse::<u16>().map_err(|_| bad()));
        let major = parts.next().ok_or_else(bad)??;
        let minor = parts.next().transpose()?.unwrap_or(0);
        parts.next().transpose()?;
        if parts.next().is_some() { Err(bad()) } else { Ok(Self { major, minor }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_serves_its_major_and_every_minor_up_to_its_own() {
        let ours = Version::new(1, 9);
        assert!(ours.serves(Version::new(1, 9)) && ours.serves(Version::new(1, 0)));
        assert!(!ours.serves(Version::new(1, 10)) && !ours.serves(Version::new(2, 0)));
    }

    #[test]
    fn versions_parse_or_say_what_is_wrong() {
        assert_eq!("1.10".parse(), Ok(Version::new(1, 10)));
        assert_eq!("2".parse(), Ok(Version::new(2, 0)));
        assert_eq!("1.2.3".parse(), Ok(Version::new(1, 2)));
        for bad in ["", "a.b", "1.", "1.2.3.4", "-1.0", "1.99999"] {
            assert_eq!(bad.parse::<Version>(), Err(BadVersion(bad.to_owned())), "{bad}");
        }
    }
}
