//! The pieces: each does one kind of harm for as long as it is given.

mod affinity;
mod classes;
mod cpusets;
mod crowds;
mod groups;
mod hotplug;
mod kworkers;
mod mixed;
mod realtime;
mod reload;
mod signals;

use std::time::{Duration, Instant};

pub use realtime::{bind, starve};

use crate::chance::Chance;
use torture::scheduler::Scheduler;

/// Where a piece plays.
pub struct Stage<'a> {
    /// Its chance.
    pub chance: Chance,
    /// The machine's CPUs.
    pub cpus: usize,
    /// When to stop.
    pub end: Instant,
    /// What is under test.
    pub scheduler: &'a mut Scheduler,
}

impl Stage<'_> {
    /// Whether there is time for more.
    pub fn lasts(&self) -> bool {
        Instant::now() < self.end
    }

    /// Threads that keep all CPUs busy, `times` over.
    pub fn threads(&self, times: usize) -> usize {
        self.cpus * times
    }
}

/// What a piece does: a line of what it did, or the fault that it found itself.
pub type Perform = fn(&mut Stage) -> Result<String, String>;

/// A piece.
pub struct Piece {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Whether it is part of the short selection.
    pub short: bool,
    /// Whether it needs a scheduler that can be loaded.
    pub loads: bool,
    /// Whether virtual CPUs take turns in the guest: loading, unloading and hotplug patch the kernel's code
    /// all the time, which QEMU's parallel ones do not stand.
    pub by_turns: bool,
    /// How long its own doing keeps threads from CPUs.
    pub holds: Duration,
    /// How.
    pub perform: Perform,
}

const fn piece(name: &'static str, about: &'static str, perform: Perform) -> Piece {
    Piece {
        name,
        about,
        short: false,
        loads: false,
        by_turns: false,
        holds: Duration::ZERO,
        perform,
    }
}

impl Piece {
    const fn short(mut self) -> Piece {
        self.short = true;
        self
    }

    const fn loads(mut self) -> Piece {
        self.loads = true;
        self
    }

    const fn by_turns(mut self) -> Piece {
        self.by_turns = true;
        self
    }

    const fn holds(mut self, how_long: Duration) -> Piece {
        self.holds = how_long;
        self
    }
}

/// All pieces.
pub const PIECES: &[Piece] = &[
    piece("storm", "threads and processes start and end, some the leader first", crowds::storm)
        .short(),
    piece("pingpong", "pairs pass a ball through pipes and locks", crowds::pingpong),
    piece("sleepers", "sleepers of random lengths beside spinners", crowds::sleepers),
    piece(
        "affinity",
        "allowed CPUs of running, waiting and sleeping threads flip",
        affinity::flips,
    )
    .short(),
    piece("cpusets", "the CPUs of groups change, processes move between them", cpusets::changes),
    piece("groups", "nested groups come and go, weights change, processes move", groups::moves)
        .short(),
    piece("classes", "threads go from class to class, nice values change", classes::switches)
        .short(),
    piece("hotplug", "CPUs go offline and online", hotplug::flips)
        .by_turns()
        .holds(Duration::from_secs(8)),
    piece("signals", "processes are stopped, continued and killed", signals::storm),
    piece("kworkers", "kernel threads bound to their CPU have work among spinners", kworkers::work),
    piece("realtime", "real-time hogs take CPUs for seconds", realtime::hogs)
        .holds(realtime::LONGEST_HOLD),
    piece("reload", "the scheduler is unloaded and loaded", reload::cycles).loads().by_turns(),
    piece("killed", "the loader is killed and started again", reload::kills)
        .loads()
        .by_turns()
        .short(),
    piece("mixed", "most of the above at once", mixed::everything),
];
