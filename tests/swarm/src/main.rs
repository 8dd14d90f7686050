//! Runs the swarm: so many seeds, or for so long.
#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use swarm::{Case, Outcome, run, shrink};

/// Random machines, scenarios, policies and faults, watched by every checker.
#[derive(Parser)]
struct Args {
    /// Run this seed alone and say what it stands for
    #[arg(long, conflicts_with_all = ["seeds", "minutes"])]
    seed: Option<u64>,
    /// How many seeds
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Go on with further seeds for so many minutes instead
    #[arg(long)]
    minutes: Option<f64>,
    /// Stop after so many failing seeds
    #[arg(long, default_value_t = 1)]
    failures: u64,
}

/// What workers share.
struct Progress {
    next: AtomicU64,
    done: AtomicU64,
    events: AtomicU64,
    failed: Mutex<Vec<u64>>,
    stop: AtomicBool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    if let Some(seed) = args.seed {
        return one(seed);
    }
    let begin = Instant::now();
    let end = args.minutes.map(|minutes| begin + Duration::from_secs_f64(minutes.max(0.0) * 60.0));
    let progress = Progress {
        next: AtomicU64::new(args.first),
        done: AtomicU64::new(0),
        events: AtomicU64::new(0),
        failed: Mutex::new(Vec::new()),
        stop: AtomicBool::new(false),
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| work(&args, end, &progress));
        }
    });
    let mut failed = progress.failed.into_inner().unwrap_or_default();
    failed.sort_unstable();
    failed.truncate(args.failures as usize);
    println!(
        "{} seeds from {} on, {} events, {:.0} s: {} failed",
        progress.done.into_inner(),
        args.first,
        progress.events.into_inner(),
        begin.elapsed().as_secs_f64(),
        failed.len()
    );
    failed.iter().for_each(|seed| {
        one(*seed);
    });
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn work(args: &Args, end: Option<Instant>, progress: &Progress) {
    while !progress.stop.load(Ordering::Relaxed) {
        let seed = progress.next.fetch_add(1, Ordering::Relaxed);
        let enough = match end {
            Some(end) => Instant::now() >= end,
            None => seed >= args.first + args.seeds,
        };
        if enough {
            return;
        }
        let Outcome { faults, events } = run(&Case::draw(seed));
        progress.events.fetch_add(events, Ordering::Relaxed);
        progress.done.fetch_add(1, Ordering::Relaxed);
        if !faults.is_empty()
            && let Ok(mut failed) = progress.failed.lock()
        {
            failed.push(seed);
            progress.stop.store(failed.len() as u64 >= args.failures, Ordering::Relaxed);
        }
    }
}

/// Runs one seed and says what it is and what is wrong with it.
fn one(seed: u64) -> ExitCode {
    let case = Case::draw(seed);
    let Outcome { faults, events } = run(&case);
    println!("{case}  {events} events, {} faults", faults.len());
    for fault in &faults {
        println!("  {fault}");
    }
    let Some(first) = faults.first() else { return ExitCode::SUCCESS };
    println!("replay: cargo run --release --package swarm -- --seed {seed}");
    let small = shrink(&case, first.rule);
    println!("still `{}` with no more than\n{small}", first.rule);
    for fault in &run(&small).faults {
        println!("  {fault}");
    }
    ExitCode::FAILURE
}
