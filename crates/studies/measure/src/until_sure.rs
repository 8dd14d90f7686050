//! Longer and longer runs, until the tail is as precise as wanted.

use generator::undisturbed;
use model::Nanos;
use report::MeasureLooks;
use stats::{Estimate, FALSE_ALARM, Quantile, quantile_at};

use crate::measurement::Measurement;

/// When a server is looked at: each look is a run of its own. One long run shows more of long busy periods
/// than as much time in pieces, so the shorter ones before it do not count.
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    /// The measured time of each, rising.
    pub durations: Vec<Nanos>,
    /// How far the interval of p99.9 may reach on either side, as a share of it.
    pub precision: f64,
}

impl Looks {
    /// Each look measures twice as long as the one before, and the last for what is left of `most`; `None`
    /// where that is less than the first takes.
    pub fn doubling(first: Nanos, most: Nanos, precision: f64) -> Option<Looks> {
        let (mut durations, mut next, mut left) = (Vec::new(), first, most);
        while next <= left {
            durations.push(next);
            left = left.saturating_sub(next);
            next = next.saturating_add(next);
        }
        match durations.last_mut()? {
            last if left <= *last => *last = last.saturating_add(left),
            _ => durations.push(left),
        }
        Some(Looks { durations, precision })
    }

    /// The measured time of the longest.
    pub fn longest(&self) -> Nanos {
        self.durations.last().copied().unwrap_or_default()
    }

    /// The probability that the interval of one look may miss the truth with: that of any has
    /// [`FALSE_ALARM`] at most, by Bonferroni's inequality, whenever the looks end.
    fn miss(&self) -> f64 {
        FALSE_ALARM / self.durations.len() as f64
    }

    /// What the look `at` found. Where the generator was late the interval holds what that can have added.
    pub fn found(&self, at: usize, measured: &Measurement) -> MeasureLooks {
        let of = |run: Vec<Nanos>| quantile_at(&[run], Quantile::P99_9, self.miss());
        let latencies = measured.records.iter().map(|record| record.latency()).collect();
        let is_late = !measured.self_check.faults().is_empty();
        let least = is_late.then(|| of(undisturbed(&measured.records))).flatten();
        let unknown = Estimate { value: f64::INFINITY, low: 0.0, high: f64::INFINITY };
        let found = of(latencies).unwrap_or(unknown);
        let low = least.map_or(found.low, |least| least.low.min(found.low));
        self.said(at, Estimate { low, ..found })
    }

    fn said(&self, at: usize, found: Estimate) -> MeasureLooks {
        let reach = found.relative_reach();
        MeasureLooks {
            taken: at as u64 + 1,
            planned: self.durations.len() as u64,
            is_sure: reach <= self.precision,
            precision: self.precision,
            reach: Some(reach).filter(|reach| reach.is_finite()),
            p99_9_ns: figures::estimate(found),
            measured_ns: self.durations[..=at].iter().map(|time| time.0).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(first_s: u64, most_s: u64) -> Option<Vec<u64>> {
        let (first, most) = (Nanos::from_secs(first_s), Nanos::from_secs(most_s));
        let durations = Looks::doubling(first, most, 0.05)?.durations;
        Some(durations.iter().map(|time| time.0 / 1_000_000_000).collect())
    }

    #[test]
    fn looks_double_and_take_all_that_is_allowed() {
        assert_eq!(looks(10, 600), Some(vec![10, 20, 40, 80, 160, 290]));
        assert_eq!(looks(10, 70), Some(vec![10, 20, 40]));
        assert_eq!(looks(10, 29), Some(vec![10, 19]));
        assert_eq!(looks(10, 19), Some(vec![19]));
        assert_eq!(looks(10, 9), None);
        for most in 10..2_000 {
            let looks = looks(10, most).expect("looks");
            assert!(looks.iter().sum::<u64>() == most && looks.is_sorted(), "{looks:?}");
        }
        let endless = Looks::doubling(Nanos(1), Nanos(u64::MAX), 0.05).expect("looks");
        assert_eq!(endless.durations.len(), 64);
    }

    #[test]
    fn a_look_is_sure_where_both_ends_are_near_and_the_looks_share_the_false_alarms() {
        let looks = Looks::doubling(Nanos::from_secs(10), Nanos::from_secs(600), 0.05);
        let looks = looks.expect("looks");
        assert!((looks.miss() * 6.0 - FALSE_ALARM).abs() < 1e-12);
        let sure = |low, high| looks.said(1, Estimate { value: 100.0, low, high }).is_sure;
        assert!(sure(95.0, 105.0));
        assert!(!sure(94.0, 100.0) && !sure(100.0, 106.0) && !sure(99.0, f64::INFINITY));
        let said = looks.said(2, Estimate { value: 100.0, low: 80.0, high: 110.0 });
        assert_eq!((said.taken, said.planned, said.reach), (3, 6, Some(0.2)));
        assert_eq!(said.measured_ns, 70_000_000_000);
    }
}
