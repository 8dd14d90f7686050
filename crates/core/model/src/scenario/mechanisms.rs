//! Reads the tables below `[machine]`. Defaults are those of `docs/reference/scenarios.md`, which gives their
//! sources.

use super::mechanism::{
    Frequency, Home, IdleState, IdleStates, InterruptCpus, Interrupts, KernelState, Mechanisms,
    Memory, MemoryUse, Migration,
};
use super::problem::did_you_mean;
use super::table::Table;
use super::value::{cpu_list, duration, flag, name, number_within, whole, word};
use crate::{CpuId, Nanos};
use toml::de::DeValue;

/// The tables, and keys that need none.
pub(super) const KEYS: [&str; 15] = [
    "interrupts",
    "idle",
    "frequency",
    "sibling_gain",
    "memory",
    "kernel",
    "migration",
    "start",
    "client",
    "next_request_ready",
    "tick_late",
    "request_cost",
    "hrtick",
    "timer_interrupt",
    "reschedule_interrupt",
];
/// What each of the tables has.
pub(super) const INTERRUPTS: [&str; 3] = ["cpus", "hard", "soft"];
pub(super) const IDLE: [&str; 2] = ["states", "latency_limit"];
pub(super) const STATES: [&str; 3] = ["name", "exit", "residency"];
pub(super) const FREQUENCY: [&str; 2] = ["lowest", "sampling"];
pub(super) const MEMORY: [&str; 3] = ["remote", "contention", "home"];
pub(super) const KERNEL: [&str; 4] = ["hold", "transfer", "kernels", "exit"];
pub(super) const MIGRATION: [&str; 4] = ["core", "llc", "node", "machine"];
/// When threads begin with their work.
const STARTS: [&str; 2] = ["each", "barrier"];
/// Where the clients of services are.
const CLIENTS: [&str; 2] = ["elsewhere", "local"];
/// The largest working set: a thread's part of a cache, with room to spare.
const MOST_BYTES: i64 = 1 << 30;

/// All mechanisms of a machine with so many CPUs; wrong ones are reported and left out.
pub(super) fn mechanisms(machine: &Table, cpus: u32) -> Mechanisms {
    let span = |key| machine.optional(key, duration).unwrap_or(Nanos::ZERO);
    Mechanisms {
        interrupts: machine.sub("interrupts").map(|table| interrupts(&table, cpus)),
        idle: machine.sub("idle").map(|table| idle(&table)),
        frequency: machine.sub("frequency").map(|table| frequency(&table)),
        sibling_gain: machine.optional("sibling_gain", number_within(0.0, 1.0)),
        memory: machine.sub("memory").map(|table| memory(&table)),
        kernel: machine.sub("kernel").map(|table| kernel(&table, cpus)),
        migration: machine.sub("migration").map(|table| migration(&table)),
        start_barrier: machine.optional("start", word(&STARTS)) == Some(1),
        client_local: machine.optional("client", word(&CLIENTS)) == Some(1),
        next_request_ready: machine
            .optional("next_request_ready", number_within(0.0, 1.0))
            .unwrap_or(0.0),
        tick_late: tick_late(machine),
        turns_end_at_ticks: machine.optional("hrtick", flag) == Some(false),
        request_cost: machine.optional("request_cost", duration),
        timer_interrupt: span("timer_interrupt"),
        reschedule_interrupt: span("reschedule_interrupt"),
    }
}

/// The next tick comes in its turn, 4 ms after this one's moment.
fn tick_late(machine: &Table) -> Option<Nanos> {
    let late = machine.optional("tick_late", duration)?;
    if late >= Nanos::from_millis(4) {
        machine.wrong(
            "tick_late",
            format!("found {late}; expected less than a tick of 4ms, such as \"2us\""),
        );
    }
    Some(late)
}

/// One CPU takes 350,000 packets a second, 2.86 us each (Tales section 4.4); the parts are ours.
fn interrupts(table: &Table, cpus: u32) -> Interrupts {
    table.expect_keys(&INTERRUPTS);
    let span = |key, default| table.optional(key, duration).unwrap_or(default);
    let place = table.optional("cpus", interrupt_cpus(cpus)).unwrap_or(InterruptCpus::Spread);
    if place == InterruptCpus::Dedicated && cpus == 1 {
        table
            .wrong("cpus", "found `dedicated` on one CPU; expected at least two, one for programs");
    }
    let (hard, soft) = (span("hard", Nanos(1_000)), span("soft", Nanos(1_860)));
    Interrupts { cpus: place, hard, soft }
}

/// A word, or CPUs.
fn interrupt_cpus(cpus: u32) -> impl Fn(&DeValue) -> Result<InterruptCpus, String> {
    move |value| match value.as_str() {
        Some("spread") => Ok(InterruptCpus::Spread),
        Some("dedicated") => Ok(InterruptCpus::Dedicated),
        said => cpu_list(cpus)(value).map(InterruptCpus::On).map_err(|wrong| {
            let hint = did_you_mean(said.unwrap_or_default(), &["spread", "dedicated"]);
            format!("{wrong}, or \"spread\" or \"dedicated\"{hint}")
        }),
    }
}

/// The states of Intel's Skylake servers (`skx_cstates` in the kernel's `intel_idle.c`): name, exit latency,
/// target residency in us.
const SKYLAKE: [(&str, u64, u64); 3] = [("C1", 2, 2), ("C1E", 10, 20), ("C6", 133, 600)];

fn idle(table: &Table) -> IdleStates {
    table.expect_keys(&IDLE);
    let known = |(name, exit_us, residency_us): (&str, u64, u64)| IdleState {
        name: name.to_string(),
        exit: Nanos::from_micros(exit_us),
        residency: Nanos::from_micros(residency_us),
    };
    let given = table.get("states").and_then(|value| value.get_ref().as_array());
    if given.is_some_and(|states| states.is_empty()) {
        let why =
            "found an empty list; expected at least one state, or no `states` for the usual three";
        table.wrong("states", why);
    }
    let mut states: Vec<IdleState> = table.tables("states").iter().filter_map(state).collect();
    if states.is_empty() {
        states = SKYLAKE.map(known).to_vec();
    }
    if !states.is_sorted_by_key(|state| state.residency) {
        table.wrong(
            "states",
            "their residencies fall; expected them from the lightest sleep to the deepest",
        );
    }
    let limit = table.optional("latency_limit", duration);
    IdleStates { states, latency_limit: limit.unwrap_or(Nanos::NEVER) }
}

fn state(table: &Table) -> Option<IdleState> {
    table.expect_keys(&STATES);
    let name = table.required("name", name);
    let (exit, residency) =
        (table.required("exit", duration), table.required("residency", duration));
    Some(IdleState { name: name?, exit: exit?, residency: residency? })
}

/// `ondemand` with 1.2 of 3 GHz, and its sampling rate where a change of frequency takes 10 us.
fn frequency(table: &Table) -> Frequency {
    table.expect_keys(&FREQUENCY);
    let lowest = table.optional("lowest", number_within(0.05, 1.0)).unwrap_or(0.4);
    let sampling = table.optional("sampling", super::value::span);
    Frequency { lowest, sampling: sampling.unwrap_or(Nanos::from_millis(10)) }
}

/// 160 ns against 100 ns, as migration costs assume too.
fn memory(table: &Table) -> Memory {
    table.expect_keys(&MEMORY);
    let home = table.optional("home", word(&["process", "thread"]));
    let remote = table.optional("remote", number_within(1.0, 10.0)).unwrap_or(1.6);
    let contention = table.optional("contention", number_within(0.0, 10.0)).unwrap_or(0.0);
    let home = if home == Some(1) { Home::Thread } else { Home::Process };
    Memory { remote, contention, home }
}

fn kernel(table: &Table, cpus: u32) -> KernelState {
    table.expect_keys(&KERNEL);
    let span = |key, default| table.optional(key, duration).unwrap_or(Nanos(default));
    let kernels = table.optional("kernels", whole(1, i64::from(cpus))).unwrap_or(1);
    if !cpus.is_multiple_of(kernels) {
        table.wrong("kernels", format!("{cpus} CPUs in {kernels} kernels; expected a divisor"));
    }
    KernelState {
        hold: span("hold", 400),
        transfer: span("transfer", 50),
        kernels,
        exit: span("exit", 0),
    }
}

fn migration(table: &Table) -> Migration {
    table.expect_keys(&MIGRATION);
    let span = |key, default| table.optional(key, duration).unwrap_or(Nanos(default));
    Migration {
        core: span("core", 0),
        llc: span("llc", 2_500),
        node: span("node", 6_000),
        machine: span("machine", 10_000),
    }
}

/// What a program's speed owes to memory.
pub(super) fn memory_use(table: &Table) -> MemoryUse {
    let little = MemoryUse::LITTLE;
    let bound = table.optional("memory_bound", number_within(0.0, 1.0));
    let bytes = table.optional("working_set_bytes", whole(1, MOST_BYTES));
    MemoryUse {
        bound: bound.unwrap_or(little.bound),
        working_set_bytes: bytes.unwrap_or(little.working_set_bytes),
    }
}

/// The CPUs of a key that must be there and must be a list.
pub(super) fn cpus(table: &Table, machine_cpus: u32) -> Option<Vec<CpuId>> {
    table.optional("cpus", cpu_list(machine_cpus))
}
