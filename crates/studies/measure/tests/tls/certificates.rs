//! Certificates, made anew for each run.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};

/// The name in them, beside 127.0.0.1.
pub const NAME: &str = "service.test";

/// What a server shows, and what a client must have to believe it.
pub struct Shown {
    pub server: (CertificateDer<'static>, PrivateKeyDer<'static>),
    /// In PEM.
    pub issuer: String,
}

/// The signer.
#[derive(Clone, Copy, PartialEq)]
pub enum Signed {
    Authority,
    /// As `openssl req -x509` does: it is an authority's, too.
    Itself,
    Expired,
}

pub fn shown(signed: Signed) -> Shown {
    let key = KeyPair::generate().expect("a key");
    let names = vec![NAME.to_string(), "127.0.0.1".to_string()];
    let mut own = CertificateParams::new(names).expect("names");
    let authority = IsCa::Ca(BasicConstraints::Unconstrained);
    let (certificate, issuer) = match signed {
        Signed::Authority => {
            let mut of_issuer = CertificateParams::new(Vec::new()).expect("no names");
            of_issuer.is_ca = authority;
            let issuer_key = KeyPair::generate().expect("a key");
            let shown = of_issuer.self_signed(&issuer_key).expect("a certificate").pem();
            let issuer = Issuer::new(of_issuer, issuer_key);
            (own.signed_by(&key, &issuer).expect("a certificate"), shown)
        }
        Signed::Itself | Signed::Expired => {
            own.is_ca = authority;
            if signed == Signed::Expired {
                own.not_before = date_time_ymd(2000, 1, 1);
                own.not_after = date_time_ymd(2001, 1, 1);
            }
            let certificate = own.self_signed(&key).expect("a certificate");
            let shown = certificate.pem();
            (certificate, shown)
        }
    };
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    Shown { server: (certificate.der().clone(), key), issuer }
}

/// A server's side of TLS.
pub fn config(shown: &Shown, is_old: bool) -> Arc<ServerConfig> {
    with(shown, is_old, WebPkiClientVerifier::no_client_auth())
}

/// The same, of a server that takes only clients with a certificate of this issuer.
pub fn asking(shown: &Shown, issuer: &str, is_old: bool) -> Arc<ServerConfig> {
    let mut roots = RootCertStore::empty();
    let issuer = CertificateDer::from_pem_slice(issuer.as_bytes()).expect("a certificate");
    roots.add(issuer).expect("an authority");
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    with(shown, is_old, verifier.build().expect("one root"))
}

fn with(shown: &Shown, is_old: bool, verifier: Arc<dyn ClientCertVerifier>) -> Arc<ServerConfig> {
    let (certificate, key) = &shown.server;
    let versions = if is_old { vec![&TLS12] } else { vec![&TLS12, &TLS13] };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&versions)
        .expect("versions");
    let config = builder
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.clone()], key.clone_key())
        .expect("a pair");
    Arc::new(config)
}
