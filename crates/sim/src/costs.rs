//! What the kernel's own work costs, as CPU time of the thread for which it is done.

use model::{CpuId, Nanos};

use crate::places::Place;

/// Costs of switching and moving threads. Any of them can be zero, which switches it off.
///
/// The migration costs are estimates of one rule, the time to fetch a hot set of 16 KiB (256 lines) anew; a service with more state pays more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// A CPU takes up another thread than the one it ran last. 1.5 us: measured values for threads pinned to one core
    /// lie between 1.2 and 1.5 us (E. Bendersky 2018, "Measuring context switching and memory overheads for Linux threads"); `man 1 perf-bench`, `sched pipe`, measures it.
    pub switch: Nanos,
    /// Added when the thread ran last on an SMT sibling. 0: siblings share their caches (GVTS section 3.1).
    pub migrate_core: Nanos,
    /// Added when it ran last on another core of the same cache. 2.5 us: 256 lines at 10 ns, a hit in the shared cache of 40 ns with four under way.
    pub migrate_llc: Nanos,
    /// Added when it ran last under another cache of the same node. 6 us: 256 lines at 25 ns, a memory access of 100 ns with four under way.
    pub migrate_node: Nanos,
    /// Added when it ran last on another node. 10 us: 256 lines at 40 ns, a remote access of 160 ns.
    pub migrate_remote: Nanos,
}

impl Costs {
    /// The values that runs use unless told otherwise.
    pub const DEFAULT: Costs = Costs {
        switch: Nanos(1_500),
        migrate_core: Nanos(0),
        migrate_llc: Nanos(2_500),
        migrate_node: Nanos(6_000),
        migrate_remote: Nanos(10_000),
    };

    /// A kernel whose work takes no time: for comparison with queueing theory.
    pub const NONE: Costs = Costs {
        switch: Nanos(0),
        migrate_core: Nanos(0),
        migrate_llc: Nanos(0),
        migrate_node: Nanos(0),
        migrate_remote: Nanos(0),
    };

    /// What it costs to move a thread's state from the CPU of a place to another CPU.
    pub fn migration(&self, from: &Place, to: CpuId) -> Nanos {
        if from.core.contains(&to.0) {
            self.migrate_core
        } else if from.llc.contains(&to.0) {
            self.migrate_llc
        } else if from.node.contains(&to.0) {
            self.migrate_node
        } else {
            self.migrate_remote
        }
    }
}

#[cfg(test)]
mod tests {
    use model::scenario::Machine;

    use super::*;
    use crate::places::Places;

    #[test]
    fn migration_costs_grow_with_distance() {
        let places = Places::new(&Machine { cpus: 16, smt: 2, llcs: 4, nodes: 2 });
        let costs = Costs { migrate_core: Nanos(1), ..Costs::DEFAULT };
        let cost = |to| costs.migration(places.of(CpuId(0)), CpuId(to)).0;
        assert_eq!([1, 2, 4, 8].map(cost), [1, 2_500, 6_000, 10_000]);
    }
}
