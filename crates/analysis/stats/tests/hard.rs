//! Intervals where they are hardest: many workers near saturation, and tails without a variance.
//!
//! What cannot be bounded must not be: an interval may lack an end, but one that has both holds the truth.
#![forbid(unsafe_code)]

use model::Nanos;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::{Estimate, Latency, latency_estimates};

/// A service time of 1 in nanoseconds.
const UNIT: f64 = 1e6;

/// Latencies of a first come, first served queue with Poisson arrivals, after a warm-up of 6 relaxation
/// times.
fn latencies(
    workers: usize,
    load: f64,
    seed: u64,
    requests: usize,
    service: impl Fn(f64) -> f64,
) -> Vec<Nanos> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut free = vec![0.0f64; workers];
    let warm_up = (6.0 / (1.0 - load.sqrt()).powi(2)) as usize;
    let mut now = 0.0;
    let mut step = |_| {
        now -= (1.0 - random.random::<f64>()).ln() / (load * workers as f64);
        let ends = free[0].max(now) + service(1.0 - random.random::<f64>());
        let at = free[1..].partition_point(|other| *other < ends);
        free.copy_within(1..=at, 0);
        free[at] = ends;
        Nanos(((ends - now) * UNIT).round() as u64)
    };
    (0..warm_up + requests).map(&mut step).skip(warm_up).collect()
}

fn exponential(u: f64) -> f64 {
    -u.ln()
}

/// Erlang C, and the latency that a proportion `beyond` exceeds, by halving.
fn exact(workers: usize, load: f64, beyond: f64) -> f64 {
    let a = load * workers as f64;
    let blocking = (1..=workers).fold(1.0, |b, k| a * b / (k as f64 + a * b));
    let waits = blocking / (1.0 - load * (1.0 - blocking));
    let k = workers as f64 * (1.0 - load);
    let above = |t: f64| {
        let wait = if (k - 1.0).abs() < 1e-9 {
            t * (-t).exp()
        } else {
            ((-t).exp() - (-k * t).exp()) / (k - 1.0)
        };
        (-t).exp() + waits * wait
    };
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if above(middle) > beyond { low = middle } else { high = middle }
    }
    high * UNIT
}

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
    for (workers, load, requests) in [
        (1, 0.99, 200_000),
        (4, 0.99, 200_000),
        (16, 0.95, 500_000),
        (64, 0.98, 200_000),
        (1_000, 0.99, 200_000),
    ] {
        let tallies = tally(workers, load, requests);
        assert!(tallies.iter().all(|(held, _)| *held >= 34), "{tallies:?}");
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
