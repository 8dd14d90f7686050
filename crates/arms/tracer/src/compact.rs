//! What a connection still has to know: stamps that no exchange will ask for are let go.

use super::connection::{ByteTimestamp, Connection, Read};

impl Connection {
    /// Of reads without a write between them the last one counts, of writes without a read between them the
    /// first one. Of the other stamps those count that these ask for.
    pub(super) fn compact(&mut self) {
        let (reads, sends) = (self.read.as_slice(), self.sends.as_slice());
        let place = |read: &Read| sends.partition_point(|send| send.at < read.passed.at);
        let places: Vec<usize> = reads.iter().map(place).collect();
        let turn = |send: &ByteTimestamp| reads.partition_point(|read| read.passed.at <= send.at);
        let turns: Vec<usize> = sends.iter().map(turn).collect();
        let next = places.iter().skip(1).copied().map(Some).chain([None]);
        keep(&mut self.read, places.iter().zip(next).map(|(own, next)| Some(*own) != next));
        let before = std::iter::once(0).chain(turns.iter().copied());
        keep(&mut self.sends, turns.iter().zip(before).map(|(own, before)| *own != before));
        if let Some(first) = self.read.first().map(|read| read.passed.bytes) {
            drop_until(&mut self.arrived, first - 1);
            drop_until(&mut self.ready, first - 1);
        }
        drop_until(
            &mut self.transmitted,
            self.sends.get(1).map_or(u64::MAX, |next| next.bytes - 1),
        );
    }

    /// Forgets an exchange that is over. The last of what is counted stays: what is sent again is no news.
    pub(super) fn forget(&mut self, request_end: u64, answer_end: u64) {
        drop_until(&mut self.arrived, request_end);
        drop_until(&mut self.ready, request_end);
        drop_until(&mut self.transmitted, answer_end);
        self.read.retain(|one| one.passed.bytes > request_end);
        self.sends.retain(|one| one.bytes >= answer_end);
    }

    /// Whether something was read, or came to be read, and was not answered.
    pub(super) fn is_pending(&self) -> bool {
        let answered = self.sends.last().map(|last| last.at);
        let read = self.read.last();
        let is_read = read.is_some_and(|read| answered.is_none_or(|at| at < read.passed.at));
        is_read || self.is_unread()
    }

    fn is_unread(&self) -> bool {
        self.arrived.last().is_some_and(|last| last.bytes > self.read_bytes)
    }

    /// Whether an exchange is under way.
    pub(super) fn is_busy(&self) -> bool {
        self.is_unread() || !self.read.is_empty() || !self.sends.is_empty()
    }

    /// How many stamps are held.
    pub(super) fn stamps(&self) -> usize {
        let read = self.read.len() + self.sends.len();
        read + self.arrived.len() + self.ready.len() + self.transmitted.len()
    }

    /// The bytes that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        let stamps = [&self.arrived, &self.ready, &self.sends, &self.transmitted];
        let stamps: usize = stamps.iter().map(|all| all.capacity()).sum();
        let read = self.read.capacity() * size_of::<Read>();
        size_of::<Connection>() + stamps * size_of::<ByteTimestamp>() + read
    }
}

fn keep<T>(all: &mut Vec<T>, mut wanted: impl Iterator<Item = bool>) {
    all.retain(|_| wanted.next().unwrap_or(true));
}

/// Drops what was passed until so many bytes, but for the last one.
fn drop_until(stamps: &mut Vec<ByteTimestamp>, bytes: u64) {
    let over = stamps.partition_point(|one| one.bytes <= bytes);
    stamps.drain(..over.min(stamps.len().saturating_sub(1)));
}
