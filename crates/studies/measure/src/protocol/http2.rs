//! HTTP/2 (RFC 9113), and gRPC's calls of one message on top, by the library h2. It is driven without a
//! runtime: bytes go in and out of two buffers, and whatever h2 has to do is done when bytes have come.

mod buffers;
mod session;
mod stream;

use bytes::Bytes;
use generator::{Ask, Protocol, ReceivedBytes, Verdict};
use http::{HeaderValue, Request, Uri, Version};

use super::http::HttpOptions;
use session::Connection;

/// What comes before a message of gRPC: whether it is compressed, and its length.
pub const GRPC_PREFIX: usize = 5;

/// What a call of gRPC says beside.
const GRPC: [(&str, &str); 2] = [("content-type", "application/grpc"), ("te", "trailers")];
/// What tells about a connection of HTTP/1.1 (RFC 9113, section 8.2.2).
const OF_HTTP1: [&str; 4] = ["connection", "keep-alive", "proxy-connection", "te"];

fn is_of_http1(name: &str) -> bool {
    OF_HTTP1.iter().any(|one| one.eq_ignore_ascii_case(name))
}

/// A client of a server of HTTP/2.
#[derive(Clone, Debug)]
pub struct Http2 {
    scheme: &'static str,
    host: String,
    path: String,
    options: HttpOptions,
    is_grpc: bool,
}

/// What every request says.
#[derive(Clone, Debug)]
struct Said {
    head: Request<()>,
    body: Bytes,
    options: HttpOptions,
    is_grpc: bool,
}

impl Http2 {
    /// Asks for `path` of `host`, or calls a method of gRPC.
    pub fn new(host: &str, path: &str, is_tls: bool, is_grpc: bool) -> Result<Http2, String> {
        let scheme = if is_tls { "https" } else { "http" };
        let (host, path) = (host.to_string(), path.to_string());
        let options = HttpOptions::default();
        let made = Http2 { scheme, host, path, options, is_grpc };
        made.said().map(|_| made)
    }

    /// The same with other options. What is wrong with them.
    pub fn with_options(&self, options: HttpOptions) -> Result<Http2, String> {
        if self.is_grpc && (options.method.is_some() || options.expected.is_some()) {
            return Err(
                "--method and --expect-status are not for gRPC, which has its own".to_string()
            );
        }
        let made = Http2 { options, ..self.clone() };
        made.said().map(|_| made)
    }

    fn said(&self) -> Result<Said, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("no request of HTTP/2 ({error})");
        let mut said = self.options.said(&self.host);
        let named = |name: &str, of: &str| of.eq_ignore_ascii_case(name);
        let host = said.iter().find(|(name, _)| named(name, "host"));
        let host = host.map_or(self.host.clone(), |(_, host)| host.clone());
        let place: Uri = format!("{}://{host}{}", self.scheme, self.path)
            .parse()
            .map_err(|error| wrong(&error))?;
        said.retain(|(name, _)| !named(name, "host"));
        if self.is_grpc {
            // The message's prefix is not in the length that the body has.
            said.retain(|(name, _)| !named(name, "content-length"));
            said.extend(GRPC.map(|(name, value)| (name, value.to_string())));
        } else if let Some((name, _)) = said.iter().find(|(name, _)| is_of_http1(name)) {
            return Err(format!("--header {name}: HTTP/2 has no such header"));
        }
        let method = if self.is_grpc { "POST" } else { self.options.method() };
        let mut builder = Request::builder().version(Version::HTTP_2).method(method).uri(place);
        for (name, value) in &said {
            let value = HeaderValue::from_str(value).map_err(|error| wrong(&error))?;
            builder = builder.header(name.to_ascii_lowercase(), value);
        }
        let head = builder.body(()).map_err(|error| wrong(&error))?;
        let (options, is_grpc) = (self.options.clone(), self.is_grpc);
        Ok(Said { head, body: self.body(), options, is_grpc })
    }

    /// A message of gRPC has its prefix.
    fn body(&self) -> Bytes {
        let message = self.options.body.clone().unwrap_or_default();
        if !self.is_grpc {
            return message.into();
        }
        let length = (message.len() as u32).to_be_bytes();
        [&[0], &length[..], &message].concat().into()
    }
}

impl Protocol for Http2 {
    fn session(&self) -> Option<(usize, Box<dyn generator::Session>)> {
        let said = self.said().expect("it was tried when it was made");
        let streams = self.options.streams.unwrap_or(1);
        Some((streams as usize, Box::new(Connection::new(said))))
    }

    /// The session asks.
    fn encode(&mut self, _ask: &Ask, _out: &mut Vec<u8>) {}

    fn decode(&mut self, _ask: &Ask, _received: &ReceivedBytes) -> Verdict {
        Verdict::Garbage
    }
}
