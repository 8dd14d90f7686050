//! HTTP/1.1 over connections that stay; bodies of answers by length, in chunks, or until the connection's end
//! (RFC 9112).

mod request;

use generator::{Answer, Ask, Protocol, ReceivedBytes, Verdict};

use super::Stop;
pub use request::{Header, HttpOptions, LONGEST_BODY, Method, Statuses};

/// Headers at most.
const HEADERS: usize = 100;
/// Bytes of all headers at most.
const HEAD_BYTES: usize = 64 << 10;
/// Bytes of a chunk's line or of a trailer at most.
const LINE_BYTES: usize = 4_096;

/// A client of a web server.
#[derive(Clone, Debug)]
pub struct Http {
    host: String,
    path: String,
    options: HttpOptions,
    request: Vec<u8>,
}

/// How a body ends.
enum Body {
    Length(usize),
    Chunks,
    Close,
}

/// What the head of a response says.
struct Head {
    bytes: usize,
    status: u16,
    body: Body,
    last: bool,
}

impl Http {
    /// Asks for `path` of `host`.
    pub fn new(host: &str, path: &str, options: HttpOptions) -> Http {
        let request = options.request(host, path);
        Http { host: host.to_string(), path: path.to_string(), options, request }
    }

    /// The same of another host.
    pub fn of_host(&self, host: &str) -> Http {
        Http::new(host, &self.path, self.options.clone())
    }

    /// The same with other options.
    pub fn with_options(&self, options: HttpOptions) -> Http {
        Http::new(&self.host, &self.path, options)
    }

    /// Whether a path was said.
    pub fn has_path(&self) -> bool {
        self.path != "/"
    }

    /// Bytes of its body.
    pub fn body_bytes(&self) -> usize {
        self.options.body.as_ref().map_or(0, Vec::len)
    }

    /// The same host asked for something else, with the same headers.
    pub fn asking(&self, path: &str, method: Method, body: Option<Vec<u8>>) -> Http {
        let options = HttpOptions { method: Some(method), body, ..self.options.clone() };
        Http::new(&self.host, path, options)
    }

    fn answer(&self, head: &Head) -> Answer {
        let complaint = self.options.complaint(head.status);
        Answer { stamps: None, complaint, last: head.last }
    }
}

impl Protocol for Http {
    fn encode(&mut self, _ask: &Ask, out: &mut Vec<u8>) {
        out.extend(&self.request);
    }

    fn decode(&mut self, _ask: &Ask, received: &ReceivedBytes) -> Verdict {
        match response(received, self.options.method() == "HEAD") {
            Ok((head, total)) => Verdict::of_length(received, total, self.answer(&head)),
            Err(stop) => stop.into(),
        }
    }
}

/// The head of the response, and its bytes with the body's; an answer to HEAD has none, whatever it says.
fn response(received: &ReceivedBytes, is_bare: bool) -> Result<(Head, usize), Stop> {
    let mut begin = 0;
    loop {
        let head = head(&received.bytes[begin..], begin, is_bare)?;
        let body = begin + head.bytes;
        // An interim response announces the real one.
        if (100..200).contains(&head.status) && head.status != 101 {
            begin = body;
            continue;
        }
        let total = match head.body {
            Body::Length(length) => body.checked_add(length).ok_or(Stop::Garbage)?,
            Body::Chunks => chunks(received.bytes, body)?,
            Body::Close if received.ended => received.bytes.len(),
            Body::Close => return Err(Stop::More(received.bytes.len() + 1)),
        };
        return Ok((head, total));
    }
}

fn head(bytes: &[u8], before: usize, is_bare: bool) -> Result<Head, Stop> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES => {
            return Err(Stop::More(before + bytes.len() + 1));
        }
        _ => return Err(Stop::Garbage),
    };
    let status = response.code.ok_or(Stop::Garbage)?;
    let old = response.version == Some(0);
    let (mut length_said, mut chunked, mut close, mut keep) = (None, false, old, false);
    for header in response.headers.iter() {
        let value = str::from_utf8(header.value).map_err(|_| Stop::Garbage)?.trim();
        match header.name.to_ascii_lowercase().as_str() {
            "content-length" => length_said = Some(value.parse().map_err(|_| Stop::Garbage)?),
            "transfer-encoding" => chunked = value.to_ascii_lowercase().ends_with("chunked"),
            "connection" => {
                close |= value.eq_ignore_ascii_case("close");
                keep |= value.eq_ignore_ascii_case("keep-alive");
            }
            _ => {}
        }
    }
    let body = match (chunked, length_said) {
        _ if is_bare || matches!(status, 100..200 | 204 | 304) => Body::Length(0),
        (true, _) => Body::Chunks,
        (false, Some(length)) => Body::Length(length),
        (false, None) => Body::Close,
    };
    let last = close && !keep || matches!(body, Body::Close);
    Ok(Head { bytes: length, status, body, last })
}

/// Where a body in chunks that begins at `at` ends, with its trailers.
fn chunks(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    loop {
        let rest = bytes.get(at..).ok_or(Stop::More(at + 1))?;
        let (line, size) = match httparse::parse_chunk_size(rest) {
            Ok(httparse::Status::Complete(found)) => found,
            Ok(httparse::Status::Partial) if rest.len() < LINE_BYTES => {
                return Err(Stop::More(bytes.len() + 1));
            }
            _ => return Err(Stop::Garbage),
        };
        at += line;
        if size == 0 {
            return trailers(bytes, at);
        }
        let size = usize::try_from(size).map_err(|_| Stop::Garbage)?;
        let end = at.checked_add(size).and_then(|end| end.checked_add(2)).ok_or(Stop::Garbage)?;
        if bytes.get(end - 2..end).ok_or(Stop::More(end))? != b"\r\n" {
            return Err(Stop::Garbage);
        }
        at = end;
    }
}

/// Lines up to an empty one.
fn trailers(bytes: &[u8], mut at: usize) -> Result<usize, Stop> {
    loop {
        let rest = bytes.get(at..).ok_or(Stop::More(at + 1))?;
        let length = rest.windows(2).take(LINE_BYTES).position(|pair| pair == b"\r\n");
        match length {
            Some(0) => return Ok(at + 2),
            Some(length) => at += length + 2,
            None if rest.len() <= LINE_BYTES => return Err(Stop::More(bytes.len() + 1)),
            None => return Err(Stop::Garbage),
        }
    }
}
