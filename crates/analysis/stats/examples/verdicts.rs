//! How often verdicts err, and what they tell: `cargo run --release -p stats --example verdicts`.
//!
//! Arguments: how many comparisons of each kind (200) and pairs of runs in each (1 and 3). Prints a table in
//! Markdown, the same for the same arguments.
#![forbid(unsafe_code)]

#[allow(dead_code)] // Each program uses a part of it.
#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/common/shared.rs"]
mod shared;

use model::{Answer, Nanos};
use shared::{Shape, pair};
use stats::{Metric, Quantile, compare};

const METRICS: [(&str, Metric); 4] = [
    ("mean", Metric::Mean),
    ("p50", Metric::Quantile(Quantile::P50)),
    ("p99", Metric::Quantile(Quantile::P99)),
    ("p99.9", Metric::Quantile(Quantile::P99_9)),
];
/// What the first side is slowed down by.
const RATIOS: [f64; 5] = [1.0, 1.2, 1.5, 2.0, 20.0];

fn main() {
    let argument = |i: usize| std::env::args().nth(i).map(|text| text.parse().expect("a number"));
    let trials = argument(1).unwrap_or(200);
    let several = argument(2).map_or(vec![1, 3], |pairs| vec![pairs]);
    println!("| sides | pairs | figure | false alarms | told at 1.2 | 1.5 | 2 | 20 |");
    println!("|---|---|---|---|---|---|---|---|");
    for shape in Shape::ALL {
        for pairs in &several {
            let told = told(shape, *pairs, trials);
            for ((name, _), row) in METRICS.iter().zip(told) {
                let cells: Vec<String> = row.iter().map(usize::to_string).collect();
                println!("| {} | {pairs} | {name} | {} |", shape.name(), cells.join(" | "));
            }
        }
    }
}

/// Of each metric and ratio, how many comparisons end in "worse"; at a ratio of 1, in any verdict.
fn told(shape: Shape, pairs: usize, trials: usize) -> Vec<[usize; RATIOS.len()]> {
    let mut told = vec![[0; RATIOS.len()]; METRICS.len()];
    for trial in 0..trials {
        let runs: Vec<_> =
            (0..pairs).map(|run| pair(shape, (trial * pairs + run + 1) as u64)).collect();
        for (i, ratio) in RATIOS.into_iter().enumerate() {
            let slowed: Vec<_> = runs.iter().map(|(a, b)| (times(a, ratio), b.clone())).collect();
            for (told, (_, metric)) in told.iter_mut().zip(METRICS) {
                let answer = compare(&slowed, metric).expect("samples").answer;
                let counts = answer == Answer::Worse || i == 0 && answer == Answer::Better;
                told[i] += usize::from(counts);
            }
        }
    }
    told
}

fn times(samples: &[Nanos], ratio: f64) -> Vec<Nanos> {
    samples.iter().map(|x| Nanos((x.0 as f64 * ratio) as u64)).collect()
}
