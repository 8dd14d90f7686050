//! The machine's mechanisms and what happens in the course of a run, a line each.

use super::super::alteration::AlterationKind;
use super::super::mechanism::{Home, InterruptCpus};
use super::super::placement::Partition;
use super::super::{Group, Scenario};
use crate::{CpuId, Nanos};

impl Scenario {
    /// A line for each mechanism that is on.
    pub(super) fn mechanism_lines(&self) -> Vec<String> {
        let on = &self.mechanisms;
        let all = [
            on.interrupts.as_ref().map(|interrupts| {
                let place = match &interrupts.cpus {
                    InterruptCpus::Spread => "spread over all CPUs".to_string(),
                    InterruptCpus::Dedicated => "on the last CPU of each node, for them alone".to_string(),
                    InterruptCpus::On(cpus) => format!("on CPUs {}", numbers(cpus)),
                };
                format!("interrupts {place}: {}, and {} of softirq a request", interrupts.hard, interrupts.soft)
            }),
            on.idle.as_ref().map(|idle| {
                let state = |state: &super::super::mechanism::IdleState| format!("{} {}", state.name, state.exit);
                let states: Vec<String> = idle.states.iter().map(state).collect();
                let limit = if idle.latency_limit == Nanos::NEVER {
                    String::new()
                } else {
                    format!("; none slower than {}", idle.latency_limit)
                };
                format!("idle states, and how long it takes to leave them: {}{limit}", states.join(", "))
            }),
            on.frequency.map(|frequency| {
                format!("clocks follow the load down to {} of the highest, looked at every {}", frequency.lowest, frequency.sampling)
            }),
            on.sibling_gain.map(|gain| format!("each further busy sibling adds {gain} to its core's throughput")),
            on.memory.map(|memory| {
                let whose = if memory.home == Home::Process { "its process" } else { "it" };
                let shared = match memory.contention {
                    0.0 => String::new(),
                    more => format!("; each other CPU of a cache that waits for memory all the time makes it {more} slower"),
                };
                format!("memory of another node is {} times as slow; a thread's lies where {whose} began{shared}", memory.remote)
            }),
            on.kernel.map(|kernel| {
                format!(
                    "{} kernel{}, each with a lock held for {} a request, {} more for each CPU that waits; {} more below",
                    kernel.kernels, if kernel.kernels == 1 { "" } else { "s" }, kernel.hold, kernel.transfer, kernel.exit
                )
            }),
            on.start_barrier.then(|| "threads start at a barrier, once all are created".to_string()),
            on.client_local.then(|| "clients are local, on a further CPU of the machine".to_string()),
            Some(on.next_request_ready).filter(|share| *share > 0.0).map(|share| {
                format!("{share} of held requests are there before their worker sleeps")
            }),
            on.tick_late.map(|late| format!("a tick comes up to {late} late")),
            on.turns_end_at_ticks.then(|| "turns end at ticks alone under EEVDF".to_string()),
            on.request_cost.map(|cost| format!("the kernel's part of a request takes {cost}")),
            interrupt("a CPU's timer", on.timer_interrupt),
            interrupt("another CPU that wants it to choose again", on.reschedule_interrupt),
            on.migration.map(|migration| {
                format!(
                    "a move costs {} in a core, {} in a cache, {} in a node, {} between nodes",
                    migration.core, migration.llc, migration.node, migration.machine
                )
            }),
        ];
        all.into_iter().flatten().collect()
    }

    /// A line for each change.
    pub(super) fn change_lines(&self) -> Vec<String> {
        let program = |index: &usize| &self.programs[*index].name;
        let line = |alteration: &super::super::Alteration| {
            let what = match &alteration.kind {
                AlterationKind::Affinity { program: of, cpus } => {
                    format!("{} may run on CPUs {} only", program(of), numbers(cpus))
                }
                AlterationKind::Nice { program: of, nice } => {
                    format!("{} has nice {nice}", program(of))
                }
                AlterationKind::Threads { program: of, count } => {
                    format!("{} has {count} of its threads", program(of))
                }
                AlterationKind::Move { program: of, group } => {
                    format!("{} moves to {}", program(of), self.groups[*group].name)
                }
                AlterationKind::Weight { group, weight } => {
                    format!("{} has weight {weight}", self.groups[*group].name)
                }
                AlterationKind::Max { group, max } => {
                    let max = max.map_or("no limit".to_string(), |max| format!("max {max}"));
                    format!("{} has {max}", self.groups[*group].name)
                }
                AlterationKind::Idle { group, idle } => {
                    let becomes = if *idle { "becomes idle" } else { "has its weight again" };
                    format!("{} {becomes}", self.groups[*group].name)
                }
                AlterationKind::Cpus { group, cpus } => {
                    format!("{} has CPUs {}", self.groups[*group].name, numbers(cpus))
                }
                AlterationKind::Offline(cpu) => format!("CPU {} goes", cpu.0),
                AlterationKind::Online(cpu) => format!("CPU {} comes back", cpu.0),
            };
            format!("at {}: {what}", alteration.at)
        };
        self.alterations.iter().map(line).collect()
    }
}

/// A line where such an interrupt takes any time.
fn interrupt(whose: &str, takes: Nanos) -> Option<String> {
    (takes > Nanos::ZERO).then(|| format!("an interrupt by {whose} takes {takes}"))
}

/// What a group's line says of its CPUs.
pub(super) fn of_cpuset(group: &Group) -> String {
    let Some(cpuset) = &group.cpuset else { return String::new() };
    let whose = match cpuset.partition {
        Partition::Member => "",
        Partition::Root => ", for it alone",
        Partition::Isolated => ", for it alone, threads pinned in turn",
    };
    format!("  CPUs {}{whose}", numbers(&cpuset.cpus))
}

/// `0-3,8`.
fn numbers(cpus: &[CpuId]) -> String {
    let runs = cpus.chunk_by(|a, b| a.0 + 1 == b.0).map(|run| match run {
        [first, .., last] => format!("{}-{}", first.0, last.0),
        one => one.iter().map(|cpu| cpu.0.to_string()).collect(),
    });
    runs.collect::<Vec<_>>().join(",")
}
