//! Affinities, groups and weights that change in the course of a run.

use model::{CpuId, ThreadId};

use super::Fair;
use super::timeline::{Arrival, Departure, Timeline};
use super::weight;
use crate::core::{Core, State};

impl<T: Timeline> Fair<T> {
    /// A sleeper that stayed leaves its queue where it may not wake there any more.
    pub(super) fn detach_refused(&mut self, core: &Core, thread: ThreadId) {
        if self.is_queued(thread) {
            self.tree.finish_delayed(core.now, self.tree.entity_of(thread));
        }
    }

    /// A thread weighs what its nice value says, and its CPU's load follows (`reweight_task_fair()`).
    pub(super) fn renice(&mut self, core: &Core, thread: ThreadId) {
        let id = self.tree.entity_of(thread);
        let weight = weight::of_nice(core.thread(thread).nice);
        let Some(entity) = self.tree.entities.get(id.0 as usize) else { return };
        if entity.weight == weight {
            return;
        }
        let cpu = self.tree.cpu_of(entity.queue);
        self.take_load(core.now, thread);
        self.tree.reweigh(id, weight);
        self.settle(core, thread, cpu);
    }

    /// A thread's entity goes to the queue of another group on its CPU; a sleeper's goes when it wakes.
    pub(super) fn regroup(&mut self, core: &mut Core, thread: ThreadId, group: usize) {
        let cpu = core.thread(thread).cpu;
        let waits = core.thread(thread).state == State::Runnable;
        let held = waits && self.unhold(core, thread);
        if held {
            self.take_load(core.now, thread);
        } else if waits {
            self.exit(core, thread, Departure::Move);
            self.take_load(core.now, thread);
        } else if (self.tree.entity_of(thread).0 as usize) < self.tree.entities.len() {
            self.detach_refused(core, thread);
        }
        core.threads[thread.index()].group = Some(group);
        if waits {
            self.settle(core, thread, cpu);
            self.enter(core, thread, if held { Arrival::Wake } else { Arrival::Move });
        }
        if held && core.current(cpu).is_none() {
            core.resched(cpu);
        }
    }

    /// A group's entities get their parts of a new weight on every CPU (`sched_group_set_shares()`).
    pub(super) fn set_group_weight(&mut self, core: &mut Core, group: usize, weight: u32) {
        self.tree.groups.set_weight(group, weight);
        self.reweigh_group(core, group);
    }

    /// As above for a group that becomes idle or ceases to be (`sched_group_set_idle()`).
    pub(super) fn set_group_idle(&mut self, core: &mut Core, group: usize, idle: bool) {
        self.tree.groups.set_idle(group, idle);
        self.reweigh_group(core, group);
    }

    fn reweigh_group(&mut self, core: &mut Core, group: usize) {
        for cpu in (0..core.machine.cpus).map(CpuId) {
            self.tree.charge(core, cpu);
            let inside = self.tree.queue_of(cpu, Some(group));
            if let Some(owner) = self.tree.queue(inside).owner {
                self.tree.touch(core.now, owner);
                self.tree.update_share(core.now, owner);
            }
        }
    }
}
