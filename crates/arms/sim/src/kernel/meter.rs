//! What is counted and sampled over the window.

use model::Nanos;
use model::trace::{Counters, Usage, Window};

use super::Kernel;
use crate::class::Class;
use crate::events::EventQueue;
use crate::observer::Observer;

/// Spans between two samples of every thread's CPU time.
const SAMPLES: u64 = 100;

/// Running totals since the start, and their values at the window's start and end.
#[derive(Default)]
pub struct Meter {
    pub switches: u64,
    pub migrations: u64,
    /// Idle time of CPUs that have since become busy.
    pub idle: Nanos,
    pub usage: Vec<Usage>,
    at_start: Totals,
    at_end: Totals,
}

#[derive(Clone, Copy, Default)]
struct Totals {
    switches: u64,
    migrations: u64,
    pulls: u64,
    idle: Nanos,
}

impl Meter {
    /// What happened between the window's start and its end.
    pub fn counters(&self) -> Counters {
        let (start, end) = (&self.at_start, &self.at_end);
        Counters {
            switches: Some(end.switches - start.switches),
            migrations: Some(end.migrations - start.migrations),
            pulls: Some(end.pulls - start.pulls),
            idle: Some(end.idle - start.idle),
        }
    }
}

/// The moments to sample at, from the window's start to its end.
pub fn sample_times(window: Window) -> impl Iterator<Item = Nanos> {
    let span = u128::from(window.span().0);
    (0..=SAMPLES)
        .map(move |k| window.start + Nanos((span * u128::from(k) / u128::from(SAMPLES)) as u64))
}

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// Reads every thread's CPU time and the totals as they stand at a moment before the next event.
    pub(super) fn sample(&mut self, at: Nanos) {
        let mut cpu_time: Vec<Nanos> = self.core.threads.iter().map(|t| t.exec).collect();
        let mut idle = self.meter.idle;
        for (cpu, clock) in self.core.cpus.iter().zip(&self.clocks) {
            match cpu.current {
                Some(current) => cpu_time[current.index()] += at - cpu.accounted,
                None => idle += at - clock.idle_since,
            }
        }
        let Meter { switches, migrations, .. } = self.meter;
        let totals = Totals { switches, migrations, pulls: self.class.pulls(), idle };
        if self.meter.usage.is_empty() {
            self.meter.at_start = totals;
        }
        self.meter.at_end = totals;
        self.meter.usage.push(Usage { at, cpu_time });
    }
}
