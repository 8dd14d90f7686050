//! Scheduling events: what happened to threads and CPUs, moment by moment.
//!
//! An arm that has them records them when [`Arm::run`](crate::Arm::run) is asked to. They are ordered by
//! time; of one moment they stand in the order in which the kernel acted. What takes more room than a number
//! stands once in [`Tables`].

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

impl Event {
    /// The beginning and the end of a thread's work for a request.
    pub fn of_request(thread: ThreadId, request: u32, from: Nanos, to: Nanos) -> [Event; 2] {
        [
            Event { at: from, what: What::Start { thread, request } },
            Event { at: to, what: What::Finish { thread, request } },
        ]
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A thread was created, blocked. Its first wake-up follows.
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
    /// A running thread has nothing more to do and waits for a wake-up. It keeps its CPU if it is woken
    /// before the CPU chooses again.
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
    /// A CPU leaves what it does for an interrupt or a softirq. They nest: a softirq begins inside of the
    /// interrupt that raised it or behind it, and is itself interrupted.
    InterruptBegin {
        /// Which CPU.
        cpu: CpuId,
        /// Interrupt or softirq.
        kind: Interrupt,
        /// Which of them: `timer`, `net_rx`, `device 3`.
        name: NameId,
    },
    /// The CPU is done with the last of this kind that began on it, and goes on with what it did before.
    InterruptEnd {
        /// Which CPU.
        cpu: CpuId,
        /// Interrupt or softirq.
        kind: Interrupt,
        /// Which of them.
        name: NameId,
    },
    /// An idle CPU is asked to work and leaves the state that it sleeps in; it can do nothing until that is
    /// over.
    IdleExit {
        /// Which CPU.
        cpu: CpuId,
        /// The state: `C1`, `C6`.
        state: NameId,
        /// How long the exit takes, from this moment on.
        took: Nanos,
    },
    /// From now on a thread may run on these CPUs only.
    Affinity {
        /// Which thread.
        thread: ThreadId,
        /// Where it may run.
        cpus: CpuSetId,
    },
    /// A thread has another nice value.
    Nice {
        /// Which thread.
        thread: ThreadId,
        /// The new one.
        nice: i8,
    },
    /// A group has another weight.
    Weight {
        /// Index into the scenario's groups.
        group: u32,
        /// The new one.
        weight: u32,
    },
    /// A CPU goes.
    Offline {
        /// Which.
        cpu: CpuId,
    },
    /// A CPU comes back.
    Online {
        /// Which.
        cpu: CpuId,
    },
    /// From this moment until its next wake-up or switch a thread is kept off the CPUs, and not by the
    /// scheduler. Arms say so where they know.
    Off {
        /// Which.
        thread: ThreadId,
        /// By what.
        cause: Cause,
    },
    /// What kept a thread off the CPUs is over: it waits for one. Where no arm says so, it is over with the
    /// thread's next wake-up or switch.
    Released {
        /// Which.
        thread: ThreadId,
    },
    /// What a CPU is at wakes a thread. Its wake-up follows, which another CPU tells: by then the first one
    /// may be at something else.
    Waking {
        /// Which.
        thread: ThreadId,
        /// The CPU that asked for it.
        by: CpuId,
    },
}

/// What keeps a thread off the CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// A futex: a lock or a condition that another thread is to signal.
    Lock,
    /// It asked to sleep.
    Sleep,
    /// A socket or a pipe, or several at once (epoll, poll, select).
    Socket,
    /// A block device.
    Disk,
    /// A page that was not there.
    PageFault,
    /// A signal stopped it, a debugger holds it, or its group is frozen.
    Stopped,
    /// Its group has used up its quota of CPU time (cpu.max, cpu.cfs_quota_us).
    Throttled,
    /// Something else in the kernel.
    Other,
    /// The client of the service, or the network, takes the answer more slowly than it is written.
    Client,
}

/// What takes a CPU from its thread without the scheduler's doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interrupt {
    /// A device or a timer asks for the CPU.
    Hard,
    /// The work that an interrupt put off until it was over.
    Soft,
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

/// A name of a trace: an index into [`Tables::names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NameId(pub u32);

/// A set of CPUs of a trace: an index into [`Tables::cpu_sets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CpuSetId(pub u32);

/// What events of one trace refer to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tables {
    /// Names of interrupts, softirqs and idle states, each once.
    pub names: Vec<String>,
    /// Where threads may run, each set once.
    pub cpu_sets: Vec<Vec<CpuId>>,
    /// The processes that had CPUs and are none of the scenario's programs: programs of the trace, behind the
    /// scenario's.
    pub others: Vec<Process>,
}

/// A process that no scenario describes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its name.
    pub name: String,
    /// The path of its group (cgroup); `None`: the root.
    pub group: Option<String>,
    /// What that group is to its operator: `unit nginx.service`, `container web of pod prod/shop`, `the
    /// kernel`; `None`: unknown.
    pub owner: Option<String>,
    /// Whether the service that was watched started it, itself or through others, or both are forks of one
    /// process.
    pub descends: bool,
}

impl Process {
    /// All names in it.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        [Some(&self.name), self.group.as_ref(), self.owner.as_ref()].into_iter().flatten()
    }

    /// The same, to be changed.
    pub fn names_mut(&mut self) -> impl Iterator<Item = &mut String> {
        [Some(&mut self.name), self.group.as_mut(), self.owner.as_mut()].into_iter().flatten()
    }
}

impl Tables {
    /// The place of a name, which is added if it is new.
    pub fn name(&mut self, name: &str) -> NameId {
        NameId(place(&mut self.names, |known| known == name, || name.to_string()) as u32)
    }

    /// The place of a set of CPUs, which is added if it is new.
    pub fn cpu_set(&mut self, cpus: &[CpuId]) -> CpuSetId {
        CpuSetId(place(&mut self.cpu_sets, |known| known == cpus, || cpus.to_vec()) as u32)
    }

    /// The name at a place.
    pub fn name_of(&self, name: NameId) -> &str {
        &self.names[name.0 as usize]
    }

    /// The CPUs at a place.
    pub fn cpus_of(&self, set: CpuSetId) -> &[CpuId] {
        &self.cpu_sets[set.0 as usize]
    }
}

fn place<T>(table: &mut Vec<T>, is: impl FnMut(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    table.iter().position(is).unwrap_or_else(|| {
        table.push(new());
        table.len() - 1
    })
}

// A trace holds millions of them.
const _: () = assert!(size_of::<Event>() <= 32);
