//! The ideal of services behind one another: a network of queues.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use model::Nanos;

/// A service of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tier {
    /// Which of the pools of CPUs it runs on.
    pub pool: usize,
    /// How many requests it works on at once at most; at least 1.
    pub workers: u32,
}

/// A network of queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    /// The services in the order in which a request goes through them.
    pub tiers: Vec<Tier>,
    /// How many CPUs each pool has; at least 1.
    pub pools: Vec<u32>,
    /// How many requests are begun with and not answered at once at most; at least 1. Others wait in their
    /// client.
    pub connections: u32,
}

impl Chain {
    /// When each of the services, one after the other, would have been done with each request.
    ///
    /// `arrivals` are moments in rising order; `services` has for each service the time that each request
    /// asks of it. No work is interrupted. A CPU that is free takes, of all that waits for one of its pool
    /// and whose service has a worker, what belongs to the request that came first. [`Nanos::NEVER`] stands
    /// for moments beyond what can be told.
    pub fn completions(&self, arrivals: &[Nanos], services: &[&[Nanos]]) -> Vec<Vec<Nanos>> {
        let mut network = Network::new(self, services, arrivals.len());
        for (request, arrival) in arrivals.iter().enumerate() {
            network.advance(*arrival);
            network.held.insert(request);
            network.now = *arrival;
            // Requests of one moment come together.
            if arrivals.get(request + 1) != Some(arrival) {
                network.start();
            }
        }
        network.advance(Nanos::NEVER);
        network.done
    }
}

/// The network on its way through the requests.
struct Network<'a> {
    chain: &'a Chain,
    services: &'a [&'a [Nanos]],
    now: Nanos,
    /// Requests that no service has begun with.
    held: BTreeSet<usize>,
    /// By service, what waits there.
    waiting: Vec<BTreeSet<usize>>,
    /// By service, how many workers are free.
    workers: Vec<u32>,
    /// By pool, how many CPUs are free.
    cpus: Vec<u32>,
    connections: u32,
    /// What is at work, by when it ends: that, the request and its service.
    running: BinaryHeap<Reverse<(Nanos, usize, usize)>>,
    /// By service and request.
    done: Vec<Vec<Nanos>>,
}

impl<'a> Network<'a> {
    fn new(chain: &'a Chain, services: &'a [&'a [Nanos]], requests: usize) -> Network<'a> {
        Network {
            chain,
            services,
            now: Nanos::ZERO,
            held: BTreeSet::new(),
            waiting: vec![BTreeSet::new(); chain.tiers.len()],
            workers: chain.tiers.iter().map(|tier| tier.workers).collect(),
            cpus: chain.pools.clone(),
            connections: chain.connections,
            running: BinaryHeap::new(),
            done: vec![vec![Nanos::NEVER; requests]; chain.tiers.len()],
        }
    }

    /// Lets all end that ends up to a moment, and what it lets go begin. What ends at that very moment is
    /// over; what could begin then waits for what arrives with it.
    fn advance(&mut self, until: Nanos) {
        while let Some(Reverse((at, ..))) = self.running.peek().copied() {
            if at > until {
                return;
            }
            self.now = at;
            while let Some(Reverse((end, request, tier))) = self.running.peek().copied() {
                if end > at {
                    break;
                }
                self.running.pop();
                self.finish(request, tier);
            }
            if at < until {
                self.start();
            }
        }
    }

    fn finish(&mut self, request: usize, tier: usize) {
        self.done[tier][request] = self.now;
        self.workers[tier] += 1;
        self.cpus[self.chain.tiers[tier].pool] += 1;
        match self.waiting.get_mut(tier + 1) {
            Some(next) => _ = next.insert(request),
            None => self.connections += 1,
        }
    }

    /// Lets begin what can.
    fn start(&mut self) {
        while self.connections > 0
            && let Some(request) = self.held.pop_first()
        {
            self.connections -= 1;
            self.waiting[0].insert(request);
        }
        for pool in 0..self.cpus.len() {
            while self.cpus[pool] > 0
                && let Some((request, tier)) = self.first_of(pool)
            {
                self.begin(request, tier);
            }
        }
    }

    /// Of what waits for a pool's CPUs and has a worker, that of the request that came first.
    fn first_of(&self, pool: usize) -> Option<(usize, usize)> {
        let tiers = 0..self.chain.tiers.len();
        let open =
            tiers.filter(|tier| self.chain.tiers[*tier].pool == pool && self.workers[*tier] > 0);
        open.filter_map(|tier| Some((*self.waiting[tier].first()?, tier))).min()
    }

    fn begin(&mut self, request: usize, tier: usize) {
        self.waiting[tier].remove(&request);
        self.workers[tier] -= 1;
        self.cpus[self.chain.tiers[tier].pool] -= 1;
        let end = self.now.saturating_add(self.services[tier][request]);
        self.running.push(Reverse((end, request, tier)));
    }
}
