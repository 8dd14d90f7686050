//! The process that gives a real-time service back to the default class when it starves the machine.
//!
//! On every CPU a thread of the default class counts. One whose count stands still is starved: a real-time
//! thread above all others sees that, because it runs nevertheless.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use model::Failure;

use crate::class::Class;
use crate::machine::Machine;
use crate::platform::{Live, Platform};
use crate::proc;
use crate::transaction::take_back;

/// The argument that makes an executable the watchdog.
pub const ROLE: &str = "__host_watchdog";
/// How often a thread counts.
const BEAT: Duration = Duration::from_millis(100);
/// How often the counts are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Looks in a row without a count, after which a CPU starves: 3 s. The kernel's own guards give 50 ms in each
/// second.
const LOOKS: u32 = 6;

struct Canary {
    cpu: usize,
    beats: Arc<AtomicU64>,
    seen: u64,
    still: u32,
}

impl Canary {
    fn start(cpu: usize) -> Canary {
        let beats = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&beats);
        thread::spawn(move || {
            let mut set = nix::sched::CpuSet::new();
            // A CPU that went away, or into a cell, cannot be starved here.
            let bound = set
                .set(cpu)
                .and_then(|()| nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set));
            while bound.is_ok() {
                own.fetch_add(1, Ordering::Relaxed);
                thread::sleep(BEAT);
            }
        });
        Canary { cpu, beats, seen: 0, still: 0 }
    }

    /// Whether it has stood still for too long. One that never ran is not bound, and is not counted.
    fn starves(&mut self) -> bool {
        let beats = self.beats.load(Ordering::Relaxed);
        self.still = if beats == self.seen && beats > 0 { self.still + 1 } else { 0 };
        self.seen = beats;
        self.still >= LOOKS
    }
}

/// Watches until it is ended, or a CPU starves; then it undoes the session.
pub fn play(args: &[String]) -> Result<(), Failure> {
    let usage = || Failure::Input(format!("{ROLE} is for rearguard itself"));
    let [state, session] = args else { return Err(usage()) };
    let session: u64 = session.parse().map_err(|_| usage())?;
    let live = Live::new(&format!("{state}/said"));
    let own = std::process::id() as i32;
    let cpus = proc::affinity(&live, own).unwrap_or_default();
    let mut canaries: Vec<Canary> = cpus.iter().map(Canary::start).collect();
    // They have to count before one can be missed.
    while canaries.iter().any(|canary| canary.beats.load(Ordering::Relaxed) == 0) {
        thread::sleep(BEAT);
    }
    live.set_class(own, Class::HIGHEST)
        .map_err(|error| Failure::Machine(format!("SCHED_FIFO: {error}")))?;
    println!("watching");
    loop {
        thread::sleep(LOOK);
        let starved = canaries.iter_mut().filter_map(|c| c.starves().then_some(c.cpu)).next();
        if let Some(cpu) = starved {
            return give_back(Machine::new(Box::new(live), state, false), session, cpu);
        }
    }
}

fn give_back(machine: Machine, session: u64, cpu: usize) -> Result<(), Failure> {
    let words = format!(
        "rearguard: CPU {cpu} was starved by a real-time service for 3 s: its changes are undone"
    );
    if let Ok(mut log) = std::fs::OpenOptions::new().write(true).open("/dev/kmsg") {
        // The undo does not depend on the log.
        let _ = log.write_all(words.as_bytes());
    }
    // The holder of the lock may be the very command that raised the service, starved before it could give it
    // back: it gets to run.
    let holder = machine.holder();
    let lift = |class| holder.map_or(Ok(()), |process| machine.on().set_class(process, class));
    // Both fail when that one has ended.
    let _ = lift(Class::HIGHEST);
    let _lock = machine.lock()?;
    let _ = lift(Class::USUAL);
    let journal = machine.journal();
    let Some(session) = journal.session(session)? else { return Ok(()) };
    // The watchdog itself was the session's first change, so its undo ends this process last.
    take_back(&machine, &journal, session, false).map(|_| ())
}
