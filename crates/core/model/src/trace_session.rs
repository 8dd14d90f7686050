//! What an arm that runs real programs needs of somebody who hears the kernel: who had its CPUs when.

use crate::event::{Event, Tables};
use crate::trace::ThreadTrace;
use crate::{Failure, Nanos};

/// Hears who has which CPU. Whatever it puts into the kernel is gone when the process is, however that ends.
pub trait KernelTracer: Sync {
    /// Says whether it could start, and changes nothing; [`Failure::Machine`] with what is missing.
    fn check(&self) -> Result<(), Failure>;

    /// Begins to record what happens on these CPUs, as the kernel numbers them.
    fn start(&self, cpus: &[usize]) -> Result<Box<dyn TraceSession>, Failure>;
}

/// A recording under way; dropped, it ends without a word.
pub trait TraceSession {
    /// Ends it, and says what was heard. [`Failure::Run`] where anything was missed.
    fn finish(self: Box<Self>, run: &Run) -> Result<CapturedEvents, Failure>;
}

/// A run that was recorded.
pub struct Run<'a> {
    /// The scenario's CPUs, as the kernel numbers them, in its order.
    pub cpus: &'a [usize],
    /// The kernel's ids of the threads of each of the scenario's programs, in the trace's order.
    pub threads: &'a [Vec<i32>],
    /// When it began, on CLOCK_MONOTONIC.
    pub start: Nanos,
    /// At which moments of it CPU times are wanted.
    pub moments: &'a [Nanos],
}

/// What was heard; moments count from the start of the run.
pub struct CapturedEvents {
    /// What the scheduler and interrupts did.
    pub events: Vec<Event>,
    /// What the events refer to, with everybody who had a CPU and is not of the scenario.
    pub tables: Tables,
    /// Their threads, which are numbered behind the scenario's.
    pub threads: Vec<ThreadTrace>,
    /// By moment: the CPU time of each of these threads on the scenario's CPUs since the recording began.
    pub cpu_times: Vec<Vec<Nanos>>,
}

/// What a program says that has no recorder.
pub fn unbuilt() -> Failure {
    Failure::Machine(
        "this rearguard was built without the kernel's part, which hears who has the CPUs: build it with its default features"
            .to_string(),
    )
}
