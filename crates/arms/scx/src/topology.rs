//! The machine's domains, level by level.

use std::collections::BTreeMap;

use model::Failure;
use model::scenario::Machine;

/// Levels of `enum rg_level`: CPU, core, last-level cache, node, machine.
pub const LEVELS: usize = 5;

/// The CPUs that are online and the domains that hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// For each level the domains, each a list of CPUs in ascending order.
    levels: [Vec<Vec<usize>>; LEVELS],
}

impl Topology {
    /// This machine's.
    pub fn here() -> Result<Topology, Failure> {
        let read = scx_utils::Topology::new().map_err(|error| {
            Failure::Machine(format!("cannot read the machine's topology in /sys: {error:#}"))
        })?;
        Ok(Topology::of(
            read.all_cpus.values().map(|cpu| (cpu.id, [cpu.core_id, cpu.llc_id, cpu.node_id])),
        ))
    }

    /// From each CPU and the names of its core, cache and node.
    fn of(cpus: impl Iterator<Item = (usize, [usize; 3])> + Clone) -> Topology {
        let level = |name: &dyn Fn(usize, [usize; 3]) -> usize| {
            let mut domains: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (cpu, names) in cpus.clone() {
                domains.entry(name(cpu, names)).or_default().push(cpu);
            }
            domains.into_values().collect()
        };
        Topology {
            levels: [
                level(&|cpu, _| cpu),
                level(&|_, [core, ..]| core),
                level(&|_, [_, llc, _]| llc),
                level(&|_, [.., node]| node),
                level(&|_, _| 0),
            ],
        }
    }

    /// The domains of each level, the CPU's first.
    pub fn levels(&self) -> &[Vec<Vec<usize>>; LEVELS] {
        &self.levels
    }

    /// The highest number of a CPU, plus 1.
    pub fn cpu_ids(&self) -> usize {
        self.levels[LEVELS - 1].iter().flatten().max().map_or(0, |last| last + 1)
    }

    /// In a scenario's terms: as many caches and nodes, cores as wide as the widest.
    pub fn machine(&self) -> Machine {
        let [_, cores, llcs, nodes, _] = &self.levels;
        Machine {
            cpus: self.cpu_ids() as u32,
            smt: cores.iter().map(Vec::len).max().unwrap_or(1) as u32,
            llcs: llcs.len() as u32,
            nodes: nodes.len() as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_hold_their_cpus_in_order_whatever_they_are_called() {
        // Two caches of two cores; CPU 3 is offline.
        let cpus = [(0, [7, 1, 0]), (1, [7, 1, 0]), (2, [3, 0, 0]), (4, [9, 1, 0])];
        let topology = Topology::of(cpus.into_iter());
        let [cpu, cores, llcs, nodes, machine] = topology.levels();
        assert_eq!(*cpu, [vec![0], vec![1], vec![2], vec![4]]);
        assert_eq!(*cores, [vec![2], vec![0, 1], vec![4]]);
        assert_eq!(*llcs, [vec![2], vec![0, 1, 4]]);
        assert_eq!(*nodes, [vec![0, 1, 2, 4]]);
        assert_eq!(nodes, machine);
        assert_eq!(topology.machine(), Machine { cpus: 5, smt: 2, llcs: 2, nodes: 1 });
    }
}
