//! What an arm that runs real programs needs of a kernel tracer: which thread had which CPU when.

use crate::event::{Event, Tables};
use crate::trace::ThreadTrace;
use crate::{Failure, Nanos};

/// Traces which thread has which CPU. What it puts into the kernel is gone when the process is, however that
/// ends.
pub trait KernelTracer: Sync {
    /// Says whether it could start, and changes nothing; [`Failure::Machine`] with what is missing.
    fn check(&self) -> Result<(), Failure>;

    /// Begins to record what happens on these CPUs, as the kernel numbers them.
    fn start(&self, cpus: &[usize]) -> Result<Box<dyn TraceSession>, Failure>;
}

/// A trace session under way. Dropped, it ends without a result.
pub trait TraceSession {
    /// Ends it and returns the captured events. [`Failure::Run`] where any was missed.
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

/// Captured events. Moments count from the start of the run.
pub struct CapturedEvents {
    /// What the scheduler and interrupts did.
    pub events: Vec<Event>,
    /// What the events refer to, with every thread that had a CPU and is not of the scenario.
    pub tables: Tables,
    /// Their threads, which are numbered behind the scenario's.
    pub threads: Vec<ThreadTrace>,
    /// By moment: the CPU time of each of these threads on the scenario's CPUs since the recording began.
    pub cpu_times: Vec<Vec<Nanos>>,
}

/// The failure of a program without a tracer.
pub fn unbuilt() -> Failure {
    Failure::Machine(
        "this rearguard was built without the kernel's part, which traces the CPUs: build it with its default features"
            .to_string(),
    )
}
