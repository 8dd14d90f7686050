//! Threads that leave the policy for a moment, and policies that start while threads are there.

use model::{CpuId, ThreadId};

use super::{DEFAULT_SLICE, Ext};
use crate::class::Class;
use crate::core::{Core, State};

impl Ext {
    /// `dequeue_task_scx` of a thread that goes on to want its CPU.
    pub(super) fn take_out(&mut self, core: &mut Core, thread: ThreadId) {
        if core.thread(thread).state == State::Blocked {
            return;
        }
        if core.thread(thread).state == State::Running {
            let cpu = core.thread(thread).cpu;
            self.account(core, cpu, thread);
            self.call(core, |policy, on| policy.stopping(on, thread, true));
        } else {
            self.threads.dequeue(core, thread);
        }
    }

    /// `enqueue_task_scx` of such a thread: the current thread of a CPU goes on with its slice and without
    /// being put anywhere (`sticky_cpu`).
    pub(super) fn put_in(&mut self, core: &mut Core, thread: ThreadId) {
        if !matches!(core.thread(thread).state, State::Blocked | State::Running) {
            self.queue(core, thread, false);
        }
    }

    /// A policy without callbacks for CPUs that come and go is ended by one, and its loader starts it anew
    /// (`handle_hotplug`, `SCX_ECODE_ACT_RESTART`). That takes no time here, so no event shows the class
    /// between. Each CPU then chooses anew (`scx_bypass`).
    pub(super) fn restart(&mut self, core: &mut Core) {
        for cpu in (0..core.machine.cpus).map(CpuId) {
            core.take_ran(cpu);
        }
        self.pulled = self.pulls();
        self.policy = self.policy.anew();
        self.threads.clear(core, DEFAULT_SLICE);
        self.departed.iter_mut().for_each(|departed| *departed = None);
        if let Err(failure) = self.init(core) {
            return core.fail(failure.to_string());
        }
        self.threads.ids().for_each(|thread| self.init_thread(core, thread));
        self.threads.ids().for_each(|thread| self.put_in(core, thread));
        for cpu in (0..core.machine.cpus).map(CpuId) {
            if core.affinities.is_online(cpu) {
                core.resched(cpu);
            }
        }
    }
}
