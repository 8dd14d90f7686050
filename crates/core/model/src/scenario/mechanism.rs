//! What a machine does beside running threads: each mechanism is off unless its table stands in the file.

use serde::{Deserialize, Serialize};

use super::Machine;
use crate::{CpuId, Nanos};

/// The mechanisms of a simulated machine. A real one has its own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Mechanisms {
    /// Requests arrive by interrupts.
    pub interrupts: Option<Interrupts>,
    /// Idle CPUs sleep, and wake up late.
    pub idle: Option<IdleStates>,
    /// CPUs with little to do run slower.
    pub frequency: Option<Frequency>,
    /// What each further busy sibling of a core adds to its throughput, 0 to 1; `None`: siblings do not slow
    /// each other.
    pub sibling_gain: Option<f64>,
    /// Memory of another node is slower.
    pub memory: Option<Memory>,
    /// What kernels guard with locks.
    pub kernel: Option<KernelState>,
    /// What a move of a thread costs; `None`: the simulator's estimates.
    pub migration: Option<Migration>,
    /// Whether all threads are created, and block, before any begins with its work, as on the other arms.
    /// Otherwise each begins when it is created.
    pub start_barrier: bool,
    /// Of the requests that a client held for a connection, the share that is there before the worker which
    /// freed it has gone to sleep.
    #[serde(default)]
    pub next_request_ready: f64,
    /// Whether the clients of services have a CPU of the machine, one beside those of the scenario.
    #[serde(default)]
    pub client_local: bool,
    /// By how much a CPU's tick is late at most; `None`: the simulator's estimate.
    pub tick_late: Option<Nanos>,
    /// Whether EEVDF ends turns at ticks alone, and not at their moment (`HRTICK` off).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub turns_end_at_ticks: bool,
    /// The mean of the kernel's part of a request; `None`: the simulator's estimate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_cost: Option<Nanos>,
    /// What each interrupt of a CPU's own timer takes of it; 0: nothing.
    pub timer_interrupt: Nanos,
    /// What the interrupt takes by which one CPU asks another to choose again; 0: nothing.
    pub reschedule_interrupt: Nanos,
}

/// Requests arrive by an interrupt and the softirq that it raises (Tales section 4.4).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interrupts {
    /// Which CPUs they take.
    pub cpus: InterruptCpus,
    /// What the interrupt takes of its CPU.
    pub hard: Nanos,
    /// What the softirq takes for each request.
    pub soft: Nanos,
}

/// Which CPUs interrupts take.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum InterruptCpus {
    /// All, connection by connection: `irqbalance` under load.
    Spread,
    /// The last CPU of each node, on which no program may run.
    Dedicated,
    /// These.
    On(Vec<CpuId>),
}

impl InterruptCpus {
    /// The CPUs on a machine.
    pub fn of(&self, machine: &Machine) -> Vec<CpuId> {
        let each = machine.cpus / machine.nodes;
        match self {
            InterruptCpus::Spread => (0..machine.cpus).map(CpuId).collect(),
            InterruptCpus::Dedicated => {
                (1..=machine.nodes).map(|node| CpuId(node * each - 1)).collect()
            }
            InterruptCpus::On(cpus) => cpus.clone(),
        }
    }
}

/// The states that an idle CPU may sleep in (Tales section 4.6).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleStates {
    /// From the lightest sleep to the deepest. At least one.
    pub states: Vec<IdleState>,
    /// No state is taken that is left slower than this (PM QoS).
    pub latency_limit: Nanos,
}

/// A state that an idle CPU may sleep in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleState {
    /// Its name.
    pub name: String,
    /// How long it takes to leave it.
    pub exit: Nanos,
    /// The shortest sleep that is worth it.
    pub residency: Nanos,
}

/// The clock of a CPU follows its load (Tales section 4.6).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frequency {
    /// The lowest speed, of the highest: above 0, at most 1.
    pub lowest: f64,
    /// How often the load is looked at.
    pub sampling: Nanos,
}

/// Memory of another node is slower (Tales section 4.5), and so is a cache that others use too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// The latency of another node's memory over that of the own: at least 1.
    pub remote: f64,
    /// How much longer an access takes for each other CPU under the same last-level cache whose thread does
    /// nothing but wait for memory: at least 0.
    pub contention: f64,
    /// The first CPU of a process or thread says where memory lies.
    pub home: Home,
}

/// The first CPU of a process or thread says where memory lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Home {
    /// The process's: all its threads have their memory on one node.
    Process,
    /// The thread's: each has touched its memory first.
    Thread,
}

/// What threads do inside of a kernel one after the other (10-ms computing section III.C): a lock that each
/// request, round and cycle takes once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelState {
    /// How long the lock is held.
    pub hold: Nanos,
    /// How much longer its hand-over takes for each CPU that waits: the lock's cache line goes to all of
    /// them.
    pub transfer: Nanos,
    /// Kernels on the machine, each with as many CPUs and a lock of its own: virtual machines. A divisor of
    /// the CPUs.
    pub kernels: u32,
    /// What the hypervisor below takes whenever a kernel is entered.
    pub exit: Nanos,
}

/// What it costs to move a thread, by distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// To a sibling of the same core.
    pub core: Nanos,
    /// To another core of the same cache.
    pub llc: Nanos,
    /// To another cache of the same node.
    pub node: Nanos,
    /// To another node.
    pub machine: Nanos,
}

/// What a program's speed owes to memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// The share of its time for which it waits for memory, 0 to 1.
    pub bound: f64,
    /// What each thread has in caches, in bytes, and must fetch anew where it moves.
    pub working_set_bytes: u64,
}

impl MemoryUse {
    /// The hot state that migration costs are estimated for.
    pub const LITTLE: MemoryUse = MemoryUse { bound: 0.0, working_set_bytes: 16 << 10 };
}

impl Default for MemoryUse {
    fn default() -> MemoryUse {
        MemoryUse::LITTLE
    }
}
