//! The sources of excess (Tales table 1), and their culprits.

use model::ThreadId;
use model::event::{Cause, NameId};

/// A source of latency beyond what the load itself costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Siblings that came later were served first.
    Inversion,
    /// Other programs held the CPU.
    Background,
    /// Interrupts and softirqs held the CPU.
    Interrupt,
    /// A CPU stood idle and the concurrency architecture or the placement kept the request from it.
    IdleElsewhere,
    /// The CPU was on its way out of an idle state.
    Power,
    /// Remote memory stretched the service.
    Numa,
    /// The service's own thread worked for longer than the request takes: on something else, or on more than
    /// was asked.
    Own,
    /// Its thread waited for a lock.
    Lock,
    /// Its thread slept.
    Sleep,
    /// Its thread waited for another socket.
    Socket,
    /// Its answer waited for the client, or for the network to it.
    Client,
    /// Its thread waited for a disk.
    Disk,
    /// Its thread waited for a page.
    PageFault,
    /// Its thread was stopped or frozen.
    Stopped,
    /// The quota of its group was used up.
    Throttled,
    /// Unknown; never in a blame.
    Other,
}

impl From<Cause> for Source {
    fn from(cause: Cause) -> Source {
        match cause {
            Cause::Lock => Source::Lock,
            Cause::Sleep => Source::Sleep,
            Cause::Socket => Source::Socket,
            Cause::Client => Source::Client,
            Cause::Disk => Source::Disk,
            Cause::PageFault => Source::PageFault,
            Cause::Stopped => Source::Stopped,
            Cause::Throttled => Source::Throttled,
            Cause::Other => Source::Other,
        }
    }
}

impl Source {
    /// All that are ever blamed.
    pub const ALL: [Source; 15] = [
        Source::Inversion,
        Source::Background,
        Source::Interrupt,
        Source::IdleElsewhere,
        Source::Power,
        Source::Numa,
        Source::Own,
        Source::Lock,
        Source::Sleep,
        Source::Socket,
        Source::Client,
        Source::Disk,
        Source::PageFault,
        Source::Stopped,
        Source::Throttled,
    ];
}

/// The culprit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Culprit {
    /// Threads of a program: index into the trace's programs. Of the request's own program: later requests,
    /// or threads that serve none.
    Program(u32),
    /// An interrupt or a softirq.
    Interrupt(NameId),
    /// An idle state; `None`: a CPU that was woken and took up its thread late, without a word on the state.
    IdleState(Option<NameId>),
    /// The request belonged to a worker that was busy: connections partitioned over workers, or fewer workers
    /// than CPUs.
    Worker,
    /// The scheduler left its thread waiting elsewhere.
    Placement,
    /// The memory of another node.
    Remote,
    /// The service itself.
    Itself,
}

/// A part of a request's excess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blame {
    /// Where it comes from.
    pub source: Source,
    /// The owner.
    pub culprit: Culprit,
    /// How much.
    pub ns: u64,
}

/// The holder of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// None.
    Idle,
    /// A thread.
    Thread(ThreadId),
    /// An interrupt or softirq, above a thread if there is one.
    Interrupt(NameId, Option<ThreadId>),
    /// It is on its way out of an idle state, for a thread if it has already switched to one.
    Exit(NameId, Option<ThreadId>),
    /// It is offline.
    Away,
}

impl Holder {
    /// The thread that the CPU is switched to, whether it gets on or not.
    pub fn occupant(self) -> Option<ThreadId> {
        match self {
            Holder::Thread(thread) => Some(thread),
            Holder::Interrupt(_, occupant) | Holder::Exit(_, occupant) => occupant,
            Holder::Idle | Holder::Away => None,
        }
    }
}
