//! Figures of whole runs: of two sides that share nothing, not even seeds, and of pairs.

use crate::estimate::{Estimate, MISS, Spread};

/// The geometric mean; `None` without values or where one is not above 0.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    Logs::of(values).map(|logs| logs.mean.exp())
}

/// The ratio of the geometric means of `a` and `b`, and its 95% interval by Welch's t test of the logarithms:
/// whole runs differ by factors. `None` below two runs a side, or where a value is not above 0.
pub fn ratio_of_runs(a: &[f64], b: &[f64]) -> Option<Estimate> {
    ratio_of_runs_at(a, b, MISS)
}

/// [`ratio_of_runs`] whose interval misses the truth with another probability.
fn ratio_of_runs_at(a: &[f64], b: &[f64], miss: f64) -> Option<Estimate> {
    let (a, b) = (Logs::of(a)?, Logs::of(b)?);
    if a.runs.min(b.runs) < 2.0 {
        return None;
    }
    let (of_a, of_b) = (a.square_error(), b.square_error());
    let weighed = of_a * of_a / (a.runs - 1.0) + of_b * of_b / (b.runs - 1.0);
    let freedom = if weighed > 0.0 { (of_a + of_b).powi(2) / weighed } else { 1.0 };
    let spread = Spread { error: (of_a + of_b).sqrt(), freedom, skew: 0.0 };
    let (centre, reach) = (a.mean - b.mean, spread.reach_at(miss) * spread.error);
    let [low, value, high] = [centre - reach, centre, centre + reach].map(f64::exp);
    Some(Estimate { value, low, high })
}

/// The geometric mean of runs with its 95% interval; `None` below two, or where one is not above 0.
pub fn mean_of_runs(values: &[f64]) -> Option<Estimate> {
    ratio_of_runs(values, &vec![1.0; values.len()])
}

/// [`ratio_of_runs`] of pairs: what the two runs of a pair have in common, a warm machine, cancels.
pub fn ratio_of_pairs(a: &[f64], b: &[f64]) -> Option<Estimate> {
    ratio_of_pairs_at(a, b, MISS)
}

/// [`ratio_of_pairs`] whose interval misses the truth with another probability.
pub fn ratio_of_pairs_at(a: &[f64], b: &[f64], miss: f64) -> Option<Estimate> {
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
    ratio_of_runs_at(&ratios, &vec![1.0; ratios.len()], miss)
}

struct Logs {
    runs: f64,
    mean: f64,
    /// The sum of squares about the mean.
    squares: f64,
}

impl Logs {
    fn of(values: &[f64]) -> Option<Logs> {
        let fit =
            !values.is_empty() && values.iter().all(|value| *value > 0.0 && value.is_finite());
        fit.then(|| {
            let runs = values.len() as f64;
            let mean = values.iter().map(|value| value.ln()).sum::<f64>() / runs;
            let squares = values.iter().map(|value| (value.ln() - mean).powi(2)).sum();
            Logs { runs, mean, squares }
        })
    }

    /// Of the mean.
    fn square_error(&self) -> f64 {
        self.squares / (self.runs - 1.0) / self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends by 4.94 degrees of freedom, whose t of 97.5% was found by integrating its density.
    #[test]
    fn as_welch_has_it() {
        let found = ratio_of_runs(&[1.2, 1.5, 1.1, 1.4], &[0.9, 1.0, 0.8]).expect("runs");
        let expected = [1.439_640_78, 1.124_681_28, 1.842_802_59];
        for (own, oracle) in [found.value, found.low, found.high].iter().zip(expected) {
            assert!((own - oracle).abs() < 1e-6, "{found:?}");
        }
    }

    #[test]
    fn one_run_shows_nothing_and_equal_runs_show_all() {
        assert_eq!(ratio_of_runs(&[2.0], &[1.0, 1.1]), None);
        assert_eq!(ratio_of_runs(&[2.0, 0.0], &[1.0, 1.1]), None);
        let same = ratio_of_runs(&[2.0, 2.0], &[1.0, 1.0]).expect("runs");
        assert!((same.low - 2.0).abs() < 1e-12 && (same.high - 2.0).abs() < 1e-12);
        assert!((geometric_mean(&[1.0, 4.0]).expect("two") - 2.0).abs() < 1e-12);
    }

    /// What both runs of a pair have in common is in no interval: here a factor of up to ten. Student's t of
    /// 97.5% with two degrees of freedom is 4.302653.
    #[test]
    fn pairs_cancel_what_they_share() {
        let (a, b) = ([1.1, 4.4, 11.0], [1.0, 4.0, 10.0]);
        let paired = ratio_of_pairs(&a, &b).expect("three pairs");
        assert!((paired.low - 1.1).abs() < 1e-9 && (paired.high - 1.1).abs() < 1e-9, "{paired:?}");
        let apart = ratio_of_runs(&a, &b).expect("runs");
        assert!(apart.low < 0.5 && apart.high > 2.0, "control: {apart:?}");
        let noisy = ratio_of_pairs(&[1.0, 1.1, 1.21], &[1.0; 3]).expect("three pairs");
        let reach = 4.302_653 * 1.1_f64.ln() / 3.0_f64.sqrt();
        assert!((noisy.high - 1.1 * reach.exp()).abs() < 1e-5, "{noisy:?}");
        assert_eq!(ratio_of_pairs(&[1.0], &[2.0]), None);
    }

    /// 2,000 times five runs a side, whose factors are drawn: the interval holds the true ratio in 95% of
    /// them.
    #[test]
    fn the_interval_holds_as_often_as_it_says() {
        let mut state = 7_u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        // Twelve uniforms less six are as good as normal here.
        let mut drawn = |spread: f64| -> Vec<f64> {
            (0..5)
                .map(|_| (spread * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0)).exp())
                .collect()
        };
        let holds = (0..2_000).filter(|_| {
            let (a, b) = (drawn(0.1), drawn(0.3));
            ratio_of_runs(&a, &b).is_some_and(|found| found.covers(1.0))
        });
        let holds = holds.count();
        assert!((1_870..=1_930).contains(&holds), "{holds}");
    }
}
