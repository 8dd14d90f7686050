//! First come, first served: of two threads of a process with one nice value that wait in one queue, the one
//! that came first starts first.
//!
//! With `order=arrival` a thread came when the request came to the machine that it was woken for. One that
//! waits again and has read a later request since came with that.
//!
//! A thread that began to wait in this very moment is not compared: an observer cannot tell what came first
//! in it.
//! Threads that burn CPU time lose their place ([`Promise::burst_limit`](crate::promises::InOrder)): a bucket
//! a thread, filled and drained here as an observer can, tells which. So do helpers, whose bursts are much
//! longer than those of their process: means of bursts tell which.

use std::iter::repeat_n;

use model::change::ChangeKind;
use model::event::{Event, What};
use model::scenario::{Machine, Program};
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
    /// What its thread had received when it woke last.
    woke: Nanos,
    /// The mean of its thread's bursts, in ns.
    mean: u64,
}

/// As in `policy/burst.h`: the mean of the last few values, by shifts, that begins with the first.
fn mean(of: u64, value: u64, shift: u32) -> u64 {
    if of == 0 { value } else { of - (of >> shift) + (value >> shift) }
}

/// A helper's bursts take so many times as long as those of its process, and this long.
const HELPER_RATIO: u64 = 8;
const HELPER_NS: u64 = 2_000_000;

pub struct Order {
    machine: Machine,
    promise: InOrder,
    buckets: Vec<Bucket>,
    /// When each thread came.
    came: Vec<Nanos>,
    /// The nice value of each thread.
    nice: Vec<i8>,
    /// For each program whether the promise is made to it.
    promised: Vec<bool>,
    /// For each program that of its process.
    processes: Vec<usize>,
    /// For each program, where it is that of its process: the mean of all bursts in ns.
    means: Vec<u64>,
}

impl Order {
    pub fn new(scenario: &Scenario, promise: InOrder) -> Order {
        let threads = scenario.programs.iter().map(|program| program.kind.threads() as usize);
        let nice = |program: &Program| repeat_n(program.nice, program.kind.threads() as usize);
        let promised = scenario.programs.iter().map(|program| promise.covers(&program.kind));
        Order {
            machine: scenario.machine,
            came: vec![Nanos::ZERO; threads.clone().sum()],
            buckets: vec![Bucket::default(); threads.sum()],
            nice: scenario.programs.iter().flat_map(nice).collect(),
            promised: promised.collect(),
            processes: scenario.processes(),
            means: vec![0; scenario.programs.len()],
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

    fn drain(&mut self, scene: &Scene, thread: ThreadId) {
        let process = self.means[self.processes[scene.thread(thread).program]];
        let bucket = &mut self.buckets[thread.index()];
        let helper = bucket.mean > HELPER_NS && bucket.mean > HELPER_RATIO * process;
        bucket.level = bucket.level.saturating_sub(scene.now - bucket.slept);
        bucket.overflowed &= bucket.level > Nanos::ZERO;
        bucket.overflowed |= self.promise.helpers && helper;
        bucket.woke = scene.received(thread);
    }

    /// A burst has ended.
    fn note(&mut self, scene: &Scene, thread: ThreadId) {
        let bucket = &mut self.buckets[thread.index()];
        let burst = (scene.received(thread) - bucket.woke).0;
        bucket.mean = mean(bucket.mean, burst, 2);
        bucket.slept = scene.now;
        let process = &mut self.means[self.processes[scene.thread(thread).program]];
        let most = HELPER_RATIO * *process + HELPER_NS;
        *process = if *process == 0 { burst } else { mean(*process, burst.min(most), 6) };
    }

    /// A thread wakes.
    fn come(&mut self, scene: &Scene, thread: ThreadId) {
        let request = scene.thread(thread).request.filter(|_| self.promise.by_request);
        self.came[thread.index()] = request.unwrap_or(scene.now);
    }

    /// A thread that ran waits again, unless it blocks.
    fn come_again(&mut self, scene: &Scene, thread: ThreadId) {
        let request = scene.thread(thread).request.filter(|_| self.promise.by_request);
        let came = &mut self.came[thread.index()];
        *came = request.unwrap_or(*came).max(*came);
    }

    /// Whether the two wait in one queue as equals.
    fn compares(&self, scene: &Scene, one: ThreadId, other: ThreadId) -> bool {
        let (a, b) = (scene.thread(one), scene.thread(other));
        let (State::Waits(Some(from)), State::Waits(Some(at))) = (a.state, b.state) else {
            return false;
        };
        let related = self.promise.across_processes
            || (self.processes[a.program] == self.processes[b.program]
                && self.nice[one.index()] == self.nice[other.index()]);
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
            What::Wake { thread, .. } => {
                self.come(scene, thread);
                self.drain(scene, thread);
            }
            What::Block { thread, .. } => {
                self.fill(thread, scene.received(thread));
                self.note(scene, thread);
            }
            What::Switch { from: Some(from), .. } => {
                self.come_again(scene, from);
                self.fill(from, scene.received(from));
            }
            _ => {}
        }
        None
    }

    /// A policy that starts anew knows nothing of what threads burned.
    fn changed(&mut self, scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        if let ChangeKind::Nice { thread, nice } = kind {
            self.nice[thread.index()] = *nice;
        }
        if matches!(kind, ChangeKind::Offline(_) | ChangeKind::Online(_)) {
            for (id, bucket) in (0..).zip(&mut self.buckets) {
                let counted = scene.received(ThreadId(id));
                *bucket = Bucket { counted, woke: counted, slept: scene.now, ..Bucket::default() };
            }
            self.means.fill(0);
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
        let came = |thread: ThreadId| self.came[thread.index()];
        let earlier =
            |other: &ThreadId| came(*other) < came(thread) && self.compares(scene, thread, *other);
        let passed = scene.waiting.iter().copied().find(earlier)?;
        let text = format!(
            "came at {} ns and starts before thread {}, which came at {} ns",
            came(thread).0,
            passed.0,
            came(passed).0
        );
        Some(Finding::at(thread, cpu, text))
    }
}
