//! The kernel's own search for an idle CPU (`kernel/sched/ext_idle.c`).

use std::ops::Range;

use model::scenario::Machine;
use model::{CpuId, ThreadId};

use crate::affinity::Affinities;
use crate::cpu_set::CpuSet;

/// An idle CPU near `from`, first whole idle cores, then any: the CPU itself, its cache, its node, the
/// machine (`scx_select_cpu_dfl`).
pub fn nearest(machine: &Machine, idle: &CpuSet, from: CpuId) -> Option<CpuId> {
    let cores = || search(machine, from, |cpus| idle_core(machine, idle, cpus));
    let any = || search(machine, from, |cpus| idle.first_in(cpus));
    if machine.smt > 1 { cores().or_else(any) } else { any() }
}

/// [`nearest`] for a thread with an affinity. A core counts as idle whatever of it the thread may use.
pub fn nearest_within(
    machine: &Machine,
    idle: &CpuSet,
    affinities: &Affinities,
    thread: ThreadId,
    from: CpuId,
) -> Option<CpuId> {
    let admitted = affinities.within(thread, idle);
    let whole = |cpu: &CpuId| idle_core(machine, idle, cpu.0..cpu.0 + 1).is_some();
    let mut whole_cores = CpuSet::none(machine.cpus);
    let cpus = (0..machine.cpus).map(CpuId).filter(|&cpu| admitted.contains(cpu));
    cpus.filter(whole).for_each(|cpu| whole_cores.insert(cpu));
    let cores = || search(machine, from, |cpus| whole_cores.first_in(cpus));
    let any = || search(machine, from, |cpus| admitted.first_in(cpus));
    if machine.smt > 1 { cores().or_else(any) } else { any() }
}

fn search(
    machine: &Machine,
    from: CpuId,
    find: impl FnMut(Range<u32>) -> Option<CpuId>,
) -> Option<CpuId> {
    let Machine { cpus, llcs, nodes, .. } = *machine;
    let around = |size: u32| {
        let start = from.0 / size * size;
        start..start + size
    };
    [1, cpus / llcs, cpus / nodes, cpus].into_iter().map(around).find_map(find)
}

/// The first CPU of the range whose core is idle as a whole.
fn idle_core(machine: &Machine, idle: &CpuSet, cpus: Range<u32>) -> Option<CpuId> {
    let mut at = cpus.start;
    while let Some(cpu) = idle.first_in(at..cpus.end) {
        let core = cpu.0 / machine.smt * machine.smt;
        if (core..core + machine.smt).all(|sibling| idle.contains(CpuId(sibling))) {
            return Some(cpu);
        }
        at = core + machine.smt;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(machine: &Machine, cpus: &[u32]) -> CpuSet {
        let mut set = CpuSet::none(machine.cpus);
        cpus.iter().for_each(|&cpu| set.insert(CpuId(cpu)));
        set
    }

    #[test]
    fn a_thread_is_offered_what_its_affinity_admits() {
        let machine = Machine { cpus: 16, smt: 2, llcs: 4, nodes: 2 };
        let mut affinities = Affinities::new(16);
        affinities.assign(ThreadId(0), &[3, 5, 12].map(CpuId));
        let within = |cpus: &[u32]| {
            let set = idle(&machine, cpus);
            let found = nearest_within(&machine, &set, &affinities, ThreadId(0), CpuId(1));
            let free = nearest_within(&machine, &set, &affinities, ThreadId(1), CpuId(1));
            assert_eq!(free, nearest(&machine, &set, CpuId(1)));
            found
        };
        assert_eq!(within(&[0, 1, 2]), None);
        assert_eq!(within(&[0, 1, 3, 5]), Some(CpuId(3)));
        // CPU 5 is whole with 4, which the thread may not use.
        assert_eq!(within(&[3, 4, 5]), Some(CpuId(5)));
    }

    #[test]
    fn a_whole_core_comes_first_and_then_the_nearest() {
        let machine = Machine { cpus: 16, smt: 2, llcs: 4, nodes: 2 };
        let nearest = |cpus: &[u32]| nearest(&machine, &idle(&machine, cpus), CpuId(1));
        assert_eq!(nearest(&[]), None);
        assert_eq!(nearest(&[1, 3]), Some(CpuId(1)));
        assert_eq!(nearest(&[3, 5]), Some(CpuId(3)));
        assert_eq!(nearest(&[1, 14, 15]), Some(CpuId(14)));
        assert_eq!(nearest(&[0, 1, 2, 3]), Some(CpuId(1)));
        assert_eq!(nearest(&[9, 13]), Some(CpuId(9)));
    }
}
