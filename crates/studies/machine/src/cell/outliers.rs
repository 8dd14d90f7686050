//! Where the supervisor reads outliers: a file of lines, or an OpenMetrics endpoint.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use model::Failure;
use serde::Deserialize;

/// What an endpoint has to answer in, from the first byte to the last.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer or of a file: a sample has about a hundred, and there are few cells.
const LONGEST: u64 = 4 << 20;
/// The metrics that count, `rearguard measure`'s and those of other programs; of one of them each cell has a
/// sample with its name as a label.
const METRICS: [&str; 2] = ["rearguard_measure_outlier_proportion", "rearguard_outlier_proportion"];
/// Labels by which a sample may name its cell.
const LABELS: [&str; 2] = ["cell", "name"];

/// A source of outlier proportions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `http://HOST:PORT/PATH`.
    Endpoint {
        /// `HOST:PORT`.
        address: String,
        /// `/PATH`.
        path: String,
    },
    /// Lines of `{"name": CELL, "outlier_proportion": P}`; the last of each cell counts.
    File(String),
}

#[derive(Deserialize)]
struct Line {
    name: String,
    outlier_proportion: f64,
}

impl Source {
    /// Reads an address or a file's name.
    pub fn from_user(text: &str) -> Result<Source, String> {
        match text.strip_prefix("http://") {
            None if text.contains("://") => {
                Err(format!("`{text}`: expected http://HOST:PORT/PATH, or a file"))
            }
            None => Ok(Source::File(text.to_string())),
            Some(rest) => {
                let (address, path) = rest.split_once('/').unwrap_or((rest, "metrics"));
                Ok(Source::Endpoint { address: address.into(), path: format!("/{path}") })
            }
        }
    }

    /// What it says now.
    pub fn text(&self) -> Result<String, Failure> {
        let (name, text) = match self {
            Source::File(path) => (path, File::open(path).and_then(|file| bounded(file, LONGEST))),
            Source::Endpoint { address, path } => (address, get(address, path)),
        };
        text.map_err(|error| {
            Failure::Run(format!("--metrics {name}: {error}: start what writes or serves it first"))
        })
    }

    /// The outlier proportion of each cell that it names.
    pub fn parse(&self, text: &str) -> Result<BTreeMap<String, f64>, Failure> {
        match self {
            Source::Endpoint { .. } => Ok(samples(text)),
            Source::File(path) => {
                lines(text).map_err(|what| Failure::Input(format!("--metrics {path}: {what}")))
            }
        }
    }
}

fn lines(text: &str) -> Result<BTreeMap<String, f64>, String> {
    let mut found = BTreeMap::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Line>(line) {
            Ok(line) if (0.0..=1.0).contains(&line.outlier_proportion) => {
                found.insert(line.name, line.outlier_proportion);
            }
            // The last line may be half written.
            Err(_) if !text.ends_with('\n') && at + 1 == text.lines().count() => {}
            _ => {
                return Err(format!(
                    "line {}: expected {{\"name\": CELL, \"outlier_proportion\": 0 to 1}}",
                    at + 1
                ));
            }
        }
    }
    Ok(found)
}

/// Samples such as `rearguard_measure_outlier_proportion{cell="web"} 0.002`.
fn samples(text: &str) -> BTreeMap<String, f64> {
    let sample = |line: &str| {
        let rest =
            METRICS.iter().find_map(|metric| line.strip_prefix(metric))?.strip_prefix('{')?;
        let (labels, value) = rest.rsplit_once('}')?;
        let label = |wanted: &str| {
            let mut pairs = labels.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value.trim_matches('"'))
        };
        let name = LABELS.into_iter().find_map(label)?;
        let value = value.split_whitespace().next()?.parse().ok()?;
        // Where nothing was answered the proportion is NaN.
        (0.0..=1.0).contains(&value).then(|| (name.to_string(), value))
    };
    text.lines().filter_map(sample).collect()
}

fn get(address: &str, path: &str) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut stream = Hurried { stream: connect(address, deadline)?, deadline };
    // In one piece: a server that answers the first of several and hangs up resets the connection.
    stream.stream.set_write_timeout(Some(PATIENCE))?;
    stream
        .stream
        .write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let answer = bounded(stream, LONGEST)?;
    let (head, body) =
        answer.split_once("\r\n\r\n").ok_or_else(|| io::Error::other("no HTTP answer"))?;
    let status = head.lines().next().unwrap_or_default();
    if status.contains(" 200") { Ok(body.to_string()) } else { Err(io::Error::other(status)) }
}

/// Connects to the first of a name's addresses that answers: `localhost` has two, and servers often one.
fn connect(address: &str, deadline: Instant) -> io::Result<TcpStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for one in address.to_socket_addrs()? {
        let left = deadline.saturating_duration_since(Instant::now());
        match TcpStream::connect_timeout(&one, left.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// A connection that is read until a deadline: a server that sends a byte now and then has no more time than
/// another.
struct Hurried {
    stream: TcpStream,
    deadline: Instant,
}

impl Read for Hurried {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(room)
    }
}

/// A text of at most so many bytes.
fn bounded(from: impl Read, longest: u64) -> io::Result<String> {
    let mut text = Vec::new();
    from.take(longest + 1).read_to_end(&mut text)?;
    if text.len() as u64 > longest {
        return Err(io::Error::other(format!("more than {longest} bytes")));
    }
    String::from_utf8(text).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_each_cell_counts() {
        let text = "{\"name\":\"a\",\"outlier_proportion\":0.5}\n{\"name\":\"b\",\"outlier_proportion\":0}\n\
                    {\"name\":\"a\",\"outlier_proportion\":0.25}\n{\"name\":\"b\",\"outl";
        let found = lines(text).expect("lines");
        assert_eq!(found, BTreeMap::from([("a".into(), 0.25), ("b".into(), 0.0)]));
        for bad in ["a: 1\n", "{\"name\":\"a\",\"outlier_proportion\":2}\n"] {
            assert!(lines(bad).unwrap_err().starts_with("line 1"), "{bad}");
        }
    }

    #[test]
    fn samples_are_found_among_others() {
        let text = "# TYPE rearguard_outlier_proportion gauge\nrearguard_outlier_proportion{cell=\"web\",le=\"100us\"} 0.002\n\
                    rearguard_outlier_proportion 0.5\nother{cell=\"x\"} 1\nrearguard_measure_outlier_proportion{cell=\"db\"} 0.5\n\
                    rearguard_measure_outlier_proportion{cell=\"idle\"} NaN\n# EOF\n";
        assert_eq!(samples(text), BTreeMap::from([("db".into(), 0.5), ("web".into(), 0.002)]));
    }

    #[test]
    fn an_answer_has_an_end_in_bytes() {
        assert_eq!(bounded(&b"12345"[..], 5).expect("as long as it may be"), "12345");
        assert!(bounded(&b"123456"[..], 5).is_err());
        assert!(Source::File("/dev/zero".into()).text().is_err());
    }

    /// A byte each 20 ms would renew a timeout of a single read for ever.
    #[test]
    fn an_answer_in_drops_is_given_up() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let stream = TcpStream::connect(server.local_addr().expect("an address")).expect("open");
        let (mut other, _) = server.accept().expect("a client");
        std::thread::spawn(move || {
            while other.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let deadline = Instant::now() + Duration::from_millis(300);
        let error = bounded(Hurried { stream, deadline }, LONGEST).unwrap_err();
        let late = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock];
        assert!(late.contains(&error.kind()), "{error}");
    }

    #[test]
    fn an_endpoint_answers_over_http() {
        let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address");
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = server.accept().expect("a client");
            let mut asked = [0; 1024];
            let length = stream.read(&mut asked).expect("a question");
            let body = "rearguard_outlier_proportion{name=\"web\"} 0.5\n";
            write!(stream, "HTTP/1.1 200 OK\r\n\r\n{body}").expect("answered");
            String::from_utf8_lossy(&asked[..length]).into_owned()
        });
        let source = Source::from_user(&format!("http://{address}/x")).expect("a source");
        let text = source.text().expect("an answer");
        assert_eq!(source.parse(&text).expect("samples")["web"], 0.5);
        assert!(answering.join().expect("no panic").starts_with("GET /x HTTP/1.0"));
        Source::from_user("ftp://x").unwrap_err();
        assert!(Source::File("/no/such/file".into()).text().is_err());
    }
}
