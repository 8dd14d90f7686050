//! Any request and response: bytes with places to fill, and a rule for where a response ends.

use std::str::FromStr;

use generator::{Answer, Ask, Protocol, ReceivedBytes, Verdict};
use model::Failure;
use model::seed::derive;

/// A piece of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Bytes(Vec<u8>),
    /// The request's number, in decimal digits.
    Id,
    /// A number below this one, drawn for each request, in decimal digits.
    Random(u64),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request(Vec<Piece>);

/// Where a response ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// After so many bytes.
    Length(usize),
    /// After these bytes.
    Until(Vec<u8>),
    /// Where the server closes the connection.
    Close,
    /// With the datagram.
    Datagram,
}

/// A client that speaks by template.
#[derive(Clone, Debug)]
pub struct Template {
    /// What it sends.
    pub request: Request,
    /// What it waits for.
    pub end: End,
}

impl Protocol for Template {
    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        self.request.encode(ask, out);
    }

    fn decode(&mut self, _ask: &Ask, received: &ReceivedBytes) -> Verdict {
        let more = Verdict::More(received.bytes.len() + 1);
        match &self.end {
            End::Length(total) => Verdict::of_length(received, *total, Answer::default()),
            End::Until(end) => match memchr::memmem::find(received.bytes, end) {
                Some(at) => Verdict::of_length(received, at + end.len(), Answer::default()),
                None => more,
            },
            End::Close if received.ended => {
                Verdict::Whole(Answer { last: true, ..Answer::default() })
            }
            End::Datagram if !received.datagrams.is_empty() => Verdict::Whole(Answer::default()),
            End::Close | End::Datagram => more,
        }
    }
}

/// How a request is written.
pub const REQUEST_FORM: &str = "expected bytes with \\r, \\n, \\t, \\0, \\xHH and \\\\, and the places {id}, {random:BELOW}; {{ is a brace";
const END_FORM: &str = "expected length:BYTES, until:BYTES, close or datagram";

impl FromStr for Request {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Request, Failure> {
        let wrong = || Failure::Input(format!("--request `{text}`: {REQUEST_FORM}"));
        Request::read(text).ok_or_else(wrong)
    }
}

impl Request {
    /// Reads one; none: it is not of [`REQUEST_FORM`].
    pub fn read(text: &str) -> Option<Request> {
        let mut pieces = vec![Piece::Bytes(Vec::new())];
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if let Some(place) = rest.strip_prefix('{').filter(|rest| !rest.starts_with('{')) {
                let (name, after) = place.split_once('}')?;
                pieces.extend([self::place(name)?, Piece::Bytes(Vec::new())]);
                rest = after;
                continue;
            }
            let Some(Piece::Bytes(bytes)) = pieces.last_mut() else { return None };
            rest = match rest.strip_prefix("{{") {
                Some(after) => {
                    bytes.push(b'{');
                    after
                }
                None => plain(first, rest, bytes)?,
            };
        }
        Some(Request(pieces))
    }

    /// Appends its bytes.
    pub fn encode(&self, ask: &Ask, out: &mut Vec<u8>) {
        for piece in &self.0 {
            match piece {
                Piece::Bytes(bytes) => out.extend(bytes),
                Piece::Id => out.extend(ask.id.to_string().bytes()),
                Piece::Random(below) => {
                    let drawn = derive(u64::from(ask.planned.random), &[ask.id]) % below;
                    out.extend(drawn.to_string().bytes());
                }
            }
        }
    }

    /// Whether a byte is in it.
    pub fn has(&self, wanted: u8) -> bool {
        let is_in = |piece: &Piece| matches!(piece, Piece::Bytes(bytes) if bytes.contains(&wanted));
        self.0.iter().any(is_in)
    }
}

fn place(name: &str) -> Option<Piece> {
    match name.split_once(':') {
        None if name == "id" => Some(Piece::Id),
        Some(("random", below)) => {
            model::units::count(below).ok().filter(|n| *n > 0).map(Piece::Random)
        }
        _ => None,
    }
}

/// Takes one character, or an escape, off the text; what is left.
fn plain<'a>(first: char, text: &'a str, out: &mut Vec<u8>) -> Option<&'a str> {
    let Some(escape) = text.strip_prefix('\\') else {
        out.extend(&text.as_bytes()[..first.len_utf8()]);
        return Some(&text[first.len_utf8()..]);
    };
    let (byte, length) = match escape.chars().next()? {
        'r' => (b'\r', 1),
        'n' => (b'\n', 1),
        't' => (b'\t', 1),
        '0' => (0, 1),
        '\\' => (b'\\', 1),
        'x' => (u8::from_str_radix(escape.get(1..3)?, 16).ok()?, 3),
        _ => return None,
    };
    out.push(byte);
    escape.get(length..)
}

impl FromStr for End {
    type Err = Failure;

    fn from_str(text: &str) -> Result<End, Failure> {
        let wrong = || Failure::Input(format!("--response `{text}`: {END_FORM}"));
        let bytes = |mut text: &str| -> Option<Vec<u8>> {
            let mut bytes = Vec::new();
            while let Some(first) = text.chars().next() {
                text = plain(first, text, &mut bytes)?;
            }
            Some(bytes).filter(|bytes| !bytes.is_empty())
        };
        match text.split_once(':') {
            None if text == "close" => Ok(End::Close),
            None if text == "datagram" => Ok(End::Datagram),
            Some(("length", length)) => {
                let length = model::units::count(length).ok().filter(|n| *n > 0);
                Ok(End::Length(length.ok_or_else(wrong)? as usize))
            }
            Some(("until", end)) => Ok(End::Until(bytes(end).ok_or_else(wrong)?)),
            _ => Err(wrong()),
        }
    }
}
