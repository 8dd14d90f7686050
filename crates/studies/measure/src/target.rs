//! Where requests go and in which protocol: `memcached://127.0.0.1:11211?reads=0.5`.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};

use generator::{LEAST_BYTES, NullRpc, Protocol, Transport};
use model::{Failure, Nanos, did_you_mean, units};

use crate::protocol::http::Http;
use crate::protocol::key_value::KeyValue;
use crate::protocol::memcached::{Form, Memcached};
use crate::protocol::redis::Redis;
use crate::protocol::template::{End, Request, Template};
use crate::protocol::thrift::Thrift;

/// Schemes and the port that stands for none.
const SCHEMES: [(&str, u16); 11] = [
    ("null-rpc", 0),
    ("memcached", 11_211),
    ("memcached+binary", 11_211),
    ("memcached+udp", 11_211),
    ("http", 80),
    ("thrift", 9_090),
    ("thrift+framed", 9_090),
    ("thrift+buffered", 9_090),
    ("redis", 6_379),
    ("tcp", 0),
    ("udp", 0),
];

/// A server and how to speak to it.
#[derive(Clone, Debug)]
pub struct Target {
    /// As it was given.
    pub text: String,
    /// Where it listens.
    pub address: SocketAddr,
    /// The protocol's name.
    pub scheme: String,
    speech: Speech,
}

#[derive(Clone, Debug)]
enum Speech {
    NullRpc { lengths: NullRpc, service: Nanos },
    Memcached(Memcached),
    Http(Http),
    Thrift(Thrift),
    Redis(Redis),
    Template(Template, Transport),
}

impl Target {
    /// Reads `SCHEME://HOST[:PORT][/PATH][?KEY=VALUE&...]` and finds the host's address; `template`: request
    /// and response of `tcp` and `udp`.
    ///
    /// [`Failure::Input`] for anything else, and for a host without address.
    pub fn parse(text: &str, template: Option<(&str, &str)>) -> Result<Target, Failure> {
        let wrong = |what: String| Failure::Input(format!("--target `{text}`: {what}"));
        let (scheme, rest) = text.split_once("://").ok_or_else(|| {
            wrong("expected SCHEME://HOST:PORT, such as memcached://127.0.0.1:11211".to_string())
        })?;
        let port = SCHEMES.iter().find(|(name, _)| *name == scheme).map(|(_, port)| *port);
        let port = port.ok_or_else(|| {
            let names = SCHEMES.map(|(name, _)| name);
            let hint = did_you_mean(scheme, &names);
            wrong(format!("unknown protocol `{scheme}`{hint}; known are {}", names.join(", ")))
        })?;
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(split);
        let address = resolve(host, port).map_err(wrong)?;
        let mut options = Options::new(path).map_err(wrong)?;
        let speech = match (scheme, template) {
            ("tcp" | "udp", Some((request, end))) => templated(scheme, request, end)?,
            ("tcp" | "udp", None) => {
                return Err(wrong(
                    "say what to send and what to wait for: --request, --response".to_string(),
                ));
            }
            (_, Some(_)) => {
                return Err(wrong(
                    "--request and --response are for tcp:// and udp://".to_string(),
                ));
            }
            ("http", None) => return Ok(Target::http(text, address, host, path)),
            _ => speech(scheme, path, &mut options).map_err(wrong)?,
        };
        options.finish().map_err(wrong)?;
        Ok(Target { text: text.to_string(), address, scheme: scheme.to_string(), speech })
    }

    /// A web server's path keeps its query.
    fn http(text: &str, address: SocketAddr, host: &str, path: &str) -> Target {
        let path = if path.starts_with('/') { path.to_string() } else { format!("/{path}") };
        let speech = Speech::Http(Http::new(host, &path));
        Target { text: text.to_string(), address, scheme: "http".to_string(), speech }
    }

    /// The same at another port.
    pub fn at_port(mut self, port: u16) -> Target {
        let before = format!(":{}", self.address.port());
        self.text = self.text.replacen(&before, &format!(":{port}"), 1);
        self.address.set_port(port);
        if let Speech::Http(http) = &self.speech {
            self.speech = Speech::Http(http.of_host(&self.address.to_string()));
        }
        self
    }

    /// How its bytes travel.
    pub fn transport(&self) -> Transport {
        match &self.speech {
            Speech::Memcached(Memcached { form: Form::Datagram, .. }) => Transport::Datagram,
            Speech::Template(_, transport) => *transport,
            _ => Transport::Stream,
        }
    }

    /// A client's side of the protocol.
    pub fn protocol(&self) -> Box<dyn Protocol> {
        match &self.speech {
            Speech::NullRpc { lengths, .. } => Box::new(*lengths),
            Speech::Memcached(one) => Box::new(*one),
            Speech::Http(one) => Box::new(one.clone()),
            Speech::Thrift(one) => Box::new(one.clone()),
            Speech::Redis(one) => Box::new(*one),
            Speech::Template(one, _) => Box::new(one.clone()),
        }
    }

    /// How many requests fill the server before a run, and the protocol that makes them.
    pub fn filler(&self) -> Option<(u64, Box<dyn Protocol>)> {
        let fills = |load: KeyValue| KeyValue { fills: true, ..load };
        match self.speech {
            Speech::Memcached(one) => {
                Some((one.load.keys, Box::new(Memcached { load: fills(one.load), ..one })))
            }
            Speech::Redis(one) => Some((one.load.keys, Box::new(Redis { load: fills(one.load) }))),
            _ => None,
        }
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

fn speech(scheme: &str, path: &str, options: &mut Options) -> Result<Speech, String> {
    let form = match scheme {
        "memcached" => Form::Ascii,
        "memcached+binary" => Form::Binary,
        "memcached+udp" => Form::Datagram,
        "redis" => return Ok(Speech::Redis(Redis { load: key_value(options)? })),
        "null-rpc" => return null_rpc(options),
        _ => return thrift(scheme, path, options),
    };
    Ok(Speech::Memcached(Memcached { form, load: key_value(options)? }))
}

fn null_rpc(options: &mut Options) -> Result<Speech, String> {
    let least = LEAST_BYTES as u64;
    let lengths = NullRpc {
        request_bytes: options.count("request_bytes", 128, least..=1 << 20)? as usize,
        response_bytes: options.count("response_bytes", 128, least..=1 << 20)? as usize,
    };
    let service = options.take("service", Nanos(1), units::duration)?;
    Ok(Speech::NullRpc { lengths, service: service.max(Nanos(1)) })
}

fn thrift(scheme: &str, path: &str, options: &mut Options) -> Result<Speech, String> {
    let method = path.trim_start_matches('/').split('?').next().unwrap_or_default();
    if method.is_empty() {
        return Err(
            "name the method: thrift://HOST:PORT/METHOD, with ?string_bytes=N if it takes a string"
                .to_string(),
        );
    }
    let argument = options.count("string_bytes", u64::MAX, 0..=1 << 20)?;
    Ok(Speech::Thrift(Thrift {
        framed: scheme != "thrift+buffered",
        method: method.to_string(),
        argument_bytes: (argument != u64::MAX).then_some(argument as usize),
    }))
}

fn templated(scheme: &str, request: &str, end: &str) -> Result<Speech, Failure> {
    let template = Template { request: request.parse::<Request>()?, end: end.parse()? };
    let datagrams = scheme == "udp";
    let misfit = match template.end {
        End::Close if datagrams => Some("datagrams have no end of a connection: say datagram"),
        End::Datagram if !datagrams => {
            Some("a stream has no datagrams: say length:, until: or close")
        }
        _ => None,
    };
    if let Some(misfit) = misfit {
        return Err(Failure::Input(format!("--response `{end}`: {misfit}")));
    }
    let transport = if datagrams { Transport::Datagram } else { Transport::Stream };
    Ok(Speech::Template(template, transport))
}

fn key_value(options: &mut Options) -> Result<KeyValue, String> {
    let usual = KeyValue::default();
    let share = |text: &str| {
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        share.ok_or_else(|| format!("found `{text}`; expected a share from 0 to 1"))
    };
    Ok(KeyValue {
        reads: options.take("reads", usual.reads, share)?,
        keys: options.count("keys", usual.keys, 1..=1 << 32)?,
        key_bytes: options.count("key_bytes", usual.key_bytes as u64, 1..=250)? as usize,
        value_bytes: options.count("value_bytes", usual.value_bytes as u64, 0..=1 << 20)? as usize,
        fills: false,
    })
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !has_port && port == 0 {
        return Err("which port? expected HOST:PORT".to_string());
    }
    let place = if has_port { host.to_string() } else { format!("{host}:{port}") };
    let mut addresses = place.to_socket_addrs().map_err(|error| format!("`{host}`: {error}"))?;
    addresses.next().ok_or_else(|| format!("`{host}` has no address"))
}

/// What stands behind the question mark.
struct Options(BTreeMap<String, String>);

impl Options {
    fn new(path: &str) -> Result<Options, String> {
        let query = path.split_once('?').map_or("", |(_, query)| query);
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let pair = |pair: &str| {
            let (key, value) = pair.split_once('=').ok_or(format!("`{pair}` is no KEY=VALUE"))?;
            Ok((key.to_string(), value.to_string()))
        };
        pairs.map(pair).collect::<Result<_, String>>().map(Options)
    }

    fn take<T>(
        &mut self,
        key: &str,
        usual: T,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, String> {
        let Some(text) = self.0.remove(key) else { return Ok(usual) };
        read(&text).map_err(|error| format!("{key}: {error}"))
    }

    fn count(
        &mut self,
        key: &str,
        usual: u64,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<u64, String> {
        self.take(key, usual, |text| {
            let count = units::count(text)?;
            let (least, most) = (range.start(), range.end());
            if range.contains(&count) {
                Ok(count)
            } else {
                Err(format!("found {count}; expected {least} to {most}"))
            }
        })
    }

    fn finish(self) -> Result<(), String> {
        match self.0.into_keys().next() {
            Some(key) => Err(format!("no option `{key}` here; docs/guide/measure.md lists them")),
            None => Ok(()),
        }
    }
}
