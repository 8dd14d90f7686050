//! The part of the modelled kernel that every class sees: threads, CPUs, the clock, and requests to
//! reschedule.

use model::scenario::Machine;
use model::{CpuId, Nanos, ThreadId};

use crate::affinity::Affinities;
use crate::cpu_set::CpuSet;
use crate::places::Places;

/// A thread of the modelled kernel. In a cache line: every tick touches that of each running thread.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Thread {
    /// Index of its program in the scenario.
    pub program: usize,
    /// Index of the program whose process it belongs to.
    pub process: usize,
    /// Index of its group in the scenario; `None`: the root.
    pub group: Option<usize>,
    /// Nice value, -20 to 19.
    pub nice: i8,
    /// Whether SCHED_FIFO or SCHED_RR runs it, above every normal thread.
    pub realtime: bool,
    /// What it is doing.
    pub state: State,
    /// The CPU that it runs on, waits at, or ran on last.
    pub cpu: CpuId,
    /// CPU time received up to the last [`Core::take_ran`].
    pub exec: Nanos,
    /// CPU time until its program must say what comes next, switch and migration costs included.
    pub remaining: Nanos,
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Waiting for a wake-up.
    Blocked,
    /// Waiting for a CPU.
    Runnable,
    /// Current on its CPU.
    Running,
}

/// A CPU of the modelled kernel.
#[derive(Clone, Debug)]
pub struct Cpu {
    /// The thread that runs; `None`: idle.
    pub current: Option<ThreadId>,
    /// Until when the current thread's time is already in its `exec`.
    pub accounted: Nanos,
    /// Whether it must choose again as soon as the present event is handled.
    pub need_resched: bool,
}

/// What classes may see and touch of the kernel.
pub struct Core {
    /// The present moment.
    pub now: Nanos,
    /// The scenario's machine.
    pub machine: Machine,
    /// Which CPUs are near which.
    pub places: Places,
    /// All threads, by [`ThreadId`].
    pub threads: Vec<Thread>,
    /// All CPUs, by [`CpuId`].
    pub cpus: Vec<Cpu>,
    /// CPUs that must choose again, in the order in which they were asked to.
    pub resched: Vec<CpuId>,
    /// CPUs without a thread and not about to choose one: those that [`Core::resched`] was not asked for
    /// since they fell idle.
    pub idle: CpuSet,
    /// Which CPUs each thread may run on.
    pub affinities: Affinities,
    /// Whether any thread belongs to a real-time class.
    pub has_realtime: bool,
    /// While a wake-up is handled: the CPU whose thread or timer caused it; `None`: an interrupt from
    /// outside, such as a request from a client on another machine.
    pub waker: Option<CpuId>,
    /// Since when the request is at the machine that each thread was woken for, or has read last.
    pub requests: Vec<Option<Nanos>>,
    /// Threads that are throttled from the present moment on (true), or not any more.
    pub kept: Vec<(ThreadId, bool)>,
    fault: Option<String>,
}

impl Core {
    /// A machine of idle CPUs and no threads at time 0.
    pub fn new(machine: Machine) -> Core {
        let cpu = Cpu { current: None, accounted: Nanos::ZERO, need_resched: false };
        Core {
            now: Nanos::ZERO,
            machine,
            places: Places::new(&machine),
            threads: Vec::new(),
            cpus: vec![cpu; machine.cpus as usize],
            resched: Vec::new(),
            idle: CpuSet::all(machine.cpus),
            affinities: Affinities::new(machine.cpus),
            has_realtime: false,
            waker: None,
            requests: Vec::new(),
            kept: Vec::new(),
            fault: None,
        }
    }

    /// The thread with an id.
    pub fn thread(&self, thread: ThreadId) -> &Thread {
        &self.threads[thread.index()]
    }

    /// The thread that runs on a CPU; `None`: idle.
    pub fn current(&self, cpu: CpuId) -> Option<ThreadId> {
        self.cpus[cpu.index()].current
    }

    /// The CPU time that the current thread of `cpu` received since the last call. Its class must charge it.
    pub fn take_ran(&mut self, cpu: CpuId) -> Nanos {
        let slot = &mut self.cpus[cpu.index()];
        let ran = self.now - slot.accounted;
        slot.accounted = self.now;
        if let Some(current) = slot.current {
            let thread = &mut self.threads[current.index()];
            thread.exec += ran;
            thread.remaining -= ran;
        }
        ran
    }

    /// The CPU time that a thread has received until now, whether it was taken or not.
    pub fn exec(&self, thread: ThreadId) -> Nanos {
        let entry = self.thread(thread);
        let cpu = &self.cpus[entry.cpu.index()];
        if cpu.current == Some(thread) {
            entry.exec + (self.now - cpu.accounted)
        } else {
            entry.exec
        }
    }

    /// Asks `cpu` to choose again once the present event is handled.
    pub fn resched(&mut self, cpu: CpuId) {
        let slot = &mut self.cpus[cpu.index()];
        if !slot.need_resched {
            slot.need_resched = true;
            self.resched.push(cpu);
            self.idle.remove(cpu);
        }
    }

    /// Whether a thread may run on a CPU.
    #[inline]
    pub fn may_run_on(&self, thread: ThreadId, cpu: CpuId) -> bool {
        self.affinities.admit(thread, cpu)
    }

    /// Whether a CPU runs a thread of a real-time class, behind which others wait.
    #[inline]
    pub fn runs_realtime(&self, cpu: CpuId) -> bool {
        self.has_realtime && self.current(cpu).is_some_and(|thread| self.thread(thread).realtime)
    }

    /// Ends the run with a reason: for what a class finds wrong and cannot mend. The first reason counts.
    pub fn fail(&mut self, reason: impl Into<String>) {
        self.fault.get_or_insert(reason.into());
    }

    /// Why the run must end, if it must.
    pub fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }
}
