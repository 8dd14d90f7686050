//! From gaps to moments.

use crate::Nanos;
use crate::law::{Law, Sampler};

/// Turns spans of fractional nanoseconds into whole moments by rounding *absolute* times.
///
/// Rounding each span down instead shortens every gap by half a nanosecond and so raises the utilisation
/// (3e-5 at gaps of 16 us). What rounding leaves over is carried to the next moment: no moment is off by more
/// than half a nanosecond.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounder {
    base: u64,
    /// The time since `base`, fraction and all.
    since_ns: f64,
}

impl Rounder {
    /// The moment `span_ns` after the last one (the first counts from 0). A span is 0 to 2^50 ns, 13 days: a
    /// longer one counts as that.
    #[inline(always)]
    pub fn advance(&mut self, span_ns: f64) -> u64 {
        // One addition from call to call, and nothing else: whatever more hung on it would hold up the next
        // call.
        self.since_ns += span_ns.min(LONGEST);
        let moment = self.base.wrapping_add(round(self.since_ns));
        if self.since_ns > FINE {
            self.rebase(moment);
        }
        moment
    }

    /// Keeps the fraction and starts again from a whole moment, before doubles become too coarse for
    /// fractions.
    #[cold]
    fn rebase(&mut self, moment: u64) {
        self.since_ns -= moment.wrapping_sub(self.base) as f64;
        self.base = moment;
    }
}

/// 2^40: up to here doubles resolve a ten-thousandth of a nanosecond.
const FINE: f64 = 1_099_511_627_776.0;
/// Adding 1.5 x 2^52 leaves the nearest integer in the low bits; a cast would check for overflow each time.
const MAGIC: f64 = 6_755_399_441_055_744.0;
/// 2^50.
const LONGEST: f64 = 1_125_899_906_842_624.0;

/// The nearest whole number to 0 to 2^50; a greater one counts as that.
#[inline(always)]
pub fn round(number: f64) -> u64 {
    (number.min(LONGEST) + MAGIC).to_bits().wrapping_sub(MAGIC.to_bits())
}

/// The moments of arrivals: gaps of a law, one after the other, without end.
#[derive(Clone, Debug)]
pub struct ArrivalTimes {
    gaps: Sampler,
    mean_gap_ns: f64,
    clock: Rounder,
}

impl ArrivalTimes {
    /// Arrivals at `rate_per_s` on average; the first comes one gap after 0.
    ///
    /// The rate must be above 0; arrivals are whole nanoseconds, so several can share one.
    pub fn new(law: &Law, rate_per_s: f64, seed: u64) -> ArrivalTimes {
        ArrivalTimes {
            gaps: Sampler::new(law, seed),
            mean_gap_ns: 1e9 / rate_per_s,
            clock: Rounder::default(),
        }
    }

    /// Fills a block with the moments that as many calls of `next` would give, faster. `scratch` is as long.
    pub fn fill(&mut self, block: &mut [u64], scratch: &mut [f64]) {
        self.gaps.fill(scratch);
        for (moment, gap) in block.iter_mut().zip(scratch) {
            *moment = self.clock.advance(*gap * self.mean_gap_ns);
        }
    }
}

impl Iterator for ArrivalTimes {
    type Item = Nanos;

    fn next(&mut self) -> Option<Nanos> {
        Some(Nanos(self.clock.advance(self.gaps.next() * self.mean_gap_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_absolute_times_rounded() {
        let mut gaps = Sampler::new(&Law::Exponential, 1);
        let mut exact = 0.0;
        for moment in ArrivalTimes::new(&Law::Exponential, 1e8, 1).take(100_000) {
            exact += gaps.next() * 10.0;
            assert!((moment.0 as f64 - exact).abs() < 0.501, "{moment:?} {exact}");
        }
    }

    /// The control: truncated gaps lose half a nanosecond each, which the test above would notice.
    #[test]
    fn truncated_gaps_drift() {
        let mut gaps = Sampler::new(&Law::Exponential, 1);
        let drift: f64 = (0..1_000).map(|_| gaps.next() * 10.0).map(|gap| gap - gap.trunc()).sum();
        assert!(drift > 400.0);
    }

    #[test]
    fn a_block_holds_the_moments_that_come_one_by_one() {
        let mut block = [0; 500];
        ArrivalTimes::new(&Law::Exponential, 5e4, 9).fill(&mut block, &mut [0.0; 500]);
        let single: Vec<u64> =
            ArrivalTimes::new(&Law::Exponential, 5e4, 9).take(500).map(|at| at.0).collect();
        assert_eq!(block.to_vec(), single);
    }

    #[test]
    fn fixed_gaps_keep_their_rate_for_ever() {
        let last = ArrivalTimes::new(&Law::Fixed, 3.0, 0).take(3_000_000).last().unwrap();
        assert!(last.0.abs_diff(1_000_000_000_000_000) < 3_000_000, "{last:?}");
    }

    #[test]
    fn a_gap_out_of_range_is_cut() {
        let mut clock = Rounder::default();
        assert_eq!(clock.advance(1e300), 1 << 50);
        assert_eq!(clock.advance(0.4), 1 << 50);
        assert_eq!(clock.advance(0.4), (1 << 50) + 1);
    }
}
