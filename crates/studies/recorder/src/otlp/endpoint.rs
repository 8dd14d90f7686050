//! Where a receiver is.

use std::sync::Arc;
use std::time::Duration;

use model::Failure;
use rustls::crypto::ring;
use ureq::Agent;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// What is sent. Each has an address of its own below the receiver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Slow requests.
    Traces,
    /// What was counted.
    Metrics,
}

impl Signal {
    /// Its name in addresses and labels.
    pub fn name(self) -> &'static str {
        match self {
            Signal::Traces => "traces",
            Signal::Metrics => "metrics",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Signal::Traces => "/v1/traces",
            Signal::Metrics => "/v1/metrics",
        }
    }
}

/// A receiver's address, without what is added for each signal.
#[derive(Clone, Debug)]
pub struct Endpoint {
    base: String,
    is_tls: bool,
    /// The one that it is for, where the address names one.
    only: Option<Signal>,
    headers: HeaderMap,
}

impl Endpoint {
    /// Of a URL such as `http://127.0.0.1:4318`, or why it is none.
    pub fn parse(text: &str) -> Result<Endpoint, String> {
        let (base, only) = split(text.trim_end_matches('/'));
        let url: Uri = base.parse().map_err(|error| format!("{error}: {EXPECTED}"))?;
        let is_tls = match url.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            _ => return Err(EXPECTED.to_string()),
        };
        let authority = url.authority().filter(|all| !all.host().is_empty()).ok_or(EXPECTED)?;
        if authority.as_str().contains('@') {
            return Err("a password in a URL is shown in logs: let a collector add it".to_string());
        }
        if authority.as_str() != authority.host() && authority.port_u16().is_none() {
            return Err(format!("a port is a number below 65536: {EXPECTED}"));
        }
        if url.query().is_some() || text.contains('#') {
            return Err(format!("nothing may follow the path: {EXPECTED}"));
        }
        Ok(Endpoint { base: base.to_string(), is_tls, only, headers: HeaderMap::new() })
    }

    /// With headers of its own, such as what shows who sends: `NAME: VALUE` each. Or why not, without the
    /// values, which are secrets.
    pub fn with_headers(mut self, lines: &[String]) -> Result<Endpoint, String> {
        for line in lines {
            let (name, value) = line.split_once(':').ok_or("expected NAME: VALUE")?;
            let named: HeaderName =
                name.trim().parse().map_err(|_| format!("{name:?} is no header's name"))?;
            if OURS.contains(&named.as_str()) {
                return Err(format!("{named} is not for you to say"));
            }
            let mut value = HeaderValue::from_str(value.trim()).map_err(|_| {
                format!("{named}: its value has characters that no header may have")
            })?;
            value.set_sensitive(true);
            self.headers.append(named, value);
        }
        Ok(self)
    }

    /// Those headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Whether another address is the same receiver's: host and port.
    pub fn is_beside(&self, other: &Endpoint) -> bool {
        let place = |text: &str| text.parse::<Uri>().ok()?.authority().cloned();
        self.is_tls == other.is_tls && place(&self.base) == place(&other.base)
    }

    /// Whether a signal goes there.
    pub fn takes(&self, signal: Signal) -> bool {
        self.only.is_none_or(|only| only == signal)
    }

    /// The address of a signal.
    pub fn url(&self, signal: Signal) -> String {
        self.base.clone() + signal.path()
    }

    /// A client of it. It asks no proxy, and follows no answer to another place. [`Failure::Machine`] where
    /// no certificate would be trusted.
    pub fn client(&self, timeout: Duration) -> Result<Agent, Failure> {
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("rearguard/", env!("CARGO_PKG_VERSION")));
        let config = if self.is_tls { config.tls_config(trusted()?) } else { config };
        Ok(config.build().into())
    }
}

/// Headers that say how a message is packed.
const OURS: [&str; 5] =
    ["content-type", "content-length", "content-encoding", "transfer-encoding", "host"];

const EXPECTED: &str = "expected http://HOST:PORT or https://HOST:PORT";

/// An address without the end that is one signal's, and that signal.
fn split(url: &str) -> (&str, Option<Signal>) {
    let cut = |signal: Signal| Some((url.strip_suffix(signal.path())?, Some(signal)));
    cut(Signal::Traces).or_else(|| cut(Signal::Metrics)).unwrap_or((url, None))
}

/// The authorities that this machine trusts, or those in `SSL_CERT_FILE` where that is set.
fn trusted() -> Result<TlsConfig, Failure> {
    let found = rustls_native_certs::load_native_certs().certs;
    if found.is_empty() {
        let why =
            "this machine trusts no certificate: install ca-certificates, or set SSL_CERT_FILE";
        return Err(Failure::Machine(format!("--otlp: {why}")));
    }
    let all: Vec<Certificate<'static>> =
        found.iter().map(|one| Certificate::from_der(one).to_owned()).collect();
    let config = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&all));
    Ok(config.unversioned_rustls_crypto_provider(Arc::new(ring::default_provider())).build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_signal_follows_the_one_that_is_given() {
        let traces = |text| Endpoint::parse(text).map(|all| all.url(Signal::Traces));
        for (given, sent) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/traces"),
            ("http://[::1]:9090/api/v1/otlp", "http://[::1]:9090/api/v1/otlp/v1/traces"),
            ("https://otlp.example", "https://otlp.example/v1/traces"),
        ] {
            assert_eq!(traces(given).as_deref(), Ok(sent));
        }
        let metrics = Endpoint::parse("http://a:1").map(|all| all.url(Signal::Metrics));
        assert_eq!(metrics.as_deref(), Ok("http://a:1/v1/metrics"));
    }

    #[test]
    fn an_address_of_one_signal_is_for_no_other() {
        for (url, traces, metrics) in [
            ("http://a:1", true, true),
            ("http://a:1/v1/traces", true, false),
            ("http://a:1/x/v1/metrics/", false, true),
        ] {
            let to = Endpoint::parse(url).expect(url);
            let takes = [Signal::Traces, Signal::Metrics].map(|signal| to.takes(signal));
            assert_eq!(takes, [traces, metrics], "{url}");
        }
        let metrics = Endpoint::parse("http://a:1/x/v1/metrics").map(|to| to.url(Signal::Metrics));
        assert_eq!(metrics.as_deref(), Ok("http://a:1/x/v1/metrics"));
    }

    #[test]
    fn headers_are_names_and_values_and_say_nothing_about_the_message() {
        let with = |line: &str| {
            let to = Endpoint::parse("https://a").expect("a URL");
            to.with_headers(&[line.to_string()])
        };
        let to = with("Authorization: Bearer a:b").expect("a header");
        assert_eq!(to.headers()["authorization"], "Bearer a:b");
        for (line, why) in [
            ("Authorization", "expected NAME: VALUE"),
            ("a b: secret", "\"a b\" is no header's name"),
            (": secret", "no header's name"),
            ("A: sec\u{1}ret", "characters that no header may have"),
            ("content-type: secret", "content-type is not for you to say"),
        ] {
            let refused = with(line).map(|_| ()).expect_err(line);
            assert!(refused.contains(why) && !refused.contains("sec"), "{line}: {refused}");
        }
    }

    #[test]
    fn receivers_beside_each_other_have_a_host_and_a_port() {
        let at = |url| Endpoint::parse(url).expect("a URL");
        let beside = |other| at("https://a:1/v1/traces").is_beside(&at(other));
        assert!(beside("https://a:1/x/v1/metrics"));
        assert!(!beside("https://a:2") && !beside("https://b:1") && !beside("http://a:1"));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, why) in [
            ("127.0.0.1:4318", "expected http://HOST:PORT"),
            ("grpc://127.0.0.1:4317", "expected http://HOST:PORT"),
            ("http://", "expected http://HOST:PORT"),
            ("http://:4318", "expected http://HOST:PORT"),
            ("http://a b", "expected http://HOST:PORT"),
            ("http://a:99999", "expected http://HOST:PORT"),
            ("", "expected http://HOST:PORT"),
            ("http://me:secret@a:1", "a password in a URL"),
            ("http://a:1/?x=1", "nothing may follow the path"),
            ("http://a:1/#x", "nothing may follow the path"),
            ("/v1/traces", "expected http://HOST:PORT"),
        ] {
            let refused = Endpoint::parse(text).map(|_| ()).expect_err(text);
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
