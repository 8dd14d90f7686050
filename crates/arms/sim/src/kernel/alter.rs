//! Affinities, groups, weights, threads and CPUs that change in the course of a run.

use std::sync::Arc;

use model::change::{Change, ChangeKind};
use model::{CpuId, Nanos, ThreadId};

use super::schedule::fallback;
use super::{Kernel, Life};
use crate::class::Class;
use crate::core::State;
use crate::events::EventQueue;
use crate::observer::Observer;

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// Lets everything happen that is due.
    pub(super) fn change(&mut self) {
        while let Some(Change { at, .. }) = self.changes.as_slice().first()
            && *at <= self.core.now
        {
            let change = self.changes.next().expect("the first");
            self.observer.changed(&change);
            self.apply(change.kind);
        }
        let slot = self.change_slot();
        let next = self.changes.as_slice().first();
        self.queue.set(slot, next.map_or(Nanos::NEVER, |change| change.at));
    }

    fn apply(&mut self, kind: ChangeKind) {
        match kind {
            ChangeKind::Affinity { thread, cpus } => self.set_affinity(thread, &cpus),
            ChangeKind::Nice { thread, nice } => self.alter(thread, |kernel| {
                kernel.core.threads[thread.index()].nice = nice;
            }),
            ChangeKind::Weight { group, weight } => {
                self.class.weigh_group(&mut self.core, group, weight);
            }
            ChangeKind::Max { group, max } => self.class.limit_group(&mut self.core, group, max),
            ChangeKind::Idle { group, idle } => self.class.idle_group(&mut self.core, group, idle),
            ChangeKind::Move { thread, group } => self.move_group(thread, group),
            ChangeKind::Fork(thread) => self.create(thread),
            ChangeKind::Exit(thread) => self.end(thread),
            ChangeKind::Offline(cpu) => self.take_offline(cpu),
            ChangeKind::Online(cpu) => {
                self.core.affinities.set_online(cpu, true);
                self.core.resched(cpu);
                self.hotplug();
            }
        }
    }

    /// Changes what a class may have computed with while the thread is not in its queues.
    fn alter(&mut self, thread: ThreadId, change: impl FnOnce(&mut Self)) {
        self.of_class(thread, |class, core| class.save(core, thread));
        change(self);
        self.of_class(thread, |class, core| class.restore(core, thread));
    }

    /// Does something with the class that a thread belongs to.
    fn of_class(
        &mut self,
        thread: ThreadId,
        mut call: impl FnMut(&mut dyn Class, &mut crate::core::Core),
    ) {
        match &mut self.realtime {
            Some(realtime) if self.core.thread(thread).realtime => call(realtime, &mut self.core),
            _ => call(&mut self.class, &mut self.core),
        }
    }

    /// `__set_cpus_allowed_ptr`: the set first, then a thread on a CPU outside of it has to go.
    fn set_affinity(&mut self, thread: ThreadId, cpus: &[CpuId]) {
        self.alter(thread, |kernel| kernel.core.affinities.assign(thread, cpus));
        self.free_if_stuck(thread);
        self.leave_if_refused(thread);
    }

    /// A thread of whose CPUs none is online may run on all (`cpuset_cpus_allowed_fallback`).
    fn free_if_stuck(&mut self, thread: ThreadId) {
        if self.core.affinities.admitted(thread).next().is_some() {
            return;
        }
        let cpus: Arc<[CpuId]> = (0..self.core.machine.cpus).map(CpuId).collect();
        self.alter(thread, |kernel| kernel.core.affinities.assign(thread, &cpus));
        let kind = ChangeKind::Affinity { thread, cpus };
        self.observer.changed(&Change { at: self.core.now, kind });
    }

    /// A thread that runs is stopped first (`migration_cpu_stop`).
    fn leave_if_refused(&mut self, thread: ThreadId) {
        let (state, cpu) = (self.core.thread(thread).state, self.core.thread(thread).cpu);
        if state == State::Blocked || self.core.may_run_on(thread, cpu) {
            return;
        }
        if state == State::Running {
            self.stop(cpu, thread);
        }
        let to = fallback(&self.core, thread, cpu);
        self.of_class(thread, |class, core| class.migrate(core, thread, to));
    }

    /// A thread of the highest class takes the CPU for a moment, for which there is no cost.
    fn stop(&mut self, cpu: CpuId, thread: ThreadId) {
        self.of_class(thread, |class, core| class.displace(core, cpu, thread));
        self.vacate(cpu, thread, State::Runnable);
        self.switch(cpu, Some(thread), None);
    }

    /// A thread that runs is put back into the queue meanwhile.
    fn move_group(&mut self, thread: ThreadId, group: usize) {
        if self.core.thread(thread).state == State::Running {
            self.stop(self.core.thread(thread).cpu, thread);
        }
        self.of_class(thread, |class, core| class.move_group(core, thread, group));
    }

    /// A thread comes to life, if it is not there.
    fn create(&mut self, thread: ThreadId) {
        self.tasks[thread.index()].exits = false;
        if self.tasks[thread.index()].life == Life::Gone {
            self.programs[self.core.thread(thread).program].restart(thread);
            self.tasks[thread.index()].life = Life::Alive;
            self.fork(thread);
            self.wake(thread, None);
        }
    }

    /// A thread is told to exit. It does so when it runs next: one that runs does now, a sleeper wakes for
    /// it.
    fn end(&mut self, thread: ThreadId) {
        let task = &mut self.tasks[thread.index()];
        if task.life == Life::Gone || std::mem::replace(&mut task.exits, true) {
            return;
        }
        let (state, cpu) = (self.core.thread(thread).state, self.core.thread(thread).cpu);
        match state {
            State::Blocked if task.life == Life::Unborn => {}
            State::Blocked => {
                let timer = task.timer;
                timer.into_iter().for_each(|timer| self.queue.set(timer, Nanos::NEVER));
                self.wake(thread, None);
            }
            State::Runnable => self.core.threads[thread.index()].remaining = Nanos::ZERO,
            State::Running => {
                let unaccounted = self.core.now - self.core.cpus[cpu.index()].accounted;
                self.core.threads[thread.index()].remaining = unaccounted;
                self.arm(cpu);
            }
        }
    }

    /// Threads that exited are gone once their CPUs have chosen (`finish_task_switch`).
    pub(super) fn reap(&mut self) {
        while let Some(thread) = self.exited.pop() {
            self.tasks[thread.index()].life = Life::Gone;
            self.of_class(thread, |class, core| class.exit(core, thread));
        }
    }

    /// Running and waiting threads go (`balance_push`); sleepers choose another CPU when they wake.
    fn take_offline(&mut self, cpu: CpuId) {
        self.core.affinities.set_online(cpu, false);
        self.core.idle.remove(cpu);
        for id in 0..self.core.threads.len() as u32 {
            self.free_if_stuck(ThreadId(id));
            self.leave_if_refused(ThreadId(id));
        }
        self.hotplug();
    }

    fn hotplug(&mut self) {
        if let Some(realtime) = &mut self.realtime {
            realtime.hotplug(&mut self.core);
        }
        self.class.hotplug(&mut self.core);
    }
}
