//! Rounds: every thread computes, then waits at a barrier for the last one.

use model::Nanos;
use model::trace::Window;

use super::Next;

pub struct ForkJoin {
    work: Nanos,
    window: Window,
    working: Vec<bool>,
    /// Threads blocked at the barrier, in the order in which they came: so a futex wakes them.
    waiting: Vec<u32>,
    rounds: u64,
}

impl ForkJoin {
    pub fn new(threads: u32, work: Nanos, window: Window) -> ForkJoin {
        let working = vec![false; threads as usize];
        ForkJoin { work, window, working, waiting: Vec::new(), rounds: 0 }
    }

    pub fn next(&mut self, now: Nanos, own: u32, wake: &mut impl FnMut(u32)) -> Next {
        if !std::mem::replace(&mut self.working[own as usize], true) {
            return Next::Run(self.work);
        }
        if self.waiting.len() + 1 < self.working.len() {
            self.working[own as usize] = false;
            self.waiting.push(own);
            return Next::Block;
        }
        self.rounds += u64::from(self.window.contains(now));
        self.waiting.drain(..).for_each(wake);
        Next::Run(self.work)
    }

    pub fn rounds(&self) -> u64 {
        self.rounds
    }
}
