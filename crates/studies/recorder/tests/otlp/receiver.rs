//! A receiver that behaves as it is told, and keeps what came.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What came, and when.
#[derive(Clone, Debug)]
pub struct Came {
    pub head: String,
    pub body: Vec<u8>,
    pub at: Instant,
}

/// What is done with a request: the answer's bytes, or silence.
pub type Answer = Option<String>;

/// Answers requests one after the other.
pub struct TestReceiver {
    pub address: SocketAddr,
    came: Arc<Mutex<Vec<Came>>>,
}

/// An answer with a status, more lines of a head and a body.
pub fn status(code: u16, lines: &str, body: &str) -> Answer {
    let length = body.len();
    Some(format!("HTTP/1.1 {code} said\r\nContent-Length: {length}\r\n{lines}\r\n{body}"))
}

impl TestReceiver {
    /// At a port, or at any (0). `answer` is asked with how many requests came before.
    pub fn start(port: u16, answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let came = Arc::new(Mutex::new(Vec::new()));
        let (all, answer) = (Arc::clone(&came), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
                thread::spawn(move || serve(stream, &all, &*answer));
            }
        });
        TestReceiver { address, came }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What came until now.
    pub fn came(&self) -> Vec<Came> {
        self.came.lock().expect("no panic").clone()
    }

    /// What came, as soon as it is so much.
    pub fn wait(&self, count: usize) -> Vec<Came> {
        until(|| self.came().len() >= count);
        self.came()
    }
}

/// A port at which nothing listens.
pub fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    free.local_addr().expect("it is bound").port()
}

/// Waits for something, and not for ever.
pub fn until(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not come");
        thread::sleep(Duration::from_millis(5));
    }
}

fn serve(stream: TcpStream, all: &Mutex<Vec<Came>>, answer: &dyn Fn(usize) -> Answer) {
    let mut reader = BufReader::new(stream);
    while let Some(came) = request(&mut reader) {
        let before = {
            let mut all = all.lock().expect("no panic");
            all.push(came);
            all.len() - 1
        };
        match answer(before) {
            Some(text) if reader.get_mut().write_all(text.as_bytes()).is_ok() => {}
            Some(_) => return,
            None => thread::sleep(Duration::from_secs(60)),
        }
    }
}

fn request(reader: &mut BufReader<TcpStream>) -> Option<Came> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lines = head.to_ascii_lowercase();
    let length = lines.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.and_then(|text| text.parse().ok()).unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(Came { head, body, at: Instant::now() })
}
