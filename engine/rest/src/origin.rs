//! Where the client sees this server: scheme and host of links.

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::{Connection, Options};

/// The address of a request as its client wrote it, without the query.
pub struct Origin {
    /// `http://host:port`, and what a proxy put before the path.
    base: String,
    path: String,
}

impl Origin {
    pub fn of(parts: &Parts, options: &Options) -> Origin {
        let headers = &parts.headers;
        let path = parts.uri.path().to_owned();
        let mut scheme = text(headers, "x-forwarded-proto").unwrap_or("http").to_owned();
        let mut host = text(headers, header::HOST.as_str())
            .or_else(|| parts.uri.authority().map(|authority| authority.as_str()))
            .map(str::to_owned)
            .or_else(|| parts.extensions.get::<Connection>()?.local.map(|local| local.to_string()))
            .unwrap_or_else(|| "localhost".to_owned());
        let mut prefix = "";
        if options.proxy_headers {
            match text(headers, "forwarded") {
                Some(forwarded) => {
                    // The first proxy is the one that the client spoke to.
                    for pair in forwarded.split(',').next().unwrap_or_default().split(';') {
                        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                        let value = value.trim().trim_matches('"');
                        match name.trim().to_ascii_lowercase().as_str() {
                            "proto" if !value.is_empty() => scheme = value.to_owned(),
                            "host" if !value.is_empty() => host = value.to_owned(),
                            _ => {}
                        }
                    }
                }
                None => {
                    if let Some(forwarded) = text(headers, "x-forwarded-host") {
                        host = forwarded.to_owned();
                    }
                }
            }
            prefix = text(headers, "x-forwarded-prefix").unwrap_or_default();
        }
        let base = match &options.link_prefix {
            Some(link_prefix) => format!("{}{prefix}", link_prefix.trim_end_matches('/')),
            None => format!("{scheme}://{host}{prefix}"),
        };
        Origin { base, path }
    }

    /// The address of the request, without its query.
    pub fn here(&self) -> String {
        format!("{}{}", self.base, self.path)
    }

    /// The address of a path from the root of the server on.
    pub fn at(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }
}

/// A header that is plain text and not empty.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim).filter(|value| !value.is_empty())
}
