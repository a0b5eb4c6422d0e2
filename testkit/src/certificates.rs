//! Certificates for servers of tests, made by openssl.

use std::path::{Path, PathBuf};
use std::time::Duration;

use linux::Program;

const SOON: Duration = Duration::from_secs(60);

/// An authority, and the certificate that it gave a server named `localhost`, and nothing else.
#[derive(Debug)]
pub struct Certificates {
    pub authority: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Certificates {
    /// Makes them in a directory.
    ///
    /// # Panics
    /// When openssl is missing or fails.
    pub fn make(directory: &Path) -> Certificates {
        let path = |name: &str| directory.join(name);
        let openssl = |words: &[&str]| {
            let done =
                Program::new("openssl").args(words).directory(directory).run(SOON).expect("openssl is installed");
            assert!(done.success(), "openssl {words:?}: {}", done.stderr);
        };
        let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
        let authority = ["req", "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem"];
        openssl(&[&authority[..], &new_key].concat());
        let request = ["req", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"];
        openssl(&[&request[..], &new_key].concat());
        std::fs::write(path("names"), "subjectAltName=DNS:localhost\n").expect("our own directory");
        openssl(&[
            "x509",
            "-req",
            "-days",
            "2",
            "-in",
            "server.csr",
            "-CA",
            "ca.pem",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-extfile",
            "names",
            "-out",
            "server.pem",
        ]);
        Certificates { authority: path("ca.pem"), certificate: path("server.pem"), key: path("server.key") }
    }
}
