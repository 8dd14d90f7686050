//! The protocols of targets, with their options.

use generator::{LEAST_BYTES, NullRpc, Protocol, Transport};
use model::{Failure, Nanos, units};

use super::mix::Kind;
use super::options::Options;
use super::url::{Url, decoded};
use crate::protocol::http::{Http, HttpOptions};
use crate::protocol::http2::Http2;
use crate::protocol::key_value::KeyValue;
use crate::protocol::memcached::{Form, Memcached};
use crate::protocol::mix::{Mix, Weights};
use crate::protocol::postgresql::Postgresql;
use crate::protocol::redis::Redis;
use crate::protocol::template::{End, REQUEST_FORM, Request, Template};
use crate::protocol::thrift::Thrift;

/// What a database is asked unless said: it reads no table.
const USUAL_QUERY: &str = "SELECT 1";
/// Bytes of values in a pipeline at most: a longer answer is taken for garbage, and every connection keeps one.
const LONGEST_PIPELINE: u64 = 16 << 20;

/// How to speak to a server.
#[derive(Clone, Debug)]
pub enum Speech {
    NullRpc {
        lengths: NullRpc,
        service: Nanos,
    },
    Memcached(Memcached),
    Http(Http),
    Http2(Http2),
    Thrift(Thrift),
    Redis(Redis),
    Postgresql(Postgresql),
    Template(Template, Transport),
    /// Kinds of one protocol.
    Mix(Vec<Kind>),
}

impl Speech {
    /// A client's side of it.
    pub fn protocol(&self) -> Box<dyn Protocol> {
        match self {
            Speech::NullRpc { lengths, .. } => Box::new(*lengths),
            Speech::Memcached(one) => Box::new(*one),
            Speech::Http(one) => Box::new(one.clone()),
            Speech::Http2(one) => Box::new(one.clone()),
            Speech::Thrift(one) => Box::new(one.clone()),
            Speech::Redis(one) => Box::new(one.clone()),
            Speech::Postgresql(one) => Box::new(one.clone()),
            Speech::Template(one, _) => Box::new(one.clone()),
            Speech::Mix(kinds) => {
                let spoken = kinds.iter().map(|kind| kind.speech.protocol()).collect();
                Box::new(Mix::new(weights(kinds), spoken))
            }
        }
    }

    /// The protocol's name, where it begins TLS in a way of its own.
    pub fn name(&self) -> &'static str {
        match self {
            Speech::Http(_) => "http",
            Speech::Http2(_) => "h2c",
            Speech::Postgresql(_) => "postgresql",
            Speech::Mix(kinds) => kinds[0].speech.name(),
            _ => "",
        }
    }

    /// How its bytes travel.
    pub fn transport(&self) -> Transport {
        match self {
            Speech::Memcached(Memcached { form: Form::Datagram, .. }) => Transport::Datagram,
            Speech::Template(_, transport) => *transport,
            Speech::Mix(kinds) => kinds[0].speech.transport(),
            _ => Transport::Stream,
        }
    }

    /// The same of another host, where the host is said.
    pub fn of_host(self, host: &str) -> Speech {
        match self {
            Speech::Http(http) => Speech::Http(http.of_host(host)),
            Speech::Mix(kinds) => {
                let moved = |kind: Kind| Kind { speech: kind.speech.of_host(host), ..kind };
                Speech::Mix(kinds.into_iter().map(moved).collect())
            }
            other => other,
        }
    }
}

/// The draw of one of these.
pub fn weights(kinds: &[Kind]) -> Weights {
    Weights::new(kinds.iter().map(|kind| kind.weight))
}

/// The protocol of a URL.
pub fn speech(url: &Url) -> Result<Speech, String> {
    match url.protocol {
        "http" => return http(url),
        "h2c" | "grpc" => return http2(url),
        _ => {}
    }
    let options = &mut Options::new(url.path)?;
    let speech = match url.protocol {
        "memcached" => memcached(Form::Ascii, options)?,
        "memcached+binary" => memcached(Form::Binary, options)?,
        "memcached+udp" => memcached(Form::Datagram, options)?,
        "redis" => redis(url, options)?,
        "postgresql" => postgresql(url, options)?,
        "null-rpc" => null_rpc(options)?,
        _ => thrift(url, options)?,
    };
    options.finish()?;
    Ok(speech)
}

/// The database is the path, or an option, as a socket has no path.
fn redis(url: &Url, options: &mut Options) -> Result<Speech, String> {
    let name = url.name();
    let usual = if name.is_empty() { Ok(0) } else { name.parse() };
    let usual = usual.map_err(|_| format!("`{name}`: expected the number of a database"))?;
    let redis = Redis {
        login: url.login.clone(),
        database: options.count("db", usual, 0..=u64::from(u32::MAX))?,
        pipeline: options.count("pipeline", 1, 1..=1_000)?,
        load: key_value(options)?,
    };
    let bytes = redis.pipeline * redis.load.value_bytes as u64;
    match bytes <= LONGEST_PIPELINE {
        true => Ok(Speech::Redis(redis)),
        false => Err(format!(
            "pipeline times value_bytes is {bytes}; expected {LONGEST_PIPELINE} at most"
        )),
    }
}

/// The database is the path, or an option, as a socket has no path.
fn postgresql(url: &Url, options: &mut Options) -> Result<Speech, String> {
    let database = options.take("db", decoded(url.name())?, decoded)?;
    let query = options.take("query", USUAL_QUERY.to_string(), decoded)?;
    let query = Request::read(&query).filter(|query| !query.has(0));
    if url.login.user.is_none() {
        return Err("which user? expected postgresql://USER@HOST/DATABASE".to_string());
    }
    Ok(Speech::Postgresql(Postgresql {
        login: url.login.clone(),
        database: Some(database).filter(|name| !name.is_empty()),
        query: query.ok_or_else(|| format!("query: {REQUEST_FORM}; none of them \\0"))?,
    }))
}

/// A web server's path keeps its query.
fn http(url: &Url) -> Result<Speech, String> {
    if url.path.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') {
        return Err("a path has no spaces and no control characters: %20 is a space".to_string());
    }
    Ok(Speech::Http(Http::new(url.host_name(), &rooted(url.path), HttpOptions::default())))
}

fn rooted(path: &str) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{slash}{path}")
}

/// As [`http`]'s; a call's path names service and method.
fn http2(url: &Url) -> Result<Speech, String> {
    let is_grpc = url.protocol == "grpc";
    let parts = url.name().split('/').filter(|part| !part.is_empty()).count();
    if is_grpc && (parts != 2 || url.path.contains('?')) {
        return Err("name the method: grpc://HOST:PORT/PACKAGE.SERVICE/METHOD".to_string());
    }
    Http2::new(url.host_name(), &rooted(url.path), url.is_tls, is_grpc).map(Speech::Http2)
}

fn memcached(form: Form, options: &mut Options) -> Result<Speech, String> {
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

fn thrift(url: &Url, options: &mut Options) -> Result<Speech, String> {
    let method = url.name();
    if method.is_empty() {
        return Err(
            "name the method: thrift://HOST:PORT/METHOD, with ?string_bytes=N if it takes a string"
                .to_string(),
        );
    }
    let argument = options.count("string_bytes", u64::MAX, 0..=1 << 20)?;
    Ok(Speech::Thrift(Thrift {
        framed: url.protocol != "thrift+buffered",
        method: method.to_string(),
        argument_bytes: (argument != u64::MAX).then_some(argument as usize),
    }))
}

/// What is said by template.
pub fn templated(scheme: &str, request: &str, end: &str) -> Result<Speech, Failure> {
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
