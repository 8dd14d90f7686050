//! Which CPU a waking thread waits for (`select_task_rq_fair()`).
//!
//! Requests wake their threads from an interrupt on the CPU that the thread ran on last, and timers fire
//! where they were set. So the search starts there. A waker on another CPU does not draw the thread to itself
//! (`wake_affine()` is not modelled).

use model::{CpuId, ThreadId};

use super::Fair;
use super::average::LOAD;
use super::domains::block;
use super::timeline::Timeline;
use crate::core::Core;

impl<T: Timeline> Fair<T> {
    /// The CPU for a thread that wakes: its own if that is idle, else an idle one that shares the cache
    /// (`select_idle_sibling()`).
    pub(super) fn wake_cpu(&mut self, core: &Core, thread: ThreadId) -> CpuId {
        let previous = core.thread(thread).cpu;
        let machine = core.machine;
        let idle = |cpu: CpuId| core.idle.contains(cpu) && core.may_run_on(thread, cpu);
        if idle(previous) {
            return previous;
        }
        let recent = self.threads.swap_recent(thread, previous);
        let shares = |cpu: &CpuId| machine.llc_of(*cpu) == machine.llc_of(previous);
        if let Some(cpu) = recent.filter(shares).filter(|cpu| idle(*cpu)) {
            return cpu;
        }
        let llc = block(previous, machine.cpus / machine.llcs);
        let tries = self.balancer.idle_tries(machine.llc_of(previous));
        if machine.smt > 1 {
            let core_of_cache = (tries > 0).then(|| idle_core(core, thread, llc.clone(), previous));
            let sibling = || block(previous, machine.smt).map(CpuId).find(|cpu| idle(*cpu));
            if let Some(cpu) = core_of_cache.flatten().or_else(sibling) {
                return cpu;
            }
        }
        let after = previous.0 + 1;
        let scan = (after..llc.end).chain(llc.start..after).take(tries as usize);
        scan.map(CpuId).find(|cpu| idle(*cpu)).unwrap_or(previous)
    }

    /// The CPU for a new thread: down the levels, each time the part with the most idle CPUs, or else the
    /// least load (`find_idlest_group()`, `find_idlest_cpu()`).
    pub(super) fn idlest_cpu(&mut self, core: &Core, thread: ThreadId) -> CpuId {
        let mut range = 0..core.machine.cpus;
        let parts: Vec<u32> = self.balancer.levels.iter().rev().map(|level| level.part).collect();
        for part in parts {
            let starts = range.clone().step_by(part as usize).filter(|&start| {
                let mut cpus = (start..start + part).map(CpuId);
                cpus.any(|cpu| core.may_run_on(thread, cpu))
            });
            let quietest = starts.min_by_key(|&start| {
                let cpus = start..start + part;
                let busy = cpus.clone().filter(|&cpu| !core.idle.contains(CpuId(cpu))).count();
                let load: u64 = cpus
                    .map(|cpu| {
                        let queued = u64::from(self.tree.root(CpuId(cpu)).runnable);
                        self.tree.level(core.now, CpuId(cpu), LOAD).max(queued)
                    })
                    .sum();
                (busy, load)
            });
            let start = quietest.unwrap_or(range.start);
            range = start..start + part;
        }
        CpuId(range.start)
    }
}

/// A core of the cache of which no CPU is busy, from the one after `previous` on (`select_idle_core()`).
fn idle_core(
    core: &Core,
    thread: ThreadId,
    llc: std::ops::Range<u32>,
    previous: CpuId,
) -> Option<CpuId> {
    let smt = core.machine.smt;
    let own = block(previous, smt).start;
    let starts = (own..llc.end).chain(llc.start..own).step_by(smt as usize);
    let mut idle =
        starts.filter(|&start| (start..start + smt).all(|cpu| core.idle.contains(CpuId(cpu))));
    idle.find_map(|start| (start..start + smt).map(CpuId).find(|&cpu| core.may_run_on(thread, cpu)))
}
