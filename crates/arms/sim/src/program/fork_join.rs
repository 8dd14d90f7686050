//! Rounds: every thread computes, then waits at a barrier for the last one.

use model::Nanos;
use model::scenario::Wait;
use model::trace::Window;

use super::Next;

pub struct ForkJoin {
    work: Nanos,
    wait: Wait,
    window: Window,
    threads: Vec<At>,
    /// Threads blocked at the barrier, in the order in which they came: so a futex wakes them.
    blocked: Vec<u32>,
    /// How many are at the barrier.
    arrived: usize,
    rounds: u64,
}

/// Where a thread is in its round.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// It has a round to begin.
    Start,
    /// It computes.
    Work,
    /// It waits for the last one.
    Barrier,
}

impl ForkJoin {
    pub fn new(threads: u32, work: Nanos, wait: Wait, window: Window) -> ForkJoin {
        let threads = vec![At::Start; threads as usize];
        ForkJoin { work, wait, window, threads, blocked: Vec::new(), arrived: 0, rounds: 0 }
    }

    pub fn next(&mut self, now: Nanos, own: u32, wake: &mut impl FnMut(u32)) -> Next {
        match self.threads[own as usize] {
            At::Start => self.begin(own),
            At::Work => self.arrive(now, own, wake),
            At::Barrier => Next::Yield,
        }
    }

    fn begin(&mut self, own: u32) -> Next {
        self.threads[own as usize] = At::Work;
        Next::Run(self.work)
    }

    fn arrive(&mut self, now: Nanos, own: u32, wake: &mut impl FnMut(u32)) -> Next {
        self.arrived += 1;
        if self.arrived < self.threads.len() {
            return self.wait(own);
        }
        self.arrived = 0;
        self.rounds += u64::from(self.window.contains(now));
        self.threads.fill(At::Start);
        self.blocked.drain(..).for_each(wake);
        self.begin(own)
    }

    fn wait(&mut self, own: u32) -> Next {
        self.threads[own as usize] = At::Barrier;
        if self.wait == Wait::Yield {
            return Next::Yield;
        }
        self.blocked.push(own);
        Next::Block
    }

    pub fn rounds(&self) -> u64 {
        self.rounds
    }
}
