//! A web server within TLS, with bad manners where they are wanted.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rustls::{HandshakeKind, ServerConfig, ServerConnection};

/// How it answers.
#[derive(Clone, Debug)]
pub struct Manner {
    /// Bytes of the body.
    pub body: usize,
    /// Bytes of a record at most.
    pub record: Option<usize>,
    /// Bytes of a write at most, and the pause before the very last byte.
    pub piece: usize,
    pub pause: Duration,
    /// The body ends with the connection, and whether TLS says so.
    pub closes: Option<bool>,
    /// What PostgreSQL's clients ask for first.
    pub is_asked: bool,
}

impl Default for Manner {
    fn default() -> Manner {
        Manner {
            body: 10,
            record: None,
            piece: usize::MAX,
            pause: Duration::ZERO,
            closes: None,
            is_asked: false,
        }
    }
}

/// What it saw.
#[derive(Default)]
pub struct Seen {
    pub requests: AtomicU64,
    pub resumed: AtomicU64,
    /// Bytes that came over its connections, and that it wrote.
    pub came: AtomicU64,
    pub wrote: AtomicU64,
    /// Connections that ended as TLS wants.
    pub farewells: AtomicU64,
}

pub fn serve(config: &Arc<ServerConfig>, manner: &Manner) -> (SocketAddr, Arc<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address");
    let seen = Arc::new(Seen::default());
    let mut config = ServerConfig::clone(config);
    config.max_fragment_size = manner.record;
    let (config, manner, told) = (Arc::new(config), manner.clone(), Arc::clone(&seen));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let tls = ServerConnection::new(Arc::clone(&config)).expect("a connection");
            let (manner, seen) = (manner.clone(), Arc::clone(&told));
            thread::spawn(move || Session { stream, tls, manner, seen }.run());
        }
    });
    (address, seen)
}

struct Session {
    stream: TcpStream,
    tls: ServerConnection,
    manner: Manner,
    seen: Arc<Seen>,
}

impl Session {
    fn run(mut self) -> io::Result<()> {
        self.stream.set_nodelay(true)?;
        self.tls.set_buffer_limit(None);
        if self.manner.is_asked {
            let mut question = [0; 8];
            self.stream.read_exact(&mut question)?;
            assert_eq!(question, [0, 0, 0, 8, 4, 210, 22, 47]);
            self.stream.write_all(b"S")?;
        }
        let (mut asked, mut is_counted) = (Vec::new(), false);
        loop {
            self.receive(&mut asked)?;
            if !is_counted && !self.tls.is_handshaking() {
                is_counted = true;
                let resumed = self.tls.handshake_kind() == Some(HandshakeKind::Resumed);
                self.seen.resumed.fetch_add(u64::from(resumed), Relaxed);
            }
            while let Some(end) = asked.windows(4).position(|four| four == b"\r\n\r\n") {
                asked.drain(..end + 4);
                self.seen.requests.fetch_add(1, Relaxed);
                self.answer()?;
                if self.manner.closes.is_some() {
                    return Ok(());
                }
            }
        }
    }

    /// Takes what comes, and answers what TLS itself asks.
    fn receive(&mut self, asked: &mut Vec<u8>) -> io::Result<()> {
        let mut buffer = [0; 4_096];
        let count = self.stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.seen.came.fetch_add(count as u64, Relaxed);
        let mut left = &buffer[..count];
        while !left.is_empty() {
            self.tls.read_tls(&mut left)?;
            let state = self.tls.process_new_packets();
            let state = state.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            self.say(usize::MAX)?;
            let state = state?;
            let before = asked.len();
            asked.resize(before + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut asked[before..])?;
            if state.peer_has_closed() {
                self.seen.farewells.fetch_add(1, Relaxed);
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    fn answer(&mut self) -> io::Result<()> {
        let head = match self.manner.closes {
            None => format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", self.manner.body),
            Some(_) => "HTTP/1.1 200 OK\r\n\r\n".to_string(),
        };
        self.tls.writer().write_all(head.as_bytes())?;
        self.tls.writer().write_all(&vec![b'x'; self.manner.body])?;
        if self.manner.closes == Some(true) {
            self.tls.send_close_notify();
        }
        self.say(self.manner.piece)
    }

    fn say(&mut self, piece: usize) -> io::Result<()> {
        let mut wire = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut wire)?;
        }
        let Some((last, rest)) = wire.split_last() else { return Ok(()) };
        self.seen.wrote.fetch_add(wire.len() as u64, Relaxed);
        if self.manner.pause.is_zero() || self.tls.is_handshaking() {
            return wire.chunks(piece).try_for_each(|bytes| self.stream.write_all(bytes));
        }
        rest.chunks(piece).try_for_each(|bytes| self.stream.write_all(bytes))?;
        thread::sleep(self.manner.pause);
        self.stream.write_all(&[*last])
    }
}
