//! A simulation that keeps lists and looks at everything, held against the engine latency by latency.
//!
//! It knows neither slots nor keys nor the tournament: at each step it looks for the earliest thing that can happen.

use model::arrivals::{ArrivalTimes, round};
use model::law::Sampler;
use model::{Silent, seed};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::service_proportion;

use super::shards::Shards;
use super::{Engine, Purpose};
use crate::definition::Cluster;
use crate::dispatch::below;

/// A copy in the oracle: its request, its sub-request among all, when it was begun and what it takes.
#[derive(Clone, Copy)]
struct Entry {
    request: usize,
    task: usize,
    work: u64,
}

/// One leaf: who waits, who is served until when.
#[derive(Clone, Default)]
struct Server {
    waiting: Vec<Entry>,
    served: Vec<(u64, Entry)>,
}

/// What the oracle finds.
struct Found {
    latencies: Vec<u64>,
    tasks: Vec<u64>,
    quality: f64,
}

/// A cluster with `same_work`, `copies` at once to servers by lot, all copies of an answered sub-request dropped, also those that are served.
fn simulate(cluster: &Cluster, copies: usize, requests: usize) -> Found {
    let seed_of = |purpose: Purpose| seed::derive(cluster.seed, &[purpose as u64]);
    let generator = |purpose| Xoshiro256PlusPlus::seed_from_u64(seed_of(purpose));
    let leaf = &cluster.leaf;
    let rate = cluster.rate_per_s(cluster.loads[0]);
    let mut arrivals = ArrivalTimes::new(&cluster.arrivals, rate, seed_of(Purpose::Arrivals));
    let mut works = Sampler::new(&leaf.tier.services, seed_of(Purpose::Leaves));
    let mut shards = Shards::new(cluster.shards(), leaf.replicas, generator(Purpose::Shards));
    let mut lots = generator(Purpose::Dispatch);
    let mut servers = vec![Server::default(); leaf.tier.servers as usize];
    // (arrival, sub-requests without an answer) of every request, (arrival, answered) of every sub-request.
    let mut open: Vec<(u64, u32)> = Vec::new();
    let mut tasks: Vec<(u64, bool)> = Vec::new();
    let mut found = Found { latencies: Vec::new(), tasks: Vec::new(), quality: 0.0 };
    let mut next = arrivals.next().expect("without end").0;
    while found.latencies.len() < requests {
        let ends = servers.iter().enumerate().flat_map(|(s, server)| {
            server.served.iter().enumerate().map(move |(place, (until, _))| (*until, s, place))
        });
        let first = ends.min();
        match first {
            Some((now, server, place)) if now < next => {
                let (_, done) = servers[server].served.remove(place);
                tasks[done.task].1 = true;
                found.tasks.push(now - tasks[done.task].0);
                for other in &mut servers {
                    other.waiting.retain(|entry| entry.task != done.task);
                    other.served.retain(|(_, entry)| entry.task != done.task);
                }
                open[done.request].1 -= 1;
                if open[done.request].1 == 0 {
                    found.latencies.push(now - open[done.request].0);
                    found.quality += 1.0;
                }
                servers.iter_mut().for_each(|server| begin(server, now, leaf.tier.workers));
            }
            _ => {
                let request = open.len();
                open.push((next, cluster.fan_out));
                for (shard, count) in shards.draw(cluster.fan_out) {
                    for _ in 0..count {
                        let work = round(works.next() * leaf.tier.service_time.0 as f64).max(1);
                        let task = tasks.len();
                        tasks.push((next, false));
                        let mut taken: Vec<u32> = Vec::new();
                        while taken.len() < copies {
                            let lot = shard * leaf.replicas + below(leaf.replicas, &mut lots);
                            if !taken.contains(&lot) {
                                taken.push(lot);
                                let server = &mut servers[lot as usize];
                                server.waiting.push(Entry { request, task, work });
                                begin(server, next, leaf.tier.workers);
                            }
                        }
                    }
                }
                next = arrivals.next().expect("without end").0;
            }
        }
    }
    found
}

fn begin(server: &mut Server, now: u64, workers: u32) {
    while server.served.len() < workers as usize && !server.waiting.is_empty() {
        let entry = server.waiting.remove(0);
        server.served.push((now + entry.work, entry));
    }
}

fn cluster(more: &str) -> Cluster {
    let text = format!(
        r#"# A test.
        duration = "400ms"
        warm_up = "0"
        outlier_threshold = "3ms"
        fan_out = 3
        arrivals.utilisation = 0.6
        {more}
        [leaf]
        servers = 12
        workers = 2
        replicas = 4
        same_work = true
        service_time = {{ law = "exponential", mean = "1ms" }}"#
    );
    Cluster::read(&text, "test.toml", &|name| Err(model::Failure::Input(name.into())))
        .expect("valid")
}

/// Mean, extremes, proportions and counts of the engine against those of the oracle's plain lists.
#[test]
fn the_engine_agrees_with_lists() {
    for (copies, rule) in [
        (1, "none"),
        (2, "replicate:copies=2:cancel=running"),
        (3, "replicate:copies=3:cancel=running"),
    ] {
        let cluster = cluster(&format!("redundancy = \"{rule}\""));
        let outcome = Engine::new(&cluster, &cluster.cases()[0], cluster.seed)
            .expect("valid")
            .run(&Silent)
            .expect("runs");
        let requests = outcome.requests as usize;
        let found = simulate(&cluster, copies, requests);
        let sum: u64 = found.latencies.iter().sum();
        let close = |a: f64, b: f64, what: &str| {
            assert!((a / b - 1.0).abs() < 1e-12, "{rule} {what}: {a} {b}")
        };
        close(outcome.latency.mean.value, sum as f64 / requests as f64, "mean");
        assert_eq!(Some(outcome.latency.max.0), found.latencies.iter().max().copied(), "{rule}");
        let slow = |all: &[u64]| {
            all.iter().filter(|ns| **ns > 3_000_000).count() as f64 / all.len() as f64
        };
        // Buckets of 0.1%: few latencies lie so near the threshold.
        let near =
            |a: f64, b: f64, what: &str| assert!((a - b).abs() < 0.002, "{rule} {what}: {a} {b}");
        near(outcome.outliers.value, slow(&found.latencies), "outliers");
        near(
            outcome.sub_outliers.expect("answers").value,
            slow(&found.tasks),
            "sub-requests' outliers",
        );
        let op = outcome.sub_outliers.expect("answers").value;
        close(
            outcome.independent_outliers.expect("answers").value,
            service_proportion(op, 3.0),
            "equation 4",
        );
        assert_eq!(outcome.quality, found.quality / requests as f64);
        assert_eq!(outcome.copies_per_sub_request, copies as f64);
    }
}
