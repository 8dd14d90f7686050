//! How often intervals hold the truth, on queues whose truth is known: `cargo run --release -p stats
//! --example coverage`.
//!
//! Arguments: how many intervals of each kind (1,000), independent runs that samples are split into (1), and
//! a factor on the number of samples (1). Prints a table in Markdown, the same for the same arguments.
#![forbid(unsafe_code)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::{QUEUES, Queue, UNIT, holds, textbook};
use model::Nanos;
use stats::{Estimate, latency_estimates};

const KINDS: [&str; 6] = ["mean", "p50", "p90", "p99", "p99.9", "p99, textbook"];

/// What became of the intervals of one kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    held: usize,
    too_low: usize,
    half_widths: f64,
    unbounded: usize,
}

fn main() {
    let argument = |i: usize, default: f64| {
        std::env::args().nth(i).map_or(default, |text| text.parse().expect("a number"))
    };
    let trials = argument(1, 1_000.0) as usize;
    let runs = argument(2, 1.0) as usize;
    let factor = argument(3, 1.0);
    println!("| queue | samples | {} |", KINDS.join(" | "));
    println!("|---|---|{}", "---|".repeat(KINDS.len()));
    for queue in QUEUES {
        let samples = (samples_of(&queue) as f64 * factor) as usize;
        let tallies = tally(&queue, trials, runs, samples);
        let cells: Vec<String> = tallies.iter().map(|tally| cell(tally, trials)).collect();
        println!("| {} | {runs} x {} | {} |", queue.name(), samples / runs, cells.join(" | "));
    }
}

/// Enough that p99.9 rests on more than a few busy periods.
fn samples_of(queue: &Queue) -> usize {
    match queue.load {
        load if load < 0.6 => 200_000,
        load if load < 0.85 => 1_000_000,
        _ => 4_000_000,
    }
}

fn tally(queue: &Queue, trials: usize, runs: usize, samples: usize) -> [Tally; 6] {
    let next = AtomicUsize::new(0);
    // By trial, so that sums do not depend on which thread was faster.
    let outcomes = Mutex::new(vec![[(0.0, 0.0, 0.0); 6]; trials]);
    let work = || {
        loop {
            let trial = next.fetch_add(1, Ordering::Relaxed);
            if trial >= trials {
                return;
            }
            let found = intervals(queue, trial, runs, samples / runs);
            outcomes.lock().expect("no panic")[trial] = found;
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut tallies = [Tally::default(); 6];
    for found in outcomes.into_inner().expect("no panic") {
        tallies
            .iter_mut()
            .zip(found)
            .zip(truths(queue))
            .for_each(|((t, f), truth)| t.add(f, truth));
    }
    tallies
}

/// The truth for each of [`KINDS`].
fn truths(queue: &Queue) -> [f64; 6] {
    let [p50, p90, p99, p99_9] = queue.exact;
    [queue.mean, p50, p90, p99, p99_9, p99]
}

/// (low, value, high) for each of [`KINDS`].
fn intervals(queue: &Queue, trial: usize, runs: usize, samples: usize) -> [(f64, f64, f64); 6] {
    let seed = |run: usize| (trial * runs + run + 1) as u64;
    let data: Vec<Vec<Nanos>> = (0..runs).map(|run| queue.latencies(seed(run), samples)).collect();
    let latency = latency_estimates(&data).expect("samples");
    let ends = |estimate: Estimate| (estimate.low, estimate.value, estimate.high);
    let (low, high) = textbook(&data.concat(), 0.99);
    [
        ends(latency.mean),
        ends(latency.p50),
        ends(latency.p90),
        ends(latency.p99),
        ends(latency.p99_9),
        (low, latency.p99.value, high),
    ]
}

impl Tally {
    fn add(&mut self, (low, value, high): (f64, f64, f64), truth: f64) {
        self.held += usize::from(holds((low, high), truth));
        self.too_low += usize::from(high < truth * UNIT && !holds((low, high), truth));
        if high.is_finite() {
            self.half_widths += (high - low) / 2.0 / value;
        } else {
            self.unbounded += 1;
        }
    }
}

/// Coverage, how many of the misses lie below the truth, and the mean half-width of bounded intervals.
fn cell(tally: &Tally, trials: usize) -> String {
    let coverage = 100.0 * tally.held as f64 / trials as f64;
    let (missed, bounded) = (trials - tally.held, trials - tally.unbounded);
    let width = 100.0 * tally.half_widths / bounded.max(1) as f64;
    let unbounded = match tally.unbounded {
        0 => String::new(),
        some => format!(", {some} unbounded"),
    };
    format!("{coverage:.1}% ({} of {missed} low; ±{width:.1}%{unbounded})", tally.too_low)
}
