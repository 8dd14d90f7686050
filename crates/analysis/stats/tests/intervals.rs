//! Intervals hold the truth as often as they say, where the textbook's do not.
#![forbid(unsafe_code)]

mod common;

use common::{QUEUES, Queue, UNIT, holds, textbook};
use model::Nanos;
use stats::{ccdf, latency_estimates, outlier};

const TRIALS: usize = 200;

/// M/M/4 and M/D/4 at 80%.
fn busy() -> impl Iterator<Item = Queue> {
    QUEUES.into_iter().filter(|queue| queue.load == 0.8)
}

/// How many of the trials' statements are true, of each of `N` kinds.
fn count<const N: usize>(
    queue: Queue,
    statement: impl Fn(&[Vec<Nanos>]) -> [bool; N],
) -> [usize; N] {
    let mut held = [0; N];
    for trial in 0..TRIALS as u64 {
        let runs: Vec<_> = (0..2).map(|run| queue.latencies(2 * trial + run + 1, 50_000)).collect();
        let statements = statement(&runs).into_iter();
        held.iter_mut().zip(statements).for_each(|(held, is)| *held += usize::from(is));
    }
    println!("{}: {held:?} of {TRIALS} hold", queue.name());
    held
}

/// Of 200 intervals with 95% coverage, fewer than 178 hold the truth with a probability of 1 in 4,000.
#[test]
fn quantiles_and_mean_are_covered_and_the_textbook_is_not() {
    for queue in busy() {
        let held = count(queue, |runs| {
            let latency = latency_estimates(runs).unwrap();
            let [p50, p90, p99, _] = queue.exact;
            let ends = |estimate: stats::Estimate| (estimate.low, estimate.high);
            [
                holds(ends(latency.mean), queue.mean),
                holds(ends(latency.p50), p50),
                holds(ends(latency.p90), p90),
                holds(ends(latency.p99), p99),
                holds(textbook(&runs.concat(), 0.99), p99),
            ]
        });
        assert!(held[..4].iter().all(|held| *held >= 178), "{}: {held:?}", queue.name());
        assert!(held[4] < TRIALS / 2, "control: the textbook's p99 held {} times", held[4]);
    }
}

#[test]
fn intervals_are_no_wider_than_they_must_be() {
    // The mean half-widths of p99 with as many samples in one run are 2.9% and 2.3%.
    for queue in busy() {
        let runs: Vec<_> = (1..3).map(|seed| queue.latencies(seed, 500_000)).collect();
        let p99 = latency_estimates(&runs).unwrap().p99;
        assert!((p99.high - p99.low) / 2.0 / p99.value < 0.06, "{}: {p99:?}", queue.name());
    }
}

#[test]
fn outlier_proportions_are_covered() {
    for queue in busy() {
        let threshold = Nanos((queue.exact[2] * UNIT) as u64);
        let [held] =
            count(queue, |runs| [outlier(runs, threshold, 1.0).unwrap().proportion.covers(0.01)]);
        assert!(held >= 178, "{}: {held}", queue.name());
    }
}

/// P(T > t) of M/M/4 at 80%, by Erlang C.
fn exact_tail(latency: Nanos) -> f64 {
    let (t, wait, k) = (latency.0 as f64 / UNIT, 0.596432, 0.8);
    (-t).exp() + wait * ((-t).exp() - (-k * t).exp()) / (k - 1.0)
}

#[test]
fn the_band_of_the_curve_holds_the_exact_curve_point_by_point() {
    let queue = busy().find(|queue| queue.exponential).unwrap();
    let (mut points, mut held, mut bare) = (0, 0, 0);
    for seed in 1..=50 {
        for point in ccdf(&[queue.latencies(seed, 50_000)], 60) {
            let exact = exact_tail(point.latency);
            let independent =
                1.96 * (point.proportion * (1.0 - point.proportion) / 50_000.0).sqrt();
            points += 1;
            held += u32::from(point.low <= exact && exact <= point.high);
            bare += u32::from((point.proportion - exact).abs() <= independent);
        }
    }
    println!("{held} of {points} points, {bare} as if independent");
    let shares = [held, bare].map(|n| f64::from(n) / f64::from(points));
    assert!((0.90..0.99).contains(&shares[0]), "{shares:?}");
    assert!(shares[1] < 0.6, "control: a band for independent samples held {shares:?}");
}
