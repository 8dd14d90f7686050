//! Entities and the queues they wait in: threads and groups as one tree for each CPU.
//!
//! A group has, on every CPU, an entity that competes in its parent's queue and a queue of its own for what
//! is inside it.

use model::scenario::{Group, Machine};
use model::{CpuId, Nanos, ThreadId};

use super::average::Average;
use super::bandwidth::Bandwidth;
use super::census::{Census, Count};
use super::domains::levels;
use super::shares::GroupLoads;
use super::timeline::{Peer, Timeline};
use super::tunables::Tunables;
use super::weight;
use crate::core::Core;

/// An entity: a thread, or a group on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntityId(pub u32);

/// A queue: the root's or a group's on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueId(pub u32);

/// What competes for a CPU (`struct sched_entity`). In whole cache lines: where threads are many, each line
/// that an event touches has to be fetched. What orders a queue is in the first.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Entity<M> {
    /// What the discipline keeps for it.
    pub mark: M,
    /// Its virtual time, in nanoseconds; in a queue's terms while it is on one.
    pub vruntime: i64,
    /// Its weight among its siblings, finer than the nice table by [`weight::SCALE_BITS`].
    pub weight: u64,
    /// The queue that it competes in.
    pub queue: QueueId,
    /// How many groups are around it.
    pub depth: u16,
    /// Whether it counts in its queue, waiting or running (`on_rq`).
    pub on_queue: bool,
    /// How much of the recent past it was runnable and running.
    pub average: Average,
    /// CPU time received.
    pub ran: Nanos,
    /// CPU time received when it was last picked (`prev_sum_exec_runtime`).
    pub ran_at_pick: Nanos,
    /// The queue inside it; `None`: a thread.
    pub owns: Option<QueueId>,
}

impl<M: Default> Entity<M> {
    /// An entity of nice 0 that was nowhere yet.
    #[cfg(test)]
    pub fn bare() -> Entity<M> {
        Entity::new(QueueId(0), weight::NICE_0, 0)
    }

    fn new(queue: QueueId, weight: u64, depth: u16) -> Entity<M> {
        Entity {
            weight,
            vruntime: 0,
            ran: Nanos::ZERO,
            ran_at_pick: Nanos::ZERO,
            on_queue: false,
            queue,
            owns: None,
            depth,
            average: Average::default(),
            mark: M::default(),
        }
    }
}

/// A queue of entities on one CPU (`struct cfs_rq`).
#[derive(Clone, Debug)]
pub struct Queue<T> {
    /// The waiting entities in the discipline's order.
    pub timeline: T,
    /// The entity that runs; it is not in the timeline.
    pub current: Option<EntityId>,
    /// Entities that count here, the running one included.
    pub count: u32,
    /// The sum of their weights.
    pub weight: u64,
    /// Threads below that want to run, at any depth (`h_nr_running`).
    pub runnable: u32,
    /// Those and the sleepers that stay, at any depth (`h_nr_queued`).
    pub queued: u32,
    /// The group entity around it; `None`: the CPU's root.
    pub owner: Option<EntityId>,
    /// Load, runnable threads and running of the recent past.
    pub average: Average,
}

/// All entities and queues of the machine.
pub struct Tree<T: Timeline> {
    /// By [`EntityId`]: first the groups' of every CPU, then the threads'.
    pub entities: Vec<Entity<T::Mark>>,
    /// By [`QueueId`]: CPU by CPU the root's, then the groups'.
    pub queues: Vec<Queue<T>>,
    /// The thread of this class that each CPU runs, from its pick to the next.
    pub current: Vec<Option<ThreadId>>,
    /// Times and granularities of the discipline.
    pub tunables: Tunables,
    /// Load of groups over all CPUs.
    pub groups: GroupLoads,
    /// Quotas of groups.
    pub bandwidth: Bandwidth,
    group_entities: u32,
    /// What the root queues hold, by parts of the machine.
    pub census: Census,
}

impl<T: Timeline> Tree<T> {
    /// Empty queues for a machine and its groups.
    pub fn new(machine: &Machine, groups: &[Group], tunables: Tunables, seed: u64) -> Tree<T> {
        let queues_per_cpu = groups.len() as u32 + 1;
        let empty = Queue {
            timeline: T::default(),
            current: None,
            count: 0,
            weight: 0,
            runnable: 0,
            queued: 0,
            owner: None,
            average: Average::default(),
        };
        let mut tree = Tree {
            entities: Vec::new(),
            queues: vec![empty; (machine.cpus * queues_per_cpu) as usize],
            current: vec![None; machine.cpus as usize],
            tunables,
            groups: GroupLoads::new(machine, groups),
            bandwidth: Bandwidth::new(groups, machine.cpus, seed),
            group_entities: machine.cpus * groups.len() as u32,
            census: Census::new(&levels(machine), machine.cpus),
        };
        (0..machine.cpus).for_each(|cpu| tree.add_groups(CpuId(cpu), groups));
        tree
    }

    fn add_groups(&mut self, cpu: CpuId, groups: &[Group]) {
        for (index, group) in groups.iter().enumerate() {
            let around = self.queue_of(cpu, group.parent);
            let depth =
                self.queues[around.0 as usize].owner.map_or(0, |o| self.entity(o).depth + 1);
            let inside = self.queue_of(cpu, Some(index));
            self.queues[inside.0 as usize].owner = Some(EntityId(self.entities.len() as u32));
            let mut entity = Entity::new(around, weight::of_group(group), depth);
            entity.owns = Some(inside);
            self.entities.push(entity);
        }
    }

    /// The queue of a group, or of the root, on a CPU.
    pub fn queue_of(&self, cpu: CpuId, group: Option<usize>) -> QueueId {
        let per_cpu = self.groups.len() as u32 + 1;
        QueueId(cpu.0 * per_cpu + group.map_or(0, |index| index as u32 + 1))
    }

    /// The root queue of a CPU.
    pub fn root(&self, cpu: CpuId) -> &Queue<T> {
        &self.queues[self.queue_of(cpu, None).0 as usize]
    }

    /// The root queue of the CPU on which an entity competes.
    pub fn root_of(&self, id: EntityId) -> &Queue<T> {
        self.root(self.cpu_of(self.entity(id).queue))
    }

    /// The CPU of a queue.
    pub fn cpu_of(&self, queue: QueueId) -> CpuId {
        CpuId(queue.0 / (self.groups.len() as u32 + 1))
    }

    /// The entity of a thread.
    pub fn entity_of(&self, thread: ThreadId) -> EntityId {
        EntityId(self.group_entities + thread.0)
    }

    /// The thread of an entity; `None`: a group's.
    pub fn thread_of(&self, id: EntityId) -> Option<ThreadId> {
        id.0.checked_sub(self.group_entities).map(ThreadId)
    }

    /// An entity by its id.
    pub fn entity(&self, id: EntityId) -> &Entity<T::Mark> {
        &self.entities[id.0 as usize]
    }

    /// An entity by its id, to change.
    pub fn entity_mut(&mut self, id: EntityId) -> &mut Entity<T::Mark> {
        &mut self.entities[id.0 as usize]
    }

    /// A queue by its id.
    pub fn queue(&self, id: QueueId) -> &Queue<T> {
        &self.queues[id.0 as usize]
    }

    /// The group entity around an entity.
    pub fn parent(&self, id: EntityId) -> Option<EntityId> {
        self.queue(self.entity(id).queue).owner
    }

    /// Makes room for a thread and starts it at its full load, as the kernel does until it knows better
    /// (`init_entity_runnable_average()`).
    pub fn add_thread(&mut self, now: Nanos, thread: ThreadId, weight: u64, queue: QueueId) {
        let id = self.entity_of(thread);
        let depth = self.queue(queue).owner.map_or(0, |owner| self.entity(owner).depth + 1);
        while self.entities.len() <= id.0 as usize {
            self.entities.push(Entity::new(queue, weight, depth));
        }
        let mut entity = Entity::new(queue, weight, depth);
        entity.average = Average::settled(now, [1, 1024, 512]);
        *self.entity_mut(id) = entity;
    }

    /// Charges the CPU's current thread, and the groups around it, what it ran (`update_curr()`). Asks for a
    /// new choice where the discipline says that a turn is over.
    pub fn charge(&mut self, core: &mut Core, cpu: CpuId) {
        let Some(thread) = self.current[cpu.index()] else { return };
        if core.current(cpu) != Some(thread) {
            return;
        }
        core.take_ran(cpu);
        let id = self.entity_of(thread);
        // Not what the call returned: a class above may have asked before.
        let ran = core.thread(thread).exec - self.entity(id).ran;
        if ran == Nanos::ZERO {
            return;
        }
        let (mut over, mut next) = (false, Some(id));
        while let Some(id) = next {
            over |= self.charge_entity(id, ran);
            over |= self.bandwidth.spend(core.now, self.entity(id).queue, ran);
            next = self.parent(id);
        }
        if over {
            core.resched(cpu);
        }
    }

    fn charge_entity(&mut self, id: EntityId, ran: Nanos) -> bool {
        let entity = &mut self.entities[id.0 as usize];
        let queue = &mut self.queues[entity.queue.0 as usize];
        entity.ran += ran;
        entity.vruntime += weight::virtual_time(ran, entity.weight);
        queue.timeline.charged(entity, &self.tunables) && queue.count > 1
    }

    /// Brings the averages of an entity and its queue to `now`, before either changes.
    pub fn touch(&mut self, now: Nanos, id: EntityId) {
        let entity = &mut self.entities[id.0 as usize];
        let queue = &mut self.queues[entity.queue.0 as usize];
        let (on, running) = (u64::from(entity.on_queue), u64::from(queue.current == Some(id)));
        entity.average.advance(now, [on, on * 1024, running * on * 1024]);
        queue.average.advance(now, queue.levels());
    }

    /// Changes how many threads a queue holds, `count` says how.
    pub fn count(&mut self, id: QueueId, count: impl FnOnce(&mut Queue<T>)) {
        let cpu = self.cpu_of(id);
        let queue = &mut self.queues[id.0 as usize];
        let before = queue.threads();
        count(queue);
        if queue.owner.is_none() {
            self.census.change(cpu, before, queue.threads());
        }
    }

    /// The running entity of a queue as others see it, unless it left or is `except`.
    pub fn peer(&self, queue: QueueId, except: Option<EntityId>) -> Option<Peer> {
        let current = self.queue(queue).current.filter(|&id| Some(id) != except)?;
        let entity = self.entity(current);
        entity.on_queue.then_some(Peer { vruntime: entity.vruntime, weight: entity.weight })
    }
}

impl<T> Queue<T> {
    fn threads(&self) -> Count {
        let (threads, awake) = (self.queued, self.runnable);
        Count { threads, awake, crowded: u32::from(threads > 1) }
    }

    /// What its averages follow: the weight, the threads that want to run, whether one runs.
    pub fn levels(&self) -> [u64; 3] {
        let running = u64::from(self.current.is_some());
        [weight::coarse(self.weight), u64::from(self.runnable) * 1024, running * 1024]
    }
}
