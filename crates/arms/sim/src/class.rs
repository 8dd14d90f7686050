//! A scheduling class of the modelled kernel: what `struct sched_class` is to the real one.

pub mod ext;
pub mod fair;
pub mod rt;

use model::scenario::Quota;
use model::{CpuId, Nanos, ThreadId};

use crate::core::Core;

const UNCHANGING: &str =
    "this class does not model affinities and weights that change; leave such changes out";

/// Decides among the threads given to it. The kernel calls; the class answers and keeps its queues.
///
/// Whenever a callback needs the running thread's time up to date, the class calls [`Core::take_ran`] and
/// charges what it returns. A class asks for a new choice by [`Core::resched`] and never switches threads
/// itself.
///
/// Threads with `realtime` belong to a class above and are never passed in, but the current thread of a CPU
/// may be one.
pub trait Class {
    /// A thread came to life, blocked; its first wake-up follows.
    fn fork(&mut self, core: &mut Core, thread: ThreadId);

    /// Where a waking thread shall wait. Its `cpu` is still the one it ran on last.
    fn select_cpu(&mut self, core: &mut Core, thread: ThreadId) -> CpuId;

    /// A woken thread is put into the queue of its `cpu`; the class asks for a reschedule where it preempts.
    fn enqueue(&mut self, core: &mut Core, thread: ThreadId);

    /// The current thread of its CPU blocks. A pick on that CPU, with no `prev`, follows.
    fn dequeue(&mut self, core: &mut Core, thread: ThreadId);

    /// The current thread of a CPU calls `sched_yield`. A pick on that CPU follows.
    fn give_way(&mut self, core: &mut Core, cpu: CpuId, thread: ThreadId);

    /// Chooses what `cpu` runs next, taking it out of the queue; `None`: this class has nothing.
    ///
    /// `prev` is the current thread if it belongs to this class and is still runnable; it is in no queue. A
    /// class that returns another thread has put `prev` back. This is also where an idle CPU may pull from
    /// others (a pulled thread's `cpu` must be set).
    fn pick(&mut self, core: &mut Core, cpu: CpuId, prev: Option<ThreadId>) -> Option<ThreadId>;

    /// A higher class took the CPU from `prev`, which is still runnable and in no queue.
    fn displace(&mut self, core: &mut Core, cpu: CpuId, prev: ThreadId);

    /// The timer tick of a CPU whose current thread belongs to this class. Slices end here.
    fn tick(&mut self, core: &mut Core, cpu: CpuId, current: ThreadId);

    /// The timer tick of a CPU whose current thread belongs to a class above.
    fn tick_of_another(&mut self, _core: &mut Core, _cpu: CpuId) {}

    /// A CPU that ran something has found nothing and goes to sleep; others see it as idle already.
    fn idle(&mut self, _core: &mut Core, _cpu: CpuId) {}

    /// A client's CPU beside the machine's, where no thread of the scenario may run, goes to sleep.
    fn client_sleeps(&mut self) {}

    /// When the current thread's turn ends by a timer of its own (`hrtick`), if before the next tick. Asked
    /// whenever the CPU has chosen or ticked.
    fn turn_end(&self, _core: &Core, _cpu: CpuId) -> Nanos {
        Nanos::NEVER
    }

    /// That timer.
    fn turn_over(&mut self, _core: &mut Core, _cpu: CpuId) {}

    /// The affinity or the nice value of a thread is about to change: if it waits or runs it is taken out for
    /// a moment (`DEQUEUE_SAVE`). [`Class::restore`] follows. It may be that the thread has not come to life.
    fn save(&mut self, core: &mut Core, _thread: ThreadId) {
        core.fail(UNCHANGING);
    }

    /// It has changed, and the thread is put back to where it was (`ENQUEUE_RESTORE`). If it runs it goes on.
    fn restore(&mut self, core: &mut Core, _thread: ThreadId) {
        core.fail(UNCHANGING);
    }

    /// A thread that waits goes to another CPU (`move_queued_task`).
    fn migrate(&mut self, core: &mut Core, _thread: ThreadId, _to: CpuId) {
        core.fail(UNCHANGING);
    }

    /// A thread that waits or blocks moves to another group (`sched_move_task`).
    fn move_group(&mut self, core: &mut Core, thread: ThreadId, group: usize) {
        core.threads[thread.index()].group = Some(group);
    }

    /// A thread has exited; it blocks, and may be created anew.
    fn exit(&mut self, _core: &mut Core, _thread: ThreadId) {}

    /// The weight of a group has changed.
    fn weigh_group(&mut self, core: &mut Core, _group: usize, _weight: u32) {
        core.fail(UNCHANGING);
    }

    /// The quota of a group has changed; `None`: it has none.
    fn limit_group(&mut self, core: &mut Core, _group: usize, _max: Option<Quota>) {
        core.fail("this class does not model quotas; leave `max` out");
    }

    /// A group has become idle, or has its weight again.
    fn idle_group(&mut self, core: &mut Core, _group: usize, _idle: bool) {
        core.fail("this class does not model idle groups; leave `idle` out");
    }

    /// When a timer of the class is due that belongs to no CPU.
    fn next_timer(&self) -> Nanos {
        Nanos::NEVER
    }

    /// It is due.
    fn timer(&mut self, _core: &mut Core) {}

    /// A CPU has come or gone; if it has gone, it runs nothing and no thread waits there.
    fn hotplug(&mut self, core: &mut Core) {
        core.fail("this class does not model CPUs that come and go; leave hotplug out");
    }

    /// Moves of threads between two balancing domains so far.
    fn pulls(&self) -> u64 {
        0
    }
}
