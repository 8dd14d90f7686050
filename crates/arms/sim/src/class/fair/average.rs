//! How much of the recent past something wanted: sums that halve every 32 ms (the kernel's per-entity load
//! tracking, `pelt.c`).

use model::Nanos;

/// Time is counted in units of 1,024 ns, 1,024 of which are a period.
const UNIT_BITS: u32 = 10;
/// Units in a period.
const PERIOD: u64 = 1024;
/// Periods after which a contribution counts half (`LOAD_AVG_PERIOD`).
const HALF_LIFE: u64 = 32;
/// What the sum of an always present signal of level 1 tends to (`LOAD_AVG_MAX`).
const FULL: u64 = 47_742;

/// 2^32 x 2^(-n/32) for n below 32.
const DECAY: [u64; HALF_LIFE as usize] = decay_table();

/// 2^(-1/32) by five exact square roots, then its powers: no floating point, so the same everywhere.
const fn decay_table() -> [u64; HALF_LIFE as usize] {
    let mut root: u128 = 1 << 63;
    let mut step = 0;
    while step < 5 {
        root = (root << 64).isqrt();
        step += 1;
    }
    let mut table = [0; HALF_LIFE as usize];
    let (mut power, mut n): (u128, usize) = (1 << 64, 0);
    while n < HALF_LIFE as usize {
        table[n] = (power >> 32) as u64;
        power = (power * root) >> 64;
        n += 1;
    }
    table
}

/// Three signals over one clock: load, runnable and running.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Average {
    at_units: u64,
    phase_units: u64,
    sums: [u64; 3],
}

/// Index of the weight that wanted to run.
pub const LOAD: usize = 0;
/// Index of how many wanted to run, times 1,024.
pub const RUNNABLE: usize = 1;
/// Index of whether any ran, times 1,024.
pub const RUNNING: usize = 2;

impl Average {
    /// Signals that have had these levels for ever.
    pub fn settled(now: Nanos, levels: [u64; 3]) -> Average {
        let sums = levels.map(|level| level * (FULL - PERIOD));
        Average { at_units: now.0 >> UNIT_BITS, phase_units: 0, sums }
    }

    /// Brings the sums to `now`; the signals had `levels` since the last call.
    pub fn advance(&mut self, now: Nanos, levels: [u64; 3]) {
        let delta = (now.0 >> UNIT_BITS).saturating_sub(self.at_units);
        if delta == 0 {
            return;
        }
        self.at_units += delta;
        let total = self.phase_units + delta;
        let periods = total / PERIOD;
        let phase = total % PERIOD;
        let weight = if periods == 0 {
            delta
        } else {
            self.sums = self.sums.map(|sum| decay(sum, periods));
            let started = decay(PERIOD - self.phase_units, periods);
            started + (FULL - decay(FULL, periods)).saturating_sub(PERIOD) + phase
        };
        self.phase_units = phase;
        for (sum, level) in self.sums.iter_mut().zip(levels) {
            *sum += level * weight;
        }
    }

    /// The average of one signal as of the last [`Average::advance`], times `factor`.
    pub fn mean(&self, signal: usize, factor: u64) -> u64 {
        self.sums[signal] * factor / (FULL - PERIOD + self.phase_units)
    }

    /// Adds what a part brings that joins, its load times `weight` (`attach_entity_load_avg()`).
    pub fn attach(&mut self, part: &Average, weight: u64) {
        for (sum, joined) in self.sums.iter_mut().zip(part.weighted(weight)) {
            *sum += joined;
        }
    }

    /// Takes out what a part brought that leaves (`detach_entity_load_avg()`).
    pub fn detach(&mut self, part: &Average, weight: u64) {
        for (sum, left) in self.sums.iter_mut().zip(part.weighted(weight)) {
            *sum = sum.saturating_sub(left);
        }
    }

    fn weighted(&self, weight: u64) -> [u64; 3] {
        [self.sums[LOAD] * weight, self.sums[RUNNABLE], self.sums[RUNNING]]
    }
}

fn decay(sum: u64, periods: u64) -> u64 {
    let halvings = periods / HALF_LIFE;
    if halvings >= 64 {
        return 0;
    }
    let factor = DECAY[(periods % HALF_LIFE) as usize];
    ((u128::from(sum >> halvings) * u128::from(factor)) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = PERIOD << UNIT_BITS;

    #[test]
    fn a_steady_signal_averages_to_its_level() {
        let mut average = Average::default();
        for step in 1..=4_000 {
            average.advance(Nanos(step * 777_777), [3, 2048, 1024]);
        }
        assert!(average.mean(LOAD, 1024).abs_diff(3 * 1024) <= 8, "{}", average.mean(LOAD, 1024));
        assert!(average.mean(RUNNABLE, 1).abs_diff(2048) <= 6);
        assert!(average.mean(RUNNING, 1).abs_diff(1024) <= 3);
    }

    #[test]
    fn what_stops_counts_half_after_32_periods() {
        let mut average = Average::settled(Nanos::ZERO, [0, 0, 1024]);
        average.advance(Nanos(32 * PERIOD_NS), [0; 3]);
        assert!(average.mean(RUNNING, 1).abs_diff(512) <= 1, "{}", average.mean(RUNNING, 1));
        average.advance(Nanos::from_secs(10), [0; 3]);
        assert_eq!(average.mean(RUNNING, 1), 0);
    }

    #[test]
    fn many_small_steps_sum_as_one_large() {
        let (mut fine, mut rough) = (Average::default(), Average::default());
        for step in 1..=1_000 {
            fine.advance(Nanos(step * 50_000), [1, 0, 0]);
        }
        rough.advance(Nanos(50_000_000), [1, 0, 0]);
        assert!(fine.mean(LOAD, 10_000).abs_diff(rough.mean(LOAD, 10_000)) < 20);
    }

    #[test]
    fn a_part_leaves_as_it_came() {
        let part = Average::settled(Nanos::ZERO, [1, 1024, 512]);
        let mut whole = Average::settled(Nanos::ZERO, [5, 1024, 1024]);
        let before = whole.clone();
        whole.attach(&part, 7);
        assert_eq!(whole.mean(LOAD, 1), 12);
        whole.detach(&part, 7);
        assert_eq!(whole, before);
    }
}
