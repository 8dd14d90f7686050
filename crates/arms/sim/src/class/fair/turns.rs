//! The next turn: the choice down the tree, and the change from one thread to another.

use model::{CpuId, Nanos, ThreadId};

use super::timeline::Timeline;
use super::tree::{EntityId, QueueId, Tree};

impl<T: Timeline> Tree<T> {
    /// The entity that a queue would run next. Sleepers that are found to have served their time leave;
    /// `None`: the queue emptied meanwhile.
    pub fn choose(&mut self, now: Nanos, queue_id: QueueId) -> Option<EntityId> {
        loop {
            let queue = &mut self.queues[queue_id.0 as usize];
            if queue.count == 0 {
                return None;
            }
            let current = queue.current.filter(|id| self.entities[id.0 as usize].on_queue);
            let id = queue.timeline.pick(&self.entities, current, queue.count, &self.tunables)?;
            if !T::is_delayed(self.entity(id)) {
                return Some(id);
            }
            self.finish_delayed(now, id);
        }
    }

    /// The thread that a CPU should run next (`pick_task_fair()`); it stays where it is.
    pub fn next_thread(&mut self, now: Nanos, cpu: CpuId) -> Option<ThreadId> {
        let root = self.queue_of(cpu, None);
        let mut queue = root;
        while self.queue(root).count > 0 {
            let Some(id) = self.choose(now, queue) else {
                queue = root;
                continue;
            };
            match self.entity(id).owns {
                Some(inside) => queue = inside,
                None => return self.thread_of(id),
            }
        }
        None
    }

    /// Makes `next` the CPU's current thread: what ran goes back to its queue if it still wants to run, what
    /// runs leaves the order. Groups around both stay as they are (`put_prev_task()`, `set_next_task()`).
    pub fn switch(&mut self, now: Nanos, cpu: CpuId, next: Option<ThreadId>) {
        let previous = std::mem::replace(&mut self.current[cpu.index()], next);
        if previous == next {
            return;
        }
        let mut old = previous.map(|thread| self.entity_of(thread));
        let mut new = next.map(|thread| self.entity_of(thread));
        loop {
            let (old_depth, new_depth) = (self.depth(old), self.depth(new));
            let met = match (old, new) {
                (Some(a), Some(b)) => self.entity(a).queue == self.entity(b).queue,
                (None, None) => return,
                _ => false,
            };
            if let Some(id) = old.filter(|_| old_depth >= new_depth) {
                self.put(now, id);
                old = self.parent(id);
            }
            if let Some(id) = new.filter(|_| new_depth >= old_depth) {
                self.set(now, id);
                new = self.parent(id);
            }
            if met {
                return;
            }
        }
    }

    /// A thread that blocked stays its CPU's current one until the next pick; where that went to a higher
    /// class, it may wake before.
    pub fn forget_blocked(&mut self, now: Nanos, thread: ThreadId) {
        let last_cpu = self.cpu_of(self.entity(self.entity_of(thread)).queue);
        if self.current[last_cpu.index()] == Some(thread) {
            self.switch(now, last_cpu, None);
        }
    }

    fn depth(&self, id: Option<EntityId>) -> i64 {
        id.map_or(-1, |id| i64::from(self.entity(id).depth))
    }

    fn put(&mut self, now: Nanos, id: EntityId) {
        self.touch(now, id);
        let entity = &mut self.entities[id.0 as usize];
        let queue = &mut self.queues[entity.queue.0 as usize];
        queue.current = None;
        if entity.on_queue {
            queue.timeline.insert(id, entity);
        }
    }

    fn set(&mut self, now: Nanos, id: EntityId) {
        self.touch(now, id);
        let entity = &mut self.entities[id.0 as usize];
        let queue = &mut self.queues[entity.queue.0 as usize];
        queue.timeline.remove(id, entity);
        queue.timeline.started(id, entity);
        queue.current = Some(id);
        entity.ran_at_pick = entity.ran;
    }

    /// Whether `woken` takes the CPU from `running` because one of the two is idle beside the other; `None`:
    /// both are or neither (`se_is_idle()`).
    pub fn preempts_idle(&self, running: EntityId, woken: EntityId) -> Option<bool> {
        if !self.groups.has_idle() {
            return None;
        }
        let (old, new) = self.siblings(running, woken);
        let idle = |id| self.entity(id).owns.is_some() && self.groups.is_idle(id.0 as usize);
        (idle(old) != idle(new)).then(|| idle(old))
    }

    /// The two ancestors, or selves, that compete in one queue (`find_matching_se()`).
    pub fn siblings(&self, mut a: EntityId, mut b: EntityId) -> (EntityId, EntityId) {
        while self.entity(a).queue != self.entity(b).queue {
            let (up_a, up_b) = (self.entity(a).depth, self.entity(b).depth);
            if up_a >= up_b {
                a = self.parent(a).unwrap_or(a);
            }
            if up_b >= up_a {
                b = self.parent(b).unwrap_or(b);
            }
        }
        (a, b)
    }
}
