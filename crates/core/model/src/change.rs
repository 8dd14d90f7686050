//! What may happen to a machine and its threads in the course of a run, beside what programs do.

use std::sync::Arc;

use crate::scenario::Quota;
use crate::{CpuId, Nanos, ThreadId};

/// Something that happens at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// When; 0: before the run begins.
    pub at: Nanos,
    /// What.
    pub kind: ChangeKind,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// A thread may run on these CPUs only, at least one (`sched_setaffinity`).
    Affinity {
        /// Which thread.
        thread: ThreadId,
        /// Where it may run; shared, since many threads may have the same.
        cpus: Arc<[CpuId]>,
    },
    /// A thread gets another nice value, -20 to 19 (`setpriority`).
    Nice {
        /// Which thread.
        thread: ThreadId,
        /// Its new value.
        nice: i8,
    },
    /// A group gets another weight, 1 to 10,000 (`cpu.weight`).
    Weight {
        /// Index into [`crate::Scenario::groups`].
        group: usize,
        /// Its new weight.
        weight: u32,
    },
    /// A group gets another limit of its CPU time, or none (`cpu.max`, `cpu.max.burst`).
    Max {
        /// Index into [`crate::Scenario::groups`].
        group: usize,
        /// Its new limit.
        max: Option<Quota>,
    },
    /// A group becomes idle, or gets its weight back (`cpu.idle`).
    Idle {
        /// Index into [`crate::Scenario::groups`].
        group: usize,
        /// Whether it is idle now.
        idle: bool,
    },
    /// A thread moves to another group (`cgroup.procs`).
    Move {
        /// Which thread.
        thread: ThreadId,
        /// Index into [`crate::Scenario::groups`].
        group: usize,
    },
    /// A thread is created, for the first time or anew.
    Fork(ThreadId),
    /// A thread is asked to exit: the next time that it runs.
    Exit(ThreadId),
    /// A CPU goes; never the last one.
    Offline(CpuId),
    /// It comes back.
    Online(CpuId),
}
