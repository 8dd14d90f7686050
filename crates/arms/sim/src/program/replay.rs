//! A thread that sleeps and runs as one was seen to.

use std::sync::Arc;

use model::Nanos;
use model::trace::Window;

use super::Next;

pub struct Replay {
    sleeps: Arc<[Nanos]>,
    runs: Arc<[Nanos]>,
    /// The span that comes next: that of a sleep, then that of the run behind it.
    at: usize,
    running: bool,
    window: Window,
    cycles: u64,
}

impl Replay {
    pub fn new(sleeps: &Arc<[Nanos]>, runs: &Arc<[Nanos]>, window: Window) -> Replay {
        let (sleeps, runs) = (sleeps.clone(), runs.clone());
        Replay { sleeps, runs, at: 0, running: true, window, cycles: 0 }
    }

    /// A cycle ends with its run.
    pub fn next(&mut self, now: Nanos) -> Next {
        self.running = !self.running;
        if self.running {
            let run = self.runs[self.at];
            self.at = if self.at + 1 < self.runs.len() { self.at + 1 } else { 0 };
            return Next::Run(run);
        }
        self.cycles += u64::from(self.window.contains(now));
        Next::Sleep(now + self.sleeps[self.at])
    }

    /// The next cycle begins with its sleep.
    pub fn restart(&mut self) {
        self.running = true;
    }

    pub fn cycles(&self) -> u64 {
        self.cycles
    }
}
