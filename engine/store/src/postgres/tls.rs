//! TLS as libpq has it: `sslmode`, `sslrootcert`, `sslcert`, `sslkey`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::Error;
use crate::address::Address;

/// What is checked of the server's certificate.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: nothing.
    chain: Option<Arc<WebPkiServerVerifier>>,
    name: bool,
}

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
    let provider = Arc::new(ring::default_provider());
    let chain = if chain {
        let path = root.ok_or_else(|| wrong(format!("sslmode={mode} needs sslrootcert, a file of certificates")))?;
        let mut roots = RootCertStore::empty();
        let unreadable = |error: &dyn std::fmt::Display| wrong(format!("sslrootcert {path}: {error}"));
        for certificate in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
            let certificate = certificate.map_err(|error| unreadable(&error))?;
            roots.add(certificate).map_err(|error| unreadable(&error))?;
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        Some(verifier.build().map_err(|error| unreadable(&error))?)
    } else {
        None
    };
    let verifier = Arc::new(Verifier { provider: provider.clone(), chain, name });
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let builder =
        builder.map_err(|error| wrong(error.to_string()))?.dangerous().with_custom_certificate_verifier(verifier);
    let config = match (address.option("sslcert"), address.option("sslkey")) {
        (Some(chain), Some(key)) => {
            let unreadable = |error: &dyn std::fmt::Display| wrong(format!("sslcert {chain}, sslkey {key}: {error}"));
            let certificates = CertificateDer::pem_file_iter(chain).and_then(Iterator::collect::<Result<Vec<_>, _>>);
            let certificates = certificates.map_err(|error| unreadable(&error))?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(&error))?;
            builder.with_client_auth_cert(certificates, key).map_err(|error| unreadable(&error))?
        }
        _ => builder.with_no_client_auth(),
    };
    Ok((negotiate, MakeRustlsConnect::new(config)))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
