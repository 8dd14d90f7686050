//! Whose certificates are believed.

use std::fmt;
use std::sync::Arc;

use model::Failure;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::client::Shown;

/// By whose word a server is believed.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// By this machine's authorities.
    #[default]
    System,
    /// By those of a file, or because it is in there itself.
    File {
        /// The file.
        name: String,
        /// Its certificates.
        certificates: Vec<CertificateDer<'static>>,
    },
    /// By no one's.
    Anyone,
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trust::File { name, .. } => write!(f, "in {name}"),
            Trust::System | Trust::Anyone => f.write_str("to this machine"),
        }
    }
}

/// The certificates of a file's text in PEM; what is wrong with it.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| format!("no certificates in PEM ({error})"))?;
    let mut roots = RootCertStore::empty();
    for certificate in &all {
        roots.add(certificate.clone()).map_err(|error| format!("no certificate ({error})"))?;
    }
    match all.is_empty() {
        true => Err("no certificate: expected PEM, -----BEGIN CERTIFICATE-----".to_string()),
        false => Ok(all),
    }
}

/// A client that trusts so, shows this, and speaks these protocols.
pub fn config(trust: &Trust, shown: Arc<Shown>, alpn: &[&[u8]]) -> Result<ClientConfig, Failure> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(broken)?;
    let verifier = |known| Arc::new(Verifier { known, provider: Arc::clone(&provider) });
    let mut config = match trust {
        Trust::System => builder.with_root_certificates(system()),
        Trust::File { certificates, .. } => {
            let known = Known::new(certificates, &provider)?;
            builder.dangerous().with_custom_certificate_verifier(verifier(Some(known)))
        }
        Trust::Anyone => builder.dangerous().with_custom_certificate_verifier(verifier(None)),
    }
    .with_client_cert_resolver(shown);
    config.alpn_protocols = alpn.iter().map(|name| name.to_vec()).collect();
    Ok(config)
}

fn broken(error: impl fmt::Display) -> Failure {
    Failure::Run(format!("TLS cannot be had here: {error}"))
}

/// This machine's authorities; none where it has none, so no server is believed.
fn system() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// The certificates of a file and what they vouch for.
#[derive(Debug)]
struct Known {
    certificates: Vec<CertificateDer<'static>>,
    issuers: Arc<WebPkiServerVerifier>,
}

impl Known {
    fn new(
        certificates: &[CertificateDer<'static>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Known, Failure> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certificates.iter().cloned());
        let (roots, provider) = (Arc::new(roots), Arc::clone(provider));
        let issuers = WebPkiServerVerifier::builder_with_provider(roots, provider);
        let issuers = issuers.build().map_err(broken)?;
        Ok(Known { certificates: certificates.to_vec(), issuers })
    }
}

/// Believes what is known, or everyone, if they have the key of the certificate that they show.
#[derive(Debug)]
struct Verifier {
    known: Option<Known>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer,
        intermediates: &[CertificateDer],
        name: &ServerName,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(Known { certificates, issuers }) = &self.known else {
            return Ok(ServerCertVerified::assertion());
        };
        match issuers.verify_server_cert(end_entity, intermediates, name, ocsp_response, now) {
            // One that a server made itself is an authority's, too (`openssl req -x509`), and that is all
            // that is wrong with it: its time has been looked at before.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if certificates.contains(&end_entity.clone().into_owned()) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            issued => issued,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
