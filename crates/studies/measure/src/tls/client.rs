//! The client's own certificate, for servers that ask for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// A client's certificate, those that vouch for it, and its key.
#[derive(Clone, Debug)]
pub struct Credentials(Arc<CertifiedKey>);

impl Credentials {
    /// Of certificates, the client's first, and a private key; what is wrong with them.
    pub fn new(
        certificates: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
    ) -> Result<Credentials, String> {
        let pair = CertifiedKey::from_der(certificates, key, &ring::default_provider());
        pair.map(|pair| Credentials(Arc::new(pair))).map_err(|error| {
            format!("it is not the key of the first certificate of --cert ({error})")
        })
    }
}

/// The private key of a file's text in PEM; what is wrong with it.
pub fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| {
        format!(
            "no private key that can be read ({error}): expected PEM without a password, as \
             `openssl pkey -in FILE` prints it"
        )
    })
}

/// What a server is shown that asks for a certificate, and whether one did.
#[derive(Debug, Default)]
pub struct Shown {
    own: Option<Credentials>,
    is_asked: AtomicBool,
}

impl Shown {
    /// Nothing, where there is none.
    pub fn new(own: Option<Credentials>) -> Shown {
        Shown { own, is_asked: AtomicBool::new(false) }
    }

    /// What a failure may come from, where a server has asked.
    pub fn hint(&self) -> Option<&'static str> {
        let hint = match self.own {
            None => "it asks for a certificate of the client: --cert FILE and --key FILE have one",
            Some(_) => "it asked for the certificate of --cert: does it know the issuer?",
        };
        self.is_asked.load(Relaxed).then_some(hint)
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.is_asked.store(true, Relaxed);
        self.own.as_ref().map(|own| Arc::clone(&own.0))
    }

    fn has_certs(&self) -> bool {
        self.own.is_some()
    }
}
