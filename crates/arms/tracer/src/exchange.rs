//! Requests where no client tells their bytes: what is read until the server writes.

use std::ops::Range;

use super::connection::Connection;

/// A request and its answer, as bytes of their connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The byte after the request's last.
    pub request_end: u64,
    /// The answer's bytes.
    pub answer: Range<u64>,
}

impl Connection {
    /// What was read and written in turns. Requests that are read together, and answers that are written
    /// before the whole request was read, count as one.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let reads = self.read.iter().map(|read| (read.passed.at, read.passed.bytes, true));
        let sends = self.sends.iter().map(|send| (send.at, send.bytes, false));
        let mut turns: Vec<_> = reads.chain(sends).collect();
        turns.sort_by_key(|(at, _, _)| *at);
        let mut exchanges: Vec<Exchange> = Vec::new();
        let mut pending = None;
        for (_, bytes, reads) in turns {
            match (reads, pending.take()) {
                (true, _) => pending = Some(bytes),
                (false, Some(request_end)) => {
                    exchanges
                        .iter_mut()
                        .next_back()
                        .into_iter()
                        .for_each(|last| last.answer.end = bytes);
                    exchanges.push(Exchange { request_end, answer: bytes..bytes });
                }
                (false, None) => {}
            }
        }
        let sent = self.transmitted.last().map_or(0, |last| last.bytes);
        exchanges.iter_mut().next_back().into_iter().for_each(|last| last.answer.end = sent);
        exchanges.retain(|one| !one.answer.is_empty());
        exchanges
    }
}
