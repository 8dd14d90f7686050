//! OpenMetrics to a file, or to clients at an address.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use model::Failure;

/// How long a client may take to send its request.
const PATIENCE: Duration = Duration::from_secs(2);

/// A longer request is answered as it is.
const LONGEST_REQUEST: usize = 8192;

/// Where metrics go.
pub enum Exporter {
    /// A file, replaced as a whole each time.
    File(PathBuf),
    /// The latest text, for a thread that answers HTTP.
    Served(Arc<Mutex<String>>),
}

impl Exporter {
    /// An address with a port is served; anything else is a file.
    pub fn open(place: &str) -> Result<Exporter, Failure> {
        let Ok(address) = place.parse::<SocketAddr>() else {
            return Ok(Exporter::File(place.into()));
        };
        let listener = TcpListener::bind(address).map_err(|error| {
            Failure::Machine(format!("--metrics: cannot listen at {address}: {error}"))
        })?;
        let text = Arc::new(Mutex::new(String::new()));
        let served = Arc::clone(&text);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let text = served.lock().expect("no panic while it is held").clone();
                // A client that hangs up early misses a scrape; the next one is for a later client.
                let _ = answer(stream, &text);
            }
        });
        Ok(Exporter::Served(text))
    }

    /// Replaces what was shown before.
    pub fn show(&self, text: String) -> Result<(), Failure> {
        match self {
            Exporter::Served(served) => {
                *served.lock().expect("no panic while it is held") = text;
                Ok(())
            }
            Exporter::File(path) => replace(path, &text).map_err(|error| {
                Failure::Input(format!("--metrics: cannot write {}: {error}", path.display()))
            }),
        }
    }
}

/// Readers see the old text or the new, never a part.
fn replace(path: &PathBuf, text: &str) -> io::Result<()> {
    let mut new = path.clone().into_os_string();
    new.push(".new");
    fs::write(&new, text)?;
    fs::rename(&new, path)
}

/// Reads a request to its blank line: to hang up on unread bytes resets the connection, and the
/// answer is lost.
fn read_request(stream: &mut TcpStream) -> io::Result<()> {
    let (mut asked, mut room) = (Vec::new(), [0; 1024]);
    while !asked.ends_with(b"\r\n\r\n") && asked.len() < LONGEST_REQUEST {
        match stream.read(&mut room)? {
            0 => break,
            count => asked.extend_from_slice(&room[..count]),
        }
    }
    Ok(())
}

/// Every request gets the metrics.
fn answer(mut stream: TcpStream, text: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    read_request(&mut stream)?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{text}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_in_pieces_gets_the_whole_answer() {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
        let exporter = Exporter::open(&free.to_string()).expect("it listens");
        exporter.show("a 1\n".repeat(1_000)).expect("shown");
        for _ in 0..50 {
            let mut stream = TcpStream::connect(free).expect("it answers");
            stream.set_nodelay(true).expect("an option");
            for piece in ["GET ", "/metrics", " HTTP/1.0\r\n", "\r\n"] {
                stream.write_all(piece.as_bytes()).expect("it listens on");
                thread::yield_now();
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("no reset");
            assert!(answer.ends_with(&"a 1\n".repeat(1_000)));
        }
    }
}
