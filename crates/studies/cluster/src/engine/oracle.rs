//! A simulation that keeps lists and looks at everything, held against the engine latency by latency.
//!
//! It knows neither slots nor keys nor the tournament: at each step it looks for the earliest thing that can
//! happen.

mod roots;

use model::arrivals::{ArrivalTimes, round};
use model::law::Sampler;
use model::{Silent, seed};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use stats::service_proportion;

use super::shards::Shards;
use super::{Engine, Stream};
use crate::definition::{Cluster, Work};
use crate::dispatch::below;
use roots::{Roots, Visit};

/// A copy in the oracle: its request, its sub-request among all, when it was begun and what it takes.
#[derive(Clone, Copy)]
struct Entry {
    request: usize,
    task: usize,
    work: u64,
}

/// One leaf: the copies that wait, and those in service until when.
#[derive(Clone, Default)]
struct Server {
    waiting: Vec<Entry>,
    served: Vec<(u64, Entry)>,
}

/// What the oracle finds.
#[derive(Default)]
struct Found {
    latencies: Vec<u64>,
    tasks: Vec<u64>,
    quality: f64,
}

/// A cluster with `same_work`, `copies` at once to randomly drawn servers, all copies of an answered
/// sub-request dropped, also those that are served.
struct Oracle<'a> {
    cluster: &'a Cluster,
    copies: usize,
    works: Sampler,
    shards: Shards,
    rng: Xoshiro256PlusPlus,
    servers: Vec<Server>,
    roots: Option<Roots<'a>>,
    /// Arrival, root, and sub-requests without an answer, of every request.
    requests: Vec<(u64, u32, u32)>,
    /// Arrivals of all sub-requests.
    tasks: Vec<u64>,
    found: Found,
}

impl Oracle<'_> {
    fn new(cluster: &Cluster, copies: usize) -> Oracle<'_> {
        let seed_of = |stream: Stream| seed::derive(cluster.seed, &[stream as u64]);
        let generator = |stream| Xoshiro256PlusPlus::seed_from_u64(seed_of(stream));
        let leaf = &cluster.leaf;
        let Work::Law(law, _) = &leaf.tier.work else { panic!("leaves are queues") };
        Oracle {
            cluster,
            copies,
            works: Sampler::new(law, seed_of(Stream::Leaves)),
            shards: Shards::new(cluster.shards(), leaf.replicas, generator(Stream::Shards)),
            rng: generator(Stream::Dispatch),
            servers: vec![Server::default(); leaf.tier.servers as usize],
            roots: Roots::new(cluster),
            requests: Vec::new(),
            tasks: Vec::new(),
            found: Found::default(),
        }
    }

    /// Until so many requests are answered.
    fn run(mut self, requests: usize) -> Found {
        let (cluster, load) = (self.cluster, self.cluster.loads[0]);
        let rate = cluster.rate_per_s(load);
        let seed = seed::derive(cluster.seed, &[Stream::Arrivals as u64]);
        let mut arrivals = ArrivalTimes::new(&cluster.arrivals, rate, seed);
        let mut next = arrivals.next().expect("without end").0;
        while self.found.latencies.len() < requests {
            let at_roots = self.roots.as_mut().map_or(u64::MAX, Roots::next);
            match self.first_end() {
                Some((now, server, place)) if now < next.min(at_roots) => {
                    self.end(now, server, place);
                }
                _ if at_roots < next => {
                    let passed = self.roots.as_mut().map(|roots| roots.step(at_roots));
                    self.pass(passed.unwrap_or_default(), at_roots);
                }
                _ => {
                    self.arrive(next);
                    next = arrivals.next().expect("without end").0;
                }
            }
        }
        self.found
    }

    /// When the first of all leaves' workers is done, and where.
    fn first_end(&self) -> Option<(u64, usize, usize)> {
        let ends = self.servers.iter().enumerate().flat_map(|(s, server)| {
            server.served.iter().enumerate().map(move |(place, (until, _))| (*until, s, place))
        });
        ends.min()
    }

    fn arrive(&mut self, now: u64) {
        let request = self.requests.len();
        let roots = self.roots.as_ref();
        let root = roots.map_or(0, |roots| below(roots.servers(), &mut self.rng));
        self.requests.push((now, root, self.cluster.fan_out));
        match &mut self.roots {
            Some(roots) => {
                let passed = roots.visit(root, Visit::Split(request), now);
                self.pass(passed, now);
            }
            None => self.fan_out(request, now),
        }
    }

    fn pass(&mut self, passed: Vec<Visit>, now: u64) {
        for visit in passed {
            match visit {
                Visit::Split(request) => self.fan_out(request, now),
                Visit::Merge(request) => self.finish(request, now),
            }
        }
    }

    fn fan_out(&mut self, request: usize, now: u64) {
        let leaf = &self.cluster.leaf;
        let mean_ns = leaf.tier.work.mean().expect("queues").0 as f64;
        for (shard, count) in self.shards.draw(self.cluster.fan_out) {
            for _ in 0..count {
                let work = round(self.works.next() * mean_ns).max(1);
                let task = self.tasks.len();
                self.tasks.push(now);
                let mut taken: Vec<u32> = Vec::new();
                while taken.len() < self.copies {
                    let server = shard * leaf.replicas + below(leaf.replicas, &mut self.rng);
                    if !taken.contains(&server) {
                        taken.push(server);
                        let server = &mut self.servers[server as usize];
                        server.waiting.push(Entry { request, task, work });
                        begin(server, now, leaf.tier.workers);
                    }
                }
            }
        }
    }

    /// A worker has served a copy.
    fn end(&mut self, now: u64, server: usize, place: usize) {
        let (_, done) = self.servers[server].served.remove(place);
        self.found.tasks.push(now - self.tasks[done.task]);
        for other in &mut self.servers {
            other.waiting.retain(|entry| entry.task != done.task);
            other.served.retain(|(_, entry)| entry.task != done.task);
        }
        let (_, root, open) = &mut self.requests[done.request];
        *open -= 1;
        if *open == 0 {
            let root = *root;
            match &mut self.roots {
                Some(roots) if roots.merge() => {
                    let passed = roots.visit(root, Visit::Merge(done.request), now);
                    self.pass(passed, now);
                }
                _ => self.finish(done.request, now),
            }
        }
        let workers = self.cluster.leaf.tier.workers;
        self.servers.iter_mut().for_each(|server| begin(server, now, workers));
    }

    fn finish(&mut self, request: usize, now: u64) {
        self.found.latencies.push(now - self.requests[request].0);
        self.found.quality += 1.0;
    }
}

fn begin(server: &mut Server, now: u64, workers: u32) {
    while server.served.len() < workers as usize && !server.waiting.is_empty() {
        let entry = server.waiting.remove(0);
        server.served.push((now + entry.work, entry));
    }
}

// No two machines answer at one moment, whose order engine and oracle do not share: services of one length
// that begin at a tick would.
const MACHINE: &str = r#"# A front end beside batch work.
duration = "1s"
machine.cpus = 2
[[program]]
name = "front"
kind = "service"
service_time = { law = "exponential", mean = "100us" }
arrivals.utilisation = 0.4
[[program]]
name = "hogs"
kind = "batch"
threads = 3"#;

const MEASURED: &str = r#"{ "ccdf": [{ "latency_ns": 100000, "proportion": 0.9 }, { "latency_ns": 400000, "proportion": 0.5 },
    { "latency_ns": 5000000, "proportion": 0.1 }], "latency_ns": { "max": 20000000 } }"#;

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
    let find = |name: &str| match name {
        "machine" => Ok(MACHINE.to_string()),
        _ => Ok(MEASURED.to_string()),
    };
    Cluster::read(&text, "test.toml", &find).unwrap_or_else(|failure| panic!("{failure}"))
}

/// Mean, extremes, proportions and counts of the engine against those of the oracle's plain lists.
fn agree(more: &str, copies: usize) -> Found {
    let cluster = cluster(more);
    let engine = Engine::new(&cluster, &cluster.cases()[0], cluster.seed).expect("valid");
    let outcome = engine.run(&Silent).expect("runs");
    let requests = outcome.requests as usize;
    let found = Oracle::new(&cluster, copies).run(requests);
    let sum: u64 = found.latencies.iter().sum();
    let close =
        |a: f64, b: f64, what: &str| assert!((a / b - 1.0).abs() < 1e-12, "{more} {what}: {a} {b}");
    close(outcome.latency.mean.value, sum as f64 / requests as f64, "mean");
    assert_eq!(Some(outcome.latency.max.0), found.latencies.iter().max().copied(), "{more}");
    let slow =
        |all: &[u64]| all.iter().filter(|ns| **ns > 3_000_000).count() as f64 / all.len() as f64;
    // Buckets of 0.1%: few latencies lie so near the threshold.
    let near =
        |a: f64, b: f64, what: &str| assert!((a - b).abs() < 0.002, "{more} {what}: {a} {b}");
    near(outcome.outliers.value, slow(&found.latencies), "outliers");
    let op = outcome.sub_outliers.expect("answers").value;
    near(op, slow(&found.tasks), "sub-requests' outliers");
    let independent = outcome.independent_outliers.expect("answers").value;
    close(independent, service_proportion(op, 3.0), "equation 4");
    assert_eq!(outcome.quality, found.quality / requests as f64);
    assert_eq!(outcome.copies_per_sub_request, copies as f64);
    found
}

#[test]
fn the_engine_agrees_with_lists() {
    agree("", 1);
    agree("redundancy = \"replicate:copies=2:cancel=running\"", 2);
    agree("redundancy = \"replicate:copies=3:cancel=running\"", 3);
}

/// Roots of each kind, slow ones and such that merge.
#[test]
fn the_engine_agrees_with_lists_about_roots() {
    let rule = "redundancy = \"replicate:copies=2:cancel=running\"";
    let slow = "slow = { share = 0.1, length = \"20ms\", factor = 3 }";
    let queue = "servers = 2, workers = 3, service_time = \"500us\"";
    let merge = "merge.service_time = { law = \"exponential\", mean = \"200us\" }";
    let measured = "servers = 2, measured = \"m\", slow = { share = 0.1, length = \"20ms\" }";
    let machine = "servers = 2, machine = \"machine\", policy = \"rearguard\"";
    let mut means = Vec::new();
    for (root, copies) in [
        (queue.to_string(), 1),
        (format!("{queue}, {slow}, {merge}"), 2),
        (measured.to_string(), 1),
        (format!("{measured}, merge.measured = \"m\""), 2),
        (machine.to_string(), 1),
        (format!("{machine}, {merge}"), 2),
    ] {
        let rule = if copies == 2 { rule } else { "" };
        let found = agree(&format!("root = {{ {root} }}\n{rule}"), copies);
        means.push(found.latencies.iter().sum::<u64>() / found.latencies.len() as u64);
    }
    // The control: none is like another, so each kind was there.
    let count = means.len();
    means.sort_unstable();
    means.dedup();
    assert_eq!(means.len(), count, "{means:?}");
}
