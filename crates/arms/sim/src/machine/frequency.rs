//! Frequency scaling (Tales section 4.6), as the kernel's `ondemand` governor does it (`od_update`): above
//! 95% of load the highest frequency, below one in proportion.
//!
//! The load is looked at where something happens on the CPU, at ticks and switches, once its sampling period
//! is over. An idle CPU keeps its frequency until it works again: the governor's timer is deferrable.

use model::scenario::Frequency;
use model::{CpuId, Nanos};

use super::pace::{NOMINAL, Pace, pace};

/// Above this load the CPU goes to its highest frequency (`MICRO_FREQUENCY_UP_THRESHOLD`).
const UP_PERCENT: u64 = 95;

/// The clocks of all CPUs.
pub struct Clocks {
    lowest: Pace,
    sampling: Nanos,
    cpus: Vec<Clock>,
}

#[derive(Clone)]
struct Clock {
    pace: Pace,
    /// Since when load is counted.
    since: Nanos,
    busy: Nanos,
    busy_since: Option<Nanos>,
}

impl Clocks {
    /// All at their lowest.
    pub fn new(frequency: &Frequency, cpus: u32) -> Clocks {
        let lowest = pace(frequency.lowest);
        let clock = Clock { pace: lowest, since: Nanos::ZERO, busy: Nanos::ZERO, busy_since: None };
        Clocks { lowest, sampling: frequency.sampling, cpus: vec![clock; cpus as usize] }
    }

    /// The speed of a CPU.
    pub fn of(&self, cpu: CpuId) -> Pace {
        self.cpus[cpu.index()].pace
    }

    /// A CPU works from now on, or does not, or goes on as it did: its load is looked at if it is time.
    pub fn look(&mut self, cpu: CpuId, now: Nanos, works: bool) {
        let clock = &mut self.cpus[cpu.index()];
        clock.busy += clock.busy_since.map_or(Nanos::ZERO, |since| now - since);
        clock.busy_since = works.then_some(now);
        let span = now - clock.since;
        if span < self.sampling {
            return;
        }
        let load = clock.busy.0 * 100 / span.0;
        let between = (NOMINAL - self.lowest) * load / 100;
        clock.pace = if load > UP_PERCENT { NOMINAL } else { self.lowest + between };
        (clock.since, clock.busy) = (now, Nanos::ZERO);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_follows_the_load() {
        let frequency = Frequency { lowest: 0.5, sampling: Nanos::from_millis(10) };
        let mut clocks = Clocks::new(&frequency, 1);
        let cpu = CpuId(0);
        let mut look = |ms, works| {
            clocks.look(cpu, Nanos::from_millis(ms), works);
            clocks.of(cpu) as f64 / NOMINAL as f64
        };
        assert_eq!([look(0, true), look(4, true), look(12, true)], [0.5, 0.5, 1.0]);
        // 4 of 16 ms: a quarter of the way up.
        assert_eq!([look(16, false), look(28, true)], [1.0, 0.625]);
        // A CPU that slept keeps what it had, and finds out when it works again.
        assert_eq!([look(29, false), look(1_000, true)], [0.625, 0.5]);
    }
}
