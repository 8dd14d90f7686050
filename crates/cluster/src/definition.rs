//! A cluster: who answers, what is asked, and which rules are tried.

use model::law::Law;
use model::scenario::Arrivals;
use model::{Nanos, PolicySpec, Scenario};

use crate::measured::Measured;
use crate::{Dispatch, Redundancy};

/// A valid cluster with the cases to run: every load under every dispatch with every redundancy.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its name, for reports: the file's stem unless the file gives one.
    pub name: String,
    /// The first comment of the file: what the cluster shows.
    pub shows: String,
    /// The measured time, as long as it takes the arrivals of so long to be answered.
    pub duration: Nanos,
    /// Time before the measurement starts.
    pub warm_up: Nanos,
    /// The seed of everything drawn.
    pub seed: u64,
    /// A request slower than this is an outlier (10-ms computing section II).
    pub outlier_threshold: Nanos,
    /// Sub-requests of a request, each to a shard of its own as long as there are enough.
    pub fan_out: u32,
    /// What a message takes one way between a root and a leaf.
    pub network: Nanos,
    /// A request that is not answered by then is lost, and what is left of it is dropped.
    pub deadline: Option<Nanos>,
    /// When a request is answered without all its sub-requests.
    pub partial: Partial,
    /// The law of gaps between requests.
    pub arrivals: Law,
    /// How many requests come: loads to try.
    pub loads: Vec<Arrivals>,
    /// Servers that each request goes through before it fans out.
    pub root: Option<Root>,
    /// Servers that answer sub-requests.
    pub leaf: Leaf,
    /// Rules of dispatch to try.
    pub dispatch: Vec<Dispatch>,
    /// Rules of redundancy to try.
    pub redundancy: Vec<Redundancy>,
}

/// Servers that are alike: each a queue, first come, first served, before its workers.
#[derive(Clone, Debug)]
pub struct Tier {
    /// How many servers.
    pub servers: u32,
    /// Workers of each.
    pub workers: u32,
    /// The law of service times.
    pub services: Law,
    /// The mean service time.
    pub service_time: Nanos,
}

/// The roots. Their workers are free while answers are under way.
#[derive(Clone, Debug)]
pub struct Root {
    /// The servers, and what a request takes before it fans out.
    pub tier: Tier,
    /// The same servers, and what it takes to put the answers together; `None`: nothing.
    pub merge: Option<Tier>,
}

/// The leaves.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// The servers.
    pub tier: Tier,
    /// Servers of a shard: each can answer what the others can.
    pub replicas: u32,
    /// Whether all copies of a sub-request are the same work; else each server draws its own.
    pub same_work: bool,
    /// Episodes in which a server is slow.
    pub slow: Option<Slow>,
    /// Latencies of a measured server instead of a queue.
    pub measured: Option<Measured>,
    /// A modelled machine instead of a queue.
    pub machine: Option<Machine>,
}

/// A machine of the simulator under a policy: it serves the first service of its scenario, beside all else that runs there.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The machine and its programs. What the service's own client would send is not sent.
    pub scenario: Scenario,
    /// The policy.
    pub policy: PolicySpec,
}

impl Tier {
    /// A tier in one line.
    pub(crate) fn of(servers: u32, workers: u32, services: Law, service_time: Nanos) -> Tier {
        Tier { servers, workers, services, service_time }
    }
}

impl Leaf {
    /// Whether leaves are queues of this simulation.
    pub fn is_queue(&self) -> bool {
        self.measured.is_none() && self.machine.is_none()
    }
}

/// A server is slow for a while, now and then, independently of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slow {
    /// The share of time.
    pub share: f64,
    /// The mean length of an episode; lengths are exponential.
    pub length: Nanos,
    /// How many times as long everything takes meanwhile.
    pub factor: f64,
}

/// When to answer with what there is (10-ms computing section V.B, partial execution).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Partial {
    /// As soon as this share of the sub-requests is answered; 1: all.
    pub enough: f64,
    /// After so long, whatever is answered by then.
    pub after: Option<Nanos>,
}

/// One case of a cluster.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Case {
    /// How many requests come.
    pub load: Arrivals,
    /// How sub-requests find their server.
    pub dispatch: Dispatch,
    /// How many copies of them are sent.
    pub redundancy: Redundancy,
}

impl Cluster {
    /// All cases: loads inside redundancy inside dispatch.
    pub fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for dispatch in self.dispatch.iter().copied() {
            for redundancy in self.redundancy.iter().copied() {
                cases.extend(self.loads.iter().map(|load| Case {
                    load: *load,
                    dispatch,
                    redundancy,
                }));
            }
        }
        cases
    }

    /// Requests a second that a load is.
    pub fn rate_per_s(&self, load: Arrivals) -> f64 {
        match load {
            Arrivals::Rate(rate) => rate,
            Arrivals::Utilisation(share) => share * self.capacity_per_s(),
        }
    }

    /// The share of the leaves' time that a load is, without copies and slow episodes; unknown for measured leaves.
    pub fn utilisation(&self, load: Arrivals) -> Option<f64> {
        self.leaf.measured.is_none().then(|| self.rate_per_s(load) / self.capacity_per_s())
    }

    /// Requests a second that keep all leaves busy.
    fn capacity_per_s(&self) -> f64 {
        let Tier { servers, workers, service_time, .. } = &self.leaf.tier;
        let workers = f64::from(*servers) * f64::from(*workers);
        workers / service_time.as_secs_f64() / f64::from(self.fan_out)
    }

    /// The share of the roots' time that a load is; 0 without roots.
    pub(crate) fn root_utilisation(&self, load: Arrivals) -> f64 {
        let Some(Root { tier, merge }) = &self.root else { return 0.0 };
        let merging = merge.as_ref().map_or(Nanos::ZERO, |merge| merge.service_time);
        let workers = f64::from(tier.servers) * f64::from(tier.workers);
        self.rate_per_s(load) * (tier.service_time + merging).as_secs_f64() / workers
    }

    /// Groups of servers that can stand in for each other.
    pub fn shards(&self) -> u32 {
        self.leaf.tier.servers / self.leaf.replicas
    }
}
