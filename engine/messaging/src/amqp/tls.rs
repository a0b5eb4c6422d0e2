//! Opens the socket of a connection, with or without TLS.
//!
//! What is verified is what oslo.messaging verifies: with an authority's certificate the chain, and the host's name unless that
//! is switched off; without one, nothing.

use lapin::tcp::{AMQPUriTcpExt, RustlsConnector};
use lapin::uri::{AMQPScheme, AMQPUri};
use lapin::{Connection, ConnectionProperties};

use super::settings::Tls;

/// Connects to one host, with the scheme of the URI.
pub(super) async fn connect(
    uri: AMQPUri,
    options: Option<&Tls>,
    properties: ConnectionProperties,
) -> Result<Connection, String> {
    let runtime = lapin::runtime::default_runtime().map_err(|error| error.to_string())?;
    let connector = match options {
        Some(Tls { ca, identity, verify_host }) => {
            let identity = identity.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path()));
            let config = tls::client(ca.as_deref(), *verify_host, identity);
            Some(RustlsConnector::from(config.map_err(|error| format!("[oslo_messaging_rabbit] ssl_*_file: {error}"))?))
        }
        None => None,
    };
    let connect = async move |uri: AMQPUri, runtime| {
        let plain = AMQPUri { scheme: AMQPScheme::AMQP, ..uri.clone() };
        let stream = plain.connect_async(&runtime).await?;
        match &connector {
            Some(connector) => Ok(stream.into_rustls(connector, &uri.authority.host).await?),
            None => Ok(stream),
        }
    };
    Connection::connector(uri, runtime, connect, properties).await.map_err(|error| {
        let why = super::link::explain(&error);
        match options {
            Some(_) if why.contains("valid for name") => {
                format!("{why} ([oslo_messaging_rabbit] ssl_enforce_hostname_verification)")
            }
            Some(_) if why.contains("certificate") => format!("{why} ([oslo_messaging_rabbit] ssl_ca_file)"),
            _ => why,
        }
    })
}
