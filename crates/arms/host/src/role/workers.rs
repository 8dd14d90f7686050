//! Programs without requests: batch, daemon, periodic, fork-join.

use std::io;
use std::sync::{Arc, Barrier};

use model::Nanos;

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
pub fn fork_join(threads: u32, work: Nanos) -> io::Result<ThreadPool> {
    let barrier = Arc::new(Barrier::new(threads as usize));
    ThreadPool::spawn((0..threads).map(|_| {
        let barrier = Arc::clone(&barrier);
        move |rounds: &Rounds| {
            loop {
                burn(work);
                if barrier.wait().is_leader() {
                    rounds.complete();
                }
            }
        }
    }))
}
