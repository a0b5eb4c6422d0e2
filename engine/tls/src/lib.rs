//! TLS towards other servers: brokers and databases, whose options ask for more or less verification.
//!
//! With an authority the chain is verified, and the server's name too unless that is switched off; without one, nothing is.
//! Keys and certificates are files in PEM, read when a configuration is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// What cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{}: {source}", file.display())]
    Pem { file: PathBuf, source: pem::Error },
    #[error("{}: there is no certificate in it", file.display())]
    Empty { file: PathBuf },
    #[error("{}: {why}", file.display())]
    Unusable { file: PathBuf, why: String },
    #[error(transparent)]
    Protocol(#[from] rustls::Error),
}

/// How a client connects. `authority`: certificates that may have signed the server's. `name`: whether the certificate has to be for
/// the server's name. `identity`: our certificate with those that it is signed by, and its key.
pub fn client(
    authority: Option<&Path>,
    name: bool,
    identity: Option<(&Path, &Path)>,
) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let chain = authority.map(|file| authorities(file, &provider)).transpose()?;
    let verifier = Verifier { chain, name, provider: Arc::clone(&provider) };
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let Some((certificate, key)) = identity else { return Ok(builder.with_no_client_auth()) };
    let chain = certificates(certificate)?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|source| TlsError::Pem { file: key.to_owned(), source })?;
    let unusable = |error: rustls::Error| TlsError::Unusable { file: certificate.to_owned(), why: error.to_string() };
    builder.with_client_auth_cert(chain, private).map_err(unusable)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let wrong = |source| TlsError::Pem { file: file.to_owned(), source };
    let found: Vec<_> = CertificateDer::pem_file_iter(file).map_err(wrong)?.collect::<Result<_, _>>().map_err(wrong)?;
    if found.is_empty() { Err(TlsError::Empty { file: file.to_owned() }) } else { Ok(found) }
}

fn authorities(file: &Path, provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, TlsError> {
    let unusable = |why: String| TlsError::Unusable { file: file.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    builder.build().map_err(|error| unusable(error.to_string()))
}

/// Verifies as much as was asked for.
#[derive(Debug)]
struct Verifier {
    /// `None`: nothing.
    chain: Option<Arc<WebPkiServerVerifier>>,
    name: bool,
    provider: Arc<CryptoProvider>,
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
            // The chain is checked before the name.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.name => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_file_is_said_with_its_name() {
        let missing = Path::new("/nowhere/ca.pem");
        assert!(client(Some(missing), true, None).unwrap_err().to_string().starts_with("/nowhere/ca.pem: "));
        let empty = Path::new("/dev/null");
        let error = client(Some(empty), true, None).unwrap_err().to_string();
        assert_eq!(error, "/dev/null: there is no certificate in it");
        let error = client(None, false, Some((empty, missing))).unwrap_err().to_string();
        assert!(error.contains("no certificate"), "{error}");
        assert!(client(None, true, None).is_ok());
    }
}
