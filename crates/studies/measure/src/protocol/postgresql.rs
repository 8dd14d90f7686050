//! PostgreSQL: simple queries, version 3.0 (its documentation, chapter "Frontend/Backend Protocol").

mod hello;

use generator::{Answer, Ask, Greeting, Protocol, ReceivedBytes, Verdict};

use super::Stop;
use super::cursor::Cursor;
use super::template::Request;
use crate::secret::Login;
use hello::Hello;

/// A message begins with a letter.
const TAG_BYTES: usize = 1;
/// The length that follows counts itself.
const LENGTH_BYTES: usize = 4;
/// PostgreSQL's own bound of a message (MaxAllocSize).
const LONGEST: usize = 1 << 30;
/// Messages that an answer may have: rows and what describes them, ends of commands, errors, notices, COPY to
/// the client, and what may come at any time.
const MESSAGES: &[u8] = b"TDCIEZNSAHdc";
/// Error codes by which a cause is known, then their classes (PostgreSQL documentation, appendix A).
const ERRORS: [&str; 31] = [
    "SQLSTATE 23505",
    "SQLSTATE 25P02",
    "SQLSTATE 40001",
    "SQLSTATE 40P01",
    "SQLSTATE 42501",
    "SQLSTATE 42601",
    "SQLSTATE 42703",
    "SQLSTATE 42P01",
    "SQLSTATE 53100",
    "SQLSTATE 53200",
    "SQLSTATE 53300",
    "SQLSTATE 55P03",
    "SQLSTATE 57014",
    "SQLSTATE 57P01",
    "SQLSTATE 08xxx",
    "SQLSTATE 0Axxx",
    "SQLSTATE 21xxx",
    "SQLSTATE 22xxx",
    "SQLSTATE 23xxx",
    "SQLSTATE 25xxx",
    "SQLSTATE 28xxx",
    "SQLSTATE 3Dxxx",
    "SQLSTATE 3Fxxx",
    "SQLSTATE 40xxx",
    "SQLSTATE 42xxx",
    "SQLSTATE 53xxx",
    "SQLSTATE 54xxx",
    "SQLSTATE 55xxx",
    "SQLSTATE 57xxx",
    "SQLSTATE 58xxx",
    "SQLSTATE XXxxx",
];

/// A client of PostgreSQL.
#[derive(Clone, Debug)]
pub struct Postgresql {
    /// Who asks.
    pub login: Login,
    /// The database; none: the user's own.
    pub database: Option<String>,
    /// What is asked.
    pub query: Request,
}

impl Protocol for Postgresql {
    fn greeting(&self) -> Option<Box<dyn Greeting>> {
        Some(Box::new(Hello::new(self.login.clone(), self.database.clone())))
    }

    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        let begin = out.len() + TAG_BYTES;
        out.extend(b"Q\0\0\0\0");
        self.query.encode(ask, out);
        out.push(0);
        let length = (out.len() - begin) as u32;
        out[begin..begin + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
    }

    fn decode(&mut self, _ask: &Ask, received: &ReceivedBytes) -> Verdict {
        match answer(received.bytes) {
            Ok((complaint, total)) => {
                Verdict::of_length(received, total, Answer { complaint, ..Answer::default() })
            }
            Err(stop) => stop.into(),
        }
    }
}

/// The first error of an answer, and the answer's bytes.
fn answer(bytes: &[u8]) -> Result<(Option<&'static str>, usize), Stop> {
    let mut cursor = Cursor::new(bytes);
    let mut complaint = None;
    loop {
        let (tag, body) = message(&mut cursor)?;
        match tag {
            b'E' => complaint = complaint.or(Some(error(body))),
            b'Z' => return Ok((complaint, cursor.position())),
            _ => {}
        }
    }
}

fn message<'a>(cursor: &mut Cursor<'a>) -> Result<(u8, &'a [u8]), Stop> {
    let [tag] = cursor.array()?;
    if !MESSAGES.contains(&tag) {
        return Err(Stop::Garbage);
    }
    let length = u32::from_be_bytes(cursor.array()?) as usize;
    let body = length.checked_sub(LENGTH_BYTES).filter(|length| *length < LONGEST);
    let body = cursor.take(body.ok_or(Stop::Garbage)?)?;
    // The state of the transaction is all that this one has.
    if tag == b'Z' && body.len() != 1 { Err(Stop::Garbage) } else { Ok((tag, body)) }
}

/// The name of an error: of its fields, each a letter and a text that ends in 0, the code is `C`.
fn error(fields: &[u8]) -> &'static str {
    let code = fields.split(|byte| *byte == 0).find_map(|field| field.strip_prefix(b"C"));
    let fits = |shown: &&&str| {
        let wanted = shown.rsplit(' ').next().unwrap_or_default().trim_end_matches("xxx");
        code.is_some_and(|code| code.starts_with(wanted.as_bytes()))
    };
    ERRORS.iter().find(fits).copied().unwrap_or("error")
}
