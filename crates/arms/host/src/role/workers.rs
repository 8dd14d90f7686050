//! Programs without requests: batch, daemon, periodic, fork-join, pairs that pass a byte to and fro.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::yield_now;

use model::Nanos;
use model::scenario::Wait;

use super::thread_pool::{Rounds, ThreadPool};
use crate::clock;
use crate::cpu_time::{burn, compute};

/// Threads that spin until the process ends.
pub fn spin(threads: u32) -> io::Result<ThreadPool> {
    ThreadPool::spawn((0..threads).map(|_| {
        |_: &Rounds| {
            loop {
                compute(u32::MAX);
            }
        }
    }))
}

/// Threads that run and sleep in turn; `until` says when one that is done now wakes up.
pub fn cycle<U>(threads: u32, run: Nanos, until: U) -> io::Result<ThreadPool>
where
    U: Fn(Nanos) -> Nanos + Copy + Send + 'static,
{
    ThreadPool::spawn((0..threads).map(|_| {
        move |rounds: &Rounds| {
            loop {
                burn(run);
                rounds.complete();
                clock::sleep_until(until(clock::now()));
            }
        }
    }))
}

/// A thread that sleeps and runs, each of these spans in turn.
pub fn replay(sleeps: Vec<Nanos>, runs: Vec<Nanos>) -> io::Result<ThreadPool> {
    ThreadPool::spawn(std::iter::once(move |rounds: &Rounds| {
        for (sleep, run) in sleeps.iter().zip(&runs).cycle() {
            clock::sleep_until(clock::now() + *sleep);
            burn(*run);
            rounds.complete();
        }
    }))
}

/// Threads that compute and then wait for the last one, round by round.
pub fn fork_join(threads: u32, work: Nanos, wait: Wait) -> io::Result<ThreadPool> {
    let barrier = Arc::new(Meeting::new(threads, wait));
    ThreadPool::spawn((0..threads).map(|_| {
        let barrier = Arc::clone(&barrier);
        move |rounds: &Rounds| {
            loop {
                burn(work);
                if barrier.is_last() {
                    rounds.complete();
                }
            }
        }
    }))
}

/// What one of two threads does.
type Side = Box<dyn FnOnce(&Rounds) + Send>;

/// Two threads that pass a byte to and fro through two pipes, the load of `perf bench sched pipe`. A round is
/// a round trip.
pub fn ping_pong() -> io::Result<ThreadPool> {
    let ((mut there, mut to), (mut back, mut from)) = (io::pipe()?, io::pipe()?);
    let lead = move |rounds: &Rounds| {
        // A thousand of them that went on would keep each other's processes from ending.
        while to.write_all(b".").and_then(|()| back.read_exact(&mut [0])).is_ok()
            && rounds.complete()
        {}
    };
    let echo = move |_: &Rounds| {
        let mut ball = [0];
        while there.read_exact(&mut ball).and_then(|()| from.write_all(&ball)).is_ok() {}
    };
    let threads: [Side; 2] = [Box::new(lead), Box::new(echo)];
    ThreadPool::spawn(threads)
}

/// Where the threads of a round meet.
enum Meeting {
    Block(Barrier),
    Yield { threads: u32, arrived: AtomicU32, round: AtomicU32 },
}

impl Meeting {
    fn new(threads: u32, wait: Wait) -> Meeting {
        match wait {
            Wait::Block => Meeting::Block(Barrier::new(threads as usize)),
            Wait::Yield => {
                Meeting::Yield { threads, arrived: AtomicU32::new(0), round: AtomicU32::new(0) }
            }
        }
    }

    /// Waits for the last thread. Whether this is the one that the others waited for.
    fn is_last(&self) -> bool {
        match self {
            Meeting::Block(barrier) => barrier.wait().is_leader(),
            Meeting::Yield { threads, arrived, round } => {
                let now = round.load(Ordering::Acquire);
                let last = arrived.fetch_add(1, Ordering::AcqRel) + 1 == *threads;
                if last {
                    arrived.store(0, Ordering::Relaxed);
                    round.store(now.wrapping_add(1), Ordering::Release);
                }
                while round.load(Ordering::Acquire) == now {
                    yield_now();
                }
                last
            }
        }
    }
}
