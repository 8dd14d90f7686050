//! How often gates raise a false alarm, and what they find: `cargo run --release -p gate --example power`.
//!
//! Argument: how many gates of each kind (200). Prints two tables in Markdown, the same for the same
//! argument.
#![forbid(unsafe_code)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{figure, gate, paired};
use gate::Outcome;
use model::Answer;

const FIGURES: [&str; 5] = [
    "latency_ns.mean",
    "latency_ns.p50",
    "latency_ns.p99",
    "latency_ns.p99_9",
    "outlier.proportion",
];

fn main() {
    let trials = std::env::args().nth(1).map_or(200, |text| text.parse().expect("a number"));
    println!("| services | same arrivals | any verdict | {} |", FIGURES.join(" | "));
    println!("|---|---|---|{}", "---|".repeat(FIGURES.len()));
    for now_us in [500, 550, 600, 750] {
        for (name, run) in [("no", gate as fn(u64, u64, u64) -> Outcome), ("yes", paired)] {
            let outcomes: Vec<Outcome> = (0..trials).map(|trial| run(trial, 500, now_us)).collect();
            let any = outcomes.iter().filter(|outcome| is_told(outcome)).count();
            let told = FIGURES.map(|name| {
                let is_worse = |outcome: &&Outcome| figure(outcome, name).answer == Answer::Worse;
                outcomes.iter().filter(is_worse).count().to_string()
            });
            let longer = now_us / 5 - 100;
            println!("| +{longer}% | {name} | {any} | {} |", told.join(" | "));
        }
    }
}

fn is_told(outcome: &Outcome) -> bool {
    outcome.0.iter().any(|judged| judged.answer != Answer::CannotTell)
}
