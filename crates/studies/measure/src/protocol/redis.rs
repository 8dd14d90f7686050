//! Redis: GET and SET in RESP, version 2.

use generator::{Answer, Ask, Protocol, ReceivedBytes, Verdict};

use super::Stop;
use super::cursor::{Cursor, decimal};
use super::key_value::KeyValue;

/// Redis's own bound of a string.
const LONGEST_STRING: i64 = 512 << 20;
/// Arrays in arrays; no answer to GET or SET is one.
const DEEPEST: u32 = 8;

/// A client of Redis.
#[derive(Clone, Copy, Debug)]
pub struct Redis {
    /// What it asks.
    pub load: KeyValue,
}

impl Protocol for Redis {
    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        let reads = self.load.reads(ask);
        out.extend(if reads { b"*2\r\n" } else { b"*3\r\n" });
        string(out, if reads { b"GET" } else { b"SET" });
        string(out, &self.load.key(ask));
        if !reads {
            string(out, &self.load.value());
        }
    }

    fn decode(&mut self, _ask: &Ask, received: &ReceivedBytes) -> Verdict {
        let mut cursor = Cursor::new(received.bytes);
        match skip(&mut cursor, DEEPEST) {
            Ok(complaint) => {
                let answer = Answer { complaint, ..Answer::default() };
                Verdict::of_length(received, cursor.position(), answer)
            }
            Err(stop) => stop.into(),
        }
    }
}

fn string(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(format!("${}\r\n", bytes.len()).bytes());
    out.extend(bytes);
    out.extend(b"\r\n");
}

/// Passes over one value; what is wrong with it as an answer.
fn skip(cursor: &mut Cursor, depth: u32) -> Result<Option<&'static str>, Stop> {
    let line = cursor.line()?;
    let (kind, rest) = line.split_first().ok_or(Stop::Garbage)?;
    match kind {
        b'+' => Ok(None),
        b'-' => Ok(Some("error")),
        b':' => decimal(rest).map(|_| None),
        b'$' => match decimal(rest)? {
            -1 => Ok(Some("miss")),
            length @ 0..=LONGEST_STRING => {
                cursor.take(length as usize)?;
                cursor.expect(b"\r\n").map(|()| None)
            }
            _ => Err(Stop::Garbage),
        },
        b'*' if depth > 0 => {
            (0..decimal(rest)?).try_for_each(|_| skip(cursor, depth - 1).map(|_| ()))?;
            Ok(None)
        }
        _ => Err(Stop::Garbage),
    }
}
