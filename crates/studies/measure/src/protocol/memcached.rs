//! Memcached: the ASCII and the binary protocol over TCP, and ASCII over UDP behind a frame header.
//!
//! `doc/protocol.txt` and `doc/protocol-binary.txt` of memcached say what stands here.

use generator::{Answer, Ask, Protocol, ReceivedBytes, Verdict};

use super::Stop;
use super::cursor::{Cursor, decimal};
use super::key_value::KeyValue;

/// The frame header of a datagram.
const FRAME_BYTES: usize = 8;
/// The header of a binary message.
const HEADER_BYTES: usize = 24;
/// A longer value is garbage: memcached's own bound is 1 GiB, by default 1 MiB.
const LONGEST_BODY: usize = 32 << 20;

/// The forms of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// ASCII over TCP.
    Ascii,
    /// Binary over TCP.
    Binary,
    /// ASCII over UDP.
    Datagram,
}

/// A client of memcached.
#[derive(Clone, Copy, Debug)]
pub struct Memcached {
    /// In which form it speaks.
    pub form: Form,
    /// What it asks.
    pub load: KeyValue,
}

impl Protocol for Memcached {
    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        match self.form {
            Form::Ascii => self.ascii(ask, out),
            Form::Binary => self.binary(ask, out),
            Form::Datagram => {
                out.extend(frame_id(ask).to_be_bytes());
                out.extend([0, 0, 0, 1, 0, 0]);
                self.ascii(ask, out);
            }
        }
    }

    fn decode(&mut self, ask: &Ask, received: &ReceivedBytes) -> Verdict {
        let reads = self.load.reads(ask);
        match self.form {
            Form::Ascii => judged(received, ascii_answer(received.bytes, reads)),
            Form::Binary => judged(received, binary_answer(received.bytes, ask)),
            Form::Datagram => match joined(received, frame_id(ask)) {
                Ok(bytes) => match ascii_answer(&bytes, reads) {
                    Ok((answer, length)) if length == bytes.len() => Verdict::Whole(answer),
                    _ => Verdict::Garbage,
                },
                Err(stop) => stop.into(),
            },
        }
    }
}

impl Memcached {
    fn ascii(&self, ask: &Ask, out: &mut Vec<u8>) {
        let (reads, key) = (self.load.reads(ask), self.load.key(ask));
        out.extend(if reads { b"get " } else { b"set " });
        out.extend(key);
        if !reads {
            out.extend(format!(" 0 0 {}\r\n", self.load.value_bytes).bytes());
            out.extend(self.load.value());
        }
        out.extend(b"\r\n");
    }

    fn binary(&self, ask: &Ask, out: &mut Vec<u8>) {
        let (reads, key) = (self.load.reads(ask), self.load.key(ask));
        let (code, extras, value) = if reads { (0, 0, 0) } else { (1, 8, self.load.value_bytes) };
        out.extend([0x80, code]);
        out.extend((key.len() as u16).to_be_bytes());
        out.extend([extras, 0, 0, 0]);
        out.extend(((usize::from(extras) + key.len() + value) as u32).to_be_bytes());
        out.extend((ask.id as u32).to_be_bytes());
        out.extend([0; 8]);
        out.extend(std::iter::repeat_n(0, usize::from(extras)));
        out.extend(key);
        if !reads {
            out.extend(self.load.value());
        }
    }
}

/// The verdict on an answer that ends after so many bytes.
fn judged(received: &ReceivedBytes, read: Result<(Answer, usize), Stop>) -> Verdict {
    match read {
        Ok((answer, length)) => Verdict::of_length(received, length, answer),
        Err(stop) => stop.into(),
    }
}

fn ascii_answer(bytes: &[u8], reads: bool) -> Result<(Answer, usize), Stop> {
    let mut cursor = Cursor::new(bytes);
    let line = cursor.line()?;
    let complaint = match line {
        b"STORED" if !reads => None,
        b"NOT_STORED" if !reads => Some("not stored"),
        b"END" if reads => Some("miss"),
        b"ERROR" => Some("error"),
        _ if line.starts_with(b"SERVER_ERROR ") => Some("server error"),
        _ if line.starts_with(b"CLIENT_ERROR ") => Some("client error"),
        _ if reads => {
            value(&mut cursor, line)?;
            None
        }
        _ => return Err(Stop::Garbage),
    };
    Ok((Answer { complaint, ..Answer::default() }, cursor.position()))
}

/// `VALUE KEY FLAGS BYTES`, the value, `END`.
fn value(cursor: &mut Cursor, line: &[u8]) -> Result<(), Stop> {
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [b"VALUE", _, _, length] = words[..] else { return Err(Stop::Garbage) };
    let length = usize::try_from(decimal(length)?).map_err(|_| Stop::Garbage)?;
    if length > LONGEST_BODY {
        return Err(Stop::Garbage);
    }
    cursor.take(length)?;
    cursor.expect(b"\r\nEND\r\n")
}

fn binary_answer(bytes: &[u8], ask: &Ask) -> Result<(Answer, usize), Stop> {
    let mut cursor = Cursor::new(bytes);
    let head = cursor.array::<HEADER_BYTES>()?;
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let body = word(8) as usize;
    if head[0] != 0x81 || word(12) != ask.id as u32 || body > LONGEST_BODY {
        return Err(Stop::Garbage);
    }
    cursor.take(body)?;
    let complaint = match u16::from_be_bytes([head[6], head[7]]) {
        0 => None,
        1 => Some("miss"),
        5 => Some("not stored"),
        _ => Some("error"),
    };
    Ok((Answer { complaint, ..Answer::default() }, cursor.position()))
}

/// Requests on their way over one socket: one. So 16 bits tell them apart.
fn frame_id(ask: &Ask) -> u16 {
    ask.id as u16
}

/// The message whose parts the datagrams are, in whatever order they came.
fn joined(received: &ReceivedBytes, id: u16) -> Result<Vec<u8>, Stop> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for &end in received.datagrams {
        parts.push(part(&received.bytes[begin..end], id)?);
        begin = end;
    }
    let Some((_, total, _)) = parts.first().copied() else {
        return Err(Stop::More(received.bytes.len() + 1));
    };
    parts.sort_unstable_by_key(|(number, ..)| *number);
    let in_order = parts.iter().zip(0..).all(|((number, of, _), nth)| {
        *of == total && *number < total && (parts.len() < usize::from(total) || *number == nth)
    });
    match parts.len().cmp(&usize::from(total)) {
        _ if !in_order => Err(Stop::Garbage),
        std::cmp::Ordering::Less => Err(Stop::More(received.bytes.len() + 1)),
        _ => Ok(parts.into_iter().flat_map(|(.., bytes)| bytes).copied().collect()),
    }
}

/// A datagram's number, how many there are, and its bytes.
fn part(datagram: &[u8], id: u16) -> Result<(u16, u16, &[u8]), Stop> {
    let Some((head, bytes)) = datagram.split_at_checked(FRAME_BYTES) else {
        return Err(Stop::Garbage);
    };
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    if word(0) == id { Ok((word(2), word(4), bytes)) } else { Err(Stop::Garbage) }
}
