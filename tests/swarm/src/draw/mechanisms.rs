//! What machines do beside running threads.

use model::scenario::{
    Cpuset, Frequency, Home, IdleState, IdleStates, InterruptCpus, Interrupts, KernelState,
    Mechanisms, Memory, MemoryUse, Migration, Partition, Scenario,
};
use model::{CpuId, Nanos};

use crate::lots::Lots;

const MICROSECOND: u64 = 1_000;

/// Nothing in half of the cases; else some of everything.
pub fn add(lots: &mut Lots, scenario: &mut Scenario) {
    if lots.one_in(2) {
        return;
    }
    let cpus = scenario.machine.cpus;
    scenario.mechanisms = Mechanisms {
        interrupts: lots.one_in(3).then(|| interrupts(lots, cpus)),
        idle: lots.one_in(3).then(|| idle(lots)),
        frequency: lots.one_in(3).then(|| Frequency {
            lowest: lots.of(&[0.05, 0.4, 1.0]),
            sampling: Nanos(lots.magnitude(100 * MICROSECOND, 20_000 * MICROSECOND)),
        }),
        sibling_gain: lots.one_in(3).then(|| lots.of(&[0.0, 0.25, 1.0])),
        memory: lots.one_in(3).then(|| Memory {
            remote: lots.of(&[1.0, 1.6, 10.0]),
            contention: lots.of(&[0.0, 0.5, 10.0]),
            home: lots.of(&[Home::Process, Home::Thread]),
        }),
        kernel: lots.one_in(3).then(|| kernel(lots, cpus)),
        migration: lots.one_in(3).then(|| Migration {
            core: span(lots),
            llc: span(lots),
            node: span(lots),
            machine: span(lots),
        }),
        tick_late: lots.one_in(3).then(|| lots.of(&[Nanos::ZERO, Nanos(3_999_999)])),
        timer_interrupt: if lots.one_in(3) { span(lots) } else { Nanos::ZERO },
        reschedule_interrupt: if lots.one_in(3) { span(lots) } else { Nanos::ZERO },
        begin_together: lots.one_in(3),
        client_beside: lots.one_in(3),
        held_found: lots.of(&[0.0, 0.1, 1.0]),
    };
    for program in &mut scenario.programs {
        if lots.one_in(3) {
            let working_set_bytes = lots.magnitude(1, 1 << 24);
            program.memory = MemoryUse { bound: lots.of(&[0.0, 0.5, 1.0]), working_set_bytes };
        }
    }
    if lots.one_in(3) {
        cpusets(lots, scenario);
    }
}

fn span(lots: &mut Lots) -> Nanos {
    Nanos(if lots.one_in(4) { 0 } else { lots.magnitude(100, 200 * MICROSECOND) })
}

/// One CPU of the machine, or some of them.
fn some(lots: &mut Lots, cpus: u32) -> Vec<CpuId> {
    let one_in = lots.of(&[1, 2, 8]);
    let mut set: Vec<CpuId> = (0..cpus).filter(|_| lots.one_in(one_in)).map(CpuId).collect();
    if set.is_empty() {
        set.push(CpuId(lots.within(0, u64::from(cpus) - 1) as u32));
    }
    set
}

fn interrupts(lots: &mut Lots, cpus: u32) -> Interrupts {
    let place = match lots.within(0, 2) {
        0 => InterruptCpus::Spread,
        1 if cpus > 1 => InterruptCpus::Dedicated,
        _ => InterruptCpus::On(some(lots, cpus)),
    };
    Interrupts { cpus: place, hard: span(lots), soft: span(lots) }
}

fn idle(lots: &mut Lots) -> IdleStates {
    let state = |name: &str, lots: &mut Lots, residency_us| IdleState {
        name: name.to_string(),
        exit: span(lots),
        residency: Nanos::from_micros(residency_us),
    };
    let states = vec![state("light", lots, 2), state("deep", lots, 500)];
    let limit = lots.of(&[Nanos::ZERO, Nanos::from_micros(50), Nanos::NEVER]);
    IdleStates { states, latency_limit: limit }
}

fn kernel(lots: &mut Lots, cpus: u32) -> KernelState {
    let kernels: Vec<u32> = (1..=cpus).filter(|count| cpus.is_multiple_of(*count)).collect();
    // A lock that is held for longer than the machine has time would let nobody through.
    let hold = Nanos(lots.magnitude(1, 2 * MICROSECOND));
    let transfer = Nanos(lots.magnitude(1, 100));
    KernelState { hold, transfer, kernels: lots.of(&kernels), exit: span(lots) }
}

fn cpusets(lots: &mut Lots, scenario: &mut Scenario) {
    let cpus = scenario.machine.cpus;
    for group in &mut scenario.groups {
        if lots.one_in(2) {
            let partition = lots.of(&[Partition::Member, Partition::Root, Partition::Isolated]);
            group.cpuset = Some(Cpuset { cpus: some(lots, cpus), partition });
        }
    }
}
