//! Where requests go and in which protocol: `memcached://127.0.0.1:11211?reads=0.5`.

mod login;
mod mix;
mod options;
mod speech;
mod url;

use generator::{Address, NullRpc, Protocol, Transport};
use model::{Failure, Nanos};

use crate::kinds::Kinds;
use crate::protocol::http::HttpOptions;
use crate::protocol::key_value::KeyValue;
use crate::protocol::memcached::Memcached;
use crate::protocol::postgresql::Postgresql;
use crate::protocol::redis::Redis;
use crate::secret::{Login, Secret};
use crate::tls::{Tls, TlsOptions};
use login::LOGIN;
pub use login::without_password;
use options::Options;
use speech::{Speech, speech, templated, weights};
use url::{Url, secured};

/// A server and how to speak to it.
#[derive(Clone, Debug)]
pub struct Target {
    /// As it was given, but for a password.
    pub text: String,
    /// Where it listens.
    pub address: Address,
    /// The protocol's name.
    pub scheme: String,
    /// The host's name, for its certificate.
    host: String,
    /// What hides all that is said.
    tls: Option<Tls>,
    speech: Speech,
}

impl Target {
    /// Reads `SCHEME://HOST[:PORT][/PATH][?KEY=VALUE&...]` or `SCHEME+unix://SOCKET[:/PATH][?...]`, and finds
    /// the host's address; `template`: request and response of `tcp`, `udp` and `unix`.
    ///
    /// [`Failure::Input`] for anything else, and for a host without address.
    pub fn parse(text: &str, template: Option<(&str, &str)>) -> Result<Target, Failure> {
        let shown = without_password(text);
        let wrong = |what: String| Failure::Input(format!("--target `{shown}`: {what}"));
        let url = Url::new(text).map_err(wrong)?;
        let address = url.address().map_err(wrong)?;
        if url.login != Login::default() && !LOGIN.contains(&url.protocol) {
            return Err(wrong(format!("{} takes no user and no password here", url.protocol)));
        }
        let speech = match (url.protocol, template) {
            ("tcp" | "udp" | "unix", Some((request, end))) => {
                Options::new(url.path).and_then(|options| options.finish()).map_err(wrong)?;
                templated(url.protocol, request, end)?
            }
            ("tcp" | "udp" | "unix", None) => {
                return Err(wrong(
                    "say what to send and what to wait for: --request, --response".to_string(),
                ));
            }
            (_, Some(_)) => {
                return Err(wrong(
                    "--request and --response are for tcp://, udp:// and unix://".to_string(),
                ));
            }
            _ => speech(&url).map_err(wrong)?,
        };
        let scheme = text.split("://").next().unwrap_or_default().to_string();
        let host = url.host_name().to_string();
        let tls = url.is_tls.then(|| Tls::new(&host, url.protocol, &TlsOptions::default()));
        Ok(Target { text: shown, address, scheme, host, tls: tls.transpose()?, speech })
    }

    /// What hides all that is said.
    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_ref()
    }

    /// What its scheme would be within TLS, where it has that and is not it.
    pub(crate) fn tls_scheme(&self) -> Option<String> {
        secured(&self.scheme)
    }

    /// The same where other servers are believed. [`Failure::Input`] for a target that has no TLS.
    pub fn with_tls(mut self, options: &TlsOptions) -> Result<Target, Failure> {
        if !options.is_given() {
            return Ok(self);
        }
        if self.tls.is_none() {
            return Err(Failure::Input(format!(
                "--cacert, --insecure, --server-name and --cert are for https://, rediss:// and SCHEME+tls://, not for {}://",
                self.scheme
            )));
        }
        self.tls = Some(Tls::new(&self.host, self.speech.name(), options)?);
        Ok(self)
    }

    fn hidden(&self, protocol: Box<dyn Protocol>) -> Box<dyn Protocol> {
        match &self.tls {
            Some(tls) => tls.around(protocol),
            None => protocol,
        }
    }

    /// Whether its protocol says who asks.
    pub fn takes_login(&self) -> bool {
        matches!(self.speech, Speech::Redis(_) | Speech::Postgresql(_))
    }

    /// The same with a password, if its protocol takes one and the target has none.
    pub fn with_password(mut self, password: Option<Secret>) -> Result<Target, Failure> {
        let (login, is_needed) = match &mut self.speech {
            Speech::Redis(Redis { login, .. }) => (login, true),
            // A database may trust its user.
            Speech::Postgresql(Postgresql { login, .. }) => (login, false),
            _ => return Ok(self),
        };
        login.password = login.password.take().or(password);
        match (&login.user, &login.password) {
            (Some(user), None) if is_needed => Err(Failure::Input(format!(
                "--target `{}`: which password has {user}? --password-file FILE and REARGUARD_PASSWORD say it",
                self.text
            ))),
            _ => Ok(self),
        }
    }

    /// The same with other requests. [`Failure::Input`] for a target that is no web server.
    pub fn with_http(mut self, options: HttpOptions) -> Result<Target, Failure> {
        match &self.speech {
            _ if options == HttpOptions::default() => {}
            Speech::Http(_) if options.streams.is_some() => {
                return Err(Failure::Input(
                    "--streams is for HTTP/2: h2://, h2c://, grpc:// and grpcs://".to_string(),
                ));
            }
            Speech::Http(http) => self.speech = Speech::Http(http.with_options(options)),
            Speech::Http2(http2) => {
                let made = http2.with_options(options);
                self.speech = Speech::Http2(made.map_err(Failure::Input)?);
            }
            _ => {
                return Err(Failure::Input(
                    "--method, --header, --body, --expect-status and --streams are for http://, https:// and HTTP/2"
                        .to_string(),
                ));
            }
        }
        Ok(self)
    }

    /// The same with a mix of requests: a line a kind with its weight before it (docs/guide/measure.md).
    /// `name` is the text's for messages, and `bodies` reads what stands behind an @.
    pub fn with_mix(
        mut self,
        name: &str,
        text: &str,
        bodies: &dyn Fn(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Target, Failure> {
        let wrong = |why: String| Failure::Input(format!("--requests {name}: {why}"));
        if matches!(&self.speech, Speech::Http(http) if http.has_path()) {
            return Err(wrong("its lines say the paths: leave the target's out".to_string()));
        }
        self.speech = Speech::Mix(mix::kinds(&self.speech, text, bodies).map_err(wrong)?);
        Ok(self)
    }

    /// The kinds of requests of a mix; none without one.
    pub(crate) fn kinds(&self) -> Option<Kinds> {
        let Speech::Mix(kinds) = &self.speech else { return None };
        let names = kinds.iter().map(|kind| kind.name.clone()).collect();
        Some(Kinds { names, weights: weights(kinds) })
    }

    /// The same at another port, of a target in the network.
    pub fn at_port(mut self, port: u16) -> Target {
        let Address::Ip(address) = &mut self.address else { return self };
        let before = format!(":{}", address.port());
        self.text = self.text.replacen(&before, &format!(":{port}"), 1);
        address.set_port(port);
        self.speech = self.speech.of_host(&address.to_string());
        self
    }

    /// Whether several requests may be on their way over a connection.
    pub fn shares_connections(&self) -> bool {
        matches!(self.speech, Speech::Http2(_))
    }

    /// How its bytes travel.
    pub fn transport(&self) -> Transport {
        self.speech.transport()
    }

    /// A client's side of the protocol.
    pub fn protocol(&self) -> Box<dyn Protocol> {
        self.hidden(self.speech.protocol())
    }

    /// How many requests fill the server before a run, and the protocol that makes them.
    pub fn filler(&self) -> Option<(u64, Box<dyn Protocol>)> {
        let fills = |load: KeyValue| KeyValue { fills: true, ..load };
        let (keys, protocol): (u64, Box<dyn Protocol>) = match &self.speech {
            Speech::Memcached(one) => {
                (one.load.keys, Box::new(Memcached { load: fills(one.load), ..*one }))
            }
            Speech::Redis(one) => {
                let load = fills(one.load);
                (load.keys, Box::new(Redis { load, pipeline: 1, ..one.clone() }))
            }
            _ => return None,
        };
        Some((keys, self.hidden(protocol)))
    }

    /// The lengths of the null RPC's messages.
    pub fn lengths(&self) -> Option<NullRpc> {
        match self.speech {
            Speech::NullRpc { lengths, .. } => Some(lengths),
            _ => None,
        }
    }

    /// The CPU time that a request asks the null RPC server for; 1 ns of others, which decide that
    /// themselves.
    pub fn asked_service(&self) -> Nanos {
        match self.speech {
            Speech::NullRpc { service, .. } => service,
            _ => Nanos(1),
        }
    }
}
