//! One instance of the policy: its options, its state, and its callbacks.

use std::ffi::c_void;
use std::sync::Arc;

use model::scenario::{Machine, Quota};
use model::{CpuId, Failure, Nanos, PolicySpec, ThreadId};

use crate::file;
use crate::platform::Platform;
use crate::policy_options::PolicyOptions;
use crate::program::{Callbacks, Program};
use crate::shim::{enter, handle, slot};
use crate::state::{Owner, State};
use crate::table::Options;

// What a test may ask of the project's own policies.
unsafe extern "C" {
    fn rg_native_pulls(shared: *const c_void) -> u64;
    fn rg_native_vruntime(thread: *const c_void) -> u64;
    fn rg_native_batch(thread: *const c_void) -> bool;
}

/// `RG_ENQUEUE_WAKEUP`.
const WAKEUP: u64 = 1;

/// A policy on a machine. Instances share nothing, so many can live in parallel.
///
/// The callbacks are those of `policy/platform.h`, in the kernel's order; each gets the platform that it may
/// ask meanwhile. A platform must not call the policy from one of its own calls.
pub struct Policy {
    program: Arc<Program>,
    options: PolicyOptions,
    state: State,
}

impl Policy {
    /// An instance of one of the project's policies, without threads. [`Policy::init`] comes next.
    pub fn new(options: Options) -> Policy {
        Policy::of(Program::built_in(), PolicyOptions::BuiltIn(options))
    }

    /// As [`Policy::new`], by name, on a machine; `slice` is what the scenario asks for. A name of none of
    /// the project's policies may be that of a file, see [`PolicySpec::file`].
    pub fn open(
        spec: &PolicySpec,
        machine: &Machine,
        slice: Option<Nanos>,
    ) -> Result<Policy, Failure> {
        let options = PolicyOptions::parse(spec, machine, slice)?.with_quotas();
        let program = match (Program::present(), spec.file()) {
            (Some(program), _) => program,
            (None, Some(path)) => file::program(path)?,
            (None, None) => Program::built_in(),
        };
        Ok(Policy::of(program, options))
    }

    /// No group has a promise: what keeps them costs nothing.
    pub fn without_promises(mut self) -> Policy {
        self.options = self.options.without_promises();
        self
    }

    /// Whether groups are held to what they were promised.
    pub fn keeps_promises(&self) -> bool {
        self.options.keeps_promises()
    }

    /// Another instance of the same code with the same choices, and nothing else of this one's.
    pub fn anew(&self) -> Policy {
        Policy::of(Arc::clone(&self.program), self.options)
    }

    fn of(program: Arc<Program>, options: PolicyOptions) -> Policy {
        let size = options.as_bytes().len();
        assert_eq!(program.sizes[8], size as u64, "C and Rust disagree on struct rg_options");
        let state = State::new(&program.sizes, options.cpus());
        Policy { program, options, state }
    }

    /// Once, before all other callbacks.
    pub fn init(&mut self, on: &mut dyn Platform) -> Result<(), Failure> {
        refused("to start", self.run(on, |c| (c.rg_init)()))
    }

    /// A group comes: its number, from 1 on, that of its parent (0: the root), and its weight.
    pub fn init_group(&mut self, on: &mut dyn Platform, group: u32, parent: u32, weight: u32) {
        self.state.groups.grow(group as usize + 1);
        self.run(on, |c| (c.rg_init_group)(group, parent, weight));
    }

    /// The weight of a group has changed.
    pub fn weigh_group(&mut self, on: &mut dyn Platform, group: u32, weight: u32) {
        self.run(on, |c| (c.rg_weigh_group)(group, weight));
    }

    /// A group is idle from now on, or not any more.
    pub fn idle_group(&mut self, on: &mut dyn Platform, group: u32, idle: bool) {
        self.run(on, |c| (c.rg_idle_group)(group, idle));
    }

    /// A group has another quota, or none.
    pub fn limit_group(&mut self, on: &mut dyn Platform, group: u32, max: Option<Quota>) {
        let none = Nanos::NEVER;
        let Quota { quota, period, burst } = max.unwrap_or(Quota::new(none, none));
        self.run(on, |c| (c.rg_limit_group)(group, quota.0, period.0, burst.0));
    }

    /// A group is promised that its threads are served within so long, for at most so many millionths of a
    /// CPU.
    pub fn promise_group(&mut self, on: &mut dyn Platform, group: u32, within: Nanos, share: u64) {
        self.run(on, |c| (c.rg_promise_group)(group, within.0, share));
    }

    /// The timer of a group is due: lets go of all threads that may have a turn.
    pub fn group_due(&mut self, on: &mut dyn Platform, group: u32) {
        self.run(on, |c| (c.rg_group_due)(group));
    }

    /// The timer of a CPU is due: ends the turn of its thread.
    pub fn turn_due(&mut self, on: &mut dyn Platform, cpu: CpuId) {
        self.run(on, |c| (c.rg_turn_due)(cpu.0 as i32));
    }

    /// A group is gone.
    pub fn exit_group(&mut self, on: &mut dyn Platform, group: u32) {
        self.run(on, |c| (c.rg_exit_group)(group));
    }

    /// A thread comes under the policy, in a group (0: the root).
    pub fn init_thread(
        &mut self,
        on: &mut dyn Platform,
        thread: ThreadId,
        group: u32,
    ) -> Result<(), Failure> {
        self.state.threads.grow(slot(thread) as usize + 1);
        self.state.processes.grow(on.process(thread) as usize + 1);
        let error = self.run(on, |c| (c.rg_init_thread)(to_c(thread), group));
        refused("a thread", error)
    }

    /// A thread is in another group now.
    pub fn move_thread_group(&mut self, on: &mut dyn Platform, thread: ThreadId, group: u32) {
        self.run(on, |c| (c.rg_move_thread_group)(to_c(thread), group));
    }

    /// A thread wakes or is new: which CPU? Not for pinned threads.
    pub fn select_cpu(&mut self, on: &mut dyn Platform, thread: ThreadId, prev: CpuId) -> CpuId {
        CpuId(self.run(on, |c| (c.rg_select_cpu)(to_c(thread), prev.0 as i32)) as u32)
    }

    /// A thread must be put into a queue.
    pub fn enqueue(&mut self, on: &mut dyn Platform, thread: ThreadId, woken: bool) {
        self.run(on, |c| (c.rg_enqueue)(to_c(thread), if woken { WAKEUP } else { 0 }));
    }

    /// A CPU has nothing local; `prev` ran there last.
    pub fn dispatch(&mut self, on: &mut dyn Platform, cpu: CpuId, prev: Option<ThreadId>) {
        self.run(on, |c| (c.rg_dispatch)(cpu.0 as i32, handle(prev)));
    }

    /// The running thread calls `sched_yield`.
    pub fn give_way(&mut self, on: &mut dyn Platform, thread: ThreadId) {
        self.run(on, |c| (c.rg_yield)(to_c(thread)));
    }

    /// The timer ticks for the running thread.
    pub fn tick(&mut self, on: &mut dyn Platform, thread: ThreadId) {
        self.run(on, |c| (c.rg_tick)(to_c(thread)));
    }

    /// A thread ceases to run; it blocks unless it is still runnable.
    pub fn stopping(&mut self, on: &mut dyn Platform, thread: ThreadId, runnable: bool) {
        self.run(on, |c| (c.rg_stopping)(to_c(thread), runnable));
    }

    /// A CPU has found nothing and goes to sleep.
    pub fn idle(&mut self, on: &mut dyn Platform, cpu: CpuId) {
        self.run(on, |c| (c.rg_idle)(cpu.0 as i32));
    }

    /// A thread is gone, or in another class; it may have waited in a queue.
    pub fn exit_thread(&mut self, on: &mut dyn Platform, thread: ThreadId) {
        self.run(on, |c| (c.rg_exit_thread)(to_c(thread)));
    }

    /// Whether the state is of the types of policy/state.h. Only such policies keep quotas and idle groups.
    pub fn is_own(&self) -> bool {
        matches!(self.options, PolicyOptions::BuiltIn(_))
    }

    /// Threads that balance moved from one queue to another so far; 0 for a policy from a file, which may
    /// count them or not.
    pub fn pulls(&self) -> u64 {
        if !self.is_own() {
            return 0;
        }
        // SAFETY: the entry is a `struct rg_shared` of the size that C gave, and no callback runs while
        // `self` is borrowed here.
        unsafe { rg_native_pulls(self.state.shared.at(0)) }
    }

    /// The virtual time of a thread in ns at nice 0; `None` before its [`Policy::init_thread`] and for a
    /// policy from a file.
    pub fn vruntime(&self, thread: ThreadId) -> Option<u64> {
        let entry = self.state.threads.at(slot(thread));
        // SAFETY: as above, for a `struct rg_thread`; null is excluded.
        (!entry.is_null() && self.is_own()).then(|| unsafe { rg_native_vruntime(entry) })
    }

    /// Whether a thread has burned so much CPU time that it lost its place among its siblings; `None` as
    /// above.
    pub fn is_batch(&self, thread: ThreadId) -> Option<bool> {
        let entry = self.state.threads.at(slot(thread));
        // SAFETY: as above.
        (!entry.is_null() && self.is_own()).then(|| unsafe { rg_native_batch(entry) })
    }

    /// The state of all owners of a kind as words, row by row, and the words of a row: for tests that hold
    /// another build of the same source against this one.
    pub fn words(&self, owner: Owner) -> (&[u64], usize) {
        self.state.words(owner)
    }

    fn run<R>(&mut self, on: &mut dyn Platform, callback: impl FnOnce(&Callbacks) -> R) -> R {
        let options = self.options.as_bytes().as_ptr().cast();
        let callbacks = &self.program.callbacks;
        enter(on, &mut self.state, options, || callback(callbacks))
    }
}

fn to_c(thread: ThreadId) -> *mut c_void {
    handle(Some(thread))
}

fn refused(what: &str, error: i32) -> Result<(), Failure> {
    match error {
        0 => Ok(()),
        error => Err(Failure::Run(format!("the policy refused {what} (error {error})"))),
    }
}
