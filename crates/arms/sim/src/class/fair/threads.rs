//! What is kept for threads beside their entities: which CPU's they are, in which order they ran, where they
//! were before.

use model::scenario::Machine;
use model::{CpuId, Nanos, ThreadId};

use super::Fair;
use super::timeline::{Arrival, Timeline};
use super::tunables::CACHE_HOT;
use super::weight;
use crate::core::Core;

/// One thread's, in a cache line of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Record {
    created: Nanos,
    woke_before: bool,
    stopped: Option<Nanos>,
    recent: Option<CpuId>,
    /// Whether it is among the threads of a CPU, and its neighbours there.
    listed: bool,
    before: Option<ThreadId>,
    behind: Option<ThreadId>,
}

/// The ends of a CPU's list.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    first: Option<ThreadId>,
    last: Option<ThreadId>,
}

/// All threads, and those of each CPU by when they last came to the front (`cfs_tasks`).
pub struct Threads {
    records: Vec<Record>,
    lists: Vec<List>,
}

impl Threads {
    /// No threads.
    pub fn new(machine: &Machine) -> Threads {
        Threads { records: Vec::new(), lists: vec![List::default(); machine.cpus as usize] }
    }

    /// A thread is created.
    pub fn add(&mut self, thread: ThreadId, created: Nanos) {
        if self.records.len() <= thread.index() {
            self.records.resize(thread.index() + 1, Record::default());
        }
        self.records[thread.index()] = Record { created, ..Record::default() };
    }

    /// Whether it wakes for the first time, at its creation. An older thread blocked at once when it was
    /// created.
    pub fn is_new(&self, thread: ThreadId, now: Nanos) -> bool {
        let record = &self.records[thread.index()];
        !record.woke_before && record.created == now
    }

    /// Puts a thread to the front of its CPU's.
    pub fn front(&mut self, cpu: CpuId, thread: ThreadId) {
        self.drop(cpu, thread);
        let before = self.lists[cpu.index()].last.replace(thread);
        let record = &mut self.records[thread.index()];
        (record.listed, record.before, record.behind) = (true, before, None);
        *self.link_behind(cpu, before) = Some(thread);
    }

    /// Takes a thread out of its CPU's.
    pub fn drop(&mut self, cpu: CpuId, thread: ThreadId) {
        let record = &mut self.records[thread.index()];
        if std::mem::take(&mut record.listed) {
            let (before, behind) = (record.before, record.behind);
            *self.link_behind(cpu, before) = behind;
            *self.link_before(cpu, behind) = before;
        }
    }

    /// The key of the thread behind one of a CPU, or of the first.
    fn link_behind(&mut self, cpu: CpuId, thread: Option<ThreadId>) -> &mut Option<ThreadId> {
        match thread {
            Some(thread) => &mut self.records[thread.index()].behind,
            None => &mut self.lists[cpu.index()].first,
        }
    }

    /// The key of the thread before one of a CPU, or of the last.
    fn link_before(&mut self, cpu: CpuId, thread: Option<ThreadId>) -> &mut Option<ThreadId> {
        match thread {
            Some(thread) => &mut self.records[thread.index()].before,
            None => &mut self.lists[cpu.index()].last,
        }
    }

    /// Whether a thread is among those of a CPU.
    pub fn is_listed(&self, thread: ThreadId) -> bool {
        self.records[thread.index()].listed
    }

    /// The threads of a CPU, those that came to the front longest ago first.
    pub fn of_cpu(&self, cpu: CpuId) -> impl Iterator<Item = ThreadId> {
        std::iter::successors(self.lists[cpu.index()].first, |thread| {
            self.records[thread.index()].behind
        })
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
    /// A thread is created, blocked, on a random CPU: `find_idlest_cpu()` prefers the one that fell idle
    /// last or has a little less load, which no scenario decides. Were it by turns, requests that come round
    /// the connections would come round the CPUs.
    pub(super) fn place_on_fork(&mut self, core: &mut Core, thread: ThreadId) {
        let any = self.balancer.any_cpu(core.machine.cpus);
        let cpu = core.affinities.nearest(thread, any).unwrap_or(any);
        core.threads[thread.index()].cpu = cpu;
        let created = core.thread(thread);
        let queue = self.tree.queue_of(created.cpu, created.group);
        self.threads.add(thread, core.now);
        self.tree.add_thread(core.now, thread, weight::of_nice(created.nice), queue);
        self.settle(core, thread, cpu);
        let id = self.tree.entity_of(thread);
        let debut = T::debut(&self.tree, id);
        let queue = &mut self.tree.queues[queue.0 as usize];
        let entity = &mut self.tree.entities[id.0 as usize];
        queue.timeline.on_fork(entity, debut, queue.count == 0);
    }

    /// How a woken thread comes to its CPU; its entity follows it there.
    pub(super) fn arrive(&mut self, core: &Core, thread: ThreadId) -> Arrival {
        let id = self.tree.entity_of(thread);
        let to = core.thread(thread).cpu;
        self.tree.forget_blocked(core.now, thread);
        let new = self.threads.is_new(thread, core.now);
        let record = &mut self.threads.records[thread.index()];
        record.woke_before = true;
        let queue = self.tree.queue_of(to, core.thread(thread).group);
        if new {
            self.take_load(core.now, thread);
            self.settle(core, thread, to);
            self.tree.entity_mut(id).vruntime = T::debut(&self.tree, id);
            return Arrival::New;
        }
        if self.tree.entity(id).queue == queue {
            return Arrival::Wake;
        }
        self.detach(core.now, thread);
        self.settle(core, thread, to);
        self.threads.moved(thread);
        Arrival::WakeElsewhere
    }

    /// A sleeping thread leaves its queue's terms and averages behind.
    fn detach(&mut self, now: Nanos, thread: ThreadId) {
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
    pub(super) fn settle(&mut self, core: &Core, thread: ThreadId, cpu: CpuId) {
        let id = self.tree.entity_of(thread);
        let queue = self.tree.queue_of(cpu, core.thread(thread).group);
        let depth = self.tree.queue(queue).owner.map_or(0, |o| self.tree.entity(o).depth + 1);
        let entity = self.tree.entity_mut(id);
        (entity.queue, entity.depth) = (queue, depth);
        self.tree.touch(core.now, id);
        let entity = &self.tree.entities[id.0 as usize];
        let queue = &mut self.tree.queues[queue.0 as usize];
        queue.average.attach(&entity.average, weight::coarse(entity.weight));
    }
}
