//! What happens to threads from outside: affinity, group, class, end (`__set_cpus_allowed_ptr`,
//! `sched_move_task`, `scx_disable_task`).

use super::{Hands, Lock, Place, State};
use crate::seam::handle;
use crate::world::Wait;

impl Hands<'_> {
    /// `task_rq_lock`: the CPU whose lock is held then.
    fn lock_of(self, thread: usize) -> usize {
        loop {
            let cpu = self.with(|kernel| kernel.threads[thread].cpu);
            self.wait(Wait::Settled(thread));
            self.lock(Lock::Rq(cpu));
            let here = self.with(|kernel| {
                let thread = &kernel.threads[thread];
                thread.cpu == cpu
                    && (thread.state != State::Waiting || thread.place != Place::Nowhere)
            });
            if here {
                return cpu;
            }
            self.unlock(Lock::Rq(cpu));
        }
    }

    /// Takes a thread out for a moment; answers what it was doing.
    fn take_out(self, thread: usize) -> State {
        let state = self.with(|kernel| {
            let state = kernel.threads[thread].state;
            if state == State::Waiting {
                kernel.remove(thread);
                kernel.departures = true;
            }
            if state == State::Running {
                kernel.account(kernel.threads[thread].cpu);
            }
            state
        });
        if state == State::Running {
            let stopping = self.world.code.callbacks.rg_stopping;
            self.call("stopping", || stopping(handle(thread), true));
        }
        state
    }

    pub(super) fn set_affinity(self, thread: usize, mask: u64) {
        self.lock(Lock::Pi(thread));
        let cpu = self.lock_of(thread);
        let state = self.take_out(thread);
        self.with(|kernel| kernel.threads[thread].mask = mask);
        let admitted = mask >> cpu & 1 == 1;
        match state {
            State::Waiting if admitted => self.queue(thread, 0),
            State::Running if !admitted => self.with(|kernel| {
                kernel.threads[thread].migrates = true;
                kernel.resched(cpu);
            }),
            State::Blocked if !admitted => {
                self.with(|kernel| kernel.threads[thread].cpu = mask.trailing_zeros() as usize);
            }
            _ => {}
        }
        self.unlock(Lock::Rq(cpu));
        if state == State::Waiting && !admitted {
            self.migrate(thread);
        }
        self.unlock(Lock::Pi(thread));
        self.flush_kicks();
    }

    /// A thread that waits nowhere goes to a CPU that it may run on.
    pub(super) fn migrate(self, thread: usize) {
        let to = self.with(|kernel| {
            let thread = &mut kernel.threads[thread];
            thread.cpu = thread.mask.trailing_zeros() as usize;
            thread.cpu
        });
        self.lock(Lock::Rq(to));
        self.queue(thread, 0);
        self.unlock(Lock::Rq(to));
        self.flush_kicks();
    }

    pub(super) fn set_group(self, thread: usize, group: u32) {
        let cpu = self.lock_of(thread);
        let state = self.take_out(thread);
        let regroup = self.world.code.callbacks.rg_move_thread_group;
        if state != State::Gone {
            self.call("move_thread_group", || regroup(handle(thread), group));
        }
        if state == State::Waiting {
            self.queue(thread, 0);
        }
        self.unlock(Lock::Rq(cpu));
        self.flush_kicks();
    }

    /// A waiting or sleeping thread changes to another class; one that runs keeps its own.
    pub(super) fn leave_class(self, thread: usize) {
        self.lock(Lock::Pi(thread));
        let cpu = self.lock_of(thread);
        let runs = self
            .with(|kernel| matches!(kernel.threads[thread].state, State::Running | State::Gone));
        if !runs {
            self.take_out(thread);
            self.with(|kernel| kernel.threads[thread].state = State::Gone);
            let exit = self.world.code.callbacks.rg_exit_thread;
            self.call("exit_thread", || exit(handle(thread)));
        }
        self.unlock(Lock::Rq(cpu));
        self.unlock(Lock::Pi(thread));
    }

    /// A thread that has exited, after its CPU has switched away from it.
    pub(super) fn bury(self, thread: usize) {
        let cpu = self.lock_of(thread);
        let exit = self.world.code.callbacks.rg_exit_thread;
        self.call("exit_thread", || exit(handle(thread)));
        self.unlock(Lock::Rq(cpu));
    }
}
