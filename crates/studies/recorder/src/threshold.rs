//! From which latency on a request is slow.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use model::Nanos;

/// The part of requests that is slow where the threshold is learned.
const QUANTILE: f64 = 0.999;
/// So many requests are needed: ten of them are beyond the quantile.
const LEAST: u64 = 10_000;
/// What is learned from is counted in slices of this length.
const SLICE: Nanos = Nanos::from_secs(60);
/// The last slices count, and older ones where those have too few requests.
const LAST: usize = 5;
/// The most slices that are remembered.
const MOST: usize = 60;
/// How often a quantile is learned anew.
const ANEW: Nanos = Nanos::from_secs(1);
/// Significant decimal digits of a latency.
const DIGITS: u8 = 2;

/// From which latency on a request is slow.
pub enum Threshold {
    /// From this one on.
    Fixed(Nanos),
    /// Beyond the p99.9 of the last minutes.
    Learned(Box<Learned>),
}

/// The latencies of the last minutes.
#[derive(Default)]
pub struct Learned {
    slices: VecDeque<Slice>,
    now: Option<Nanos>,
    learned_at: Nanos,
}

struct Slice {
    begin: Nanos,
    latencies: Histogram<u32>,
}

impl Threshold {
    /// One that is learned.
    pub fn learned() -> Threshold {
        Threshold::Learned(Box::default())
    }

    /// From which latency on a request is slow now; `None`: too few requests were seen to know.
    pub fn now(&self) -> Option<Nanos> {
        match self {
            Threshold::Fixed(at) => Some(*at),
            Threshold::Learned(learned) => learned.now,
        }
    }

    /// Takes up the latencies of requests that have ended.
    pub fn learn(&mut self, at: Nanos, latencies: impl Iterator<Item = Nanos>) {
        if let Threshold::Learned(learned) = self {
            learned.take_up(at, latencies);
        }
    }
}

impl Learned {
    fn take_up(&mut self, at: Nanos, latencies: impl Iterator<Item = Nanos>) {
        if self.slices.back().is_none_or(|last| at >= last.begin.saturating_add(SLICE)) {
            let latencies = Histogram::new(DIGITS).expect("so many digits are possible");
            self.slices.push_back(Slice { begin: at, latencies });
            self.forget();
        }
        let slice = self.slices.back_mut().expect("just made");
        for latency in latencies {
            slice.latencies.record(latency.0).expect("it grows");
        }
        if self.now.is_none() || at >= self.learned_at.saturating_add(ANEW) {
            (self.now, self.learned_at) = (self.quantile(), at);
        }
    }

    /// The oldest goes where the others are enough.
    fn forget(&mut self) {
        let enough = |slices: &VecDeque<Slice>| {
            let rest = slices.iter().skip(1).map(|slice| slice.latencies.len()).sum::<u64>();
            slices.len() > MOST || (slices.len() > LAST + 1 && rest >= LEAST)
        };
        while enough(&self.slices) {
            self.slices.pop_front();
        }
    }

    fn quantile(&self) -> Option<Nanos> {
        let mut all = Histogram::<u32>::new(DIGITS).expect("so many digits are possible");
        for slice in &self.slices {
            all.add(&slice.latencies).expect("it grows");
        }
        (all.len() >= LEAST).then(|| Nanos(all.value_at_quantile(QUANTILE)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(threshold: &mut Threshold, minute: u64, count: u64, scale: u64) {
        let latencies = (0..count).map(|n| Nanos::from_micros(scale * (n % 10_000)));
        threshold.learn(Nanos::from_secs(60 * minute), latencies);
    }

    #[test]
    fn the_learned_threshold_is_the_quantile_of_enough_requests() {
        let mut threshold = Threshold::learned();
        minute(&mut threshold, 0, 9_999, 1);
        assert_eq!(threshold.now(), None, "too few");
        minute(&mut threshold, 1, 10_001, 1);
        let mut sorted: Vec<u64> = (0..20_000).map(|n| 1_000 * (n % 10_000)).collect();
        sorted.sort_unstable();
        let exact = sorted[sorted.len() * 999 / 1_000] as f64;
        let told = threshold.now().expect("enough").0 as f64;
        assert!((told / exact - 1.0).abs() < 0.02, "{told} {exact}");
    }

    #[test]
    fn it_follows_the_last_minutes_and_remembers_longer_where_those_are_quiet() {
        let mut threshold = Threshold::learned();
        (0..6).for_each(|at| minute(&mut threshold, at, 10_000, 1));
        let before = threshold.now().expect("enough");
        (6..12).for_each(|at| minute(&mut threshold, at, 10_000, 10));
        let after = threshold.now().expect("enough");
        assert!(after.0 > 9 * before.0, "{before} {after}");
        // One request a minute: what was learned stays, until it is an hour old.
        (12..60).for_each(|at| minute(&mut threshold, at, 1, 1));
        assert_eq!(threshold.now(), Some(after));
        (60..140).for_each(|at| minute(&mut threshold, at, 1, 1));
        assert_eq!(threshold.now(), None);
    }

    #[test]
    fn a_fixed_one_learns_nothing() {
        let mut threshold = Threshold::Fixed(Nanos::from_millis(5));
        minute(&mut threshold, 0, 20_000, 1_000);
        assert_eq!(threshold.now(), Some(Nanos::from_millis(5)));
    }
}
