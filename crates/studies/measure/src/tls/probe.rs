//! Whether a server that was asked without TLS speaks it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use generator::Address;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;

use super::trust::{Trust, config};

/// How long it may take for each of its words.
const PATIENCE: Duration = Duration::from_secs(1);
/// The first byte of what a TLS server says: a handshake goes on, or an alert ends it (RFC 8446, section
/// 5.1).
const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;

/// Whether the server at an address answers the begin of a TLS handshake.
pub fn speaks_tls(address: &Address) -> bool {
    first_byte(address).is_some_and(|byte| byte == HANDSHAKE || byte == ALERT)
}

fn first_byte(address: &Address) -> Option<u8> {
    let name = ServerName::try_from("localhost").ok()?;
    let config = Arc::new(config(&Trust::Anyone, Arc::default(), &[]).ok()?);
    let mut hello = Vec::new();
    ClientConnection::new(config, name).ok()?.write_tls(&mut hello).ok()?;
    match address {
        Address::Ip(address) => {
            let stream = TcpStream::connect_timeout(address, PATIENCE).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            answered(stream, &hello)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path).ok()?;
            stream.set_read_timeout(Some(PATIENCE)).ok()?;
            answered(stream, &hello)
        }
    }
}

fn answered(mut stream: impl Read + Write, hello: &[u8]) -> Option<u8> {
    let mut first = [0];
    stream.write_all(hello).ok()?;
    stream.read_exact(&mut first).ok()?;
    Some(first[0])
}
