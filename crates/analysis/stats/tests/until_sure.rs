//! Looks at ever longer runs, until p99.9 is precise: what is said then misses the truth as rarely as that of
//! one look.
#![forbid(unsafe_code)]

#[allow(dead_code)] // Each program uses a part of it.
#[path = "common/many.rs"]
mod many;

use many::{exact, exponential, latencies};
use stats::{Estimate, FALSE_ALARM, Quantile, quantile_at};

const WORKERS: usize = 4;
/// Looks of each series, each at twice as many requests as the one before.
const LOOKS: usize = 5;
/// How far p99.9 may reach on either side.
const PRECISION: f64 = 0.25;
const TRIALS: u64 = 200;

/// The first interval that is precise, where each look's may miss the truth with such a probability.
fn until_sure((load, first): (f64, usize), trial: u64, miss: f64) -> Option<Estimate> {
    let look = |at: usize| {
        let seed = trial * LOOKS as u64 + at as u64 + 1;
        let run = latencies(WORKERS, load, seed, first << at, exponential);
        quantile_at(&[run], Quantile::P99_9, miss).expect("requests")
    };
    (0..LOOKS).map(look).find(|found| found.relative_reach() <= PRECISION)
}

/// Of all trials: those that were sure, and of them those that missed the truth.
fn tally(case: (f64, usize), miss: f64) -> (usize, usize) {
    let truth = exact(WORKERS, case.0, 0.001);
    let found = (0..TRIALS).filter_map(|trial| until_sure(case, trial, miss));
    let sure: Vec<Estimate> = found.collect();
    let missed = sure.iter().filter(|found| !found.covers(truth)).count();
    println!("{case:?} at {miss}: {} of {TRIALS} sure, {missed} missed", sure.len());
    (sure.len(), missed)
}

/// Of 200 with 5% misses, more than 21 miss with a probability of 1 in 1,000.
#[test]
fn whenever_it_ends_the_interval_holds_the_truth() {
    for case in [(0.5, 10_000), (0.8, 40_000)] {
        let (sure, missed) = tally(case, FALSE_ALARM / LOOKS as f64);
        assert!(sure >= 50, "{sure} of {TRIALS} are sure in the end");
        assert!(missed <= 21, "{missed} of {sure} missed");
        // The control: looks that each miss half of the time are soon sure, and wrong.
        let (_, missed) = tally(case, 0.5);
        assert!(missed > 21, "control: {missed}");
    }
}

#[test]
fn what_may_miss_less_often_reaches_further() {
    let run = latencies(WORKERS, 0.5, 1, 100_000, exponential);
    let of = |miss| quantile_at(&[&run], Quantile::P99_9, miss).expect("requests");
    let (one, many) = (of(FALSE_ALARM), of(FALSE_ALARM / LOOKS as f64));
    assert_eq!(one.value, many.value);
    assert!(many.low < one.low && many.high > one.high, "{one:?} {many:?}");
    let all = stats::latency_estimates(&[&run]).expect("requests");
    assert_eq!(one, all.p99_9, "the control: at 5% it is that of all figures");
    assert_eq!(quantile_at::<&[model::Nanos]>(&[], Quantile::P99_9, 0.05), None);
}
