//! How often the 95% intervals of simulated ideals hold the exact value: `coverage [RUNS]`.

use std::thread;

use model::law::Law;
use model::scenario::Arrivals;
use model::{Nanos, Silent};
use queue::{Discipline, Ideal, IdealResult};
use stats::Estimate;

/// Utilisation and requests a run: more where the queue has a longer memory.
const LOADS: [(f64, u64); 4] =
    [(0.5, 1_000_000), (0.8, 1_000_000), (0.9, 1_000_000), (0.9, 10_000_000)];

fn main() {
    let runs: u64 =
        std::env::args().nth(1).map_or(1_000, |text| text.parse().expect("a number of runs"));
    println!("Share of {runs} runs whose 95% interval holds the exact value (four workers, FIFO),");
    println!("and in brackets the interval's median half width, relative to the value.\n");
    println!(
        "queue  load  requests            mean             p50             p99           p99.9"
    );
    for services in [Law::Exponential, Law::Fixed] {
        for (load, requests) in LOADS {
            let name = if services == Law::Fixed { "M/D/4" } else { "M/M/4" };
            let results = simulate(&services, load, requests, runs);
            print!("{name}  {:3.0}%  {requests:>8}", 100.0 * load);
            FIGURES.iter().for_each(|figure| print!("  {}", cell(&results, *figure)));
            println!();
        }
    }
}

/// An estimate and the exact value.
type Figure = fn(&IdealResult) -> (Estimate, Option<f64>);

const FIGURES: [Figure; 4] = [
    |r| (r.latency.mean, r.exact.and_then(|exact| exact.mean)),
    |r| (r.latency.p50, r.exact.and_then(|exact| exact.p50)),
    |r| (r.latency.p99, r.exact.and_then(|exact| exact.p99)),
    |r| (r.latency.p99_9, r.exact.and_then(|exact| exact.p99_9)),
];

fn cell(results: &[IdealResult], figure: Figure) -> String {
    let pairs = results.iter().map(|result| {
        let (estimate, exact) = figure(result);
        (estimate, exact.expect("these queues have closed forms"))
    });
    let hits = pairs.clone().filter(|(estimate, exact)| holds(estimate, *exact)).count();
    let mut widths: Vec<f64> =
        pairs.map(|(estimate, exact)| (estimate.high - estimate.low) / exact / 2.0).collect();
    widths.sort_by(f64::total_cmp);
    let share = 100.0 * hits as f64 / results.len() as f64;
    format!("{share:5.1}% (±{:5.2}%)", 100.0 * widths[widths.len() / 2])
}

/// Times are whole nanoseconds: an interval ends within half of one.
fn holds(estimate: &Estimate, exact: f64) -> bool {
    estimate.low - 0.5 <= exact && exact <= estimate.high + 0.5
}

/// Independent runs, seeds 1 to `runs`, on all cores.
fn simulate(services: &Law, load: f64, requests: u64, runs: u64) -> Vec<IdealResult> {
    let one = |seed| Ideal {
        arrivals: Law::Exponential,
        load: Arrivals::Utilisation(load),
        services: services.clone(),
        service_time: Nanos::from_micros(50),
        workers: 4,
        discipline: Discipline::Fifo,
        requests,
        seed,
    };
    let cores = thread::available_parallelism().map_or(1, |n| n.get()) as u64;
    let part = |core: u64| {
        let seeds = (1..=runs).filter(move |seed| seed % cores == core);
        seeds.map(|seed| one(seed).run(&Silent).expect("nothing stops it")).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let handles: Vec<_> = (0..cores).map(|core| scope.spawn(move || part(core))).collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("no panic")).collect()
    })
}
