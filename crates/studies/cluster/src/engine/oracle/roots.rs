//! Roots of every kind as lists: at each step whatever is earliest at any of them.

use model::arrivals::round;
use model::{Nanos, seed};
use sim::Stepped;

use super::super::Stream;
use super::super::service_times::ServiceTimes;
use super::super::slow::Episodes;
use crate::definition::{Cluster, Root};

/// Why a request is there.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Visit {
    Split(usize),
    Merge(usize),
}

/// All roots.
pub(super) struct Roots<'a> {
    root: &'a Root,
    splitting: ServiceTimes,
    merging: Option<ServiceTimes>,
    /// The waiting visits, in the order of coming.
    waiting: Vec<(u32, Visit)>,
    /// The visits in service: until when, and where. With a measured root all are.
    served: Vec<(u64, u32, Visit)>,
    machines: Vec<(Stepped, Vec<Visit>)>,
    episodes: Option<Episodes>,
    /// When each server turns slow or quick.
    turns: Vec<u64>,
}

impl Roots<'_> {
    pub fn new(cluster: &Cluster) -> Option<Roots<'_>> {
        let root = cluster.root.as_ref()?;
        let seed_of = |stream: Stream| seed::derive(cluster.seed, &[stream as u64]);
        let servers = root.tier.servers;
        let machine = |server: u32| {
            let machine = root.tier.machine.as_ref()?;
            let seed = seed::derive(seed_of(Stream::RootMachines), &[server.into()]);
            let stepped = sim::arm::stepped(&machine.scenario, &machine.policy, seed);
            Some((stepped.expect("a policy"), Vec::new()))
        };
        let mut episodes =
            root.tier.slow.map(|slow| Episodes::new(slow, servers, seed_of(Stream::RootEpisodes)));
        let turns = episodes.as_mut().map(|all| (0..servers).map(|s| all.stay(s)).collect());
        let seed = seed_of(Stream::Roots);
        Some(Roots {
            root,
            splitting: ServiceTimes::new(&root.tier.work, seed),
            merging: root
                .merge
                .as_ref()
                .map(|work| ServiceTimes::new(work, seed::derive(seed, &[1]))),
            waiting: Vec::new(),
            served: Vec::new(),
            machines: (0..servers).filter_map(machine).collect(),
            episodes,
            turns: turns.unwrap_or_default(),
        })
    }

    pub fn servers(&self) -> u32 {
        self.root.tier.servers
    }

    pub fn merge(&self) -> bool {
        self.merging.is_some()
    }

    /// When something happens next.
    pub fn next(&mut self) -> u64 {
        let machines = self.machines.iter_mut().map(|(machine, _)| machine.next_event().0);
        let served = self.served.iter().map(|(until, ..)| *until);
        machines.chain(served).chain(self.turns.iter().copied()).min().unwrap_or(u64::MAX)
    }

    /// Lets what is due happen. Returns the visits that are done.
    pub fn step(&mut self, now: u64) -> Vec<Visit> {
        let due = (0..self.turns.len()).filter(|server| self.turns[*server] == now);
        due.collect::<Vec<_>>().into_iter().for_each(|server| self.turn(server as u32, now));
        let passed: Vec<_> = self.served.extract_if(.., |(until, ..)| *until == now).collect();
        passed.iter().for_each(|(_, root, _)| self.begin(*root, now));
        let mut passed: Vec<Visit> = passed.into_iter().map(|(.., visit)| visit).collect();
        for server in 0..self.machines.len() {
            if self.machines[server].0.next_event().0 == now {
                passed.extend(self.run(server, now));
            }
        }
        passed
    }

    /// A request comes to a root. Returns the visits that are done by that.
    pub fn visit(&mut self, root: u32, visit: Visit, now: u64) -> Vec<Visit> {
        if self.machines.is_empty() {
            self.waiting.push((root, visit));
            self.begin(root, now);
            return Vec::new();
        }
        let work = self.draw(root, visit);
        let (machine, sent) = &mut self.machines[root as usize];
        let number = machine.send(Nanos(now), Nanos(work)).expect("a connection");
        assert_eq!(number as usize, sent.len());
        sent.push(visit);
        self.run(root as usize, now)
    }

    fn run(&mut self, server: usize, now: u64) -> Vec<Visit> {
        let (machine, sent) = &mut self.machines[server];
        machine.run_to(Nanos(now)).expect("runs");
        let answered = machine.answered();
        answered.into_iter().map(|number| sent[number as usize]).collect()
    }

    /// Serves the visits that wait at a root, as long as it has room.
    fn begin(&mut self, root: u32, now: u64) {
        let room =
            if self.root.tier.is_queue() { self.root.tier.workers as usize } else { usize::MAX };
        while self.served.iter().filter(|(_, at, _)| *at == root).count() < room {
            let Some(first) = self.waiting.iter().position(|(at, _)| *at == root) else { return };
            let (_, visit) = self.waiting.remove(first);
            let until = now + self.draw(root, visit);
            self.served.push((until, root, visit));
        }
    }

    fn draw(&mut self, root: u32, visit: Visit) -> u64 {
        let service_times = match (visit, &mut self.merging) {
            (Visit::Merge(_), Some(merging)) => merging,
            _ => &mut self.splitting,
        };
        let (Some(slow), Some(episodes)) = (self.root.tier.slow, &self.episodes) else {
            return service_times.draw(0.0..1.0);
        };
        match (episodes.is_slow(root), self.root.tier.is_measured()) {
            (true, true) => service_times.draw(0.0..slow.share),
            (false, true) => service_times.draw(slow.share..1.0),
            (true, false) => scaled(service_times.draw(0.0..1.0), slow.factor),
            (false, false) => service_times.draw(0.0..1.0),
        }
    }

    fn turn(&mut self, server: u32, now: u64) {
        let (Some(slow), Some(episodes)) = (self.root.tier.slow, &mut self.episodes) else {
            return;
        };
        episodes.turn(server);
        self.turns[server as usize] = now + episodes.stay(server);
        if self.root.tier.is_measured() {
            return;
        }
        let factor = if episodes.is_slow(server) { slow.factor } else { 1.0 / slow.factor };
        for (until, at, _) in &mut self.served {
            if *at == server {
                *until = now + scaled(*until - now, factor);
            }
        }
    }
}

fn scaled(ns: u64, factor: f64) -> u64 {
    round(ns as f64 * factor).max(1)
}
