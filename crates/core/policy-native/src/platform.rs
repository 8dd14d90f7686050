//! What a policy may ask of its platform and do there: `policy/platform.h` in Rust.

use model::{CpuId, ThreadId};

/// A platform under a policy: the simulator, or a toy in a test.
///
/// Every call stands for the one of the same name in `policy/platform.h`, which says when it is legal. Calls
/// that need no platform (state, options, atomics) are answered by [`crate::Policy`] itself.
pub trait Platform {
    /// The present moment in ns.
    fn now(&self) -> u64;
    /// A uniform random number.
    fn random(&mut self) -> u32;
    /// CPU time that a thread received, in ns.
    fn exec_ns(&self, thread: ThreadId) -> u64;
    /// The process of a thread, counted from 0.
    fn process(&self, thread: ThreadId) -> u32;
    /// A thread's own weight: 1,024 at nice 0.
    fn weight(&self, thread: ThreadId) -> u32;
    /// The CPU that a thread runs on, waits for, or ran on last.
    fn thread_cpu(&self, thread: ThreadId) -> CpuId;
    /// Whether a thread's affinity admits a CPU.
    fn may_run_on(&self, thread: ThreadId, cpu: CpuId) -> bool;
    /// Equal for threads that may run on the same CPUs, 0 for those that may run on all.
    fn affinity(&self, thread: ThreadId) -> u32;
    /// Whether a thread may run at present on [`Platform::thread_cpu`] alone.
    fn is_pinned(&self, thread: ThreadId) -> bool;
    /// Whether a thread is the kernel's own and serves one CPU.
    fn is_percpu_kthread(&self, thread: ThreadId) -> bool;
    /// Whether the thread that dispatch calls `prev` could go on.
    fn is_runnable(&self, prev: ThreadId) -> bool;
    /// The domain that holds a CPU.
    fn domain(&self, cpu: CpuId, level: Level) -> u32;
    /// The i-th CPU of the domain that holds `cpu`, from `cpu` on and wrapping round.
    fn cpu_in(&self, cpu: CpuId, level: Level, i: u32) -> Option<CpuId>;
    /// The CPU for a waking thread, and whether it was idle and is now claimed.
    fn default_cpu(&mut self, thread: ThreadId, prev_cpu: CpuId) -> (CpuId, bool);
    /// The thread that wakes another; `None`: an interrupt does, or it is not known.
    fn waker(&self) -> Option<ThreadId> {
        None
    }
    /// Since when the request is at the machine that a thread was woken for or has read last; `None`: it has
    /// none, or that is not known.
    fn request_at(&self, _thread: ThreadId) -> Option<u64> {
        None
    }
    /// Claims an idle CPU for a thread.
    fn pick_idle(&mut self, thread: ThreadId) -> Option<CpuId>;
    /// Makes a CPU choose again.
    fn kick(&mut self, cpu: CpuId, how: Kick);
    /// Creates a queue.
    fn create_queue(&mut self, queue: u32);
    /// Puts a thread into a queue by key.
    fn insert_ordered(&mut self, thread: ThreadId, queue: u32, slice_ns: u64, key: u64);
    /// Puts a thread into its CPU's local queue.
    fn insert_local(&mut self, thread: ThreadId, slice_ns: u64, how: Local);
    /// How many threads wait in a queue.
    fn queue_length(&self, queue: u32) -> u32;
    /// The first thread of a queue.
    fn queue_peek(&self, queue: u32) -> Option<ThreadId>;
    /// Moves a thread to the dispatching CPU's local queue.
    fn move_thread(&mut self, queue: u32, thread: ThreadId) -> Move;
    /// The next thread of a visit. The cursor starts at 0 and means what the platform likes.
    fn visit_next(&mut self, queue: u32, cursor: &mut u64) -> Option<ThreadId>;
    /// Moves the thread just visited to the dispatching CPU's local queue.
    fn visit_move(&mut self, queue: u32, cursor: &mut u64, thread: ThreadId) -> bool;
    /// Moves the thread just visited to another queue; in group_due.
    fn visit_move_to(&mut self, _queue: u32, _cursor: &mut u64, _t: ThreadId, _to: Place) -> bool {
        self.fault(NO_QUOTAS);
        false
    }
    /// Whether a thread exits, or a signal ends it.
    fn is_ending(&self, _thread: ThreadId) -> bool {
        false
    }
    /// The runnable thread of the dispatching CPU does not go on.
    fn vacate(&mut self, _prev: ThreadId) {
        self.fault(NO_QUOTAS);
    }
    /// A group's timer is due after so many ns, and not when it was due before; whether it will be.
    fn group_timer(&mut self, _group: u32, _after_ns: u64) -> bool {
        self.fault(NO_QUOTAS);
        false
    }
    /// The same of a CPU.
    fn cpu_timer(&mut self, _cpu: CpuId, _after_ns: u64) {
        self.fault(NO_QUOTAS);
    }
    /// Sets what is left of a slice.
    fn set_slice(&mut self, thread: ThreadId, slice_ns: u64);
    /// The policy did what `policy/platform.h` forbids; the callback goes on, its call was not answered.
    fn fault(&mut self, what: &str) {
        panic!("{what}");
    }
}

const NO_QUOTAS: &str = "this platform keeps no quotas";

/// Where a thread shall wait.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The queue, or `RG_HELD` of a group.
    pub queue: u32,
    /// What it gets when it runs.
    pub slice_ns: u64,
    /// Its key there.
    pub key: u64,
}

/// A level of the machine's domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// One CPU.
    Cpu,
    /// The CPUs that share a core.
    Core,
    /// The CPUs that share a last-level cache.
    Llc,
    /// The CPUs of a NUMA node.
    Node,
    /// All CPUs.
    Machine,
}

/// What became of a move: `enum rg_move`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The thread is not in the queue.
    Gone,
    /// It may not run there.
    Refused,
    /// It is in the local queue.
    Moved,
}

/// How hard to kick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kick {
    /// Only if the CPU idles.
    Idle,
    /// Also end the slice of what runs there.
    Preempt,
}

/// How a thread enters a local queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// Before all others.
    pub head: bool,
    /// In place of what runs there.
    pub preempt: bool,
}
