//! The parts of a target, and the address of its server.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use generator::Address;
use model::did_you_mean;

use super::login;
use crate::secret::Login;

/// Schemes and the port that stands for none.
const SCHEMES: [(&str, u16); 19] = [
    ("null-rpc", 0),
    ("memcached", 11_211),
    ("memcached+binary", 11_211),
    ("memcached+udp", 11_211),
    ("http", 80),
    ("https", 443),
    ("h2c", 80),
    ("h2", 443),
    ("grpc", 0),
    ("grpcs", 443),
    ("thrift", 9_090),
    ("thrift+framed", 9_090),
    ("thrift+buffered", 9_090),
    ("redis", 6_379),
    ("rediss", 6_379),
    ("postgresql", 5_432),
    ("tcp", 0),
    ("udp", 0),
    ("unix", 0),
];
/// Those that go over the network only.
const NETWORK: [&str; 4] = ["null-rpc", "memcached+udp", "tcp", "udp"];
/// What makes a scheme one of unix sockets.
const UNIX: &str = "+unix";
/// What makes it one within TLS, and schemes that have names of their own there.
const TLS: &str = "+tls";
const SECURE: [(&str, &str); 4] =
    [("https", "http"), ("rediss", "redis"), ("h2", "h2c"), ("grpcs", "grpc")];
/// Those that have no TLS: over datagrams it is another protocol.
const OPEN: [&str; 3] = ["null-rpc", "memcached+udp", "udp"];
/// The host that is named where there is none, as in what users of curl write.
const NO_HOST: &str = "localhost";
/// Bytes of a socket's path at most: the kernel's room (sun_path) without its last 0.
const LONGEST_SOCKET: usize = 107;

/// What a scheme is called within TLS, where it has that and is not it.
pub fn secured(scheme: &str) -> Option<String> {
    let Scheme { protocol, is_tls, .. } = Scheme::new(scheme);
    if is_tls || OPEN.contains(&protocol) {
        return None;
    }
    let secure =
        SECURE.iter().find(|(_, open)| *open == protocol).map(|(name, _)| name.to_string());
    let secure = secure.unwrap_or(format!("{protocol}{TLS}"));
    Some(if scheme.ends_with(UNIX) { secure + UNIX } else { secure })
}

/// A target's parts: `SCHEME://HOST[:PORT][/PATH][?QUERY]` or `SCHEME+unix://SOCKET[:/PATH][?QUERY]`.
pub struct Url<'a> {
    /// The protocol, whatever carries it.
    pub protocol: &'a str,
    /// Who asks.
    pub login: Login,
    /// What stands behind the host or the socket, with its query.
    pub path: &'a str,
    /// The host as it is said, with its port; or the socket.
    host: &'a str,
    is_unix: bool,
    /// Whether it is said within TLS.
    pub is_tls: bool,
    port: u16,
}

/// What a scheme says.
pub struct Scheme<'a> {
    /// The protocol, whatever carries it.
    pub protocol: &'a str,
    is_unix: bool,
    is_tls: bool,
    /// The protocol as it is listed.
    listed: &'a str,
}

impl<'a> Scheme<'a> {
    /// Takes it apart.
    pub fn new(text: &'a str) -> Scheme<'a> {
        let over_unix = text.strip_suffix(UNIX);
        let base = over_unix.unwrap_or(text);
        let listed = base.strip_suffix(TLS).unwrap_or(base);
        let secure = SECURE.iter().find(|(name, _)| *name == listed);
        let protocol = secure.map_or(listed, |(_, protocol)| *protocol);
        let is_unix = over_unix.is_some() || listed == "unix";
        Scheme { protocol, is_unix, is_tls: listed != base || secure.is_some(), listed }
    }
}

impl<'a> Url<'a> {
    /// Takes it apart.
    pub fn new(text: &'a str) -> Result<Url<'a>, String> {
        let (scheme, rest) = text
            .split_once("://")
            .ok_or("expected SCHEME://HOST:PORT, such as memcached://127.0.0.1:11211")?;
        let Scheme { protocol, is_unix, is_tls, listed } = Scheme::new(scheme);
        let port = port(listed)?;
        if is_tls && OPEN.contains(&protocol) {
            return Err(format!("{protocol} has no TLS"));
        }
        if is_unix && NETWORK.contains(&protocol) {
            let hint = if protocol == "tcp" { "; unix://PATH goes over a unix socket" } else { "" };
            return Err(format!("{protocol} goes over the network{hint}"));
        }
        let (login, rest) = login::split(protocol, rest)?;
        let (host, path) = if is_unix { socket(rest) } else { cut(rest, rest.find(['/', '?'])) };
        Ok(Url { protocol, login, path, host, is_unix, is_tls, port })
    }

    /// Where the server listens.
    pub fn address(&self) -> Result<Address, String> {
        if self.is_unix { unix(self.host) } else { Ok(resolve(self.host, self.port)?.into()) }
    }

    /// What the path names, without the slashes before it and the query behind it.
    pub fn name(&self) -> &'a str {
        self.path.split('?').next().unwrap_or_default().trim_start_matches('/')
    }

    /// The host's name, for protocols that say it.
    pub fn host_name(&self) -> &'a str {
        if self.is_unix { NO_HOST } else { self.host }
    }
}

fn port(protocol: &str) -> Result<u16, String> {
    let port = SCHEMES.iter().find(|(name, _)| *name == protocol).map(|(_, port)| *port);
    port.ok_or_else(|| {
        let names = SCHEMES.map(|(name, _)| name);
        let hint = did_you_mean(protocol, &names);
        format!("unknown protocol `{protocol}`{hint}; known are {}", names.join(", "))
    })
}

fn cut(text: &str, at: Option<usize>) -> (&str, &str) {
    text.split_at(at.unwrap_or(text.len()))
}

/// The socket ends at `:/`, as nginx has it, or at the query. One whose own slashes are written `%2F` ends at
/// the first slash, as HTTPie and libpq have it.
fn socket(rest: &str) -> (&str, &str) {
    if rest.get(..3).is_some_and(|begin| begin.eq_ignore_ascii_case("%2F")) {
        return cut(rest, rest.find(['/', '?']));
    }
    let (before_query, _) = cut(rest, rest.find('?'));
    match before_query.find(":/") {
        Some(at) => (&rest[..at], &rest[at + 1..]),
        None => rest.split_at(before_query.len()),
    }
}

fn unix(socket: &str) -> Result<Address, String> {
    let path = decoded(socket)?;
    if !path.starts_with('/') {
        return Err(format!("`{path}`: the socket's path begins with a slash"));
    }
    if path.len() > LONGEST_SOCKET || path.contains('\0') {
        return Err(format!("a socket's path has 1 to {LONGEST_SOCKET} bytes, none of them 0"));
    }
    Ok(Address::Unix(PathBuf::from(path)))
}

/// The text that a part of a URL stands for: `%41` is an A.
pub fn decoded(part: &str) -> Result<String, String> {
    let wrong = || format!("`{part}`: expected a % only before two hexadecimal digits");
    let mut pieces = part.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok()).ok_or_else(wrong)?;
        bytes.push(byte);
        bytes.extend(piece[2..].bytes());
    }
    String::from_utf8(bytes).map_err(|_| wrong())
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

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(text: &str) -> (String, &str, &str) {
        let url = Url::new(text).expect(text);
        (url.address().expect(text).to_string(), url.host_name(), url.path)
    }

    #[test]
    fn a_socket_ends_where_other_tools_end_it() {
        let cases = [
            ("redis+unix:///run/a.sock", ("/run/a.sock", "localhost", "")),
            ("redis+unix:///run/a.sock?keys=5", ("/run/a.sock", "localhost", "?keys=5")),
            ("http+unix:///run/a.sock:/b?c=:/d", ("/run/a.sock", "localhost", "/b?c=:/d")),
            ("http+unix:///run/a.sock?c=:/d", ("/run/a.sock", "localhost", "?c=:/d")),
            ("http+unix://%2Frun%2fa.sock/b", ("/run/a.sock", "localhost", "/b")),
            ("memcached+unix:///run/%3F%3a.sock", ("/run/?:.sock", "localhost", "")),
            ("unix:///x", ("/x", "localhost", "")),
            ("http://127.0.0.1:81/a:/b", ("127.0.0.1:81", "127.0.0.1:81", "/a:/b")),
        ];
        for (text, (address, host, path)) in cases {
            assert_eq!(parts(text), (address.to_string(), host, path), "{text}");
        }
    }

    #[test]
    fn schemes_within_tls_are_told_from_those_without() {
        for (open, secure) in [
            ("http", "https"),
            ("http+unix", "https+unix"),
            ("redis", "rediss"),
            ("memcached+binary", "memcached+binary+tls"),
            ("postgresql+unix", "postgresql+tls+unix"),
            ("tcp", "tcp+tls"),
        ] {
            assert_eq!(secured(open).as_deref(), Some(secure));
            let ((plain, hidden), none) =
                ((Scheme::new(open), Scheme::new(secure)), secured(secure));
            assert_eq!((plain.protocol, plain.is_unix), (hidden.protocol, hidden.is_unix));
            assert!(!plain.is_tls && hidden.is_tls && none.is_none(), "{open}");
        }
        assert_eq!(Scheme::new("http+tls").protocol, "http");
        for open in OPEN {
            assert_eq!(secured(open), None);
            let refused = Url::new(&format!("{open}+tls://a:1")).map(|_| ()).expect_err(open);
            assert!(refused.contains("no TLS"), "{refused}");
        }
        let port = |text: &str| Url::new(text).expect(text).port;
        assert_eq!(["https://a", "rediss://a", "http+tls://a"].map(port), [443, 6_379, 80]);
    }

    #[test]
    fn what_is_no_socket_is_refused() {
        let long = format!("redis+unix:///{}", "x".repeat(LONGEST_SOCKET));
        let refused = |text: &str| {
            let read = Url::new(text).and_then(|url| url.address());
            read.expect_err(text)
        };
        for (text, why) in [
            ("redis+unix://run/a.sock", "begins with a slash"),
            ("redis+unix://", "begins with a slash"),
            ("redis+unix:///%0", "hexadecimal"),
            ("redis+unix:///%+1", "hexadecimal"),
            ("redis+unix:///%ff", "hexadecimal"),
            ("redis+unix:///%00", "none of them 0"),
            (&long, "1 to 107 bytes"),
            ("tcp+unix:///x", "unix://PATH"),
            ("null-rpc+unix:///x", "over the network"),
            ("memcached+udp+unix:///x", "over the network"),
        ] {
            assert!(refused(text).contains(why), "{text}: {}", refused(text));
        }
        let longest = &long[..long.len() - 1];
        assert!(Url::new(longest).and_then(|url| url.address()).is_ok(), "control");
    }
}
