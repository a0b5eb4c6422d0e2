//! `transport_url`, in the form of oslo.messaging (oslo_messaging/transport.py, `TransportURL`):
//! `rabbit://[user:password@]host[:port][,[user:password@]host2[:port2]]/virtual_host?option=value`.

use std::collections::BTreeMap;
use std::fmt;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// AMQP's own TCP port, with and without TLS: drivers of oslo.messaging use the first for both.
pub const AMQP_PORT: u16 = 5672;

/// One node of the broker.
#[derive(Clone, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub port: u16,
    pub user: String,
    pub password: String,
}

impl fmt::Debug for Host {
    /// Without the password: hosts occur in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.user, self)
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.name.contains(':') {
            write!(f, "[{}]:{}", self.name, self.port)
        } else {
            write!(f, "{}:{}", self.name, self.port)
        }
    }
}

/// A parsed `transport_url`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportUrl {
    /// `rabbit`, `kombu` (its old name), `fake`…
    pub scheme: String,
    /// At least one.
    pub hosts: Vec<Host>,
    /// Never empty: nothing said is `/`.
    pub virtual_host: String,
    /// Options that override those of the driver's section.
    pub query: BTreeMap<String, String>,
}

/// What is wrong with a `transport_url`. The texts never hold the password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadUrl {
    #[error("transport_url has no scheme; it is written rabbit://user:password@host:5672/")]
    NoScheme,
    #[error("{0:?} in transport_url is no host with a port from 1 to 65535")]
    Host(String),
    #[error("a percent-encoded part of transport_url is not UTF-8")]
    Encoding,
}

fn decode(text: &str) -> Result<String, BadUrl> {
    percent_decode_str(text).decode_utf8().map(|text| text.into_owned()).map_err(|_| BadUrl::Encoding)
}

/// `name`, `name:port`, `[v6]`, `[v6]:port` or a bare IPv6 address.
fn host_and_port(text: &str) -> Result<(String, u16), BadUrl> {
    let bad = || BadUrl::Host(text.to_owned());
    let number = |port: &str| match port {
        "" => Ok(AMQP_PORT),
        port => port.parse::<u16>().ok().filter(|port| *port != 0).ok_or_else(bad),
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (name, rest) = rest.split_once(']').ok_or_else(bad)?;
        let port = match rest {
            "" => AMQP_PORT,
            rest => number(rest.strip_prefix(':').ok_or_else(bad)?)?,
        };
        return if name.is_empty() { Err(bad()) } else { Ok((name.to_owned(), port)) };
    }
    if text.matches(':').count() > 1 {
        return Ok((text.to_owned(), AMQP_PORT));
    }
    let (name, port) = text.split_once(':').unwrap_or((text, ""));
    let name = if name.is_empty() { "localhost" } else { name };
    Ok((name.to_owned(), number(port)?))
}

impl TransportUrl {
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        let (scheme, rest) =
            text.trim().split_once("://").filter(|(scheme, _)| !scheme.is_empty()).ok_or(BadUrl::NoScheme)?;
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (netloc, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut hosts = Vec::new();
        for part in netloc.split(',').filter(|part| !part.is_empty()) {
            // The last @: a user may hold one.
            let (account, host) = part.rsplit_once('@').map_or((None, part), |(account, host)| (Some(account), host));
            let (name, port) = host_and_port(host)?;
            let (user, password) = match account {
                Some(account) => account.split_once(':').unwrap_or((account, "")),
                // As kombu fills in what is not said.
                None => ("guest", "guest"),
            };
            hosts.push(Host { name, port, user: decode(user)?, password: decode(password)? });
        }
        if hosts.is_empty() {
            let guest = || "guest".to_owned();
            hosts.push(Host { name: "localhost".to_owned(), port: AMQP_PORT, user: guest(), password: guest() });
        }
        let virtual_host = match decode(path)? {
            path if path.is_empty() => "/".to_owned(),
            path => path,
        };
        let mut options = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            options.insert(decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?);
        }
        Ok(Self { scheme: scheme.to_ascii_lowercase(), hosts, virtual_host, query: options })
    }

    /// Whether this names RabbitMQ.
    #[must_use]
    pub fn is_rabbit(&self) -> bool {
        matches!(self.scheme.as_str(), "rabbit" | "kombu" | "amqp" | "amqps")
    }
}

impl fmt::Display for TransportUrl {
    /// For logs: without user names and passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        let path = if self.virtual_host == "/" { "" } else { &self.virtual_host };
        write!(f, "{}://{}/{}", self.scheme, hosts.join(","), utf8_percent_encode(path, NON_ALPHANUMERIC))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(text: &str) -> Vec<(String, u16, String, String)> {
        let url = TransportUrl::parse(text).unwrap();
        url.hosts.into_iter().map(|h| (h.name, h.port, h.user, h.password)).collect()
    }

    fn host(name: &str, port: u16, user: &str, password: &str) -> (String, u16, String, String) {
        (name.into(), port, user.into(), password.into())
    }

    #[test]
    fn one_host_several_hosts_and_none() {
        assert_eq!(hosts("rabbit://u:p@h:5673/"), [host("h", 5673, "u", "p")]);
        assert_eq!(
            hosts("rabbit://a:1@h1:5672,b:2@h2/"),
            [host("h1", 5672, "a", "1"), host("h2", AMQP_PORT, "b", "2")]
        );
        assert_eq!(hosts("rabbit://"), [host("localhost", AMQP_PORT, "guest", "guest")]);
        assert_eq!(hosts("rabbit://u:p@[::1]:5/"), [host("::1", 5, "u", "p")]);
        assert_eq!(hosts("rabbit://u:p@[fd00::1]/"), [host("fd00::1", AMQP_PORT, "u", "p")]);
    }

    #[test]
    fn reserved_characters_are_encoded() {
        assert_eq!(hosts("rabbit://o%40s:p%2Fw%3Aa%2C@h/"), [host("h", AMQP_PORT, "o@s", "p/w:a,")]);
        assert_eq!(hosts("rabbit://o@s:pw@h/"), [host("h", AMQP_PORT, "o@s", "pw")]);
        assert_eq!(TransportUrl::parse("rabbit://h/%2Fnova").unwrap().virtual_host, "/nova");
        assert_eq!(TransportUrl::parse("rabbit://h/nova").unwrap().virtual_host, "nova");
        for root in ["rabbit://h", "rabbit://h/", "rabbit://h//", "rabbit://h/%2F"] {
            assert_eq!(TransportUrl::parse(root).unwrap().virtual_host, "/", "{root}");
        }
    }

    #[test]
    fn options_may_stand_in_the_url() {
        let url = TransportUrl::parse("rabbit://h/v?ssl=1&ssl_ca_file=%2Fca.pem&rabbit_quorum_queue=true").unwrap();
        assert_eq!(url.query["ssl"], "1");
        assert_eq!(url.query["ssl_ca_file"], "/ca.pem");
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        assert_eq!(TransportUrl::parse("h:5672"), Err(BadUrl::NoScheme));
        for bad in
            ["rabbit://u:secret@h:0/", "rabbit://u:secret@h:x/", "rabbit://u:secret@[::1/", "rabbit://u:p@h:99999"]
        {
            let error = TransportUrl::parse(bad).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let url = TransportUrl::parse("rabbit://u:secret@h:1/v h").unwrap();
        assert!(!format!("{url} {url:?}").contains("secret"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "(rabbit)?(://)?[a-z:@,/%?&=\\[\\]0-9]{0,40}") {
            let _ = TransportUrl::parse(&text);
        }
    }
}
