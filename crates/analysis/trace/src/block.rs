//! Blocks: a kind, a length, a checksum, and what they hold.

use std::io::{self, Write};

use model::Nanos;
use model::event::What;
use model::trace::Counters;
use serde::{Deserialize, Serialize};

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The header, as JSON. The first block.
    Header,
    /// Requests of one program: [`Requests`].
    Requests,
    /// Stages of requests of one program: [`Stages`].
    Stages,
    /// CPU time of all threads at one moment: [`Usage`].
    Usage,
    /// Scheduling events: a list of (nanoseconds since the one before, what); the first counts from the start
    /// of the run.
    Events,
    /// Totals: [`End`]. The last block.
    End,
}

const LETTERS: [(Kind, u8); 6] = [
    (Kind::Header, b'H'),
    (Kind::Requests, b'R'),
    (Kind::Stages, b'S'),
    (Kind::Usage, b'U'),
    (Kind::Events, b'E'),
    (Kind::End, b'Z'),
];

/// Kind, length, checksum.
pub const PREFIX: usize = 1 + 4 + 4;

/// Requests of one program, in the order of intended times.
#[derive(Serialize, Deserialize)]
pub struct Requests {
    /// Index of the program.
    pub program: u64,
    /// For each: intended time less that of the one before in the block; sent, started, completed and
    /// received less the stamp before; service time. What wraps around wraps around: [`Nanos::NEVER`] is the
    /// greatest number.
    pub stamps: Vec<[i64; 6]>,
}

/// Stages of requests of one program, in the order of its requests.
#[derive(Serialize, Deserialize)]
pub struct Stages {
    /// Index of the program.
    pub program: u64,
    /// For each: the first moment less that of the one before in the block, then each less the one before it;
    /// wrapped around as [`Requests`].
    pub moments: Vec<[i64; 6]>,
}

/// CPU time of all threads at one moment.
#[derive(Serialize, Deserialize)]
pub struct Usage {
    /// The moment.
    pub at: Nanos,
    /// For each thread, CPU time since the block before.
    pub grown: Vec<u64>,
}

/// Totals over the window.
#[derive(Serialize, Deserialize)]
pub struct End {
    /// Totals.
    pub counters: Counters,
    /// Rounds of each program.
    pub rounds: Vec<u64>,
}

/// An event: nanoseconds since the one before, and what happened.
pub type EventEntry = (u64, What);

fn checksum(kind: u8, content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[kind]);
    hasher.update(content);
    hasher.finalize()
}

/// Writes a block.
pub fn put(out: &mut impl Write, kind: Kind, content: &[u8]) -> io::Result<()> {
    let letter = LETTERS.iter().find(|(of, _)| *of == kind).map_or(0, |(_, letter)| *letter);
    let length = u32::try_from(content.len()).map_err(io::Error::other)?;
    out.write_all(&[letter])?;
    out.write_all(&length.to_le_bytes())?;
    out.write_all(&checksum(letter, content).to_le_bytes())?;
    out.write_all(content)
}

/// Reads the block that `bytes` begin with; the message says what is wrong with it.
pub fn take(bytes: &[u8]) -> Result<(Kind, &[u8]), String> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX>() else {
        return Err("the file is cut short here".to_string());
    };
    let [letter, l0, l1, l2, l3, c0, c1, c2, c3] = *prefix;
    let Some((kind, _)) = LETTERS.iter().find(|(_, of)| *of == letter) else {
        return Err(format!("no kind of block begins with byte {letter:#04x}"));
    };
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    let Some(content) = rest.get(..length) else {
        return Err(format!(
            "the file is cut short in this block: it has {length} bytes and {} are left",
            rest.len()
        ));
    };
    if checksum(letter, content) != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Err("the block does not have its checksum".to_string());
    }
    Ok((*kind, content))
}
