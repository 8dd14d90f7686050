//! TLS 1.2 and 1.3, by rustls: servers that are spoken to in secret.

mod channel;
mod client;
mod probe;
mod trouble;
mod trust;

use std::sync::Arc;

use generator::{Ask, Greeting, Protocol, ReceivedBytes, SecureChannel, Session, Verdict};
use model::Failure;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use channel::{Begin, Channel};
use client::Shown;
pub use client::{Credentials, key};
pub use probe::speaks_tls;
pub use trouble::{Trouble, refusal};
use trust::config;
pub use trust::{Trust, certificates};

/// HTTP/2 among the protocols within TLS (ALPN).
const HTTP2: &[u8] = b"h2";

/// Which servers are believed, and what they are shown.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// By whose word.
    pub trust: Trust,
    /// The name that their certificate is to have; none: the target's host.
    pub server_name: Option<String>,
    /// What a server is shown that asks for a certificate.
    pub own: Option<Credentials>,
}

impl TlsOptions {
    /// Whether something was said.
    pub fn is_given(&self) -> bool {
        self.server_name.is_some() || self.own.is_some() || !matches!(self.trust, Trust::System)
    }
}

/// How one server is spoken to.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    begin: Begin,
    trust: Trust,
    shown: Arc<Shown>,
}

impl Tls {
    /// With a server of this name; `protocol` is what is said in secret.
    pub fn new(host: &str, protocol: &str, options: &TlsOptions) -> Result<Tls, Failure> {
        let text = options.server_name.as_deref().unwrap_or_else(|| bare(host));
        let name = ServerName::try_from(text.to_string()).map_err(|_| {
            Failure::Input(format!(
                "`{text}` is no name that a certificate can have: --server-name NAME says another"
            ))
        })?;
        let (begin, alpn): (_, &[&[u8]]) = match protocol {
            "postgresql" => (Begin::Asked, &[]),
            "http" => (Begin::AtOnce, &[b"http/1.1"]),
            "h2c" | "grpc" => (Begin::AtOnce, &[HTTP2]),
            _ => (Begin::AtOnce, &[]),
        };
        let shown = Arc::new(Shown::new(options.own.clone()));
        let config = Arc::new(config(&options.trust, Arc::clone(&shown), alpn)?);
        Ok(Tls { config, name, begin, trust: options.trust.clone(), shown })
    }

    /// What a failure may come from, where the server has asked for a certificate of the client.
    pub fn hint(&self) -> Option<&'static str> {
        self.shown.hint()
    }

    /// The protocol, in secret.
    pub fn around(&self, protocol: Box<dyn Protocol>) -> Box<dyn Protocol> {
        Box::new(Secured { tls: self.clone(), protocol })
    }
}

/// A host without its port, and an address of IPv6 without its brackets.
fn bare(host: &str) -> &str {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() && !name.contains(':') => name,
        _ => host,
    }
}

/// A protocol within TLS.
struct Secured {
    tls: Tls,
    protocol: Box<dyn Protocol>,
}

impl Protocol for Secured {
    fn channel(&self) -> Option<Box<dyn SecureChannel>> {
        let Tls { config, name, begin, .. } = self.tls.clone();
        Some(Box::new(Channel::new(config, name, begin)))
    }

    fn session(&self) -> Option<(usize, Box<dyn Session>)> {
        self.protocol.session()
    }

    fn greeting(&self) -> Option<Box<dyn Greeting>> {
        self.protocol.greeting()
    }

    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        self.protocol.encode(ask, out);
    }

    fn decode(&mut self, ask: &Ask, received: &ReceivedBytes) -> Verdict {
        self.protocol.decode(ask, received)
    }
}

#[cfg(test)]
mod tests {
    use super::bare;

    #[test]
    fn names_are_without_ports() {
        let cases = [
            ("a.b:81", "a.b"),
            ("a", "a"),
            ("1.2.3.4:5", "1.2.3.4"),
            ("[::1]:81", "::1"),
            ("[::1]", "::1"),
        ];
        for (host, name) in cases {
            assert_eq!(bare(host), name);
        }
    }
}
