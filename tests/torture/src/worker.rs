//! Processes that want CPUs, each in its own manner, until their stdin ends. They then say how often their
//! least lucky thread went round.

use std::fs;
use std::hint::{black_box, spin_loop};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::mem::replace;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::thread::JoinHandleExt;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use thread_priority::NormalThreadSchedulePolicy::{Batch, Idle, Other};
use thread_priority::RealtimeThreadSchedulePolicy::{Fifo, RoundRobin};
use thread_priority::ThreadSchedulePolicy::{Normal, Realtime};
use thread_priority::{
    Error, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy,
};

use crate::chance::Chance;
use torture::rank;

/// The argument that makes this executable a worker: `KIND THREADS SEED` follow.
pub const ROLE: &str = "__work";
/// A process that ends at once.
pub const NOTHING: &str = "__nothing";

/// Classes to go through.
const CLASSES: [ThreadSchedulePolicy; 5] =
    [Normal(Other), Normal(Batch), Normal(Idle), Realtime(Fifo), Realtime(RoundRobin)];

/// ESRCH.
const GONE: i32 = 3;

const LEADER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/leader"));
const LEADER_PATH: &str = "/tmp/leader";

/// What a worker's threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Never sleep.
    Spin,
    /// Sleep and burn for random times.
    Nap,
    /// Play ping-pong through pipes, in pairs.
    Pipes,
    /// Play ping-pong through a lock and a condition, in pairs.
    Locks,
    /// Start threads and processes that end at once, some the leader first.
    Storm,
    /// Spin and nap while another thread puts them from class to class.
    Classes,
}

/// What the threads of a worker share.
struct Shared {
    stop: AtomicBool,
    rounds: Vec<AtomicU64>,
    turns: Vec<(Mutex<usize>, Condvar)>,
}

impl Shared {
    fn done(&self, thread: usize) -> bool {
        self.rounds[thread].fetch_add(1, Ordering::Relaxed);
        self.stop.load(Ordering::Relaxed)
    }
}

/// Writes the program whose leader exits first to where workers start it.
pub fn prepare() -> std::io::Result<()> {
    fs::write(LEADER_PATH, LEADER)?;
    fs::set_permissions(LEADER_PATH, fs::Permissions::from_mode(0o755))
}

/// Works until stdin ends.
pub fn main(kind: Kind, threads: usize, seed: u64) -> ExitCode {
    let shared = Arc::new(Shared {
        stop: AtomicBool::new(false),
        rounds: (0..threads).map(|_| AtomicU64::new(0)).collect(),
        turns: (0..threads.div_ceil(2)).map(|_| (Mutex::new(0), Condvar::new())).collect(),
    });
    let mut handles = Vec::new();
    let mut pipes = (kind == Kind::Pipes).then(|| Ends::of(threads)).into_iter().flatten();
    for thread in 0..threads {
        let (shared, ends) = (shared.clone(), pipes.next());
        let chance = Chance::new(seed.wrapping_add(thread as u64));
        handles.push(thread::spawn(move || work(kind, &shared, thread, chance, ends)));
    }
    let ended = watch_stdin(&shared);
    if kind == Kind::Classes {
        switch_classes(&handles, &shared, Chance::new(seed));
    }
    ended.join().expect("no panic");
    let lost = handles.into_iter().filter_map(|handle| handle.join().err()).count();
    let least = shared.rounds.iter().map(|rounds| rounds.load(Ordering::Relaxed)).min();
    println!("{}", least.unwrap_or(0));
    if lost == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn watch_stdin(shared: &Arc<Shared>) -> JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        shared.stop.store(true, Ordering::Relaxed);
    })
}

fn work(kind: Kind, shared: &Shared, thread: usize, mut chance: Chance, ends: Option<Ends>) {
    match kind {
        Kind::Spin => while !spin(Duration::from_micros(500), shared, thread) {},
        Kind::Nap => while !nap(&mut chance, shared, thread) {},
        Kind::Classes if thread.is_multiple_of(2) => {
            while !spin(Duration::from_micros(500), shared, thread) {}
        }
        Kind::Classes => while !nap(&mut chance, shared, thread) {},
        Kind::Storm => while !storm(&mut chance, shared, thread) {},
        Kind::Pipes => ends.expect("made for each").play(shared, thread),
        Kind::Locks => while !take_turns(shared, thread) {},
    }
}

fn spin(how_long: Duration, shared: &Shared, thread: usize) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < how_long {
        (0..64).for_each(|_| spin_loop());
    }
    shared.done(thread)
}

fn nap(chance: &mut Chance, shared: &Shared, thread: usize) -> bool {
    sleep(chance.moment(Duration::from_millis(50)));
    let burn = chance.moment(Duration::from_millis(5));
    spin(burn, shared, thread)
}

/// One end of a pair: it writes where the other reads.
struct Ends {
    serves: bool,
    from: PipeReader,
    to: PipeWriter,
}

impl Ends {
    fn of(threads: usize) -> Vec<Ends> {
        let pipe = || std::io::pipe().expect("descriptors enough");
        let pairs = (0..threads.div_ceil(2)).flat_map(|_| {
            let ((from, back), (other, to)) = (pipe(), pipe());
            [Ends { serves: true, from, to }, Ends { serves: false, from: other, to: back }]
        });
        pairs.collect()
    }

    /// The serving thread stops first. Its partner then reads the end of the pipe.
    fn play(mut self, shared: &Shared, thread: usize) {
        let mut ball = [0];
        loop {
            let stop = shared.done(thread) && self.serves;
            if stop || (self.serves && self.to.write_all(&ball).is_err()) {
                return;
            }
            if self.from.read_exact(&mut ball).is_err() {
                return;
            }
            if !self.serves && self.to.write_all(&ball).is_err() {
                return;
            }
        }
    }
}

/// Waits for its turn, at most so long that it sees the stop, and passes it on.
fn take_turns(shared: &Shared, thread: usize) -> bool {
    let (turn, changed) = &shared.turns[thread / 2];
    let mine = |turn: &mut usize| *turn % 2 != thread % 2;
    let patience = Duration::from_millis(200);
    let waited = changed.wait_timeout_while(turn.lock().expect("no panic"), patience, mine);
    let (mut turn, result) = waited.expect("no panic");
    if result.timed_out() {
        return shared.stop.load(Ordering::Relaxed);
    }
    *turn += 1;
    changed.notify_all();
    drop(turn);
    shared.done(thread)
}

fn storm(chance: &mut Chance, shared: &Shared, thread: usize) -> bool {
    match chance.below(8) {
        0 => ends(Command::new("/proc/self/exe").arg(NOTHING)),
        1 => ends(Command::new(LEADER_PATH).arg((1 + chance.below(6)).to_string())),
        _ => {
            let burst: Vec<JoinHandle<()>> = (0..1 + chance.below(8))
                .map(|_| chance.moment(Duration::from_micros(300)))
                .map(|burn| thread::spawn(move || burn_for(burn)))
                .collect();
            burst.into_iter().for_each(|handle| handle.join().expect("no panic"));
        }
    }
    shared.done(thread)
}

fn burn_for(how_long: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < how_long {
        black_box(0);
    }
}

fn ends(command: &mut Command) {
    let status = command.status().expect("the guest starts processes");
    assert!(status.success(), "{command:?}: {status}");
}

/// Puts the threads from class to class until the stop. At most one is real-time and one idle at a time: more
/// would keep others from CPUs, or themselves, by right. It stands above all of them.
fn switch_classes(threads: &[JoinHandle<()>], shared: &Shared, mut chance: Chance) {
    rank::above_all(rank::SWITCHER);
    let (mut highest, mut lowest) = (0, 0);
    while !shared.stop.load(Ordering::Relaxed) {
        let (thread, class) = (chance.below(threads.len()), *chance.of(&CLASSES));
        match class {
            Realtime(_) => put(&threads[replace(&mut highest, thread)], Normal(Other)),
            Normal(Idle) => put(&threads[replace(&mut lowest, thread)], Normal(Other)),
            Normal(_) => {}
        }
        put(&threads[thread], class);
        chance.pause(Duration::from_millis(3));
    }
    threads.iter().for_each(|thread| put(thread, Normal(Other)));
}

fn put(thread: &JoinHandle<()>, class: ThreadSchedulePolicy) {
    let done = set_thread_priority_and_policy(thread.as_pthread_t(), ThreadPriority::Min, class);
    // A thread that has ended, because it saw the stop first, has no class.
    assert!(matches!(done, Ok(()) | Err(Error::OS(GONE))), "{class:?}: {done:?}");
}
