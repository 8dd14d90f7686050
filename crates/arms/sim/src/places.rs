//! Where each CPU stands: the blocks of CPUs that share a core, a cache, a node with it.

use std::ops::Range;

use model::CpuId;
use model::scenario::Machine;

/// The surroundings of one CPU, each a range of CPU numbers.
#[derive(Clone, Debug)]
pub struct Place {
    /// CPUs of its core.
    pub core: Range<u32>,
    /// CPUs under its last-level cache.
    pub llc: Range<u32>,
    /// CPUs of its node.
    pub node: Range<u32>,
}

/// The places of all CPUs: looked up at each switch, so computed once.
#[derive(Clone, Debug)]
pub struct Places(Vec<Place>);

impl Places {
    /// The places of a machine.
    pub fn new(machine: &Machine) -> Places {
        let Machine { cpus, smt, llcs, nodes } = *machine;
        let place = |cpu: u32| {
            let block = |size: u32| cpu / size * size..cpu / size * size + size;
            Place { core: block(smt), llc: block(cpus / llcs), node: block(cpus / nodes) }
        };
        Places((0..cpus).map(place).collect())
    }

    /// The place of a CPU.
    pub fn of(&self, cpu: CpuId) -> &Place {
        &self.0[cpu.index()]
    }
}
