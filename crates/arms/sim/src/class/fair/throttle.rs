//! Threads of groups that have used up their quota.
//!
//! A thread is throttled when it is picked: it leaves the queue, and comes back as one that wakes when the
//! group's queue on its CPU may go on. So does Linux since 6.18 on the thread's way back to user mode, for
//! which no time is charged here (`throttle_cfs_rq_work()`). Linux 6.1 takes the group's entity off its queue
//! with all that is inside; here the threads of the CPU leave together.

use model::scenario::Quota;
use model::{CpuId, Nanos, ThreadId};

use super::Fair;
use super::timeline::{Arrival, Departure, Timeline};
use super::tree::{QueueId, Tree};
use crate::core::Core;

impl<T: Timeline> Tree<T> {
    /// The queues around a thread that a group owns, innermost first.
    fn owned_around(&self, thread: ThreadId) -> impl Iterator<Item = QueueId> {
        let first = self.entity(self.entity_of(thread)).queue;
        let up = move |queue: &QueueId| Some(self.entity(self.queue(*queue).owner?).queue);
        std::iter::successors(Some(first), up).filter(|queue| self.queue(*queue).owner.is_some())
    }
}

impl<T: Timeline> Fair<T> {
    /// Whether a thread that was picked may run. One that may not leaves the queue, where its kernel does so
    /// with those of its group on this CPU.
    pub(super) fn may_run(&mut self, core: &mut Core, thread: ThreadId) -> bool {
        if !self.tree.bandwidth.is_used() {
            return true;
        }
        let around: Vec<QueueId> = self.tree.owned_around(thread).collect();
        let bandwidth = &mut self.tree.bandwidth;
        // Every level, though one alone is enough to hold the thread: each is to wait for its own pool.
        let refused = around.into_iter().filter(|queue| !bandwidth.admits(core.now, *queue)).last();
        let Some(outermost) = refused else { return true };
        self.hold(core, thread);
        if T::THROTTLES_GROUPS {
            let cpu = core.thread(thread).cpu;
            let inside =
                |id: &ThreadId| self.tree.owned_around(*id).any(|queue| queue == outermost);
            let others: Vec<ThreadId> = self.threads.of_cpu(cpu).filter(inside).collect();
            others.into_iter().for_each(|other| self.hold(core, other));
        }
        false
    }

    fn hold(&mut self, core: &mut Core, thread: ThreadId) {
        let queue = self.tree.entity(self.tree.entity_of(thread)).queue;
        self.exit(core, thread, Departure::Served);
        self.held.entry(queue).or_default().push(thread);
        core.kept.push((thread, true));
    }

    /// A thread that is throttled is not any more, because it goes elsewhere. False: it is not.
    pub(super) fn unhold(&mut self, core: &mut Core, thread: ThreadId) -> bool {
        let queue = self.tree.queue_of(core.thread(thread).cpu, core.thread(thread).group);
        let Some(held) = self.held.get_mut(&queue) else { return false };
        let place = held.iter().position(|&other| other == thread);
        if let Some(place) = place {
            held.remove(place);
            core.kept.push((thread, false));
        }
        place.is_some()
    }

    /// Whether balancing may move a thread: not to where its group is throttled (`throttled_lb_pair()`).
    pub(super) fn may_be_moved(&self, core: &Core, thread: ThreadId, to: CpuId) -> bool {
        !T::THROTTLES_GROUPS
            || !self.tree.bandwidth.is_used()
            || !self.is_held(self.tree.queue_of(to, core.thread(thread).group))
    }

    /// Timers of pools are due.
    pub(super) fn fill_pools(&mut self, core: &mut Core) {
        let freed = self.tree.bandwidth.expire(core.now);
        freed.into_iter().for_each(|queue| self.release(core, queue));
    }

    /// A group has another quota, or none.
    pub(super) fn set_quota(&mut self, core: &mut Core, group: usize, quota: Option<Quota>) {
        let cpus = core.machine.cpus;
        (0..cpus).for_each(|cpu| self.tree.charge(core, CpuId(cpu)));
        let freed = self.tree.bandwidth.set(cpus, group, quota);
        freed.into_iter().for_each(|queue| self.release(core, queue));
    }

    /// A queue may go on: the threads below it that no other queue holds come back, in the order in which
    /// they left (`unthrottle_cfs_rq()`).
    fn release(&mut self, core: &mut Core, queue: QueueId) {
        let cpu = self.tree.cpu_of(queue);
        let of_cpu = self.tree.queue_of(cpu, None)..self.tree.queue_of(CpuId(cpu.0 + 1), None);
        let below = self.held.range(of_cpu).map(|(inside, _)| *inside);
        let below = below.filter(|inside| self.lies_in(*inside, queue));
        let free: Vec<QueueId> = below.filter(|inside| !self.is_held(*inside)).collect();
        for inside in free {
            for thread in self.held.remove(&inside).unwrap_or_default() {
                core.kept.push((thread, false));
                self.enter(core, thread, Arrival::Wake);
            }
        }
        if core.current(cpu).is_none() && self.tree.root(cpu).count > 0 {
            core.resched(cpu);
        }
    }

    /// A queue and those around it.
    fn up(&self, queue: QueueId) -> impl Iterator<Item = QueueId> {
        let up = |queue: &QueueId| Some(self.tree.entity(self.tree.queue(*queue).owner?).queue);
        std::iter::successors(Some(queue), up)
    }

    fn lies_in(&self, inside: QueueId, queue: QueueId) -> bool {
        self.up(inside).any(|around| around == queue)
    }

    fn is_held(&self, queue: QueueId) -> bool {
        self.up(queue).any(|around| self.tree.bandwidth.is_throttled(around))
    }

    /// A thread has left: a queue that is empty now hands back what it has of its pool.
    pub(super) fn hand_back(&mut self, now: Nanos, thread: ThreadId) {
        let around: Vec<QueueId> = self.tree.owned_around(thread).collect();
        for queue in around {
            if self.tree.queue(queue).count == 0 {
                self.tree.bandwidth.hand_back(now, queue);
            }
        }
    }
}
