//! Figures of a distribution: against an oracle, and at the edges.
#![forbid(unsafe_code)]

use model::Nanos;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::{Quantile, ccdf, latency_estimates, outlier};

const ALL: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P99_9];

/// The least sample with at least the quantile's share of all samples at or below it, by counting.
fn counted(samples: &[u64], quantile: Quantile) -> u64 {
    let at_or_below = |x: &u64| samples.iter().filter(|y| *y <= x).count() as u128;
    let wanted = samples.len() as u128 * u128::from(quantile.numerator);
    let reaches = |x: &&u64| at_or_below(x) * u128::from(quantile.denominator) >= wanted;
    *samples.iter().filter(reaches).min().unwrap()
}

fn runs_of(samples: &[u64], runs: usize) -> Vec<Vec<Nanos>> {
    let nanos: Vec<Nanos> = samples.iter().map(|x| Nanos(*x)).collect();
    nanos.chunks(samples.len().div_ceil(runs)).map(<[Nanos]>::to_vec).collect()
}

proptest! {
    #[test]
    fn quantiles_are_those_found_by_counting(
        samples in prop::collection::vec(0u64..50, 1..300),
        runs in 1usize..4,
    ) {
        let found = latency_estimates(&runs_of(&samples, runs)).unwrap();
        for (quantile, estimate) in ALL.iter().zip([found.p50, found.p90, found.p99, found.p99_9]) {
            prop_assert_eq!(estimate.value, counted(&samples, *quantile) as f64);
            prop_assert!(estimate.low <= estimate.value && estimate.value <= estimate.high);
        }
        prop_assert_eq!(found.max.0, *samples.iter().max().unwrap());
        let mean = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
        prop_assert!((found.mean.value - mean).abs() < 1e-9);
    }

    #[test]
    fn the_curve_says_what_counting_says(samples in prop::collection::vec(0u64..1_000, 2..400)) {
        for point in ccdf(&runs_of(&samples, 2), 50) {
            let slower = samples.iter().filter(|x| **x > point.latency.0).count();
            prop_assert_eq!(point.proportion, slower as f64 / samples.len() as f64);
            prop_assert!(slower > 0 && point.low <= point.proportion && point.proportion <= point.high);
        }
    }
}

/// In floating point 0.999 x 1,000 and 0.99 x 100 can come out above the whole number: one rank too many.
#[test]
fn ranks_are_exact() {
    for (quantile, samples, index) in [
        (Quantile::P99_9, 1_000, 998),
        (Quantile::P99_9, 1_001, 999),
        (Quantile::P99, 100, 98),
        (Quantile::P90, 10, 8),
        (Quantile::P50, 1, 0),
        (Quantile::P99_9, 1_000_000_000_000, 998_999_999_999),
    ] {
        assert_eq!(quantile.index(samples), index, "{quantile:?} of {samples}");
    }
}

#[test]
fn no_samples_give_no_figures() {
    let none: [Vec<Nanos>; 2] = [vec![], vec![]];
    assert_eq!(latency_estimates(&none), None);
    assert_eq!(outlier(&none, Nanos(1), 1.0), None);
    assert!(ccdf(&none, 100).is_empty());
}

#[test]
fn a_handful_of_samples_bounds_nothing() {
    let found = latency_estimates(&runs_of(&[5, 6, 7], 1)).unwrap();
    assert_eq!((found.p50.value, found.p50.low, found.p50.high), (6.0, 0.0, f64::INFINITY));
}

/// Independent samples, without a pattern that batches could see.
fn scattered(n: u64) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..n).map(|_| random.random_range(0..1_000_003)).collect()
}

#[test]
fn a_tail_of_few_samples_has_no_upper_end() {
    let few = latency_estimates(&runs_of(&scattered(1_500), 1)).unwrap();
    assert!(few.p99_9.high.is_infinite() && few.p50.high.is_finite(), "{few:?}");
    let many = latency_estimates(&runs_of(&scattered(150_000), 1)).unwrap();
    assert!(many.p99_9.high.is_finite(), "control: 150 samples beyond p99.9 bound it: {many:?}");
}

#[test]
fn lost_requests_rank_last() {
    let mut samples = scattered(10_000);
    samples.iter_mut().step_by(50).for_each(|x| *x = u64::MAX);
    let found = latency_estimates(&runs_of(&samples, 1)).unwrap();
    assert_eq!(
        (found.max, found.p99.value, found.mean.value),
        (Nanos::NEVER, f64::INFINITY, f64::INFINITY)
    );
    assert!(found.p90.value.is_finite());
    let outlier = outlier(&runs_of(&samples, 1), Nanos(2_000_000), 2.0).unwrap();
    assert_eq!((outlier.proportion.value, outlier.valid_throughput_per_s), (0.02, 4_900.0));
    let curve = ccdf(&runs_of(&samples, 1), 100);
    assert!(curve.iter().all(|point| point.latency < Nanos(1_000_003) && point.proportion >= 0.02));
}

#[test]
fn runs_are_the_unit_where_runs_differ() {
    let run = |shift: u64| scattered(20_000).iter().map(|x| Nanos(x + shift)).collect::<Vec<_>>();
    let width = |shifts: [u64; 3]| {
        let p50 = latency_estimates(&shifts.map(run)).unwrap().p50;
        p50.high - p50.low
    };
    let (alike, different) = (width([0, 0, 0]), width([0, 300_000, 600_000]));
    assert!(alike < 30_000.0, "control: {alike}");
    assert!(different > 600_000.0, "three runs half their spread apart say little: {different}");
}

#[test]
fn no_outliers_seen_is_not_none_possible() {
    let threshold = Nanos(2_000_000);
    let seen = outlier(&runs_of(&scattered(10_000), 1), threshold, 1.0).unwrap().proportion;
    assert_eq!((seen.value, seen.low), (0.0, 0.0));
    // 3.7 in n is the exact bound for n independent samples; these are at most that many.
    assert!(seen.high > 3.6e-4 && seen.high < 1e-3, "{seen:?}");
}
