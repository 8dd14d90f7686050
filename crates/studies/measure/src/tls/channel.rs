//! One connection's TLS.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use generator::SecureChannel;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::HTTP2;
use super::trouble::Trouble;

/// What a client of PostgreSQL says first (SSLRequest), and the word for yes.
const MAY_I: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
const YES: [u8; 1] = *b"S";

/// What the connection begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// TLS.
    AtOnce,
    /// The question of PostgreSQL's clients whether TLS is to follow.
    Asked,
}

/// A client's side.
pub struct Channel {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    begin: Begin,
    stage: Stage,
}

enum Stage {
    Silent,
    /// The question was asked.
    Asked,
    Begun(Box<ClientConnection>),
    /// The server has said that it ends.
    Ended,
}

impl Channel {
    /// Before the first byte.
    pub fn new(config: Arc<ClientConfig>, name: ServerName<'static>, begin: Begin) -> Channel {
        Channel { config, name, begin, stage: Stage::Silent }
    }

    fn connect(&mut self) -> io::Result<()> {
        let new = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        let mut connection = new.map_err(|error| Trouble::Rustls(error).told())?;
        // Requests and what is known to be sent are bounded where they are made.
        connection.set_buffer_limit(None);
        self.stage = Stage::Begun(Box::new(connection));
        Ok(())
    }
}

impl SecureChannel for Channel {
    fn receive(&mut self, came: &[u8], plain: &mut Vec<u8>, wire: &mut Vec<u8>) -> io::Result<()> {
        match (&self.stage, self.begin) {
            (Stage::Silent, Begin::Asked) => {
                wire.extend(MAY_I);
                self.stage = Stage::Asked;
                return Ok(());
            }
            (Stage::Silent, Begin::AtOnce) => self.connect()?,
            (Stage::Asked, _) if came == YES => {
                self.connect()?;
                return self.receive(&[], plain, wire);
            }
            (Stage::Asked, _) if came.is_empty() => return Ok(()),
            (Stage::Asked, _) => return Err(Trouble::NotOffered.told()),
            _ => {}
        }
        let Stage::Begun(connection) = &mut self.stage else { return Ok(()) };
        let taken = take(connection, came, plain);
        write(connection, wire);
        // A server that knows nothing of ALPN speaks HTTP/1.1.
        let wants_http2 = self.config.alpn_protocols.first().is_some_and(|name| name == HTTP2);
        if wants_http2 && !connection.is_handshaking() && connection.alpn_protocol() != Some(HTTP2)
        {
            return Err(Trouble::NoHttp2.told());
        }
        if taken? {
            self.stage = Stage::Ended;
        }
        Ok(())
    }

    fn seal(&mut self, plain: &[u8], wire: &mut Vec<u8>) -> io::Result<()> {
        let Stage::Begun(connection) = &mut self.stage else {
            return Err(ErrorKind::NotConnected.into());
        };
        connection.writer().write_all(plain)?;
        write(connection, wire);
        Ok(())
    }

    fn end(&mut self, wire: &mut Vec<u8>) {
        if let Stage::Begun(connection) = &mut self.stage {
            connection.send_close_notify();
            write(connection, wire);
        }
    }

    fn is_established(&self) -> bool {
        matches!(&self.stage, Stage::Begun(connection) if !connection.is_handshaking())
    }

    fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }

    fn cut_off(&self) -> io::Error {
        Trouble::CutOff.told()
    }
}

/// Takes what came; whether nothing more will come.
fn take(
    connection: &mut ClientConnection,
    mut came: &[u8],
    plain: &mut Vec<u8>,
) -> io::Result<bool> {
    while !came.is_empty() {
        // None are taken once the server has said that it ends.
        if connection.read_tls(&mut came)? == 0 {
            return Ok(true);
        }
        let was_established = !connection.is_handshaking();
        let state = connection.process_new_packets().map_err(|error| match error {
            rustls::Error::AlertReceived(_) if was_established => {
                io::Error::new(ErrorKind::ConnectionReset, error)
            }
            error => Trouble::Rustls(error).told(),
        })?;
        let before = plain.len();
        plain.resize(before + state.plaintext_bytes_to_read(), 0);
        connection.reader().read_exact(&mut plain[before..])?;
        if state.peer_has_closed() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn write(connection: &mut ClientConnection, wire: &mut Vec<u8>) {
    while connection.wants_write() {
        // A vector takes all.
        connection.write_tls(wire).expect("there is memory");
    }
}
