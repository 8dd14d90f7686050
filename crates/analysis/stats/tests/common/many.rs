//! Queues of any number of workers with exponential services, whose truth is Erlang's, and of one with any.

use model::Nanos;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A service time of 1 in nanoseconds.
pub const UNIT: f64 = 1e6;

/// Latencies of a first come, first served queue with Poisson arrivals, after a warm-up of 6 relaxation
/// times and 10 requests a worker.
pub fn latencies(
    workers: usize,
    load: f64,
    seed: u64,
    requests: usize,
    service: impl Fn(f64) -> f64,
) -> Vec<Nanos> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut free = vec![0.0f64; workers];
    let warm_up = (6.0 / (1.0 - load.sqrt()).powi(2)) as usize + 10 * workers;
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

pub fn exponential(u: f64) -> f64 {
    -u.ln()
}

/// The part of requests that wait (Erlang C).
pub fn waiting(workers: usize, load: f64) -> f64 {
    let a = load * workers as f64;
    let blocking = (1..=workers).fold(1.0, |b, k| a * b / (k as f64 + a * b));
    blocking / (1.0 - load * (1.0 - blocking))
}

/// The mean latency.
pub fn exact_mean(workers: usize, load: f64) -> f64 {
    UNIT * (1.0 + waiting(workers, load) / (workers as f64 * (1.0 - load)))
}

/// The latency that a proportion `beyond` exceeds, by halving.
pub fn exact(workers: usize, load: f64, beyond: f64) -> f64 {
    let waits = waiting(workers, load);
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
