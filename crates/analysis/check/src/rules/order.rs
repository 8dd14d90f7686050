//! First come, first served: of two threads of a process that wait in one queue, the one that came first
//! starts first.
//!
//! A thread that began to wait in this very moment is not compared: an observer cannot tell what came first
//! in it. Threads that burn CPU time lose their place ([`Promise::burst_limit`](crate::promises::InOrder)): a
//! bucket a thread, filled and drained here as an observer can, tells which.

use model::change::ChangeKind;
use model::event::{Event, What};
use model::scenario::Machine;
use model::{CpuId, Nanos, Scenario, ThreadId};

use super::Rule;
use crate::fault::Finding;
use crate::promises::InOrder;
use crate::scene::{Scene, State};

pub const NAME: &str = "order";

#[derive(Clone, Default)]
struct Bucket {
    level: Nanos,
    /// What its thread had received when it was filled last.
    counted: Nanos,
    slept: Nanos,
    overflowed: bool,
}

pub struct Order {
    machine: Machine,
    promise: InOrder,
    buckets: Vec<Bucket>,
    /// For each program whether the promise is made to it.
    promised: Vec<bool>,
    /// For each program that of its process.
    processes: Vec<usize>,
}

impl Order {
    pub fn new(scenario: &Scenario, promise: InOrder) -> Order {
        let threads = scenario.programs.iter().map(|program| program.kind.threads() as usize);
        let promised = scenario.programs.iter().map(|program| promise.covers(&program.kind));
        Order {
            machine: scenario.machine,
            buckets: vec![Bucket::default(); threads.sum()],
            promised: promised.collect(),
            processes: scenario.processes(),
            promise,
        }
    }

    fn fill(&mut self, thread: ThreadId, received: Nanos) {
        let bucket = &mut self.buckets[thread.index()];
        bucket.level += received - bucket.counted;
        bucket.counted = received;
        if bucket.level >= self.promise.burst_limit {
            (bucket.level, bucket.overflowed) = (self.promise.burst_limit, true);
        }
    }

    fn drain(&mut self, thread: ThreadId, now: Nanos) {
        let bucket = &mut self.buckets[thread.index()];
        bucket.level = bucket.level.saturating_sub(now - bucket.slept);
        bucket.overflowed &= bucket.level > Nanos::ZERO;
    }

    /// Whether the two wait in one queue as equals.
    fn compares(&self, scene: &Scene, one: ThreadId, other: ThreadId) -> bool {
        let (a, b) = (scene.thread(one), scene.thread(other));
        let (State::Waits(Some(from)), State::Waits(Some(at))) = (a.state, b.state) else {
            return false;
        };
        let related =
            self.promise.across_processes || self.processes[a.program] == self.processes[b.program];
        related
            && b.since < scene.now
            && !b.disturbed
            && self.promised[b.program]
            && self.promise.scope.joins(&self.machine, from, at)
            && a.admitted == b.admitted
            && !self.buckets[other.index()].overflowed
    }
}

impl Rule for Order {
    fn name(&self) -> &'static str {
        NAME
    }

    fn event(&mut self, scene: &Scene, event: &Event) -> Option<Finding> {
        match event.what {
            What::Wake { thread, .. } => self.drain(thread, scene.now),
            What::Block { thread, .. } => {
                self.fill(thread, scene.received(thread));
                self.buckets[thread.index()].slept = scene.now;
            }
            What::Switch { from: Some(from), .. } => self.fill(from, scene.received(from)),
            _ => {}
        }
        None
    }

    /// A policy that starts anew knows nothing of what threads burned.
    fn changed(&mut self, scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        if matches!(kind, ChangeKind::Offline(_) | ChangeKind::Online(_)) {
            for (id, bucket) in (0..).zip(&mut self.buckets) {
                let counted = scene.received(ThreadId(id));
                *bucket = Bucket { counted, slept: scene.now, ..Bucket::default() };
            }
        }
        None
    }

    fn started(&mut self, scene: &Scene, thread: ThreadId, cpu: CpuId) -> Option<Finding> {
        // What it is given by the starvation limit costs it its place; an observer cannot tell for which of
        // its turns.
        if scene.now - scene.thread(thread).asked > self.promise.starvation_limit {
            self.buckets[thread.index()].overflowed = true;
        }
        let entitled = self.promised[scene.thread(thread).program];
        if !entitled || scene.thread(thread).disturbed || self.buckets[thread.index()].overflowed {
            return None;
        }
        if self.promise.unchanged && scene.changed.is_some() {
            return None;
        }
        let asked = |thread| scene.thread(thread).asked;
        let earlier = |other: &ThreadId| {
            asked(*other) < asked(thread) && self.compares(scene, thread, *other)
        };
        let passed = scene.waiting.iter().copied().find(earlier)?;
        let text = format!(
            "came at {} ns and starts before thread {}, which came at {} ns",
            asked(thread).0,
            passed.0,
            asked(passed).0
        );
        Some(Finding::at(thread, cpu, text))
    }
}
