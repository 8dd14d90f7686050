//! Roots: servers that requests go through before they fan out, and again where their answers are put together.

use model::Nanos;
use model::arrivals::round;
use model::law::Sampler;
use model::seed;

use super::Engine;
use super::station::Station;
use super::work::{Request, RequestKey};
use crate::definition::{Root, Tier};
use crate::dispatch::below;

/// The state of all roots.
pub(super) struct Roots {
    station: Station<Visit>,
    servers: u32,
    splitting: Work,
    merging: Option<Work>,
    /// The first of their workers, behind those of the leaves.
    first_worker: u32,
    /// What each worker serves.
    serving: Vec<Visit>,
}

/// Why a request is at its root.
#[derive(Clone, Copy)]
enum Visit {
    /// It came, and is to fan out.
    Split(RequestKey),
    /// Its answers are there, and are to be put together. It is open no more: what comes now comes too late.
    Merge(Request),
}

/// What a visit takes.
struct Work {
    services: Sampler,
    mean_ns: f64,
}

impl Work {
    fn of(tier: &Tier, seed: u64) -> Work {
        let services = Sampler::new(&tier.services, seed);
        Work { services, mean_ns: tier.service_time.0 as f64 }
    }

    fn draw(&mut self) -> u64 {
        round(self.services.next() * self.mean_ns).max(1)
    }
}

impl Roots {
    /// Idle ones.
    pub fn new(root: &Root, first_worker: u32, seed: u64) -> Roots {
        let Tier { servers, workers, .. } = root.tier;
        let nothing = Visit::Split(RequestKey::default());
        Roots {
            station: Station::new(servers, workers),
            servers,
            splitting: Work::of(&root.tier, seed),
            merging: root.merge.as_ref().map(|merge| Work::of(merge, seed::derive(seed, &[1]))),
            first_worker,
            serving: vec![nothing; (servers * workers) as usize],
        }
    }

    /// Whether they take time to put answers together.
    pub fn merge(&self) -> bool {
        self.merging.is_some()
    }
}

impl Engine<'_> {
    /// A root by lot, for a request that came; without roots all is root 0.
    pub(super) fn root_by_lot(&mut self) -> u32 {
        self.roots.as_ref().map_or(0, |roots| below(roots.servers, &mut self.lots))
    }

    /// A request that came passes its root; without roots it is through.
    pub(super) fn split(&mut self, root: u32, request: RequestKey) {
        match self.roots {
            Some(_) => self.visit(root, Visit::Split(request)),
            None => self.fan_out(request),
        }
    }

    /// A request has the answers that it will have: its root puts them together.
    pub(super) fn merge(&mut self, request: Request) {
        if self.roots.as_ref().is_some_and(Roots::merge) {
            self.visit(request.root, Visit::Merge(request));
        } else {
            self.finish_request(request, false);
        }
    }

    fn visit(&mut self, root: u32, visit: Visit) {
        let Some(roots) = &mut self.roots else { return };
        match roots.station.take(root) {
            Some(worker) => self.serve_root(worker, visit),
            None => roots.station.push(root, visit),
        }
    }

    fn serve_root(&mut self, worker: u32, visit: Visit) {
        let Some(roots) = &mut self.roots else { return };
        roots.serving[worker as usize] = visit;
        let work = match visit {
            Visit::Split(_) => &mut roots.splitting,
            Visit::Merge(_) => roots.merging.as_mut().unwrap_or(&mut roots.splitting),
        };
        let until = Nanos(self.clock.now + work.draw());
        self.clock.serve(roots.first_worker + worker, until);
    }

    /// A root has served a request.
    pub(super) fn served_root(&mut self, worker: u32) {
        let Some(roots) = &self.roots else { return };
        let (visit, root) = (roots.serving[worker as usize], roots.station.server(worker));
        match self.next_at_root(root) {
            Some(next) => self.serve_root(worker, next),
            None => {
                if let Some(roots) = &mut self.roots {
                    roots.station.release(worker);
                }
            }
        }
        match visit {
            Visit::Split(request) => self.fan_out(request),
            Visit::Merge(request) => self.finish_request(request, self.is_late(&request)),
        }
    }

    /// Whoever waits next; those that were lost meanwhile do not keep a root.
    fn next_at_root(&mut self, root: u32) -> Option<Visit> {
        loop {
            let visit = self.roots.as_mut()?.station.pop(root)?;
            match visit {
                Visit::Split(request) if !self.requests.contains_key(request) => {}
                Visit::Merge(request) if self.is_late(&request) => {
                    self.finish_request(request, true);
                }
                _ => return Some(visit),
            }
        }
    }

    fn is_late(&self, request: &Request) -> bool {
        let deadline = self.cluster.deadline;
        deadline.is_some_and(|deadline| self.clock.now - request.arrived > deadline.0)
    }
}
