//! Redis: GET and SET in RESP, version 2, after AUTH and SELECT.

use generator::{Answer, Ask, Greeted, Greeting, Protocol, ReceivedBytes, Verdict};
use model::seed::derive;
use model::workload::Planned;

use super::Stop;
use super::cursor::{Cursor, decimal};
use super::key_value::KeyValue;
use crate::secret::Login;

/// Redis's own bound of a string.
const LONGEST_STRING: i64 = 512 << 20;
/// Arrays in arrays; no answer to GET or SET is one.
const DEEPEST: u32 = 8;
/// First words of errors by which their cause is known.
const ERRORS: [(&[u8], &str); 9] = [
    (b"NOAUTH", "error NOAUTH"),
    (b"NOPERM", "error NOPERM"),
    (b"WRONGTYPE", "error WRONGTYPE"),
    (b"MOVED", "error MOVED"),
    (b"LOADING", "error LOADING"),
    (b"OOM", "error OOM"),
    (b"READONLY", "error READONLY"),
    (b"BUSY", "error BUSY"),
    (b"CLUSTERDOWN", "error CLUSTERDOWN"),
];

/// A client of Redis.
#[derive(Clone, Debug)]
pub struct Redis {
    /// Who asks.
    pub login: Login,
    /// The database.
    pub database: u64,
    /// Commands of a request, which are sent together.
    pub pipeline: u64,
    /// What it asks.
    pub load: KeyValue,
}

/// AUTH and SELECT of one connection.
struct Hello {
    client: Redis,
    /// Answers that are due; none before the commands were sent.
    due: Option<usize>,
}

impl Protocol for Redis {
    fn greeting(&self) -> Option<Box<dyn Greeting>> {
        let needs = self.login.password.is_some() || self.database > 0;
        needs.then(|| Box::new(Hello { client: self.clone(), due: None }) as Box<dyn Greeting>)
    }

    fn encode(&mut self, ask: &Ask, out: &mut Vec<u8>) {
        (0..self.pipeline).for_each(|nth| self.command(&part(ask, nth), out));
    }

    fn decode(&mut self, _ask: &Ask, received: &ReceivedBytes) -> Verdict {
        let mut cursor = Cursor::new(received.bytes);
        let replies = (0..self.pipeline).map(|_| skip(&mut cursor, DEEPEST));
        // All replies are passed over; the first that is not wanted tells.
        let complaint = replies.collect::<Result<Vec<_>, Stop>>();
        match complaint {
            Ok(complaints) => {
                let complaint = complaints.into_iter().flatten().next();
                let answer = Answer { complaint, ..Answer::default() };
                Verdict::of_length(received, cursor.position(), answer)
            }
            Err(stop) => stop.into(),
        }
    }
}

impl Redis {
    fn command(&self, ask: &Ask, out: &mut Vec<u8>) {
        let key = self.load.key(ask);
        match self.load.reads(ask) {
            true => command(out, &[b"GET", &key]),
            false => command(out, &[b"SET", &key, &self.load.value()]),
        }
    }
}

impl Greeting for Hello {
    fn go_on(&mut self, came: &[u8], say: &mut Vec<u8>) -> Greeted {
        let due = *self.due.get_or_insert_with(|| self.client.hello(say));
        let mut cursor = Cursor::new(came);
        let replies = (0..due).try_for_each(|_| match cursor.line()?.split_first() {
            Some((b'+', _)) => Ok(()),
            Some((b'-', why)) => Err(Refusal::Told(self.client.login.told(why))),
            _ => Err(Refusal::Stop(Stop::Garbage)),
        });
        match replies {
            Ok(()) if cursor.position() == came.len() => Greeted::Done,
            Err(Refusal::Stop(Stop::More(_))) => Greeted::Waits(0),
            Err(Refusal::Told(why)) => Greeted::Refused(why),
            Ok(()) | Err(Refusal::Stop(Stop::Garbage)) => Greeted::Garbage,
        }
    }
}

enum Refusal {
    Told(String),
    Stop(Stop),
}

impl From<Stop> for Refusal {
    fn from(stop: Stop) -> Refusal {
        Refusal::Stop(stop)
    }
}

impl Redis {
    /// Says who asks and which database; how many commands that were.
    fn hello(&self, say: &mut Vec<u8>) -> usize {
        let mut commands = 0;
        if let Some(password) = &self.login.password {
            let user = self.login.user.iter().map(|user| user.as_bytes());
            let words =
                [&b"AUTH"[..]].into_iter().chain(user).chain([password.reveal().as_bytes()]);
            command(say, &words.collect::<Vec<_>>());
            commands += 1;
        }
        if self.database > 0 {
            command(say, &[b"SELECT", self.database.to_string().as_bytes()]);
            commands += 1;
        }
        commands
    }
}

/// One command of a request; the first draws as if it were alone.
fn part(ask: &Ask, nth: u64) -> Ask {
    let random = match nth {
        0 => ask.planned.random,
        nth => derive(u64::from(ask.planned.random), &[ask.id, nth]) as u32,
    };
    Ask { planned: Planned { random, ..ask.planned }, ..*ask }
}

fn command(out: &mut Vec<u8>, words: &[&[u8]]) {
    out.extend(format!("*{}\r\n", words.len()).bytes());
    for word in words {
        out.extend(format!("${}\r\n", word.len()).bytes());
        out.extend(*word);
        out.extend(b"\r\n");
    }
}

/// Passes over one value; what is wrong with it as an answer.
fn skip(cursor: &mut Cursor, depth: u32) -> Result<Option<&'static str>, Stop> {
    let line = cursor.line()?;
    let (kind, rest) = line.split_first().ok_or(Stop::Garbage)?;
    match kind {
        b'+' => Ok(None),
        b'-' => Ok(Some(error(rest))),
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

fn error(text: &[u8]) -> &'static str {
    let first = text.split(|byte| *byte == b' ').next().unwrap_or_default();
    ERRORS.iter().find(|(word, _)| *word == first).map_or("error", |(_, shown)| shown)
}
