//! OpenMetrics to a file, or to clients at an address, which may have protobuf instead.

mod forms;

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use model::Failure;

use self::forms::Forms;
use crate::files;

/// How long a client has, from its first byte to the answer's last.
const PATIENCE: Duration = Duration::from_secs(2);
/// Clients at a time. One more, and the oldest is hung up on: a silent client delays no other.
const MOST_CLIENTS: usize = 16;
/// A longer request is answered as it is.
const LONGEST_REQUEST: usize = 8192;
/// What it takes until a connection that could not be had may be had.
const PAUSE: Duration = Duration::from_millis(50);

/// Where metrics go.
pub enum Exporter {
    /// A file, replaced as a whole each time.
    File(PathBuf),
    /// The latest metrics, for a thread that answers HTTP.
    Served(Arc<Mutex<Forms>>),
}

impl Exporter {
    /// An address with a port is served; anything else is a file.
    pub fn open(place: &str) -> Result<Exporter, Failure> {
        let Some(addresses) = addresses(place)? else {
            return Ok(Exporter::File(file(place)?));
        };
        let listener = TcpListener::bind(&addresses[..]).map_err(|error| {
            Failure::Machine(format!("--metrics: cannot listen at {place}: {error}"))
        })?;
        let forms = Arc::new(Mutex::new(Forms::default()));
        let served = Arc::clone(&forms);
        thread::spawn(move || serve(&listener, &served));
        Ok(Exporter::Served(forms))
    }

    /// Replaces what was shown before.
    pub fn show(&self, text: String) -> Result<(), Failure> {
        self.replace(text, || None)
    }

    /// The same, with a form for clients that would rather have it. A file is text.
    #[cfg(feature = "bpf")]
    pub fn show_both(
        &self,
        text: String,
        protobuf: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), Failure> {
        self.replace(text, || Some(protobuf().into()))
    }

    fn replace(
        &self,
        text: String,
        protobuf: impl FnOnce() -> Option<Arc<[u8]>>,
    ) -> Result<(), Failure> {
        match self {
            Exporter::Served(served) => {
                let forms = Forms { text: text.into(), protobuf: protobuf() };
                *served.lock().expect("no panic while it is held") = forms;
                Ok(())
            }
            // Readers see the old text or the new, never a part. No reader is waited for.
            Exporter::File(path) => fileio::replace_file(path, text.as_bytes()).map_err(|error| {
                Failure::Input(format!("--metrics: cannot write {}: {error}", path.display()))
            }),
        }
    }
}

/// The addresses that a place with a port stands for: as a file it would be seen by no scraper.
fn addresses(place: &str) -> Result<Option<Vec<SocketAddr>>, Failure> {
    let wrong = |why: &str| {
        Failure::Input(format!(
            "--metrics {place}: {why}: name an address, as 127.0.0.1:9899, or a file, as ./metrics.txt"
        ))
    };
    if place.contains("://") {
        return Err(wrong("a URL"));
    }
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match place.rsplit_once(':').filter(|(host, port)| is_port(port) && !host.contains('/')) {
        None => Ok(None),
        Some(("", _)) => Err(wrong("no host")),
        Some((_, port)) if port.parse::<u16>().is_err() => Err(wrong("a port is at most 65535")),
        Some(_) => {
            let found = place.to_socket_addrs().map_err(|error| wrong(&error.to_string()))?;
            Ok(Some(found.collect()))
        }
    }
}

/// A file to be replaced every few seconds. A pipe is replaced once, and its reader sees nothing more.
fn file(place: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(place);
    if !fileio::is_replaceable(&path) {
        return Err(Failure::Input(format!(
            "--metrics {place}: a pipe or a device: name a file, an address, or /dev/stdout"
        )));
    }
    files::check_writable(&path)?;
    Ok(path)
}

fn serve(listener: &TcpListener, forms: &Mutex<Forms>) {
    let clients = Arc::new(Clients::default());
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            thread::sleep(PAUSE);
            continue;
        };
        let forms = forms.lock().expect("no panic while it is held").clone();
        let Ok(number) = clients.admit(&stream) else { continue };
        let clients = Arc::clone(&clients);
        thread::spawn(move || {
            // A client that hangs up early misses a scrape; the next one is for a later client.
            let _ = answer(stream, &forms, Instant::now() + PATIENCE);
            clients.leave(number);
        });
    }
}

/// The connections that are being answered, the oldest first.
#[derive(Default)]
struct Clients(Mutex<(u64, VecDeque<(u64, TcpStream)>)>);

impl Clients {
    /// Takes one more, and hangs up on the oldest where there is no room.
    fn admit(&self, stream: &TcpStream) -> io::Result<u64> {
        let stream = stream.try_clone()?;
        let mut all = self.0.lock().expect("no panic while it is held");
        all.0 += 1;
        let number = all.0;
        all.1.push_back((number, stream));
        if all.1.len() > MOST_CLIENTS
            && let Some((_, oldest)) = all.1.pop_front()
        {
            // Its thread then reads an end.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        Ok(number)
    }

    fn leave(&self, number: u64) {
        let mut all = self.0.lock().expect("no panic while it is held");
        all.1.retain(|(one, _)| *one != number);
    }
}

/// What is left until a deadline; an error where nothing is.
fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Reads a request to its blank line: to hang up on unread bytes resets the connection, and the
/// answer is lost.
fn read_request(stream: &mut TcpStream, deadline: Instant) -> io::Result<Vec<u8>> {
    let (mut asked, mut room) = (Vec::new(), [0; 1024]);
    while !asked.ends_with(b"\r\n\r\n") && asked.len() < LONGEST_REQUEST {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut room)? {
            0 => break,
            count => asked.extend_from_slice(&room[..count]),
        }
    }
    Ok(asked)
}

/// Every request gets the metrics.
fn answer(mut stream: TcpStream, forms: &Forms, deadline: Instant) -> io::Result<()> {
    let asked = read_request(&mut stream, deadline)?;
    let (kind, body) = forms.answer(&asked);
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    for mut part in [head.as_bytes(), body] {
        while !part.is_empty() {
            stream.set_write_timeout(Some(left(deadline)?))?;
            let written = stream.write(part)?;
            part = &part[written..];
        }
    }
    Ok(())
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

    fn served(text: &str) -> SocketAddr {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
        let exporter = Exporter::open(&free.to_string()).expect("it listens");
        exporter.show(text.to_string()).expect("shown");
        free
    }

    fn scrape(at: SocketAddr) -> String {
        let mut stream = TcpStream::connect(at).expect("it answers");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("it listens on");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("no reset");
        answer
    }

    /// One after the other, each with its two seconds, they would delay a scrape by 80 s.
    #[test]
    fn silent_connections_delay_no_scrape() {
        let at = served("a 1\n");
        let silent: Vec<TcpStream> =
            (0..40).map(|_| TcpStream::connect(at).expect("it accepts")).collect();
        let begin = Instant::now();
        assert!(scrape(at).ends_with("a 1\n"));
        assert!(begin.elapsed() < 10 * PATIENCE, "{:?}", begin.elapsed());
        // The oldest have been hung up on: they read an end at once.
        let mut oldest = &silent[0];
        oldest.set_read_timeout(Some(10 * PATIENCE)).expect("an option");
        assert_eq!(oldest.read(&mut [0]).expect("an end"), 0);
    }

    /// A byte now and then renews no deadline.
    #[test]
    fn a_request_in_drops_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let mut slow = TcpStream::connect(listener.local_addr().expect("bound")).expect("open");
        let (mut stream, _) = listener.accept().expect("a client");
        thread::spawn(move || {
            while slow.write_all(b"x").is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        });
        let late = read_request(&mut stream, Instant::now() + Duration::from_millis(300));
        assert!(late.is_err(), "it waits for as long as bytes come");
    }

    #[test]
    fn a_name_with_a_port_is_an_address() {
        assert_eq!(
            addresses("127.0.0.1:9899").ok(),
            Some(Some(vec![SocketAddr::from(([127, 0, 0, 1], 9899))]))
        );
        let local = addresses("localhost:9899").expect("an address").unwrap_or_default();
        assert!(!local.is_empty() && local.iter().all(|one| one.ip().is_loopback()), "{local:?}");
        for file in ["metrics", "./localhost:9899", "metrics:new"] {
            assert_eq!(addresses(file).ok(), Some(None), "the control: {file} is a file");
        }
    }

    #[test]
    fn what_no_scraper_would_see_is_refused_at_the_start() {
        for (place, why) in [
            (":9899", "no host"),
            ("localhost:99999", "at most 65535"),
            ("http://127.0.0.1:9899/metrics", "a URL"),
            ("/no/such/folder/metrics", "an existing folder"),
        ] {
            let said = Exporter::open(place).map(drop).unwrap_err();
            assert!(said.exit_code() == 2 && said.to_string().contains(why), "{place}: {said}");
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_the_file_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("metrics");
        let pipe = || nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let exporter = Exporter::open(path.to_str().expect("UTF-8")).expect("a file");
        pipe();
        let (tell, told) = std::sync::mpsc::channel();
        thread::spawn(move || tell.send(exporter.show("a 1\n".to_string())));
        told.recv_timeout(10 * PATIENCE).expect("it hangs").expect("shown");
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), "a 1\n");
        std::fs::remove_file(&path).expect("there");
        pipe();
        let refused = Exporter::open(path.to_str().expect("UTF-8")).map(drop).unwrap_err();
        assert!(refused.exit_code() == 2, "a pipe that is named is told at the start: {refused}");
    }

    #[test]
    fn a_symbolic_link_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("victim"), "kept").expect("a file");
        for name in ["metrics", "metrics.new"] {
            std::os::unix::fs::symlink(at("victim"), at(name)).expect("a link");
        }
        let exporter = Exporter::open(at("metrics").to_str().expect("UTF-8")).expect("a file");
        exporter.show("a 1\n".to_string()).expect("shown");
        let read = |name: &str| std::fs::read_to_string(at(name)).expect("there");
        assert_eq!((read("victim").as_str(), read("metrics").as_str()), ("kept", "a 1\n"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("there").count(), 3, "nothing is left");
    }
}
