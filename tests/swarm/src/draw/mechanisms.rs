//! What machines do beside running threads.

use model::scenario::{
    Cpuset, Frequency, Home, IdleState, IdleStates, InterruptCpus, Interrupts, KernelState,
    Mechanisms, Memory, MemoryUse, Migration, Partition, Scenario,
};
use model::{CpuId, Nanos};

use crate::rng::Rng;

const MICROSECOND: u64 = 1_000;

/// Nothing in half of the cases; else some of everything.
pub fn add(rng: &mut Rng, scenario: &mut Scenario) {
    if rng.one_in(2) {
        return;
    }
    let cpus = scenario.machine.cpus;
    scenario.mechanisms = Mechanisms {
        interrupts: rng.one_in(3).then(|| interrupts(rng, cpus)),
        idle: rng.one_in(3).then(|| idle(rng)),
        frequency: rng.one_in(3).then(|| Frequency {
            lowest: rng.of(&[0.05, 0.4, 1.0]),
            sampling: Nanos(rng.magnitude(100 * MICROSECOND, 20_000 * MICROSECOND)),
        }),
        sibling_gain: rng.one_in(3).then(|| rng.of(&[0.0, 0.25, 1.0])),
        memory: rng.one_in(3).then(|| Memory {
            remote: rng.of(&[1.0, 1.6, 10.0]),
            contention: rng.of(&[0.0, 0.5, 10.0]),
            home: rng.of(&[Home::Process, Home::Thread]),
        }),
        kernel: rng.one_in(3).then(|| kernel(rng, cpus)),
        migration: rng.one_in(3).then(|| Migration {
            core: span(rng),
            llc: span(rng),
            node: span(rng),
            machine: span(rng),
        }),
        turns_end_at_ticks: rng.one_in(4),
        request_cost: None,
        tick_late: rng.one_in(3).then(|| rng.of(&[Nanos::ZERO, Nanos(3_999_999)])),
        timer_interrupt: if rng.one_in(3) { span(rng) } else { Nanos::ZERO },
        reschedule_interrupt: if rng.one_in(3) { span(rng) } else { Nanos::ZERO },
        start_barrier: rng.one_in(3),
        client_local: rng.one_in(3),
        next_request_ready: rng.of(&[0.0, 0.1, 1.0]),
    };
    for program in &mut scenario.programs {
        if rng.one_in(3) {
            let working_set_bytes = rng.magnitude(1, 1 << 24);
            program.memory = MemoryUse { bound: rng.of(&[0.0, 0.5, 1.0]), working_set_bytes };
        }
    }
    if rng.one_in(3) {
        cpusets(rng, scenario);
    }
}

fn span(rng: &mut Rng) -> Nanos {
    Nanos(if rng.one_in(4) { 0 } else { rng.magnitude(100, 200 * MICROSECOND) })
}

/// One CPU of the machine, or some of them.
fn some(rng: &mut Rng, cpus: u32) -> Vec<CpuId> {
    let one_in = rng.of(&[1, 2, 8]);
    let mut set: Vec<CpuId> = (0..cpus).filter(|_| rng.one_in(one_in)).map(CpuId).collect();
    if set.is_empty() {
        set.push(CpuId(rng.within(0, u64::from(cpus) - 1) as u32));
    }
    set
}

fn interrupts(rng: &mut Rng, cpus: u32) -> Interrupts {
    let place = match rng.within(0, 2) {
        0 => InterruptCpus::Spread,
        1 if cpus > 1 => InterruptCpus::Dedicated,
        _ => InterruptCpus::On(some(rng, cpus)),
    };
    Interrupts { cpus: place, hard: span(rng), soft: span(rng) }
}

fn idle(rng: &mut Rng) -> IdleStates {
    let state = |name: &str, rng: &mut Rng, residency_us| IdleState {
        name: name.to_string(),
        exit: span(rng),
        residency: Nanos::from_micros(residency_us),
    };
    let states = vec![state("light", rng, 2), state("deep", rng, 500)];
    let limit = rng.of(&[Nanos::ZERO, Nanos::from_micros(50), Nanos::NEVER]);
    IdleStates { states, latency_limit: limit }
}

fn kernel(rng: &mut Rng, cpus: u32) -> KernelState {
    let kernels: Vec<u32> = (1..=cpus).filter(|count| cpus.is_multiple_of(*count)).collect();
    // A lock that is held for longer than the machine has time would let no thread through.
    let hold = Nanos(rng.magnitude(1, 2 * MICROSECOND));
    let transfer = Nanos(rng.magnitude(1, 100));
    KernelState { hold, transfer, kernels: rng.of(&kernels), exit: span(rng) }
}

fn cpusets(rng: &mut Rng, scenario: &mut Scenario) {
    let cpus = scenario.machine.cpus;
    for group in &mut scenario.groups {
        if rng.one_in(2) {
            let partition = rng.of(&[Partition::Member, Partition::Root, Partition::Isolated]);
            group.cpuset = Some(Cpuset { cpus: some(rng, cpus), partition });
        }
    }
}
