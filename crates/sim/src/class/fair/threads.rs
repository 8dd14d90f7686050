//! What is kept for threads beside their entities: which CPU's they are, in which order they ran, where they
//! were before.

use std::collections::BTreeMap;

use model::scenario::Machine;
use model::{CpuId, Nanos, ThreadId};

use super::Fair;
use super::timeline::{Arrival, Timeline};
use super::tunables::CACHE_HOT;
use super::weight;
use crate::core::Core;

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    group: Option<usize>,
    born: Nanos,
    woke_before: bool,
    rank: u64,
    stopped: Option<Nanos>,
    recent: Option<CpuId>,
}

/// All threads, and those of each CPU by when they last came to the front (`cfs_tasks`).
pub struct Threads {
    records: Vec<Record>,
    by_rank: Vec<BTreeMap<u64, ThreadId>>,
    ranks: u64,
}

impl Threads {
    /// No threads.
    pub fn new(machine: &Machine) -> Threads {
        let by_rank = vec![BTreeMap::new(); machine.cpus as usize];
        Threads { records: Vec::new(), by_rank, ranks: 0 }
    }

    /// A thread is born.
    pub fn add(&mut self, thread: ThreadId, group: Option<usize>, born: Nanos) {
        if self.records.len() <= thread.index() {
            self.records.resize(thread.index() + 1, Record::default());
        }
        self.records[thread.index()] = Record { group, born, ..Record::default() };
    }

    /// Whether it wakes for the first time, at its birth. A thread that is older blocked at once when it was
    /// born.
    pub fn is_new(&self, thread: ThreadId, now: Nanos) -> bool {
        let record = &self.records[thread.index()];
        !record.woke_before && record.born == now
    }

    /// Puts a thread to the front of its CPU's.
    pub fn front(&mut self, cpu: CpuId, thread: ThreadId) {
        self.ranks += 1;
        let record = &mut self.records[thread.index()];
        let list = &mut self.by_rank[cpu.index()];
        list.remove(&record.rank);
        record.rank = self.ranks;
        list.insert(record.rank, thread);
    }

    /// Takes a thread out of its CPU's.
    pub fn drop(&mut self, cpu: CpuId, thread: ThreadId) {
        self.by_rank[cpu.index()].remove(&self.records[thread.index()].rank);
    }

    /// The threads of a CPU, those that came to the front longest ago first.
    pub fn of_cpu(&self, cpu: CpuId) -> impl Iterator<Item = ThreadId> {
        self.by_rank[cpu.index()].values().copied()
    }

    /// A thread stops running.
    pub fn stopped(&mut self, thread: ThreadId, now: Nanos) {
        self.records[thread.index()].stopped = Some(now);
    }

    /// A thread changed its CPU: its caches are cold.
    pub fn moved(&mut self, thread: ThreadId) {
        self.records[thread.index()].stopped = None;
    }

    /// Whether a thread ran just now, so that its caches are warm (`task_hot()`).
    pub fn is_hot(&self, thread: ThreadId, now: Nanos) -> bool {
        self.records[thread.index()].stopped.is_some_and(|at| now - at < CACHE_HOT)
    }

    /// The CPU before the last one that a thread ran on; `here` becomes it.
    pub fn swap_recent(&mut self, thread: ThreadId, here: CpuId) -> Option<CpuId> {
        self.records[thread.index()].recent.replace(here)
    }
}

impl<T: Timeline> Fair<T> {
    /// A thread comes to life, blocked, on a CPU by lot: `find_idlest_cpu()` prefers the one that fell idle last or has
    /// a little less load, which no scenario decides. Were it by turns, requests that come round the connections
    /// would come round the CPUs.
    pub(super) fn bear(&mut self, core: &mut Core, thread: ThreadId) {
        let cpu = self.balancer.any_cpu(core.machine.cpus);
        core.threads[thread.index()].cpu = cpu;
        let born = core.thread(thread);
        let queue = self.tree.queue_of(born.cpu, born.group);
        self.threads.add(thread, born.group, core.now);
        self.tree.add_thread(core.now, thread, weight::of_nice(born.nice), queue);
        self.settle(core.now, thread, born.cpu);
        let id = self.tree.entity_of(thread);
        let debut = T::debut(&self.tree, id);
        let queue = &mut self.tree.queues[queue.0 as usize];
        let entity = &mut self.tree.entities[id.0 as usize];
        queue.timeline.born(entity, debut, queue.count == 0);
    }

    /// How a woken thread comes to its CPU; its entity follows it there.
    pub(super) fn arrive(&mut self, core: &Core, thread: ThreadId) -> Arrival {
        let id = self.tree.entity_of(thread);
        let to = core.thread(thread).cpu;
        self.tree.forget_blocked(core.now, thread);
        let new = self.threads.is_new(thread, core.now);
        let record = &mut self.threads.records[thread.index()];
        record.woke_before = true;
        let queue = self.tree.queue_of(to, record.group);
        if new {
            self.take_load(core.now, thread);
            self.settle(core.now, thread, to);
            self.tree.entity_mut(id).vruntime = T::debut(&self.tree, id);
            return Arrival::New;
        }
        if self.tree.entity(id).queue == queue {
            return Arrival::Wake;
        }
        self.uproot(core.now, thread);
        self.settle(core.now, thread, to);
        self.threads.moved(thread);
        Arrival::WakeElsewhere
    }

    /// A sleeping thread leaves its queue's terms and averages behind.
    fn uproot(&mut self, now: Nanos, thread: ThreadId) {
        let id = self.tree.entity_of(thread);
        self.take_load(now, thread);
        let entity = &mut self.tree.entities[id.0 as usize];
        self.tree.queues[entity.queue.0 as usize].timeline.emigrate(entity);
    }

    /// Takes a thread's load out of the queue that it belongs to.
    pub(super) fn take_load(&mut self, now: Nanos, thread: ThreadId) {
        let id = self.tree.entity_of(thread);
        self.tree.touch(now, id);
        let entity = &self.tree.entities[id.0 as usize];
        let queue = &mut self.tree.queues[entity.queue.0 as usize];
        queue.average.detach(&entity.average, weight::coarse(entity.weight));
    }

    /// A thread's entity belongs to a CPU from now on, and its load with it.
    pub(super) fn settle(&mut self, now: Nanos, thread: ThreadId, cpu: CpuId) {
        let id = self.tree.entity_of(thread);
        let queue = self.tree.queue_of(cpu, self.threads.records[thread.index()].group);
        let depth = self.tree.queue(queue).owner.map_or(0, |o| self.tree.entity(o).depth + 1);
        let entity = self.tree.entity_mut(id);
        (entity.queue, entity.depth) = (queue, depth);
        self.tree.touch(now, id);
        let entity = &self.tree.entities[id.0 as usize];
        let queue = &mut self.tree.queues[queue.0 as usize];
        queue.average.attach(&entity.average, weight::coarse(entity.weight));
    }
}
