//! The machine's domains, level by level.

use std::collections::BTreeMap;
use std::fs;

use model::Failure;
use model::scenario::Machine;

/// Levels of `enum rg_level`: CPU, core, last-level cache, node, machine.
pub const LEVELS: usize = 5;

/// The CPUs that are online and the domains that hold them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// For each level the domains, each a list of CPUs in ascending order.
    levels: [Vec<Vec<usize>>; LEVELS],
    /// Its shape, as it was when all names were read: it stays when CPUs go.
    machine: Machine,
    /// The names of a CPU's core, cache and node, also of CPUs that have gone since.
    names: BTreeMap<usize, [usize; 3]>,
}

impl Topology {
    /// This machine's, of which something is known. To read it all takes longer than to put a policy into
    /// force.
    pub fn again(self) -> Result<Topology, Failure> {
        let last = list("present").into_iter().max();
        let known = self.of_online(&list("online"));
        known
            .filter(|_| last.is_some_and(|last| last + 1 == self.cpu_ids()))
            .map_or_else(Topology::here, Ok)
    }

    /// With these CPUs online; `None`: one was never seen.
    fn of_online(&self, online: &[usize]) -> Option<Topology> {
        let cpus: Option<Vec<_>> =
            online.iter().map(|cpu| Some((*cpu, *self.names.get(cpu)?))).collect();
        let Topology { machine, names, .. } = self.clone();
        Some(Topology { machine, names, ..Topology::of(cpus?.into_iter(), None) })
    }

    /// This machine's.
    pub fn here() -> Result<Topology, Failure> {
        let read = scx_utils::Topology::new().map_err(|error| {
            Failure::Machine(format!("cannot read the machine's topology in /sys: {error:#}"))
        })?;
        Ok(Topology::of(
            read.all_cpus.values().map(|cpu| (cpu.id, [cpu.core_id, cpu.llc_id, cpu.node_id])),
            list("present").into_iter().max(),
        ))
    }

    /// From each CPU and the names of its core, cache and node, and the highest number of one that is there,
    /// though it may be offline.
    fn of(
        cpus: impl Iterator<Item = (usize, [usize; 3])> + Clone,
        last: Option<usize>,
    ) -> Topology {
        let level = |name: &dyn Fn(usize, [usize; 3]) -> usize| {
            let mut domains: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            for (cpu, names) in cpus.clone() {
                domains.entry(name(cpu, names)).or_default().push(cpu);
            }
            domains.into_values().collect()
        };
        let last = last.max(cpus.clone().map(|(cpu, _)| cpu).max());
        let levels: [Vec<Vec<usize>>; LEVELS] = [
            level(&|cpu, _| cpu),
            level(&|_, [core, ..]| core),
            level(&|_, [_, llc, _]| llc),
            level(&|_, [.., node]| node),
            level(&|_, _| 0),
        ];
        let [_, cores, llcs, nodes, _] = &levels;
        let machine = Machine {
            cpus: last.map_or(0, |last| last as u32 + 1),
            smt: cores.iter().map(Vec::len).max().unwrap_or(1) as u32,
            llcs: llcs.len() as u32,
            nodes: nodes.len() as u32,
        };
        Topology { levels, machine, names: cpus.collect() }
    }

    /// The domains of each level, the CPU's first.
    pub fn levels(&self) -> &[Vec<Vec<usize>>; LEVELS] {
        &self.levels
    }

    /// The highest number of a CPU, plus 1. CPUs that are offline count: a policy whose numbers stay can go
    /// on when they come or go.
    pub fn cpu_ids(&self) -> usize {
        self.machine.cpus as usize
    }

    /// In a scenario's terms: as many caches and nodes, cores as wide as the widest.
    pub fn machine(&self) -> Machine {
        self.machine
    }
}

/// The CPUs in a list of the kernel's; none where it cannot be read.
fn list(name: &str) -> Vec<usize> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/{name}")).unwrap_or_default();
    scx_utils::read_cpulist(&text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_hold_their_cpus_in_order_whatever_they_are_called() {
        // Two caches of two cores; CPU 3 is offline.
        let cpus = [(0, [7, 1, 0]), (1, [7, 1, 0]), (2, [3, 0, 0]), (4, [9, 1, 0])];
        let topology = Topology::of(cpus.into_iter(), None);
        let [cpu, cores, llcs, nodes, machine] = topology.levels();
        assert_eq!(*cpu, [vec![0], vec![1], vec![2], vec![4]]);
        assert_eq!(*cores, [vec![2], vec![0, 1], vec![4]]);
        assert_eq!(*llcs, [vec![2], vec![0, 1, 4]]);
        assert_eq!(*nodes, [vec![0, 1, 2, 4]]);
        assert_eq!(nodes, machine);
        assert_eq!(topology.machine(), Machine { cpus: 5, smt: 2, llcs: 2, nodes: 1 });
    }

    #[test]
    fn a_cpu_that_went_offline_leaves_the_others_their_numbers() {
        let cpus = [0, 1, 2, 3].map(|cpu| (cpu, [cpu, 0, 0]));
        let topology = |online, last| Topology::of(cpus.into_iter().take(online), last);
        assert_eq!(topology(3, Some(3)).machine(), topology(4, Some(3)).machine());
        assert_eq!(topology(3, Some(3)).levels()[LEVELS - 1], [vec![0, 1, 2]]);
        assert_eq!(topology(3, None).cpu_ids(), 3);
    }

    #[test]
    fn a_machine_keeps_its_shape_when_the_last_cpu_of_a_cache_goes() {
        let all = [(0, [0, 0, 0]), (1, [0, 0, 0]), (2, [1, 1, 0]), (3, [1, 1, 0])];
        let whole = Topology::of(all.into_iter(), Some(3));
        let half = whole.of_online(&[0]).expect("known");
        assert_eq!(half.levels()[2], [vec![0]]);
        assert_eq!(half.machine(), Machine { cpus: 4, smt: 2, llcs: 2, nodes: 1 });
        assert_eq!(half.of_online(&[0, 1, 2, 3]).expect("known"), whole);
        assert_eq!(half.of_online(&[0, 4]), None);
        let first = Topology::of(all[..1].iter().copied(), Some(3));
        assert_eq!(first.machine().llcs, 1, "the control: of a cache that nobody has seen");
    }

    #[test]
    fn what_is_known_of_a_machine_is_what_is_read_of_it() {
        let here = Topology::here().expect("a topology");
        assert_eq!(here.clone().again().expect("known"), here);
        let other = Topology::of([(0, [0; 3])].into_iter(), Some(4095));
        assert_eq!(other.again().expect("read anew"), here);
    }
}
