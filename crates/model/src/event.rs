//! Scheduling events: what happened to threads and CPUs, moment by moment.
//!
//! An arm records them when [`Watch::wants_events`](crate::Watch::wants_events) says so and it has them. They are ordered by time; of one moment
//! they stand in the order in which the kernel acted.

use serde::{Deserialize, Serialize};

use crate::{CpuId, Nanos, ThreadId};

/// Something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, from the start of the run.
    pub at: Nanos,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A thread was born, blocked; its first wake-up follows.
    Fork {
        /// Which.
        thread: ThreadId,
    },
    /// A blocked thread became runnable.
    Wake {
        /// Which.
        thread: ThreadId,
        /// The CPU that was chosen for it.
        cpu: CpuId,
        /// The CPU whose thread or timer woke it; `None`: an interrupt from outside, such as a request.
        by: Option<CpuId>,
    },
    /// A running thread has nothing more to do and waits for a wake-up. It keeps its CPU if it is woken before the CPU chooses again.
    Block {
        /// Which.
        thread: ThreadId,
        /// Where it ran.
        cpu: CpuId,
    },
    /// A thread begins on another CPU than the one it ran on before; its switch follows.
    Migrate {
        /// Which.
        thread: ThreadId,
        /// Where it ran before.
        from: CpuId,
        /// Where it runs now.
        to: CpuId,
    },
    /// A CPU took up another thread, or none.
    Switch {
        /// Which CPU.
        cpu: CpuId,
        /// What it ran before; `None`: it was idle.
        from: Option<ThreadId>,
        /// What it runs now; `None`: it is idle.
        to: Option<ThreadId>,
        /// Why.
        why: Why,
    },
    /// A service's thread began with a request: its first instruction after the request was there.
    Start {
        /// The serving thread, which names the program.
        thread: ThreadId,
        /// Index into the program's requests.
        request: u32,
    },
    /// A service's thread was done with a request.
    Finish {
        /// The serving thread, which names the program.
        thread: ThreadId,
        /// Index into the program's requests.
        request: u32,
    },
}

/// Why a CPU took up another thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Why {
    /// It was idle.
    Idle,
    /// The thread before blocked.
    Blocked,
    /// The turn of the thread before was over: at a tick, or by the timer that ends turns.
    Expired,
    /// The thread before gave way to one that woke up, or to what the policy asked for.
    Preempted,
}

// A trace holds millions of them.
const _: () = assert!(size_of::<Event>() <= 32);
