//! Roots: servers that requests go through before they fan out, and again where their answers are put
//! together.

use model::{Failure, seed};
use slotmap::SlotMap;

use super::Engine;
use super::servers::{Answered, Seeds, Servers};
use super::service_times::ServiceTimes;
use super::station::Station;
use super::work::{Request, RequestKey, VisitKey};
use crate::definition::Root;
use crate::dispatch::below;

/// The state of all roots.
pub(super) struct Roots {
    station: Station<VisitKey>,
    pub servers: Servers<VisitKey>,
    visits: SlotMap<VisitKey, Visit>,
    splitting: ServiceTimes,
    merging: Option<ServiceTimes>,
}

/// Why a request is at its root.
enum Visit {
    /// It came, and is to fan out.
    Split(RequestKey),
    /// Its answers are there, and are to be put together. It is open no more: what comes now comes too late.
    Merge(Request),
}

impl Roots {
    /// Idle ones, in the clock from a slot on. [`Failure::Input`] where a machine's policy is unknown.
    pub fn new(root: &Root, first_slot: u32, seed: u64, seeds: &Seeds) -> Result<Roots, Failure> {
        let tier = &root.tier;
        let merging = root.merge.as_ref();
        Ok(Roots {
            station: Station::new(tier.servers, tier.workers),
            servers: Servers::new(tier, first_slot, seeds)?,
            visits: SlotMap::with_key(),
            splitting: ServiceTimes::new(&tier.work, seed),
            merging: merging.map(|work| ServiceTimes::new(work, seed::derive(seed, &[1]))),
        })
    }

    /// Whether they take time to put answers together.
    pub fn merge(&self) -> bool {
        self.merging.is_some()
    }

    /// How long a root takes for a visit.
    fn takes(&mut self, root: u32, visit: VisitKey) -> u64 {
        let service_times = match (self.visits.get(visit), &mut self.merging) {
            (Some(Visit::Merge(_)), Some(merging)) => merging,
            _ => &mut self.splitting,
        };
        self.servers.takes(root, None, service_times)
    }
}

impl Engine<'_> {
    /// A random root for a request that came. Without roots all is root 0.
    pub(super) fn random_root(&mut self) -> u32 {
        self.roots.as_ref().map_or(0, |roots| below(roots.servers.count, &mut self.rng))
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
        let visit = roots.visits.insert(visit);
        if !roots.servers.are_queues() {
            let takes_ns = roots.takes(root, visit);
            let passed = roots.servers.hand(root, visit, takes_ns, &mut self.clock);
            return self.pass(passed);
        }
        match roots.station.take(root) {
            Some(worker) => self.serve_root(worker, visit),
            None => roots.station.push(root, visit),
        }
    }

    fn serve_root(&mut self, worker: u32, visit: VisitKey) {
        let Some(roots) = &mut self.roots else { return };
        let takes_ns = roots.takes(roots.station.server(worker), visit);
        roots.servers.serve(worker, visit, takes_ns, &mut self.clock);
    }

    /// A worker of a root has served a visit, or a machine has something to do.
    pub(super) fn served_root(&mut self, slot: u32) {
        let Some(roots) = &mut self.roots else { return };
        if let Some(passed) = roots.servers.due(slot, &mut self.clock) {
            return self.pass(passed);
        }
        let (visit, root) = (roots.servers.served_by(slot), roots.station.server(slot));
        match self.next_at_root(root) {
            Some(next) => self.serve_root(slot, next),
            None => {
                if let Some(roots) = &mut self.roots {
                    roots.station.release(slot);
                }
            }
        }
        self.visit_done(visit);
    }

    fn pass(&mut self, passed: Answered<VisitKey>) {
        self.unless_fault(passed).into_iter().for_each(|visit| self.visit_done(visit));
    }

    /// A visit is over.
    pub(super) fn visit_done(&mut self, visit: VisitKey) {
        let visit = self.roots.as_mut().and_then(|roots| roots.visits.remove(visit));
        match visit {
            Some(Visit::Split(request)) => self.fan_out(request),
            Some(Visit::Merge(request)) => {
                let late = self.is_late(request.arrived);
                self.finish_request(request, late);
            }
            None => {}
        }
    }

    /// The next waiting visit. Those that were lost meanwhile do not hold a root.
    fn next_at_root(&mut self, root: u32) -> Option<VisitKey> {
        loop {
            let roots = self.roots.as_mut()?;
            let visit = roots.station.pop(root)?;
            let wanted = match roots.visits.get(visit)? {
                Visit::Split(request) => self.requests.contains_key(*request),
                Visit::Merge(request) => {
                    let arrived = request.arrived;
                    !self.is_late(arrived)
                }
            };
            if wanted {
                return Some(visit);
            }
            self.visit_done(visit);
        }
    }

    /// Whether the deadline of a request that came then is past.
    fn is_late(&self, arrived: u64) -> bool {
        let deadline = self.cluster.deadline;
        deadline.is_some_and(|deadline| self.clock.now - arrived > deadline.0)
    }
}
