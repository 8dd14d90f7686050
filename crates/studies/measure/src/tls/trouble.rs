//! Why there is no secure channel, and what helps.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};

use model::Failure;
use rustls::{AlertDescription, CertificateError};

use super::{Tls, Trust};
use crate::target::Target;

/// What ALPN comes to.
const NO_HTTP2: &str = "the server does not speak this version of HTTP within TLS (ALPN): https:// asks for HTTP/1.1, h2:// for HTTP/2";

/// A handshake that failed.
#[derive(Debug)]
pub enum Trouble {
    /// What rustls says.
    Rustls(rustls::Error),
    /// The server ended the connection.
    CutOff,
    /// PostgreSQL has no TLS.
    NotOffered,
    /// The server does not speak HTTP/2.
    NoHttp2,
}

impl Trouble {
    /// As an error that waiting does not change.
    pub fn told(self) -> io::Error {
        io::Error::new(ErrorKind::InvalidData, self)
    }
}

impl Error for Trouble {}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Trouble::Rustls(error) => error.fmt(f),
            Trouble::CutOff => f.write_str("the server ended the connection"),
            Trouble::NotOffered => f.write_str("the server has no TLS"),
            Trouble::NoHttp2 => f.write_str("the server has no HTTP/2"),
        }
    }
}

/// What an error of a connection says to the user, if it is one of its handshake.
pub fn refusal(target: &Target, error: &io::Error) -> Option<Failure> {
    let tls = target.tls()?;
    let is_late = error.kind() == ErrorKind::TimedOut;
    // A server that is silent has refused no certificate.
    let hint = tls.hint().filter(|_| !is_late);
    let said = match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(trouble) => explained(tls, trouble),
        None if is_late => {
            "it did not answer in the TLS handshake: does it speak TLS there?".to_string()
        }
        None => hint.map(|_| error.to_string())?,
    };
    let said = [Some(&*said), hint].into_iter().flatten().collect::<Vec<_>>().join("; ");
    Some(Failure::Input(format!("{}: {said}", target.text)))
}

fn explained(tls: &Tls, trouble: &Trouble) -> String {
    match trouble {
        Trouble::CutOff => {
            "the server ended the connection in the TLS handshake: does it speak TLS there, and does it accept as many \
             (--connections)?"
                .to_string()
        }
        Trouble::NotOffered => {
            "the server offers no TLS (ssl = on in postgresql.conf): postgresql:// asks without".to_string()
        }
        Trouble::NoHttp2 => NO_HTTP2.to_string(),
        Trouble::Rustls(rustls::Error::InvalidCertificate(error)) => certificate(tls, error),
        Trouble::Rustls(rustls::Error::InvalidMessage(_)) => {
            "what the server says is no TLS: is it the right port, and the protocol without TLS (http:// instead of https://)?"
                .to_string()
        }
        Trouble::Rustls(rustls::Error::AlertReceived(alert)) => alerted(*alert),
        Trouble::Rustls(rustls::Error::PeerIncompatible(error)) => {
            format!("the server and this client have no TLS in common ({error:?}): here it is 1.2 or 1.3")
        }
        Trouble::Rustls(error) => format!("the TLS handshake failed ({error})"),
    }
}

fn certificate(tls: &Tls, error: &CertificateError) -> String {
    let ignore = "--insecure takes any";
    match error {
        // A bad signature: by another key of the same issuer's name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => format!(
            "the issuer of the server's certificate is not known {}: --cacert FILE has the issuer's certificate, or {ignore}",
            tls.trust
        ),
        CertificateError::NotValidForNameContext { presented, .. } => {
            let name = tls.name.to_str();
            let names: Vec<&str> = presented.iter().map(|name| bare(name)).collect();
            let names = if names.is_empty() { "no name".into() } else { names.join(", ") };
            format!(
                "the server's certificate is not for {name}, but for {names}: --server-name NAME says which is meant, or {ignore}"
            )
        }
        CertificateError::ExpiredContext { .. } => {
            format!("the server's certificate has expired: {ignore}")
        }
        CertificateError::NotValidYetContext { .. } => format!(
            "the server's certificate is not valid yet: is this machine's clock right? {ignore}"
        ),
        // The reader of certificates has a word for one that is its own issuer's, and hides its type.
        CertificateError::Other(other) if !matches!(tls.trust, Trust::File { .. }) => format!(
            "the server's certificate is not trusted ({other}); one that it made itself is by --cacert FILE, with that very \
             certificate, or {ignore}"
        ),
        error => format!("the server's certificate is not trusted ({error}): {ignore}"),
    }
}

/// The name out of rustls's `DnsName("a.b")`.
fn bare(presented: &str) -> &str {
    let inner = presented.split_once('(').map_or(presented, |(_, inner)| inner);
    inner.trim_end_matches(')').trim_matches('"')
}

fn alerted(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::NoApplicationProtocol => NO_HTTP2.to_string(),
        AlertDescription::UnrecognisedName => {
            "the server knows no such name: --server-name NAME says another".to_string()
        }
        alert => format!("the server refused the TLS handshake ({alert:?})"),
    }
}
