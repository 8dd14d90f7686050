//! Intervals where they are hardest: many workers near saturation, and tails without a variance.
//!
//! What cannot be bounded must not be: an interval may lack an end, but one that has both holds the truth.
#![forbid(unsafe_code)]

#[allow(dead_code)] // Each program uses a part of it.
#[path = "common/many.rs"]
mod many;

use many::{UNIT, exact, exponential, latencies};
use stats::{Estimate, Latency, latency_estimates};

type Figure = fn(&Latency) -> Estimate;

/// Figures of a run, by the proportion beyond them.
const FIGURES: [(f64, Figure); 4] =
    [(0.5, |l| l.p50), (0.1, |l| l.p90), (0.01, |l| l.p99), (0.001, |l| l.p99_9)];

/// For each figure: of 40 intervals those that hold the truth, and those that are bounded.
fn tally(workers: usize, load: f64, requests: usize) -> [(usize, usize); 4] {
    let run =
        |seed| latency_estimates(&[latencies(workers, load, seed, requests, exponential)]).unwrap();
    let runs: Vec<Latency> = (1..=40).map(run).collect();
    let tallies = FIGURES.map(|(beyond, of)| {
        let truth = exact(workers, load, beyond);
        let held = runs.iter().filter(|run| of(run).covers(truth)).count();
        (held, runs.iter().filter(|run| of(run).high.is_finite()).count())
    });
    println!("M/M/{workers} at {load}, {requests} requests, of 40 (hold, bounded): {tallies:?}");
    tallies
}

#[test]
fn many_workers_near_saturation() {
    for (workers, load, requests, least) in [
        (1, 0.99, 200_000, 34),
        (4, 0.99, 200_000, 34),
        (16, 0.95, 500_000, 34),
        (64, 0.98, 200_000, 34),
        // Five relaxation times in which waits hide behind services: the median holds in four of five.
        (1_000, 0.99, 200_000, 30),
    ] {
        let tallies = tally(workers, load, requests);
        assert!(tallies.iter().all(|(held, _)| *held >= least), "{tallies:?}");
    }
    // The control: at half load most have both ends.
    let tallies = tally(16, 0.5, 100_000);
    assert!(tallies.iter().all(|(held, bounded)| *held >= 34 && *bounded >= 30), "{tallies:?}");
}

#[test]
fn a_mean_behind_heavy_tails_has_no_upper_end() {
    let pareto = |shape: f64| move |u: f64| (shape - 1.0) / shape * u.powf(-1.0 / shape);
    let means = |shape, seed| {
        let run = latencies(1, 0.5, seed, 200_000, pareto(shape));
        latency_estimates(&[run]).unwrap().mean
    };
    // Pollaczek and Khinchine: variance 1 / (2.5 x 0.5) of services of mean 1.
    let truth = (1.0 + 0.5 * (1.0 + 1.0 / (2.5 * 0.5)) / (2.0 * 0.5)) * UNIT;
    let held = (1..=40).filter(|seed| means(2.5, *seed).covers(truth)).count();
    println!("pareto 2.5: {held} of 40");
    assert!(held >= 35, "{held} of 40");
    assert!((1..=5).all(|seed| means(1.5, seed).high == f64::INFINITY), "an infinite mean");
    // The control: exponential services have a mean with two ends.
    let light = latencies(1, 0.5, 1, 200_000, exponential);
    assert!(latency_estimates(&[light]).unwrap().mean.high.is_finite());
}

/// Two runs of one worker at 42% whose services are all alike, but for a machine that drifts by so much.
fn drifting(size: f64, seed: u64) -> Latency {
    let run = |seed| {
        let served = std::cell::Cell::new(0.0f64);
        let service = |_| 1.0 + size * (served.replace(served.get() + 1.0) / 400.0).sin();
        latencies(1, 0.42, seed, 8_000, service)
    };
    latency_estimates(&[run(2 * seed), run(2 * seed + 1)]).unwrap()
}

/// As a real machine's does: half of all requests do not wait, and whether they are slower than the median is
/// a matter of the moment.
#[test]
fn a_drift_too_small_to_matter_takes_no_end_away() {
    let ends =
        |latency: Latency| [latency.mean, latency.p50, latency.p90].map(|one| one.high.is_finite());
    let whole = (1..=20).filter(|seed| ends(drifting(0.003, *seed)) == [true; 3]).count();
    assert!(whole >= 18, "{whole} of 20");
    // The control: what a third slower for a while does is waiting, and a run of a few such whiles is short.
    let whole = (1..=20).filter(|seed| ends(drifting(0.3, *seed)) == [true; 3]).count();
    assert!(whole <= 2, "control: {whole} of 20");
}
