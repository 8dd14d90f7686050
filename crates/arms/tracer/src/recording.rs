//! What the hooks saw, record by record.

use std::collections::BTreeMap;

use model::event::Cause;
use model::{Failure, Nanos};

use super::descent::MOST_HOPS;
use super::lives::{number_of, starters, tell_apart};
use super::process_cache::{ProcessCache, ProcessInfo};

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
    /// The service that it speaks to, by its place among those that are followed.
    pub service: u8,
}

impl Peer {
    /// The peer with a socket's address, of the first service.
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
        Peer { address: folded, port: address.port(), is_udp, service: 0 }
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
    Switch { from: u32, left: Left },
    /// `thread` is put into a CPU's queue, with the group whose quota is used up, if one's is. A new one is
    /// put there for the first time.
    Wake { target: u32, throttled_by: Option<u32>, started_by: Option<Starter> },
    /// A group has a quota again, but for the CPUs of these bits: a CPU's is that of its number modulo 64.
    Renewed { group: u32, held: u64 },
    /// Before a wake-up that its CPU tells another one asked for it.
    Waking { by: u16 },
    /// An interrupt begins.
    Begin { vector: u32, level: Level },
    /// It ends.
    End { vector: u32, level: Level },
    /// `thread` becomes a program of this name (exec).
    Named { name: [u8; 16] },
}

impl Kind {
    /// The connection that it is about, if it is about one.
    pub(super) fn peer(self) -> Option<Peer> {
        match self {
            Kind::Arrived { from: peer, .. }
            | Kind::Ready { from: peer, .. }
            | Kind::Read { from: peer, .. }
            | Kind::BaseIn { from: peer, .. }
            | Kind::Sends { to: peer, .. }
            | Kind::Transmitted { to: peer, .. }
            | Kind::BaseOut { to: peer, .. } => Some(peer),
            _ => None,
        }
    }
}

/// What started a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The thread.
    pub thread: u32,
    /// Whether the new one is of its process.
    pub is_same_process: bool,
}

/// How a thread left its CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Left {
    /// Another one goes first.
    #[default]
    Preempted,
    /// It sleeps.
    Blocked(Cause),
    /// The quota of this group is used up.
    Throttled(u32),
}

impl Left {
    /// Out of the bits that the hook writes, the number of the system call and the throttling group.
    fn of(kept: u32, call: i32, group: u32) -> Left {
        let has = |bit: u32| kept & bit != 0;
        match kept & STATE {
            0 if has(IS_THROTTLED) => Left::Throttled(group),
            0 => Left::Preempted,
            state if state & (STOPPED | TRACED | FROZEN) != 0 => Left::Blocked(Cause::Stopped),
            state if has(IS_FROZEN) && state & INTERRUPTIBLE != 0 => Left::Blocked(Cause::Stopped),
            _ if has(IN_IOWAIT) && call < 0 => Left::Blocked(Cause::PageFault),
            _ if has(IN_IOWAIT) => Left::Blocked(Cause::Disk),
            _ => Left::Blocked(waits_in(call)),
        }
    }
}

// Bits of a thread's state (include/linux/sched.h) and, above them, those of the hook.
const STATE: u32 = 0xffff;
const INTERRUPTIBLE: u32 = 0x1;
const STOPPED: u32 = 0x4;
const TRACED: u32 = 0x8;
const FROZEN: u32 = 0x8000;
const IN_IOWAIT: u32 = 1 << 16;
const IS_THROTTLED: u32 = 1 << 17;
// A frozen group's thread sleeps interruptibly (do_freezer_trap in kernel/signal.c). One that waits for the
// child of its vfork counts as frozen, too, and sleeps killably (wait_for_vfork_done in kernel/fork.c).
const IS_FROZEN: u32 = 1 << 18;
// The same of a thread that is woken.
const IS_NEW: u32 = 2;
const IS_THREAD: u32 = 4;
const GROUP_SHIFT: u32 = 8;

/// What a thread waits for in a system call, by its number on x86-64. A page fault that waits for no disk
/// waits for memory or for its lock: no number tells which.
fn waits_in(call: i32) -> Cause {
    match call {
        // futex, futex_waitv, futex_wait, futex_requeue, flock, semop, semtimedop
        202 | 449 | 455 | 456 | 73 | 65 | 220 => Cause::Lock,
        // nanosleep, clock_nanosleep
        35 | 230 => Cause::Sleep,
        // msync, fsync, fdatasync, sync, sync_file_range, syncfs
        26 | 74 | 75 | 162 | 277 | 306 => Cause::Disk,
        // read, poll, select, connect, accept, sendto, recvfrom, sendmsg, recvmsg, epoll_wait, pselect,
        // ppoll, epoll_pwait, accept4, recvmmsg, epoll_pwait2
        0 | 7 | 23 | 42..=47 | 232 | 270 | 271 | 281 | 288 | 299 | 441 => Cause::Socket,
        // wait4, waitid: for a child
        61 | 247 => Cause::Socket,
        _ => Cause::Other,
    }
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
        let both = |bytes| {
            let seen = Seen::decode(bytes);
            [seen.and_then(|seen| seen.asked(bytes)), seen]
        };
        bytes.chunks_exact(LENGTH).flat_map(both).flatten()
    }

    /// Reads what a CPU has not handed over yet: whether it is at it, how many records, and room for them.
    pub(super) fn decode_kept(bytes: &[u8]) -> impl Iterator<Item = Seen> {
        let (head, records) = bytes.split_at(bytes.len().min(8));
        let count = head.get(4..).and_then(|count| count.try_into().ok());
        let count = count.map_or(0, u32::from_ne_bytes) as usize;
        Seen::decode_all(&records[..records.len().min(count.saturating_mul(LENGTH))])
    }

    /// That another CPU asked for a wake-up before, from its record; `None`: its own CPU did, or it is no
    /// wake-up.
    fn asked(self, bytes: &[u8]) -> Option<Seen> {
        if !matches!(self.kind, Kind::Wake { .. }) {
            return None;
        }
        let age = u32::from_ne_bytes(bytes.get(16..20)?.try_into().ok()?);
        let by = u16::from_ne_bytes(bytes.get(20..22)?.try_into().ok()?).checked_sub(1)?;
        let at = self.at.saturating_sub(Nanos(age.into()));
        Some(Seen { at, kind: Kind::Waking { by }, ..self })
    }

    /// Reads a record; `None` for what is none.
    fn decode(bytes: &[u8]) -> Option<Seen> {
        let bytes: &[u8; LENGTH] = bytes.get(..LENGTH)?.try_into().ok()?;
        let short = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let long = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let at = u64::from(long(0)) | u64::from(long(4)) << 32;
        let [protocol, service] = [bytes[22], bytes[23]];
        let is_udp = protocol == 17;
        let peer = Peer { address: long(16), port: short(20), is_udp, service };
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
            8 => Kind::Switch {
                from: peer.address,
                left: Left::of(number, detail.cast_signed(), long(20)),
            },
            9 => Kind::Wake {
                target: number,
                throttled_by: (detail & 1 != 0).then_some(detail >> GROUP_SHIFT),
                started_by: (detail & IS_NEW != 0).then_some(Starter {
                    thread: peer.address,
                    is_same_process: detail & IS_THREAD != 0,
                }),
            },
            10 => Kind::Begin { vector: number, level },
            11 => Kind::End { vector: number, level },
            12 => Kind::Named { name: bytes[16..].try_into().ok()? },
            13 => {
                let held = u64::from(peer.address) | u64::from(long(20)) << 32;
                Kind::Renewed { group: number, held }
            }
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
    /// Seen threads, while they are captured.
    pub(super) processes: ProcessCache,
    /// What is known of them afterwards. A number that several threads had stands for one here.
    pub(super) known: BTreeMap<u32, ProcessInfo>,
    /// By thread that was started meanwhile: what started it.
    pub(super) starters: BTreeMap<u32, Starter>,
}

impl Recording {
    /// Puts records in order, and tells apart threads that had one number after the other.
    pub(super) fn finish(&mut self) {
        self.seen.sort_by_key(|one| one.at);
        self.known = tell_apart(&mut self.seen, &self.processes.lives);
        self.starters = starters(&self.processes.lives);
        let found = |thread: &u32| Some((*thread, self.of_starter(*thread, MOST_HOPS)?));
        let unknown = self.starters.keys().filter(|thread| !self.known.contains_key(thread));
        let ended: Vec<_> = unknown.filter_map(found).collect();
        self.known.extend(ended);
    }

    /// What is known of a thread that ended before it was looked up: its process is its starter's, or a fork
    /// of that. What becomes another program is known by the program's name, and what the kernel starts for
    /// itself has a name of its own.
    fn of_starter(&self, thread: u32, hops: usize) -> Option<ProcessInfo> {
        let Starter { thread: by, is_same_process } = *self.starters.get(&thread)?;
        let known = self.known.get(&by).cloned();
        let above = || hops.checked_sub(1).and_then(|hops| self.of_starter(by, hops));
        let info = known.or_else(above)?;
        match (is_same_process, info.is_kernels()) {
            (true, _) => Some(info),
            (false, true) => None,
            (false, false) => Some(info.forked(number_of(thread))),
        }
    }

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

    /// The first record's moment; `None`: of none.
    pub fn begin(&self) -> Option<Nanos> {
        self.seen.first().map(|first| first.at)
    }

    /// Takes up records that another one has, as long as there are no more than `most`; tells how many found
    /// no room.
    pub fn append(&mut self, mut later: Recording, most: usize) -> u64 {
        self.seen.reserve_exact(later.seen.len().min(most));
        let room = most.saturating_sub(self.seen.len());
        let excess = later.seen.len().saturating_sub(room);
        later.seen.truncate(room);
        self.seen.append(&mut later.seen);
        excess as u64
    }

    /// Leaves out the requests of all services but one.
    pub fn of_service(&mut self, service: u8) {
        self.seen.retain(|one| one.kind.peer().is_none_or(|peer| peer.service == service));
    }

    /// Takes away what was seen before a moment, in order of time.
    pub fn split_before(&mut self, moment: Nanos) -> Recording {
        self.seen.sort_by_key(|one| one.at);
        let rest = self.seen.split_off(self.seen.partition_point(|one| one.at < moment));
        Recording { seen: std::mem::replace(&mut self.seen, rest), ..Recording::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wake-up at 100 ns of thread 7 for CPU 1, which CPU `asked_by` less one asked for `age` ns before.
    fn wake(asked_by: u16, age: u32) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        let mut put = |at: usize, own: &[u8]| bytes[at..at + own.len()].copy_from_slice(own);
        put(0, &100_u64.to_ne_bytes());
        put(8, &9_u16.to_ne_bytes());
        put(10, &1_u16.to_ne_bytes());
        put(12, &7_u32.to_ne_bytes());
        put(16, &age.to_ne_bytes());
        put(20, &asked_by.to_ne_bytes());
        put(24, &1_u32.to_ne_bytes());
        bytes
    }

    #[test]
    fn a_wake_up_tells_which_other_cpu_asked_for_it_and_when() {
        let seen = |at, kind| Seen { at: Nanos(at), cpu: 1, thread: 7, kind };
        let woken = seen(100, Kind::Wake { target: 1, throttled_by: None, started_by: None });
        let of = |bytes: [u8; LENGTH]| Seen::decode_all(&bytes).collect::<Vec<_>>();
        assert_eq!(of(wake(4, 30)), [seen(70, Kind::Waking { by: 3 }), woken]);
        assert_eq!(of(wake(0, 0)), [woken], "the control: its own did");
        // One record is kept; what stands behind it is an older one.
        let head = [0_u32.to_ne_bytes(), 1_u32.to_ne_bytes()].concat();
        let kept = [head, wake(4, 30).to_vec(), wake(0, 0).to_vec()].concat();
        assert_eq!(Seen::decode_kept(&kept).count(), 2);
    }

    /// Servers that start a thread or a process for each connection have many such.
    #[test]
    fn what_ended_before_it_was_looked_up_is_its_starters() {
        const FIRST: u32 = 4_000_000; // no thread has this number, nor the next
        const SECOND: u32 = FIRST + 1;
        let own = std::process::id();
        let known = |first_by, is_same_process| {
            let mut recording = Recording::default();
            let mut note = |thread, kind| {
                let seen = Seen { at: crate::now().expect("a clock"), cpu: 0, thread, kind };
                recording.processes.note(&seen);
            };
            note(first_by, Kind::Switch { from: 0, left: Left::Preempted });
            for (thread, starter) in [(FIRST, first_by), (SECOND, FIRST)] {
                let by = Starter { thread: starter, is_same_process };
                let started_by = Some(by);
                note(thread, Kind::Wake { target: 0, throttled_by: None, started_by });
            }
            recording.finish();
            let name = |info: &ProcessInfo| ProcessInfo::process(Some(info), 0).name;
            [FIRST, SECOND].map(|thread| recording.known.get(&thread).map(name))
        };
        let comm = |of: &str| std::fs::read_to_string(format!("/proc/{of}/comm"));
        let name = comm("self").expect("it is there");
        let [of_own, first, second] =
            [own, FIRST, SECOND].map(|process| Some(format!("{}[{process}]", name.trim())));
        assert_eq!(known(own, true), [of_own.clone(), of_own]);
        assert_eq!(known(own, false), [first, second], "forks");
        assert_eq!(known(SECOND + 1, true), [None, None], "the control: its starter is unknown");
        if comm("2").is_ok_and(|name| name == "kthreadd\n") {
            assert_eq!(known(2, false), [None, None], "the kernel's own have other names");
        }
    }

    #[test]
    fn what_keeps_a_thread_is_told_by_its_state_and_its_system_call() {
        assert_eq!(Left::of(0, 0, 0), Left::Preempted);
        assert_eq!(Left::of(IS_THROTTLED, 0, 5), Left::Throttled(5));
        let blocked = |kept, call| match Left::of(kept, call, 0) {
            Left::Blocked(cause) => cause,
            other => panic!("{other:?}"),
        };
        assert_eq!(blocked(1, 202), Cause::Lock);
        assert_eq!(blocked(1, 230), Cause::Sleep);
        assert_eq!(blocked(1, 73), Cause::Lock, "flock");
        assert_eq!(blocked(1, 232), Cause::Socket);
        assert_eq!(blocked(1, 61), Cause::Socket, "a child");
        assert_eq!(blocked(1, 34), Cause::Other, "the control: pause");
        assert_eq!(blocked(2 | IN_IOWAIT, 17), Cause::Disk);
        assert_eq!(blocked(2 | IN_IOWAIT, -1), Cause::PageFault);
        assert_eq!(blocked(2, -1), Cause::Other);
        assert_eq!(blocked(STOPPED, 232), Cause::Stopped);
        assert_eq!(blocked(1 | IS_FROZEN, 232), Cause::Stopped);
        let killable_freezable = 0x2102;
        assert_eq!(blocked(killable_freezable | IS_FROZEN, 58), Cause::Other, "vfork");
        assert_eq!(blocked(2, 9), Cause::Other);
    }
}
