//! Thrift: a call in the binary protocol, framed or buffered, with no argument or one string.
//!
//! `doc/specs/thrift-binary-protocol.md` of Apache Thrift says what stands here; messages are the strict
//! ones.

use generator::{Answer, Ask, Protocol, ReceivedBytes, Verdict};

use super::Stop;
use super::cursor::Cursor;

const VERSION: u32 = 0x8001_0000;
const CALL: u32 = 1;
const REPLY: u32 = 2;
const EXCEPTION: u32 = 3;
const STRING: u8 = 11;
/// A longer message is garbage.
const LONGEST: usize = 16 << 20;
/// Structures in structures.
const DEEPEST: u32 = 64;

/// A client of a Thrift server.
#[derive(Clone, Debug)]
pub struct Thrift {
    /// Whether every message has its length before it.
    pub framed: bool,
    /// The method.
    pub method: String,
    /// Bytes of its first argument, a string; `None`: it has no arguments.
    pub argument_bytes: Option<usize>,
}

impl Protocol for Thrift {
    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        let begin = out.len();
        if self.framed {
            out.extend([0; 4]);
        }
        out.extend((VERSION | CALL).to_be_bytes());
        string(out, self.method.len(), self.method.bytes());
        out.extend((ask.id as u32).to_be_bytes());
        if let Some(bytes) = self.argument_bytes {
            out.extend([STRING, 0, 1]);
            string(out, bytes, std::iter::repeat_n(b'a', bytes));
        }
        out.push(0);
        if self.framed {
            let length = (out.len() - begin - 4) as u32;
            out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
        }
    }

    fn decode(&mut self, ask: &Ask, received: &ReceivedBytes) -> Verdict {
        match self.read(received.bytes, ask.id as u32) {
            Ok((complaint, total)) => {
                Verdict::of_length(received, total, Answer { complaint, ..Answer::default() })
            }
            Err(stop) => stop.into(),
        }
    }
}

impl Thrift {
    fn read(&self, bytes: &[u8], sequence: u32) -> Result<(Option<&'static str>, usize), Stop> {
        if !self.framed {
            let mut cursor = Cursor::new(bytes);
            return message(&mut cursor, sequence).map(|complaint| (complaint, cursor.position()));
        }
        let mut cursor = Cursor::new(bytes);
        let length = u32::from_be_bytes(cursor.array()?) as usize;
        if length > LONGEST {
            return Err(Stop::Garbage);
        }
        let mut frame = Cursor::new(cursor.take(length)?);
        match message(&mut frame, sequence) {
            Ok(complaint) if frame.position() == length => Ok((complaint, cursor.position())),
            _ => Err(Stop::Garbage),
        }
    }
}

fn string(out: &mut Vec<u8>, length: usize, bytes: impl Iterator<Item = u8>) {
    out.extend((length as u32).to_be_bytes());
    out.extend(bytes);
}

/// Passes over a message; what is wrong with it as an answer to the call with this number.
fn message(cursor: &mut Cursor, sequence: u32) -> Result<Option<&'static str>, Stop> {
    let head = u32::from_be_bytes(cursor.array()?);
    if head & 0xffff_0000 != VERSION {
        return Err(Stop::Garbage);
    }
    counted(cursor)?;
    if u32::from_be_bytes(cursor.array()?) != sequence {
        return Err(Stop::Garbage);
    }
    let first = structure(cursor, DEEPEST)?;
    match head & 0xff {
        // Field 0 is the result; others are exceptions that the method declares.
        REPLY => Ok(first.filter(|field| *field != 0).map(|_| "exception")),
        EXCEPTION => Ok(Some("exception")),
        _ => Err(Stop::Garbage),
    }
}

/// Bytes behind their number.
fn counted(cursor: &mut Cursor) -> Result<(), Stop> {
    let length = u32::from_be_bytes(cursor.array()?) as usize;
    if length > LONGEST { Err(Stop::Garbage) } else { cursor.take(length).map(|_| ()) }
}

/// Passes over a structure; the number of its first field.
fn structure(cursor: &mut Cursor, depth: u32) -> Result<Option<i16>, Stop> {
    let mut first = None;
    loop {
        let [kind] = cursor.array()?;
        if kind == 0 {
            return Ok(first);
        }
        let number = i16::from_be_bytes(cursor.array()?);
        first.get_or_insert(number);
        value(cursor, kind, depth)?;
    }
}

fn value(cursor: &mut Cursor, kind: u8, depth: u32) -> Result<(), Stop> {
    let depth = depth.checked_sub(1).ok_or(Stop::Garbage)?;
    let fixed = |bytes| Some(bytes);
    let length = match kind {
        2 | 3 => fixed(1),
        6 => fixed(2),
        8 => fixed(4),
        4 | 10 => fixed(8),
        16 => fixed(16),
        _ => None,
    };
    if let Some(length) = length {
        return cursor.take(length).map(|_| ());
    }
    match kind {
        STRING => counted(cursor),
        12 => structure(cursor, depth).map(|_| ()),
        13 => {
            let [key, element] = cursor.array()?;
            elements(cursor, &[key, element], depth)
        }
        14 | 15 => {
            let [element] = cursor.array()?;
            elements(cursor, &[element], depth)
        }
        _ => Err(Stop::Garbage),
    }
}

/// So many elements as the next number says, each a value of every kind; a value has at least one byte.
fn elements(cursor: &mut Cursor, kinds: &[u8], depth: u32) -> Result<(), Stop> {
    let count = u32::from_be_bytes(cursor.array()?);
    if count as usize > LONGEST {
        return Err(Stop::Garbage);
    }
    (0..count).try_for_each(|_| kinds.iter().try_for_each(|kind| value(cursor, *kind, depth)))
}
