//! Coverage of intervals, and how many have two ends, on seeds that no limit was chosen on: `cargo run
//! --release -p stats --example fresh`.
//!
//! Arguments: how many intervals of each kind (100), and the first seed (10,000). Prints a table in Markdown,
//! the same for the same arguments.
#![forbid(unsafe_code)]

#[path = "../tests/common/many.rs"]
mod many;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use many::{UNIT, exact, exact_mean, exponential, latencies};
use model::Nanos;
use statrs::distribution::{ContinuousCDF, Normal};
use stats::{Estimate, latency_estimates, outlier};

const WORKERS: [usize; 5] = [1, 4, 16, 64, 1_000];
const LOADS: [f64; 9] = [0.3, 0.42, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99];
/// Runs, and requests in each.
const SIZES: [(u64, usize); 7] =
    [(1, 5_000), (1, 16_000), (2, 8_000), (1, 30_000), (3, 10_000), (10, 3_000), (1, 100_000)];
const KINDS: usize = 6;

/// Whether an interval holds the truth, and whether it has two ends; of each kind.
type Outcome = [(bool, bool); KINDS];

fn main() {
    let argument = |i: usize, otherwise: u64| {
        std::env::args().nth(i).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let (trials, first) = (argument(1, 100), argument(2, 10_000));
    println!("| load | requests | mean | p50 | p90 | p99 | p99.9 | over p99 |");
    println!("|---|---|---|---|---|---|---|---|");
    for load in LOADS {
        for (runs, requests) in SIZES {
            let of = |workers: usize| {
                let beyond = [0.5, 0.1, 0.01, 0.001].map(|beyond| exact(workers, load, beyond));
                let truth = Truth { mean: exact_mean(workers, load), beyond };
                let run = |seed| latencies(workers, load, seed, requests, exponential);
                outcomes(first, trials, runs, &truth, run)
            };
            let all: Vec<Outcome> = WORKERS.into_iter().flat_map(of).collect();
            println!("| {load} | {runs} x {requests} | {} |", cells(&all));
        }
    }
    heavy(first, trials);
}

struct Truth {
    mean: f64,
    beyond: [f64; 4],
}

/// Means behind heavy tails, one worker: Pollaczek and Khinchine.
fn heavy(first: u64, trials: u64) {
    let pareto = |u: f64| 0.6 * u.powf(-0.4);
    println!("\n| services | load | requests | mean |\n|---|---|---|---|");
    for (name, second_moment) in [("Pareto 2.5", 1.8), ("lognormal of cv 5", 26.0)] {
        for load in [0.5, 0.8] {
            for requests in [5_000, 30_000, 200_000] {
                let mean = UNIT * (1.0 + load * second_moment / (2.0 * (1.0 - load)));
                let truth = Truth { mean, beyond: [f64::INFINITY; 4] };
                let run = |seed| match second_moment {
                    1.8 => latencies(1, load, seed, requests, pareto),
                    _ => latencies(1, load, seed, requests, lognormal),
                };
                let all = outcomes(first, trials, 1, &truth, run);
                println!("| {name} | {load} | {requests} | {} |", cell(&all, 0));
            }
        }
    }
}

/// Mean 1, coefficient of variation 5.
fn lognormal(u: f64) -> f64 {
    let variance = 26f64.ln();
    (variance.sqrt() * Normal::standard().inverse_cdf(u) - variance / 2.0).exp()
}

fn outcomes(
    first: u64,
    trials: u64,
    runs: u64,
    truth: &Truth,
    run: impl Fn(u64) -> Vec<Nanos> + Sync,
) -> Vec<Outcome> {
    let (next, all) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let trial = next.fetch_add(1, Ordering::Relaxed);
            if trial >= trials {
                return;
            }
            let data: Vec<_> = (0..runs).map(|i| run(first + trial * runs + i)).collect();
            all.lock().expect("no panic").push(outcome(&data, truth));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    all.into_inner().expect("no panic")
}

fn outcome(data: &[Vec<Nanos>], truth: &Truth) -> Outcome {
    let latency = latency_estimates(data).expect("samples");
    let [p50, p90, p99, p99_9] = truth.beyond;
    let over = outlier(data, Nanos(p99.min(1e18) as u64), 1.0).expect("samples").proportion;
    let is = |estimate: Estimate, truth: f64| (estimate.covers(truth), estimate.high.is_finite());
    [
        is(latency.mean, truth.mean),
        is(latency.p50, p50),
        is(latency.p90, p90),
        is(latency.p99, p99),
        is(latency.p99_9, p99_9),
        (over.covers(0.01), over.high < 1.0),
    ]
}

fn cells(all: &[Outcome]) -> String {
    (0..KINDS).map(|kind| cell(all, kind)).collect::<Vec<_>>().join(" | ")
}

/// How many in a hundred hold the truth, and in brackets how many have two ends.
fn cell(all: &[Outcome], kind: usize) -> String {
    let share = |is: fn(&(bool, bool)) -> bool| {
        let some = all.iter().filter(|outcome| is(&outcome[kind])).count();
        (100.0 * some as f64 / all.len() as f64).round()
    };
    format!("{} ({})", share(|(held, _)| *held), share(|(_, two)| *two))
}
