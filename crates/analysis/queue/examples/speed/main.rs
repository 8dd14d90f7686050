//! What a simulated request costs: `speed WHAT REQUESTS` prints CPU seconds and the mean latency in
//! microseconds.
//!
//! WHAT is a discipline with a service law, as `fifo/fixed`, or a peer that simulates M/D/4 at 80%: `heap`,
//! `desque`. `benches/ideal/run` runs all of them by turns, beside peers in Python.

mod desque_peer;
mod heap_peer;

use model::law::Law;
use model::scenario::Arrivals;
use model::{Nanos, Silent};
use nix::time::{ClockId, clock_gettime};
use queue::Ideal;

/// Four workers, services of 50 us on average, 80%.
const WORKERS: u32 = 4;
const SERVICE_NS: u64 = 50_000;
const MEAN_GAP_NS: f64 = 50_000.0 / 4.0 / 0.8;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, requests] = &arguments[..] else { panic!("usage: speed WHAT REQUESTS") };
    let requests: u64 = requests.parse().expect("a number of requests");
    let before = cpu_seconds();
    let mean_ns = match what.as_str() {
        "heap" => heap_peer::mean_latency_ns(requests),
        "desque" => desque_peer::mean_latency_ns(requests),
        _ => ours(what, requests),
    };
    println!("{:.6} {:.3}", cpu_seconds() - before, mean_ns / 1e3);
}

/// `DISCIPLINE/LAW[/WORKERS]`; the warm-up is not counted as work done, though it is paid for.
fn ours(what: &str, requests: u64) -> f64 {
    let parts: Vec<&str> = what.split('/').collect();
    let workers = parts.get(2).map_or(WORKERS, |text| text.parse().expect("a number of workers"));
    let ideal = Ideal {
        arrivals: Law::Exponential,
        load: Arrivals::Utilisation(0.8),
        services: parts[1].parse().expect("a law"),
        service_time: Nanos(SERVICE_NS),
        workers,
        discipline: parts[0].parse().expect("a discipline"),
        requests,
        seed: 1,
    };
    ideal.run(&Silent).expect("nothing stops it").latency.mean.value
}

fn cpu_seconds() -> f64 {
    let time =
        clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("every Linux has this clock");
    time.tv_sec() as f64 + time.tv_nsec() as f64 / 1e9
}
