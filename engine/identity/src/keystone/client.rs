//! The HTTP client that requests to other services go by.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::{Certificate, Client};

/// Whom to trust at the other end.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Authorities (PEM) instead of the system's.
    pub cafile: Option<PathBuf>,
    /// Certificate and key (PEM) of our own, for servers that want one.
    pub certfile: Option<PathBuf>,
    pub keyfile: Option<PathBuf>,
    /// Trust everybody.
    pub insecure: bool,
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum ClientProblem {
    #[error("{} cannot be read", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("{} holds no certificate in PEM form", path.display())]
    Certificate { path: PathBuf },
    #[error("the HTTP client cannot be made")]
    Client(#[from] reqwest::Error),
}

fn read(path: &std::path::Path) -> Result<Vec<u8>, ClientProblem> {
    std::fs::read(path).map_err(|source| ClientProblem::File { path: path.to_owned(), source })
}

/// A client for one other service. Connections are kept for later requests.
pub fn client(tls: &Tls, timeout: Duration) -> Result<Client, ClientProblem> {
    // Another part of the program may have chosen one; it is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("neutrino/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(timeout)
        .timeout(timeout)
        .redirect(reqwest::redirect::Policy::none());
    if tls.insecure {
        builder = builder.tls_danger_accept_invalid_certs(true);
    }
    if let Some(path) = &tls.cafile {
        let certificates = Certificate::from_pem_bundle(&read(path)?)
            .ok()
            .filter(|certificates| !certificates.is_empty())
            .ok_or_else(|| ClientProblem::Certificate { path: path.clone() })?;
        builder = builder.tls_certs_only(certificates);
    }
    if let Some(path) = &tls.certfile {
        let mut pem = read(path)?;
        if let Some(key) = &tls.keyfile {
            pem.push(b'\n');
            pem.extend(read(key)?);
        }
        let identity =
            reqwest::Identity::from_pem(&pem).map_err(|_| ClientProblem::Certificate { path: path.clone() })?;
        builder = builder.identity(identity);
    }
    Ok(builder.build()?)
}
