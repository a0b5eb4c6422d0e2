//! Addresses of databases as SQLAlchemy writes them: `dialect[+driver]://user:password@host:port/database?name=value`.

use crate::Error;

/// The parts of an address; text is decoded where it was percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    pub user: Option<String>,
    pub password: Option<String>,
    /// Without the brackets of an IPv6 address; `""` when there is none.
    pub host: String,
    pub port: Option<u16>,
    pub database: String,
    pub options: Vec<(String, String)>,
}

/// The dialect of an address, without the driver: `mysql` of `mysql+pymysql://…`.
pub(crate) fn dialect(url: &str) -> &str {
    let scheme = url.split("://").next().unwrap_or_default();
    scheme.split('+').next().unwrap_or_default()
}

/// The address without its password, for messages.
pub(crate) fn masked(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    match rest[..end].rsplit_once('@') {
        Some((who, host)) => {
            let user = who.split(':').next().unwrap_or_default();
            let secret = if who.contains(':') { ":***" } else { "" };
            format!("{scheme}://{user}{secret}@{host}{}", &rest[end..])
        }
        None => url.to_owned(),
    }
}

impl Address {
    /// Takes an address apart.
    ///
    /// # Errors
    ///
    /// [`Error::Config`] that shows the address without its password.
    pub fn parse(url: &str) -> Result<Address, Error> {
        let wrong = |what: &str| Error::Config(format!("{what} in {}", masked(url)));
        let (_, rest) = url.split_once("://").ok_or_else(|| wrong("no \"://\""))?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // A password may hold a slash as it is, so the last @ counts.
        let (who, place) = match rest.rsplit_once('@') {
            Some((who, place)) => (Some(who), place),
            None => (None, rest),
        };
        let (host, database) = place.split_once('/').unwrap_or((place, ""));
        let (host, port) = match host.strip_prefix('[') {
            Some(inner) => {
                let (host, after) = inner.split_once(']').ok_or_else(|| wrong("no closing bracket"))?;
                (host, after.strip_prefix(':').unwrap_or_default())
            }
            None => host.rsplit_once(':').unwrap_or((host, "")),
        };
        let port = match port {
            "" => None,
            port => Some(port.parse().map_err(|_| wrong("a port that is no number from 1 to 65535"))?),
        };
        let (user, password) = match who {
            Some(who) => match who.split_once(':') {
                Some((user, password)) => (Some(decoded(user)), Some(decoded(password))),
                None => (Some(decoded(who)), None),
            },
            None => (None, None),
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let options = pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decoded(name), decoded(&value.replace('+', " ")))
            })
            .collect();
        Ok(Address { user, password, host: decoded(host), port, database: decoded(database), options })
    }

    /// The last value of an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(is, _)| is == name).map(|(_, value)| value.as_str())
    }

    /// An option that is on or off.
    pub fn flag(&self, name: &str) -> Option<bool> {
        self.option(name).map(|value| matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on"))
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
