//! A scenario: the machine, groups, programs, and how long to watch them.
//!
//! The types hold a scenario that is already valid; [`Scenario::read`] is where text becomes one.

mod alteration;
mod chain;
mod course;
mod describe;
mod groups;
mod homes;
mod law;
mod machine;
mod mechanism;
mod mechanisms;
mod names;
mod placement;
mod problem;
mod program;
mod promise;
mod quota;
mod read;
mod service;
mod syntax;
mod table;
mod value;

/// What other kinds of files are read with, so that they complain as scenarios do.
pub mod reading {
    pub use super::law::law;
    pub use super::problem::Problems;
    pub use super::read::{shows, stem};
    pub use super::service::service_time;
    pub use super::table::Table;
    pub use super::value::{
        duration, found, name, number, rate_per_s, span, span_within, utilisation, whole, word,
    };
}

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::Nanos;
use crate::law::Law;
use crate::weight::{GROUP_WEIGHT, IDLE_WEIGHT, NICE_0_WEIGHT};
pub use alteration::{Alteration, AlterationKind};
pub use chain::Chain;
pub use course::Course;
pub use groups::POLICY_LEVELS;
pub use mechanism::{
    Frequency, Home, IdleState, IdleStates, InterruptCpus, Interrupts, KernelState, Mechanisms,
    Memory, MemoryUse, Migration,
};
pub use placement::{Cpuset, Partition, Place, Placement};
pub use promise::Promise;
pub use quota::Quota;

/// A valid scenario. The same runs on every arm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Its name, for reports: the file's stem unless the file gives one.
    pub name: String,
    /// The first comment of the file: what the scenario shows.
    pub shows: String,
    /// The CPUs that it runs on.
    pub machine: Machine,
    /// Groups; a parent stands before its children.
    pub groups: Vec<Group>,
    /// Programs in the file's order. At least one.
    pub programs: Vec<Program>,
    /// The measured time, after the warm-up. Above 0.
    pub duration: Nanos,
    /// Time before the measurement starts.
    pub warm_up: Nanos,
    /// Seeds to run when the command line gives none. At least one, all different.
    pub seeds: Vec<u64>,
    /// A request slower than this is an outlier (10-ms computing section II).
    pub outlier_threshold: Nanos,
    /// The slice that policies behind the seam give; `None`: the policy's own.
    pub slice: Option<Nanos>,
    /// What the simulated machine does beside running threads.
    pub mechanisms: Mechanisms,
    /// What happens in the course of the run, in the order of moments.
    pub alterations: Vec<Alteration>,
}

impl Program {
    /// A program in the root group, at nice 0, with a process of its own.
    pub fn new(name: &str, kind: Kind) -> Program {
        let (name, memory) = (name.to_string(), MemoryUse::LITTLE);
        Program { name, group: None, nice: 0, process: None, behind: None, kind, memory }
    }
}

impl Scenario {
    /// For each program the one whose process its threads belong to: another, or itself.
    pub fn processes(&self) -> Vec<usize> {
        let own = |(index, program): (usize, &Program)| program.process.unwrap_or(index);
        self.programs.iter().enumerate().map(own).collect()
    }

    /// The programs whose threads live in the process of a program that has one of its own: itself first.
    pub fn members(&self, process: usize) -> Vec<usize> {
        // The process's own program stands before the others.
        (0..).zip(self.processes()).filter(|(_, of)| *of == process).map(|(own, _)| own).collect()
    }
}

/// The machine of a scenario. CPUs are numbered node by node, cache by cache, core by core: SMT siblings are
/// neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Logical CPUs, 1 to 4,096.
    pub cpus: u32,
    /// Logical CPUs a core; divides the CPUs of a cache.
    pub smt: u32,
    /// Last-level caches; a multiple of `nodes` and a divisor of `cpus`.
    pub llcs: u32,
    /// NUMA nodes.
    pub nodes: u32,
}

impl Machine {
    /// One CPU alone.
    pub const ONE_CPU: Machine = Machine { cpus: 1, smt: 1, llcs: 1, nodes: 1 };

    /// Whether it has at most so many CPUs, and every node, cache and core as many of them as the others.
    pub fn is_possible(&self, most_cpus: u32) -> bool {
        let Machine { cpus, smt, llcs, nodes } = *self;
        (1..=most_cpus).contains(&cpus)
            && cpus.is_multiple_of(llcs)
            && llcs.is_multiple_of(nodes)
            && (cpus / llcs).is_multiple_of(smt)
    }

    /// The last-level cache of a CPU, counted from 0.
    pub fn llc_of(&self, cpu: crate::CpuId) -> u32 {
        cpu.0 / (self.cpus / self.llcs)
    }
}

/// A group (cgroup) with a weight against its siblings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The full path, `front/api`.
    pub name: String,
    /// Index of the parent in [`Scenario::groups`]; `None`: a child of the root.
    pub parent: Option<usize>,
    /// As `cpu.weight`: 1 to 10,000, 100 unless given.
    pub weight: u32,
    /// The CPUs of its threads and of the groups below it; `None`: those of the group above.
    pub cpuset: Option<Cpuset>,
    /// The CPU time that its threads and those of the groups below it may use; `None`: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Quota>,
    /// How late the requests of its threads and of the groups below it may be; `None`: as fairness has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub promise: Option<Promise>,
    /// Whether it has but the least of weights, whatever `weight` says (`cpu.idle`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub idle: bool,
}

impl Group {
    /// A group with a weight and without limits.
    pub fn new(name: impl Into<String>, parent: Option<usize>, weight: u32) -> Group {
        Group {
            name: name.into(),
            parent,
            weight,
            cpuset: None,
            max: None,
            promise: None,
            idle: false,
        }
    }

    /// What it weighs where a thread of nice 0 has 100.
    pub fn share_weight(&self) -> f64 {
        if self.idle {
            return f64::from(GROUP_WEIGHT) * f64::from(IDLE_WEIGHT) / f64::from(NICE_0_WEIGHT);
        }
        f64::from(self.weight)
    }
}

/// A program that starts with the run: one process, or more threads for the process of another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// Its name, unique in the scenario.
    pub name: String,
    /// Index into [`Scenario::groups`]; `None`: the root group.
    pub group: Option<usize>,
    /// The nice value of its threads, -20 to 19.
    pub nice: i8,
    /// Index of the earlier program in whose process its threads live, with that one's group and class;
    /// `None`: a process of its own.
    pub process: Option<usize>,
    /// Index of the earlier service that sends on to this one what it is done with; `None`: requests come
    /// from a client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<usize>,
    /// What it does.
    pub kind: Kind,
    /// What its speed owes to memory.
    pub memory: MemoryUse,
}

/// What a program does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Kind {
    /// Serves requests: the null RPC server of Tales section 3.1.1 and CTS section 4.
    Service(Service),
    /// `threads` threads of one process that spin for the whole run.
    Batch {
        /// How many threads, at least 1.
        threads: u32,
    },
    /// Threads that run for `run` CPU time, then sleep for `sleep`, and again.
    Daemon {
        /// How many threads, at least 1.
        threads: u32,
        /// CPU time of a cycle, above 0.
        run: Nanos,
        /// Sleep of a cycle, above 0.
        sleep: Nanos,
    },
    /// Threads that all wake up at the same moments, every `period` from the start of the clock on, and run
    /// for `run` CPU time: a storm of wake-ups.
    Periodic {
        /// How many threads, at least 1.
        threads: u32,
        /// CPU time of a cycle, above 0.
        run: Nanos,
        /// From one wake-up to the next, above 0. A thread that is not done by then waits for the one after.
        period: Nanos,
    },
    /// A thread that sleeps and runs as one was seen to: each of the spans in turn, and from the first again.
    Replay {
        /// How long it sleeps before each run.
        sleeps: Arc<[Nanos]>,
        /// CPU time of each run; as many.
        runs: Arc<[Nanos]>,
    },
    /// A foreign program, run again as soon as it has ended, for as long as the run lasts.
    Command {
        /// Its name or path, and its arguments. Never empty.
        command: Arc<[String]>,
    },
    /// Rounds: every thread computes for `work`, then all wait for the last one.
    ForkJoin {
        /// How many threads, at least 1.
        threads: u32,
        /// CPU time of a thread in a round, above 0.
        work: Nanos,
        /// How they wait.
        wait: Wait,
    },
}

/// How threads wait at a barrier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wait {
    /// They block, and the last one wakes them.
    #[default]
    Block,
    /// They look again and again, and call `sched_yield` each time.
    Yield,
}

impl Kind {
    /// The word for it in scenario files and results.
    pub fn word(&self) -> &'static str {
        match self {
            Kind::Service(_) => "service",
            Kind::Batch { .. } => "batch",
            Kind::Daemon { .. } => "daemon",
            Kind::Periodic { .. } => "periodic",
            Kind::Replay { .. } => "replay",
            Kind::Command { .. } => "command",
            Kind::ForkJoin { .. } => "fork-join",
        }
    }

    /// How many threads do it; of a service those that serve, of a command the one that starts it.
    pub fn threads(&self) -> u32 {
        match self {
            Kind::Service(service) => service.threads(),
            Kind::Batch { threads }
            | Kind::Daemon { threads, .. }
            | Kind::Periodic { threads, .. }
            | Kind::ForkJoin { threads, .. } => *threads,
            Kind::Replay { .. } | Kind::Command { .. } => 1,
        }
    }
}

/// A request-response service under open-loop load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Service {
    /// How requests reach threads.
    pub architecture: Architecture,
    /// Client connections, at least 1. [`crate::workload::IdleConnections`] says which of them a request
    /// takes; where none is idle it waits in the client, first come, first served.
    pub connections: u32,
    /// Bytes of a request, at least 64 (a real server needs room for an identity).
    pub request_bytes: u32,
    /// Bytes of a response, at least 64 (and room for its stamps).
    pub response_bytes: u32,
    /// The law of service times, in CPU time.
    pub service_law: Law,
    /// The mean service time, above 0.
    pub service_time: Nanos,
    /// The law of the gaps between arrivals.
    pub arrival_law: Law,
    /// How often requests arrive.
    pub arrivals: Arrivals,
}

/// How requests reach threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    /// One thread a connection, blocked in read (Tales section 3.1.1).
    ThreadPerConnection,
    /// `workers` threads that take from one queue, first come, first served.
    SharedQueue {
        /// How many, at least 1.
        workers: u32,
    },
    /// `workers` threads; connection i belongs to worker i modulo `workers` (Memcached and Nginx, Tales
    /// section 4.3).
    Partitioned {
        /// How many, at least 1.
        workers: u32,
    },
}

/// How often requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Arrivals {
    /// Requests a second, above 0.
    Rate(f64),
    /// The share of the machine's CPUs that the service wants: mean service time x rate / CPUs, above 0.
    Utilisation(f64),
}

impl Service {
    /// Requests a second on a machine of `cpus`.
    pub fn rate_per_s(&self, cpus: u32) -> f64 {
        match self.arrivals {
            Arrivals::Rate(rate) => rate,
            Arrivals::Utilisation(share) => {
                share * f64::from(cpus) / self.service_time.as_secs_f64()
            }
        }
    }

    /// The share of the machine's CPUs that it wants.
    pub fn utilisation(&self, cpus: u32) -> f64 {
        self.rate_per_s(cpus) * self.service_time.as_secs_f64() / f64::from(cpus)
    }

    /// How many threads serve.
    pub fn threads(&self) -> u32 {
        match self.architecture {
            Architecture::ThreadPerConnection => self.connections,
            Architecture::SharedQueue { workers } | Architecture::Partitioned { workers } => {
                workers
            }
        }
    }
}
