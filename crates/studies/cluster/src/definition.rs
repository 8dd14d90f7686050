//! A cluster: its servers, its load, and the rules that are tried.

use model::law::Law;
use model::scenario::Arrivals;
use model::{Failure, Nanos, PolicySpec, Scenario};

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

/// Servers that are alike, of one of three kinds: queues, first come, first served, before their workers;
/// latencies as measured; machines.
#[derive(Clone, Debug)]
pub struct Tier {
    /// How many servers.
    pub servers: u32,
    /// Workers of each: the CPUs of a machine; 1 where latencies are measured.
    pub workers: u32,
    /// What serving takes.
    pub work: Work,
    /// A modelled machine instead of a queue.
    pub machine: Option<Machine>,
    /// Episodes in which a server is slow.
    pub slow: Option<Slow>,
}

/// What serving takes.
#[derive(Clone, Debug)]
pub enum Work {
    /// The time of a worker, on a machine of a CPU: by a law, and its mean.
    Law(Law, Nanos),
    /// A latency of a measured server, without a queue.
    Measured(Measured),
}

/// The roots. They are free for others while answers are under way.
#[derive(Clone, Debug)]
pub struct Root {
    /// The servers, and what a request takes before it fans out.
    pub tier: Tier,
    /// What it takes at the same server to put the answers together, of the same kind; `None`: nothing.
    pub merge: Option<Work>,
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
}

/// A machine of the simulator under a policy: it serves the first service of its scenario, beside all else
/// that runs there.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The machine and its programs. What the service's own client would send is not sent.
    pub scenario: Scenario,
    /// The policy.
    pub policy: PolicySpec,
}

impl Work {
    /// The mean time of a worker; unknown where latencies are measured.
    pub fn mean(&self) -> Option<Nanos> {
        match self {
            Work::Law(_, mean) => Some(*mean),
            Work::Measured(_) => None,
        }
    }
}

impl Tier {
    /// Whether the servers are queues of this simulation.
    pub fn is_queue(&self) -> bool {
        self.machine.is_none() && !self.is_measured()
    }

    /// Whether their latencies are measured.
    pub fn is_measured(&self) -> bool {
        matches!(self.work, Work::Measured(_))
    }

    /// The share of its work that a server does in the mean, with its slow episodes.
    fn able(&self) -> f64 {
        self.slow.map_or(1.0, |slow| 1.0 - slow.share * (1.0 - 1.0 / slow.factor))
    }

    /// Workers of all servers.
    pub(crate) fn all_workers(&self) -> f64 {
        f64::from(self.servers) * f64::from(self.workers)
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

    /// The share of the leaves' time that a load is, without copies and slow episodes; unknown for measured
    /// leaves.
    pub fn utilisation(&self, load: Arrivals) -> Option<f64> {
        let known = !self.leaf.tier.is_measured();
        known.then(|| self.rate_per_s(load) / self.capacity_per_s())
    }

    /// Whether requests are given up after a time, so that no queue grows for ever.
    pub(crate) fn is_bounded(&self) -> bool {
        self.deadline.is_some() || self.partial.after.is_some()
    }

    /// Whether queues grow for ever: what has to be served is at least what leaves can serve, where so many
    /// copies of a sub-request are sent. One run that is full does not say so: chance fills short ones.
    ///
    /// False where it is not known: for measured leaves, and where work is dropped, be it late or not needed.
    pub(crate) fn is_overloaded(&self, case: &Case, sent: f64) -> bool {
        let drops = self.is_bounded() || self.partial.enough < 1.0;
        let served = case.redundancy.served_at_least(sent);
        let load = self.utilisation(case.load).map(|one| one * served);
        !drops && load.is_some_and(|load| load >= self.leaf.tier.able())
    }

    /// Requests a second that keep all leaves busy; without end for measured leaves.
    fn capacity_per_s(&self) -> f64 {
        let tier = &self.leaf.tier;
        let service_time = tier.work.mean().unwrap_or(Nanos::ZERO);
        tier.all_workers() / service_time.as_secs_f64() / f64::from(self.fan_out)
    }

    /// The share of the roots' time that a load is; 0 without roots and for measured ones.
    pub(crate) fn root_utilisation(&self, load: Arrivals) -> f64 {
        let Some(Root { tier, merge }) = &self.root else { return 0.0 };
        let works = [Some(&tier.work), merge.as_ref()].into_iter().flatten();
        let service_s: f64 = works.filter_map(Work::mean).map(Nanos::as_secs_f64).sum();
        self.rate_per_s(load) * service_s / tier.all_workers()
    }

    /// Runs all machines of the cluster, leaves and roots, under a policy. [`Failure::Input`] where it has
    /// none.
    pub fn set_policy(&mut self, policy: &PolicySpec) -> Result<(), Failure> {
        let tiers = [Some(&mut self.leaf.tier), self.root.as_mut().map(|root| &mut root.tier)];
        let machines = tiers.into_iter().flatten().filter_map(|tier| tier.machine.as_mut());
        if machines.map(|machine| machine.policy.clone_from(policy)).count() == 0 {
            let what = "no server of the cluster is a machine: neither leaf nor root names one";
            return Err(Failure::Input(format!("policy: {what}")));
        }
        Ok(())
    }

    /// [`Failure::Input`] where it names a policy in a file: see [`PolicySpec::check_shipped`].
    pub fn check_shipped(&self) -> Result<(), Failure> {
        let tiers = [Some(&self.leaf.tier), self.root.as_ref().map(|root| &root.tier)];
        let mut machines = tiers.into_iter().flatten().filter_map(|tier| tier.machine.as_ref());
        machines.try_for_each(|machine| machine.policy.check_shipped())
    }

    /// Groups of servers that can stand in for each other.
    pub fn shards(&self) -> u32 {
        self.leaf.tier.servers / self.leaf.replicas
    }
}
