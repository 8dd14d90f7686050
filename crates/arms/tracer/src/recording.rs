//! What the hooks saw, record by record.

use model::{Failure, Nanos};

use super::process_cache::ProcessCache;

/// What a hook saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When, by CLOCK_MONOTONIC.
    pub at: Nanos,
    /// The CPU that it happened on.
    pub cpu: u16,
    /// The thread that did it, by the kernel's id; 0 where an interrupt did.
    pub thread: u32,
    /// What.
    pub kind: Kind,
}

/// The client's end of a connection, or the sender of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Peer {
    /// An IPv4 address as it stands in memory; of an IPv6 address the words together.
    pub address: u32,
    /// The port.
    pub port: u16,
    /// Whether it speaks UDP.
    pub is_udp: bool,
}

impl Peer {
    /// The peer with a socket's address.
    pub fn of(address: std::net::SocketAddr, is_udp: bool) -> Peer {
        let word = |bytes: [u8; 4]| u32::from_ne_bytes(bytes);
        let folded = match address.ip().to_canonical() {
            std::net::IpAddr::V4(four) => word(four.octets()),
            std::net::IpAddr::V6(six) => {
                let halves = six.segments().map(u16::to_be_bytes);
                let words = halves.chunks_exact(2).map(|two| [two[0], two[1]].concat());
                words.fold(0, |all, w| all ^ word([w[0], w[1], w[2], w[3]]))
            }
        };
        Peer { address: folded, port: address.port(), is_udp }
    }
}

/// What happened. Numbers are those of TCP: of the first byte after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// T1: a segment or datagram for the server is there.
    Arrived { from: Peer, number: u32, bytes: u32 },
    /// T2: the socket has data.
    Ready { from: Peer, number: u32 },
    /// T4: a read has returned.
    Read { from: Peer, number: u32, bytes: u32 },
    /// T5: a write has begun; its first byte's number.
    Sends { to: Peer, number: u32 },
    /// T6: a segment or datagram goes out.
    Transmitted { to: Peer, number: u32 },
    /// A connection begins: the number of the first byte that its client will send.
    BaseIn { from: Peer, number: u32 },
    /// The same of its server.
    BaseOut { to: Peer, number: u32 },
    /// The CPU goes from one thread to `thread`.
    Switch { from: u32, blocks: bool },
    /// `thread` is put into a CPU's queue.
    Wake { target: u32 },
    /// An interrupt begins.
    Begin { vector: u32, level: Level },
    /// It ends.
    End { vector: u32, level: Level },
}

/// What kind of interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A device's.
    Hard,
    /// A softirq.
    Soft,
    /// The CPU's own timer.
    Timer,
}

/// The length of a record.
const LENGTH: usize = 32;

impl Seen {
    /// Reads records, one after the other.
    pub(super) fn decode_all(bytes: &[u8]) -> impl Iterator<Item = Seen> {
        bytes.chunks_exact(LENGTH).filter_map(Seen::decode)
    }

    /// Reads what a CPU has not handed over yet: whether it is at it, how many records, and room for them.
    pub(super) fn decode_kept(bytes: &[u8]) -> impl Iterator<Item = Seen> {
        let (head, records) = bytes.split_at(bytes.len().min(8));
        let count = head.get(4..).and_then(|count| count.try_into().ok());
        let count = count.map_or(0, u32::from_ne_bytes);
        Seen::decode_all(records).take(count as usize)
    }

    /// Reads a record; `None` for what is none.
    fn decode(bytes: &[u8]) -> Option<Seen> {
        let bytes: &[u8; LENGTH] = bytes.get(..LENGTH)?.try_into().ok()?;
        let short = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let at = u64::from(long(0)) | u64::from(long(4)) << 32;
        let is_udp = short(22) == 17;
        let peer = Peer { address: long(16), port: short(20), is_udp };
        let (number, detail) = (long(24), long(28));
        let level = match detail {
            0 => Level::Hard,
            1 => Level::Soft,
            _ => Level::Timer,
        };
        let kind = match short(8) {
            1 => Kind::Arrived { from: peer, number, bytes: detail },
            2 => Kind::Ready { from: peer, number },
            3 => Kind::Read { from: peer, number, bytes: detail },
            4 => Kind::Sends { to: peer, number },
            5 => Kind::Transmitted { to: peer, number },
            6 => Kind::BaseIn { from: peer, number },
            7 => Kind::BaseOut { to: peer, number },
            8 => Kind::Switch { from: peer.address, blocks: number != 0 },
            9 => Kind::Wake { target: number },
            10 => Kind::Begin { vector: number, level },
            11 => Kind::End { vector: number, level },
            _ => return None,
        };
        Some(Seen { at: Nanos(at), cpu: short(10), thread: long(12), kind })
    }
}

/// Everything that was seen.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// What, in order of time.
    pub(super) seen: Vec<Seen>,
    /// Records that found no room.
    pub lost: u64,
    /// Calls of hooks that the kernel skipped because it was in one already.
    pub missed: u64,
    /// Seen threads.
    pub(super) processes: ProcessCache,
}

impl Recording {
    /// Says whether nothing is missing; [`Failure::Run`] otherwise, as what is missing may be what matters.
    pub fn check_whole(&self) -> Result<(), Failure> {
        if self.lost > 0 {
            return Err(Failure::Run(format!(
                "{} records found no room: record a shorter time, or a quieter machine",
                self.lost
            )));
        }
        if self.missed > 0 {
            return Err(Failure::Run(format!(
                "the kernel skipped {} calls of hooks, and what is missing may be what matters: record again, for a shorter time or under less load",
                self.missed
            )));
        }
        Ok(())
    }
}
