//! Threads that run for a while, sleep for a while, and again.

use model::Nanos;
use model::trace::Window;

use super::Next;

/// How long threads sleep.
pub enum Rest {
    /// So long from the end of a run, as for a thread that calls `nanosleep`.
    Sleep(Nanos),
    /// To the next multiple of a period, as for one that calls `clock_nanosleep` with `TIMER_ABSTIME`: the
    /// timers of all threads fall due at once.
    Until(Nanos),
}

pub struct Daemon {
    run: Nanos,
    rest: Rest,
    window: Window,
    running: Vec<bool>,
    cycles: u64,
}

impl Daemon {
    pub fn new(threads: u32, run: Nanos, rest: Rest, window: Window) -> Daemon {
        Daemon { run, rest, window, running: vec![false; threads as usize], cycles: 0 }
    }

    /// A cycle ends with its run.
    pub fn next(&mut self, now: Nanos, own: u32) -> Next {
        let running = &mut self.running[own as usize];
        *running = !*running;
        if *running {
            return Next::Run(self.run);
        }
        self.cycles += u64::from(self.window.contains(now));
        Next::Sleep(match self.rest {
            Rest::Sleep(sleep) => now + sleep,
            Rest::Until(period) => now.next_multiple(period),
        })
    }

    /// The next cycle of a thread begins with its run.
    pub fn restart(&mut self, own: u32) {
        self.running[own as usize] = false;
    }

    pub fn cycles(&self) -> u64 {
        self.cycles
    }
}
