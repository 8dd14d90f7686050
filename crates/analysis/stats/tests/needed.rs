//! A pilot says how many requests a precision needs: with so many it is reached as often as 95% intervals
//! say, with fewer it is not.
#![forbid(unsafe_code)]

#[expect(dead_code, reason = "the textbook is for other tests")]
mod common;

use common::{QUEUES, Queue, UNIT};
use stats::{Quantile, latency_estimates, needed};

const PRECISION: f64 = 0.05;
const RUNS: u64 = 40;
const P99: usize = 2;

/// What pilots of 50,000 requests say at their median.
fn said(queue: Queue) -> f64 {
    let pilot =
        |seed: u64| needed(&queue.latencies(1_000 + seed, 50_000), Quantile::P99, PRECISION);
    let mut all: Vec<f64> =
        (0..21).map(|seed| pilot(seed).expect("long enough").requests).collect();
    all.sort_by(f64::total_cmp);
    all[10]
}

/// How many of 40 runs of so many requests are within the precision.
fn within(queue: Queue, requests: usize) -> usize {
    let truth = queue.exact[P99] * UNIT;
    let is_near = |seed: &u64| {
        let latency = latency_estimates(&[queue.latencies(*seed, requests)]).expect("requests");
        (latency.p99.value / truth - 1.0).abs() <= PRECISION
    };
    (1..=RUNS).filter(is_near).count()
}

#[test]
fn the_computed_sample_size_is_enough_and_a_tenth_is_not() {
    for queue in QUEUES.into_iter().filter(|queue| queue.load == 0.8) {
        let requests = said(queue) as usize;
        println!("{}: {requests} requests", queue.name());
        assert!(within(queue, requests) >= 34, "{} with {requests}", queue.name());
        assert!(within(queue, requests / 10) <= 32, "{} with {}", queue.name(), requests / 10);
    }
}

#[test]
fn independent_requests_need_what_the_textbook_says() {
    // At 50% of M/M/4 three of four requests are as good as independent at p99 (77% measured over a million).
    let queue = QUEUES[0];
    let said = needed(&queue.latencies(1, 400_000), Quantile::P99, PRECISION).expect("enough");
    let each = said.requests_per_independent;
    assert!((1.0..2.0).contains(&each), "{each}");
}

#[test]
fn a_pilot_without_information_is_refused() {
    let queue = QUEUES[0];
    assert_eq!(needed(&queue.latencies(1, 900), Quantile::P99, PRECISION), None);
    let mut lossy = queue.latencies(1, 10_000);
    lossy.iter_mut().step_by(50).for_each(|latency| *latency = model::Nanos::NEVER);
    assert_eq!(needed(&lossy, Quantile::P99, PRECISION), None);
}
