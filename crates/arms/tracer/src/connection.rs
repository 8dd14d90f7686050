//! What was seen, by connection and byte: moments of a request by the bytes that it has.

use std::collections::BTreeMap;
use std::ops::Range;

use model::Nanos;
use model::trace::Stages;

use super::recording::{Kind, Peer, Recording, Seen};
use super::threads::Threads;

/// A moment at which so many bytes had passed a place, and the thread that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ByteTimestamp {
    pub bytes: u64,
    pub at: Nanos,
    pub thread: u32,
}

/// A read, and since when its thread was there for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub passed: ByteTimestamp,
    pub free_since: Nanos,
}

/// One connection, from its first byte on; or, for UDP, one sender, whose bytes are datagrams.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    inward: Direction,
    outward: Direction,
    /// T1.
    pub(super) arrived: Vec<ByteTimestamp>,
    /// T2.
    pub(super) ready: Vec<ByteTimestamp>,
    /// T4.
    pub(super) read: Vec<Read>,
    /// How much was read.
    pub(super) read_bytes: u64,
    /// T5, each with the bytes before it.
    pub(super) sends: Vec<ByteTimestamp>,
    /// T6.
    pub(super) transmitted: Vec<ByteTimestamp>,
}

/// TCP's numbers wrap around; bytes since the first do not.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// The last number seen and the bytes until it.
    last: Option<(u32, u64)>,
}

impl Direction {
    fn begin(&mut self, number: u32) {
        self.last.get_or_insert((number, 0));
    }

    /// Bytes up to a number; `None` for what was before the first.
    fn bytes(&mut self, number: u32) -> Option<u64> {
        let (last, bytes) = self.last?;
        let bytes = bytes.checked_add_signed(i64::from(number.wrapping_sub(last).cast_signed()))?;
        self.last = Some((number, bytes));
        Some(bytes)
    }
}

/// All connections of a recording, and what threads did.
#[derive(Default)]
pub struct Connections {
    /// By peer, in order of their beginning: a port may be used again.
    pub(super) by_peer: BTreeMap<Peer, Vec<Connection>>,
    pub(super) threads: Threads,
}

impl Connections {
    /// Joins what was seen.
    pub fn new(recording: &Recording) -> Connections {
        let mut all = Connections::default();
        let mut queue = Datagrams::default();
        for seen in &recording.seen {
            all.follow(seen, &mut queue);
        }
        all
    }

    /// The connections of a peer, in order of their beginning.
    pub fn of(&self, peer: Peer) -> &[Connection] {
        self.by_peer.get(&peer).map_or(&[], Vec::as_slice)
    }

    /// Every connection.
    pub fn iter(&self) -> impl Iterator<Item = (Peer, &Connection)> {
        self.by_peer.iter().flat_map(|(peer, all)| all.iter().map(|one| (*peer, one)))
    }

    fn last(&mut self, peer: Peer) -> &mut Connection {
        let all = self.by_peer.entry(peer).or_default();
        if all.is_empty() {
            all.push(Connection::default());
        }
        all.last_mut().expect("never empty")
    }

    /// Takes up a record; they come in order of time.
    pub(super) fn follow(&mut self, seen: &Seen, queue: &mut Datagrams) {
        self.threads.follow(seen);
        match seen.kind {
            Kind::BaseIn { from, number } => {
                // A first segment that is sent again is no new connection.
                let known = self.by_peer.get(&from).and_then(|all| all.last());
                if known.is_none_or(|last| !last.arrived.is_empty() || last.inward.last.is_none()) {
                    self.by_peer.entry(from).or_default().push(Connection::default());
                }
                self.last(from).inward.begin(number);
            }
            Kind::BaseOut { to, number } => self.last(to).outward.begin(number),
            kind => self.datum(seen, kind, queue),
        }
    }

    fn datum(&mut self, seen: &Seen, kind: Kind, queue: &mut Datagrams) {
        let Seen { at, thread, .. } = *seen;
        let pass = |bytes: u64| ByteTimestamp { bytes, at, thread };
        match kind {
            Kind::Arrived { from, .. } if from.is_udp => queue.arrived(self.last(from), from, at),
            Kind::Ready { from, .. } if from.is_udp => queue.ready(self, at),
            Kind::Read { from, .. } if from.is_udp => queue.read(self, at, thread),
            Kind::Transmitted { to, .. } if to.is_udp => self.last(to).datagram_out(at, thread),
            Kind::Arrived { from, number, bytes } => {
                let own = self.last(from);
                own.inward.begin(number.wrapping_sub(bytes));
                let stamps = own.inward.bytes(number).map(pass);
                advance(&mut own.arrived, stamps);
            }
            Kind::Ready { from, number } => {
                let own = self.last(from);
                let stamps = own.inward.bytes(number).map(pass);
                advance(&mut own.ready, stamps);
            }
            Kind::Read { from, number, .. } => {
                let free_since = self.threads.free_since(thread);
                let own = self.last(from);
                let bytes = own.inward.bytes(number).filter(|bytes| *bytes > own.read_bytes);
                own.read_bytes = bytes.unwrap_or(own.read_bytes);
                own.read.extend(bytes.map(pass).map(|passed| Read { passed, free_since }));
            }
            Kind::Sends { to, number } => {
                let own = self.last(to);
                own.outward.begin(number);
                let stamps = own.outward.bytes(number).map(pass);
                own.sends.extend(stamps);
            }
            Kind::Transmitted { to, number } => {
                let own = self.last(to);
                let stamps = own.outward.bytes(number).map(pass);
                advance(&mut own.transmitted, stamps);
            }
            _ => {}
        }
    }

    /// The stages of a request that ends with byte `request_end` of what its client sent, and whose answer is
    /// these bytes of what the server sent, with the thread that read it. Unseen moments are
    /// [`Nanos::NEVER`].
    pub fn stages(&self, own: &Connection, request_end: u64, answer: Range<u64>) -> (Stages, u32) {
        let first = |stamps: &[ByteTimestamp], bytes: u64| {
            stamps.get(stamps.partition_point(|one| one.bytes < bytes)).copied()
        };
        let at = |stamps: Option<ByteTimestamp>| stamps.map_or(Nanos::NEVER, |one| one.at);
        let read = own.read.partition_point(|one| one.passed.bytes < request_end);
        let free_since = own.read.get(read).map_or(Nanos::ZERO, |read| read.free_since);
        let read = own.read.get(read).map(|read| read.passed);
        let begun = own.sends.partition_point(|one| one.bytes <= answer.start);
        // A read may end before the socket says that it has data: what comes while a thread is in the kernel
        // is handed on there.
        let ready = at(first(&own.ready, request_end)).min(at(read));
        let thread = read.map_or(0, |read| read.thread);
        let stages = Stages {
            arrived: at(first(&own.arrived, request_end)),
            ready,
            // It got its CPU, or was done with another request. One that was there already is there at once.
            running: if read.is_none() { Nanos::NEVER } else { ready.max(free_since) },
            read: at(read),
            sends: at(begun.checked_sub(1).map(|last| own.sends[last])),
            transmitted: at(first(&own.transmitted, answer.end)),
        };
        (stages, thread)
    }
}

/// Bytes pass in order; what was there before, or is sent again, is no news.
fn advance(stamps: &mut Vec<ByteTimestamp>, now: Option<ByteTimestamp>) {
    let last = stamps.last().map_or(0, |last| last.bytes);
    stamps.extend(now.filter(|now| now.bytes > last));
}

impl Connection {
    /// A datagram for its peer. Its write began just before it went out: no hook is nearer.
    fn datagram_out(&mut self, at: Nanos, thread: u32) {
        let bytes = self.transmitted.len() as u64;
        self.sends.push(ByteTimestamp { bytes, at, thread });
        self.transmitted.push(ByteTimestamp { bytes: bytes + 1, at, thread });
    }
}

/// Datagrams on their way to their socket: first come, first read. Two that come at once on two CPUs may be
/// taken for each other; not by CPU, because one CPU may hand over what another one received.
#[derive(Default)]
pub(super) struct Datagrams {
    arrived: std::collections::VecDeque<Peer>,
    ready: std::collections::VecDeque<Peer>,
}

impl Datagrams {
    fn arrived(&mut self, own: &mut Connection, from: Peer, at: Nanos) {
        let bytes = own.arrived.len() as u64 + 1;
        own.arrived.push(ByteTimestamp { bytes, at, thread: 0 });
        self.arrived.push_back(from);
    }

    fn ready(&mut self, all: &mut Connections, at: Nanos) {
        let Some(from) = self.arrived.pop_front() else { return };
        let own = all.last(from);
        let bytes = own.ready.len() as u64 + 1;
        own.ready.push(ByteTimestamp { bytes, at, thread: 0 });
        self.ready.push_back(from);
    }

    fn read(&mut self, all: &mut Connections, at: Nanos, thread: u32) {
        let Some(from) = self.ready.pop_front() else { return };
        let free_since = all.threads.free_since(thread);
        let own = all.last(from);
        let bytes = own.read.len() as u64 + 1;
        let passed = ByteTimestamp { bytes, at, thread };
        own.read.push(Read { passed, free_since });
    }
}

#[cfg(test)]
mod tests {
    use super::super::recording::Left;
    use super::*;

    const PEER: Peer = Peer { address: 1, port: 2, is_udp: false, service: 0 };

    fn seen(at: u64, thread: u32, kind: Kind) -> Seen {
        Seen { at: Nanos(at), cpu: 0, thread, kind }
    }

    fn joined(seen: Vec<Seen>) -> Connections {
        Connections::new(&Recording { seen, ..Recording::default() })
    }

    /// Two requests of 10 bytes in one segment, read in three pieces, answered by one segment; numbers wrap
    /// around.
    #[test]
    fn coalesced_split_and_pipelined_requests_are_told_apart_by_their_bytes() {
        let (begin, out) = (u32::MAX - 4, 100);
        let number = |bytes: u32| begin.wrapping_add(bytes);
        let (from, to) = (PEER, PEER);
        let all = joined(vec![
            seen(1, 0, Kind::BaseIn { from, number: begin }),
            seen(2, 0, Kind::BaseOut { to, number: out }),
            seen(10, 0, Kind::Arrived { from, number: number(20), bytes: 20 }),
            seen(12, 0, Kind::Ready { from, number: number(20) }),
            seen(15, 7, Kind::Switch { from: 0, left: Left::Preempted }),
            seen(20, 7, Kind::Read { from, number: number(4), bytes: 4 }),
            seen(21, 7, Kind::Read { from, number: number(10), bytes: 6 }),
            seen(25, 7, Kind::Sends { to, number: out }),
            seen(26, 7, Kind::Read { from, number: number(20), bytes: 10 }),
            seen(28, 7, Kind::Sends { to, number: out + 5 }),
            seen(30, 7, Kind::Transmitted { to, number: out + 10 }),
        ]);
        let own = &all.of(PEER)[0];
        let told = |end, answer| {
            let (s, thread) = all.stages(own, end, answer);
            assert_eq!(thread, 7);
            [s.arrived, s.ready, s.running, s.read, s.sends, s.transmitted].map(|at| at.0)
        };
        assert_eq!(told(10, 0..5), [10, 12, 15, 21, 25, 30]);
        // The thread was busy with the first until it read the second.
        assert_eq!(told(20, 5..10), [10, 12, 25, 26, 28, 30]);
        let (never, thread) = all.stages(own, 30, 10..15);
        assert_eq!((never.arrived, thread), (Nanos::NEVER, 0), "what never came has no moments");
    }

    #[test]
    fn a_port_that_is_used_again_is_another_connection() {
        let (from, to) = (PEER, PEER);
        let all = joined(vec![
            seen(1, 0, Kind::BaseIn { from, number: 5 }),
            seen(2, 0, Kind::Arrived { from, number: 9, bytes: 4 }),
            seen(3, 0, Kind::BaseIn { from, number: 70_000 }),
            seen(4, 0, Kind::BaseIn { from, number: 70_000 }),
            seen(5, 0, Kind::BaseOut { to, number: 1 }),
            seen(6, 0, Kind::Arrived { from, number: 70_008, bytes: 8 }),
        ]);
        let ends: Vec<u64> = all.of(PEER).iter().map(|one| one.arrived[0].bytes).collect();
        assert_eq!(ends, [4, 8]);
    }

    #[test]
    fn datagrams_are_read_in_the_order_in_which_they_came() {
        let peer = |port| Peer { address: 1, port, is_udp: true, service: 0 };
        let socket = Peer { address: 0, port: 0, is_udp: true, service: 0 };
        let arrives = |at, port| {
            [
                seen(at, 0, Kind::Arrived { from: peer(port), number: 8, bytes: 8 }),
                seen(at + 1, 0, Kind::Ready { from: socket, number: 0 }),
            ]
        };
        let read = |at, thread| seen(at, thread, Kind::Read { from: socket, number: 0, bytes: 8 });
        let out = |at, port| seen(at, 9, Kind::Transmitted { to: peer(port), number: 8 });
        let mut all: Vec<Seen> = [arrives(10, 1), arrives(20, 2)].concat();
        all.extend([read(30, 9), out(35, 1), read(40, 9), out(45, 2)]);
        let all = joined(all);
        let (second, _) = all.stages(&all.of(peer(2))[0], 1, 0..1);
        let moments = [second.arrived, second.ready, second.read, second.transmitted];
        assert_eq!(moments.map(|at| at.0), [20, 21, 40, 45]);
    }
}
