//! The ideal of a trace: what a queue would have done with the very same requests.

use model::{Nanos, Trace};

use crate::discipline::Discipline;
use crate::engine::{Drive, Engine, Plan, Request, Sink, Tree};

/// The latencies that requests, each (arrival, service time), would have had with `workers` workers, in the
/// order given.
///
/// Requests of a client with finitely many connections wait in the client, first come, first served, while
/// all connections are busy; that is a queue like the server's, so with FIFO the ideal has min(workers,
/// connections) workers. `seed` draws for the two random disciplines and means nothing to the others. No
/// workers count as one. All latencies are [`Nanos::NEVER`] where the trace is too long to tell: where its
/// span and all its services together reach 2^63 ns over the number of workers (52 days with 2,048 of them).
pub fn ideal(
    requests: &[(Nanos, Nanos)],
    workers: u32,
    discipline: Discipline,
    seed: u64,
) -> Vec<Nanos> {
    let workers = workers.max(1);
    let latencies = Latencies(vec![Nanos::NEVER; requests.len()]);
    let mut order: Vec<u64> = (0..requests.len() as u64).collect();
    order.sort_by_key(|number| requests[*number as usize].0);
    let first = order.first().map_or(0, |number| requests[*number as usize].0.0);
    if !fits(requests, first, workers) {
        return latencies.0;
    }
    Plan { workers, discipline, alike: false, seed }.drive(Replay {
        requests,
        order,
        first,
        latencies,
    })
}

/// The ideal latencies of all requests of a program: a first-come, first-served queue with their own arrivals
/// and service times (Tales section 3.2).
pub fn ideal_latencies(trace: &Trace, program: usize, workers: u32) -> Vec<Nanos> {
    let requests = &trace.programs[program].requests;
    let asked: Vec<(Nanos, Nanos)> = requests.iter().map(|r| (r.intended, r.service)).collect();
    ideal(&asked, workers, Discipline::Fifo, trace.seed)
}

/// Whether no moment of the trace leaves the range that an engine can tell apart.
fn fits(requests: &[(Nanos, Nanos)], first: u64, workers: u32) -> bool {
    let services: u128 = requests.iter().map(|(_, service)| u128::from(service.0)).sum();
    let last = requests.iter().map(|(arrival, _)| arrival.0 - first).max().unwrap_or(0);
    services + u128::from(last) < u128::from(Tree::horizon(workers) / 2)
}

/// A trace on its way through an engine.
struct Replay<'a> {
    requests: &'a [(Nanos, Nanos)],
    order: Vec<u64>,
    first: u64,
    latencies: Latencies,
}

impl Drive for Replay<'_> {
    type Outcome = Vec<Nanos>;

    fn drive(mut self, mut engine: impl Engine) -> Vec<Nanos> {
        for number in self.order {
            let (arrival, service) = self.requests[number as usize];
            let request = Request { number, arrival: arrival.0 - self.first, service: service.0 };
            engine.arrive(request, &mut self.latencies);
        }
        engine.drain(&mut self.latencies);
        self.latencies.0
    }
}

/// Latencies by the number of the request.
struct Latencies(Vec<Nanos>);

impl Sink for Latencies {
    #[inline(always)]
    fn take(&mut self, number: u64, latency: u64) {
        self.0[number as usize] = Nanos(latency);
    }
}
