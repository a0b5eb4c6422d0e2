//! TLS as libpq has it: `sslmode`, `sslrootcert`, `sslcert`, `sslkey`.

use std::path::Path;

use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;
use crate::address::Address;

/// The mode of an address, and what connects with it.
pub(super) fn of(address: &Address) -> Result<(SslMode, MakeRustlsConnect), Error> {
    let wrong = |what: String| Error::Config(format!("the database's address: {what}"));
    let mode = address.option("sslmode").unwrap_or("prefer");
    let root = address.option("sslrootcert");
    let (negotiate, chain, name) = match mode {
        "disable" => (SslMode::Disable, false, false),
        "allow" | "prefer" => (SslMode::Prefer, false, false),
        // With an authority, `require` is `verify-ca`.
        "require" => (SslMode::Require, root.is_some(), false),
        "verify-ca" => (SslMode::Require, true, false),
        "verify-full" => (SslMode::Require, true, true),
        other => {
            return Err(wrong(format!("sslmode={other} is none of disable, prefer, require, verify-ca, verify-full")));
        }
    };
    let authority = match (chain, root) {
        (false, _) => None,
        (true, Some(path)) => Some(Path::new(path)),
        (true, None) => return Err(wrong(format!("sslmode={mode} needs sslrootcert, a file of certificates"))),
    };
    let identity = match (address.option("sslcert"), address.option("sslkey")) {
        (Some(certificate), Some(key)) => Some((Path::new(certificate), Path::new(key))),
        _ => None,
    };
    let config = tls::client(authority, name, identity);
    let config = config.map_err(|error| wrong(format!("sslrootcert, sslcert, sslkey: {error}")))?;
    Ok((negotiate, MakeRustlsConnect::new(config)))
}
