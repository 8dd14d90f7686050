//! The start of a run: thread creation, and when threads begin with their work.

use model::change::ChangeKind;
use model::{Failure, Nanos, Watch};

use super::{Kernel, Life};
use crate::class::Class;
use crate::costs::Costs;
use crate::events::EventQueue;
use crate::observer::Observer;

/// Between the beginnings of two threads: about what `clone` takes, or a wake-up at a gate that many wait at.
/// Threads that all began at 0 would stay in step on every CPU.
const BEGIN_GAP: Nanos = Nanos::from_micros(10);

impl<C: Class, Q: EventQueue, O: Observer> Kernel<C, Q, O> {
    /// Threads of services exist from the start, blocked; others begin one after another, since each is
    /// runnable at once.
    pub(super) fn start(&mut self, watch: &dyn Watch) -> Result<(), Failure> {
        self.confine();
        if self.barrier {
            self.fork_all(watch)?;
        }
        self.limit_groups();
        for program in 0..self.programs.len() {
            self.expect_client(program);
            if !self.barrier && !self.programs[program].starts() {
                self.programs[program].threads().for_each(|thread| self.fork(thread));
            }
        }
        self.change();
        self.await_beginning(Nanos::ZERO);
        Ok(())
    }

    /// Groups have their quotas before the first thread begins. Thread creation, which takes no time, uses
    /// nothing of them: a thread that was held in it would not be there when its turn to begin comes.
    fn limit_groups(&mut self) {
        for (group, max) in std::mem::take(&mut self.quotas) {
            self.class.limit_group(&mut self.core, group, Some(max));
        }
    }

    /// A thread that may not run everywhere from the start is created where it may: a parent hands down its
    /// affinity and its cpuset. Classes are told with all other changes, after thread creation.
    fn confine(&mut self) {
        let first = self.changes.as_slice().iter().take_while(|change| change.at == Nanos::ZERO);
        for change in first {
            if let ChangeKind::Affinity { thread, cpus } = &change.kind {
                self.core.affinities.assign(*thread, cpus);
                let own = &mut self.core.threads[thread.index()].cpu;
                *own = self.core.affinities.nearest(*thread, *own).unwrap_or(*own);
            }
        }
    }

    /// Each thread is created, finds nothing to do and blocks, before the next one is. So a class places it
    /// on an idle machine, from the CPU where its siblings were created, since all have one parent. The
    /// threads of a service stay on their random CPUs: on other arms they wake up once more to wait for
    /// requests, and idle CPUs pull them apart. It takes no time, since it is over when a run begins. An
    /// observer sees the forks alone.
    fn fork_all(&mut self, watch: &dyn Watch) -> Result<(), Failure> {
        let costs = std::mem::replace(&mut self.costs, Costs::NONE);
        let machinery = self.machinery.take();
        self.forking = true;
        for program in 0..self.programs.len() {
            let mut beside = None;
            for thread in self.programs[program].threads() {
                let own = &mut self.core.threads[thread.index()].cpu;
                *own = beside.unwrap_or(*own);
                self.fork(thread);
                if self.programs[program].starts() {
                    self.wake(thread, None);
                    self.settle(None);
                    self.run_until(Nanos(1), watch)?;
                    beside = Some(self.core.thread(thread).cpu);
                }
            }
        }
        self.forking = false;
        (self.costs, self.machinery) = (costs, machinery);
        Ok(())
    }

    fn await_beginning(&mut self, at: Nanos) {
        let slot = self.arrival_slot(self.programs.len());
        let at = if self.waiting.as_slice().is_empty() { Nanos::NEVER } else { at };
        self.queue.set(slot, at);
    }

    /// The next thread begins with its work.
    pub(super) fn begin(&mut self) {
        if let Some(thread) = self.waiting.next() {
            let task = &mut self.tasks[thread.index()];
            let absent = task.exits && !self.barrier;
            task.life = if absent { Life::Gone } else { Life::Alive };
            if !absent && !self.barrier {
                self.fork(thread);
            }
            if !absent {
                self.wake(thread, None);
            }
        }
        self.await_beginning(self.core.now + BEGIN_GAP);
    }
}
