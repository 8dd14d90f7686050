//! Threads that run for a while, sleep for a while, and again.

use model::Nanos;
use model::trace::Window;

use super::Next;

pub struct Daemon {
    run: Nanos,
    sleep: Nanos,
    window: Window,
    running: Vec<bool>,
    cycles: u64,
}

impl Daemon {
    pub fn new(threads: u32, run: Nanos, sleep: Nanos, window: Window) -> Daemon {
        Daemon { run, sleep, window, running: vec![false; threads as usize], cycles: 0 }
    }

    /// A cycle ends with its run; the sleep counts from there, as for a thread that calls `nanosleep`.
    pub fn next(&mut self, now: Nanos, own: u32) -> Next {
        let running = &mut self.running[own as usize];
        *running = !*running;
        if *running {
            return Next::Run(self.run);
        }
        self.cycles += u64::from(self.window.contains(now));
        Next::Sleep(now + self.sleep)
    }

    pub fn cycles(&self) -> u64 {
        self.cycles
    }
}
