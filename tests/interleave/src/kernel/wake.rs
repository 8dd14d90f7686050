//! How a thread gets into a queue: wake-ups, insertions, kicks (`try_to_wake_up`, `do_enqueue_task`,
//! `kick_cpus_irq_workfn`).

use super::{Hands, Kernel, Lock, Place, State, Target};
use crate::seam::handle;
use crate::world::Wait;

/// `RG_ENQUEUE_WAKEUP`.
const WAKEUP: u64 = 1;

impl Hands<'_> {
    /// A wake-up of a thread that has not blocked yet lets it go on when it would.
    pub(super) fn wake(self, thread: usize) {
        self.lock(Lock::Pi(thread));
        let sleeps = self.with(|kernel| {
            let thread = &mut kernel.threads[thread];
            thread.pending |= thread.state == State::Running || thread.state == State::Waiting;
            thread.state == State::Blocked
        });
        if sleeps {
            self.wait(Wait::Switched(thread));
            self.select(thread);
            let cpu = self.with(|kernel| kernel.threads[thread].cpu);
            self.lock(Lock::Rq(cpu));
            self.queue(thread, WAKEUP);
            self.unlock(Lock::Rq(cpu));
        }
        self.unlock(Lock::Pi(thread));
        self.flush_kicks();
    }

    /// Not for pinned threads.
    fn select(self, thread: usize) {
        let (mask, prev) = self.with(|kernel| {
            kernel.agents[self.agent].insertion = None;
            (kernel.threads[thread].mask, kernel.threads[thread].cpu)
        });
        if mask.count_ones() == 1 {
            return self.with(|kernel| kernel.threads[thread].cpu = mask.trailing_zeros() as usize);
        }
        let select = self.world.code.callbacks.rg_select_cpu;
        let cpu = self.call("select_cpu", || select(handle(thread), prev as i32)) as usize;
        self.with(|kernel| {
            let admitted = cpu < kernel.cpus.len() && mask >> cpu & 1 == 1;
            kernel.threads[thread].cpu =
                if admitted { cpu } else { mask.trailing_zeros() as usize };
        });
    }

    /// The policy says where a runnable thread waits, unless select_cpu has; then it waits there. Under the
    /// lock of its CPU.
    pub(super) fn queue(self, thread: usize, flags: u64) {
        let asked = self.with(|kernel| {
            kernel.threads[thread].state = State::Waiting;
            kernel.agents[self.agent].insertion.is_none()
        });
        if asked {
            let enqueue = self.world.code.callbacks.rg_enqueue;
            self.call("enqueue", || enqueue(handle(thread), flags));
            self.world.say(|| format!("enqueue has returned: thread {thread} is inserted next"));
            self.world.point();
        }
        if !self.with(|kernel| kernel.finish(self.agent, thread)) {
            self.world.fail(format!("enqueue inserted thread {thread} nowhere"));
        }
        self.world.say(|| {
            let kernel = self.world.kernel.borrow();
            format!("thread {thread} is in {:?}", kernel.threads[thread].place)
        });
    }

    /// Interrupts are on again: what was kicked is told.
    pub(super) fn flush_kicks(self) {
        for (cpu, preempts) in
            self.with(|kernel| std::mem::take(&mut kernel.agents[self.agent].kicks))
        {
            self.lock(Lock::Rq(cpu));
            self.with(|kernel| kernel.kick(cpu, preempts));
            self.world.say(|| format!("CPU {cpu} is kicked{}", if preempts { " off" } else { "" }));
            self.unlock(Lock::Rq(cpu));
        }
    }
}

impl Kernel {
    /// The insertion that a callback has ordered; whether it has.
    fn finish(&mut self, agent: usize, thread: usize) -> bool {
        let Some((of, slice_ns, target)) = self.agents[agent].insertion.take() else {
            return false;
        };
        let cpu = self.threads[thread].cpu;
        if of != thread {
            return false;
        }
        self.threads[thread].slice_ns = slice_ns;
        match target {
            Target::Queue(queue, key) => self.insert(thread, queue, key),
            Target::Local { head, preempt } => self.insert_local(thread, cpu, head, preempt),
        }
        if self.cpus[cpu].current.is_none() {
            self.resched(cpu);
        }
        true
    }

    fn insert_local(&mut self, thread: usize, cpu: usize, head: bool, preempt: bool) {
        self.threads[thread].place = Place::Local(cpu);
        if head {
            self.cpus[cpu].local.push_front(thread);
        } else {
            self.cpus[cpu].local.push_back(thread);
        }
        if preempt {
            self.kick(cpu, true);
        }
    }

    /// A kick for idle CPUs is lost on one that will choose anyway before it sleeps.
    pub(super) fn kick(&mut self, cpu: usize, preempts: bool) {
        if !preempts && self.cpus[cpu].current.is_some() && !self.cpus[cpu].in_balance {
            return;
        }
        if let Some(current) = self.cpus[cpu].current.filter(|_| preempts) {
            self.threads[current].slice_ns = 0;
        }
        self.resched(cpu);
    }
}
