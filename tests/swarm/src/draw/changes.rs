//! What happens in the course of a run: affinities, weights, CPUs that go and come.

use std::sync::Arc;

use model::change::{Change, ChangeKind};
use model::{CpuId, Nanos, Scenario, ThreadId};

use super::{machine, programs};
use crate::rng::Rng;

/// More affinities than any table of a policy has rows for.
const MOST_SETS: u64 = 100;

/// Nothing in half of the cases; else a few of some kinds or all.
pub fn draw(rng: &mut Rng, scenario: &Scenario) -> Vec<Change> {
    let mut changes = Vec::new();
    if rng.one_in(2) {
        return changes;
    }
    if rng.one_in(2) {
        affinities(rng, scenario, &mut changes);
    }
    if rng.one_in(3) {
        weights(rng, scenario, &mut changes);
    }
    if rng.one_in(3) && scenario.machine.cpus > 1 {
        hotplug(rng, scenario, &mut changes);
    }
    changes.sort_by_key(|change| change.at);
    changes
}

fn moment(rng: &mut Rng, scenario: &Scenario) -> Nanos {
    Nanos(rng.within(0, (scenario.warm_up + scenario.duration).0))
}

fn thread(rng: &mut Rng, scenario: &Scenario) -> ThreadId {
    let threads: u32 = scenario.programs.iter().map(|program| program.kind.threads()).sum();
    ThreadId(rng.within(0, u64::from(threads) - 1) as u32)
}

/// One CPU, a few, or all.
pub fn cpus(rng: &mut Rng, scenario: &Scenario) -> Vec<CpuId> {
    let cpus = scenario.machine.cpus;
    let one_in = rng.of(&[1, 2, 4, 64]);
    let mut set: Vec<CpuId> = (0..cpus).filter(|_| rng.one_in(one_in)).map(CpuId).collect();
    if set.is_empty() {
        set.push(CpuId(rng.within(0, u64::from(cpus) - 1) as u32));
    }
    set
}

/// Of some threads from the start, and flips later on.
fn affinities(rng: &mut Rng, scenario: &Scenario, changes: &mut Vec<Change>) {
    let sets: Vec<Arc<[CpuId]>> =
        (0..rng.magnitude(1, MOST_SETS)).map(|_| cpus(rng, scenario).into()).collect();
    for _ in 0..rng.magnitude(1, 2 * MOST_SETS) {
        let at = if rng.one_in(3) { Nanos::ZERO } else { moment(rng, scenario) };
        let cpus = sets[rng.within(0, sets.len() as u64 - 1) as usize].clone();
        let kind = ChangeKind::Affinity { thread: thread(rng, scenario), cpus };
        changes.push(Change { at, kind });
    }
}

fn weights(rng: &mut Rng, scenario: &Scenario, changes: &mut Vec<Change>) {
    let groups = scenario.groups.len() as u64;
    for _ in 0..rng.magnitude(1, 20) {
        let of_group = groups > 0 && rng.one_in(2);
        let kind = if of_group {
            let group = rng.within(0, groups - 1) as usize;
            ChangeKind::Weight { group, weight: machine::weight(rng) }
        } else {
            ChangeKind::Nice { thread: thread(rng, scenario), nice: programs::nice(rng) }
        };
        changes.push(Change { at: moment(rng, scenario), kind });
    }
}

/// CPUs go and mostly come back. CPU 0 never goes: kernels since 6.5 do not let it.
fn hotplug(rng: &mut Rng, scenario: &Scenario, changes: &mut Vec<Change>) {
    let mut gone: Vec<CpuId> = Vec::new();
    for _ in 0..rng.magnitude(1, 8) {
        let cpu = CpuId(rng.within(1, u64::from(scenario.machine.cpus) - 1) as u32);
        if gone.contains(&cpu) {
            continue;
        }
        gone.push(cpu);
        let (a, b) = (moment(rng, scenario), moment(rng, scenario));
        changes.push(Change { at: a.min(b), kind: ChangeKind::Offline(cpu) });
        if !rng.one_in(4) {
            changes.push(Change { at: a.max(b), kind: ChangeKind::Online(cpu) });
        }
    }
}
