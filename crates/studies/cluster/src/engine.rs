//! The simulation: time moves from event to event, requests fan out, servers serve, rules decide.
//!
//! A request fans out the moment that it comes (or that its root has served it), its sub-requests' copies
//! travel to leaves, wait and are served, and answers travel back. A copy that is not needed any more is
//! forgotten by its key: queues, messages and timers may still hold the key, and find nothing.

mod clock;
mod copies;
mod late;
mod leaves;
mod machines;
#[cfg(test)]
mod oracle;
mod requests;
mod roots;
mod servers;
mod service_times;
mod shards;
mod slow;
mod station;
mod totals;
mod work;

use model::arrivals::ArrivalTimes;
use model::{Failure, Nanos, Watch, seed};
use queue::Recording;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use slotmap::SlotMap;

use crate::definition::{Case, Cluster};
use crate::dispatch::{Central, Chooser, Dispatch};
use crate::outcome::Outcome;
use crate::redundancy::Rule;
use clock::{Clock, Event};
use late::Unbound;
use leaves::Leaves;
use roots::Roots;
use servers::Seeds;
use shards::Shards;
pub(crate) use totals::Totals;
use work::{BatchKey, Copy, CopyKey, Request, RequestKey, Task, TaskKey};

/// Events between two looks at the watch: some tens of milliseconds.
const EVENTS_A_LOOK: u64 = 1 << 17;

/// A latency that says that the request was lost: longer than any run.
pub(crate) const LOST: Nanos = Nanos(1 << 60);

/// The generators of a run, one a purpose.
#[derive(Clone, Copy)]
enum Stream {
    Arrivals = 1,
    Leaves = 2,
    Roots = 3,
    Dispatch = 4,
    Shards = 5,
    Episodes = 6,
    Machines = 7,
    RootEpisodes = 8,
    RootMachines = 9,
}

/// One case of a cluster, running.
pub(crate) struct Engine<'a> {
    cluster: &'a Cluster,
    network_ns: u64,
    clock: Clock,
    arrivals: ArrivalTimes,
    requests: SlotMap<RequestKey, Request>,
    tasks: SlotMap<TaskKey, Task>,
    copies: SlotMap<CopyKey, Copy>,
    batches: SlotMap<BatchKey, Unbound>,
    roots: Option<Roots>,
    leaves: Leaves,
    /// The first slot of roots in the clock: those of leaves come before.
    first_root: u32,
    /// Why a machine could not go on.
    fault: Option<Failure>,
    shards: Shards,
    dispatch: Dispatch,
    chooser: Box<dyn Chooser>,
    /// The queues of the shards, where those are central.
    central: Vec<Central<CopyKey>>,
    rule: Box<dyn Rule>,
    /// Of choices among servers.
    rng: Xoshiro256PlusPlus,
    answered: Recording,
    sub_answered: Recording,
    totals: Totals,
    /// The totals when the measured time began.
    start: Option<Totals>,
}

impl<'a> Engine<'a> {
    /// Sets a case up. The cluster is valid; a machine's policy may still be unknown.
    pub fn new(cluster: &'a Cluster, case: &Case, seed: u64) -> Result<Engine<'a>, Failure> {
        let seed_of = |stream: Stream| seed::derive(seed, &[stream as u64]);
        let generator = |stream| Xoshiro256PlusPlus::seed_from_u64(seed_of(stream));
        let tier = &cluster.leaf.tier;
        let network_ns = cluster.network.0;
        let rate = cluster.rate_per_s(case.load);
        let counted = |span: Nanos| (rate * span.as_secs_f64()).round() as u64;
        let (warm_up, requests) = (counted(cluster.warm_up), counted(cluster.duration).max(1));
        let fan_out = u64::from(cluster.fan_out);
        let first_root = tier.servers * tier.workers;
        let root = cluster.root.as_ref();
        let root_slots = root.map_or(0, |root| root.tier.servers * root.tier.workers);
        let replicas = cluster.leaf.replicas;
        let range = |shard: u32| shard * replicas..(shard + 1) * replicas;
        let central = (case.dispatch == Dispatch::Central)
            .then(|| (0..cluster.shards()).map(|shard| Central::new(range(shard), tier.workers)));
        let seeds = |episodes: Stream, machines: Stream| Seeds {
            episodes: seed_of(episodes),
            machines: seed_of(machines),
        };
        let leaf_seeds = seeds(Stream::Episodes, Stream::Machines);
        let root_seeds = seeds(Stream::RootEpisodes, Stream::RootMachines);
        let roots =
            root.map(|root| Roots::new(root, first_root, seed_of(Stream::Roots), &root_seeds));
        Ok(Engine {
            cluster,
            network_ns,
            clock: Clock::new(first_root + root_slots),
            arrivals: ArrivalTimes::new(&cluster.arrivals, rate, seed_of(Stream::Arrivals)),
            requests: SlotMap::with_key(),
            tasks: SlotMap::with_key(),
            copies: SlotMap::with_key(),
            batches: SlotMap::with_key(),
            roots: roots.transpose()?,
            leaves: Leaves::new(tier, seed_of(Stream::Leaves), &leaf_seeds)?,
            first_root,
            fault: None,
            shards: Shards::new(cluster.shards(), replicas, generator(Stream::Shards)),
            dispatch: case.dispatch,
            chooser: case.dispatch.chooser(tier.servers, replicas),
            central: central.into_iter().flatten().collect(),
            rule: case.redundancy.rule(network_ns),
            rng: generator(Stream::Dispatch),
            answered: Recording::new(warm_up, requests),
            sub_answered: Recording::new(warm_up * fan_out, requests * fan_out),
            totals: Totals::default(),
            start: (warm_up == 0).then(Totals::default),
        })
    }

    /// Runs it until all requests to measure are answered or lost.
    pub fn run(mut self, watch: &dyn Watch) -> Result<Outcome, Failure> {
        self.begin()?;
        while !self.answered.is_full() {
            let event = self.clock.next();
            self.totals.events += 1;
            match event {
                Event::Arrival => self.arrive(),
                Event::Mail(mail) => self.deliver(mail),
                Event::Timer(timer) => self.ring(timer),
                Event::Served(worker) => self.served(worker),
            }
            if let Some(failure) = self.fault.take() {
                return Err(failure);
            }
            if self.totals.events.is_multiple_of(EVENTS_A_LOOK) {
                self.look(watch)?;
            }
        }
        Ok(self.finish())
    }

    fn begin(&mut self) -> Result<(), Failure> {
        self.next_arrival();
        self.leaves.servers.begin(&mut self.clock)?;
        self.roots.as_mut().map_or(Ok(()), |roots| roots.servers.begin(&mut self.clock))
    }

    /// What came of it; where a machine could not go on, nothing, and the run ends.
    fn unless_fault<T: Default>(&mut self, result: Result<T, Failure>) -> T {
        result.unwrap_or_else(|failure| {
            self.fault = Some(failure);
            T::default()
        })
    }

    fn next_arrival(&mut self) {
        if let Some(at) = self.arrivals.next() {
            self.clock.arrive(at);
        }
    }

    #[cold]
    fn look(&self, watch: &dyn Watch) -> Result<(), Failure> {
        if watch.cancelled() {
            return Err(Failure::Interrupted);
        }
        let whole = self.cluster.warm_up + self.cluster.duration;
        watch.progress((self.clock.now as f64 / whole.0 as f64).min(1.0));
        Ok(())
    }

    fn finish(mut self) -> Outcome {
        self.totals.at = self.clock.now;
        let measured = self.totals.since(&self.start.unwrap_or_default());
        Outcome::new(self.cluster, &measured, self.answered, self.sub_answered)
    }
}
