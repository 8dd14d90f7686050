//! The levels over which load is balanced: SMT siblings, a cache, a node, the machine (`struct
//! sched_domain`).

use std::ops::Range;

use model::CpuId;
use model::scenario::Machine;

/// One level. CPUs are numbered along the topology, so a domain is an aligned block of CPUs and so is each of
/// its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    /// CPUs of a domain.
    pub span: u32,
    /// CPUs of each part that is compared with the others (`sched_group`).
    pub part: u32,
    /// By how many percent a part must be busier to be worth a move (`imbalance_pct`).
    pub imbalance_pct: u64,
    /// Fruitless attempts after which warm caches no longer hold a thread back.
    pub cache_nice_tries: u32,
    /// Whether threads are spread evenly over the parts even where no CPU is short (`SD_PREFER_SIBLING` of
    /// the level below).
    pub spreads: bool,
    /// Whether the domain lies within one last-level cache (`SD_SHARE_PKG_RESOURCES`).
    pub shares_cache: bool,
    /// Whether the domain is one core (`SD_SHARE_CPUCAPACITY`).
    pub is_core: bool,
    /// Between nodes: up to so many threads on the nearer side a small imbalance is left alone
    /// (`imb_numa_nr`).
    pub numa_slack: Option<u32>,
}

impl Level {
    /// The CPUs of the domain that `cpu` lies in.
    pub fn domain(&self, cpu: CpuId) -> Range<u32> {
        block(cpu, self.span)
    }

    /// The CPUs of the part that `cpu` lies in.
    pub fn part(&self, cpu: CpuId) -> Range<u32> {
        block(cpu, self.part)
    }
}

/// The aligned block of `size` CPUs around one.
pub fn block(cpu: CpuId, size: u32) -> Range<u32> {
    let start = cpu.0 / size * size;
    start..start + size
}

/// The levels of a machine, smallest first, with the kernel's defaults (`sd_init()`). A level that holds no
/// more CPUs than the one below it is left out.
pub fn levels(machine: &Machine) -> Vec<Level> {
    let llc = machine.cpus / machine.llcs;
    let node = machine.cpus / machine.nodes;
    let mut levels: Vec<Level> = Vec::new();
    for span in [machine.smt, llc, node, machine.cpus] {
        let part = levels.last().map_or(1, |level| level.span);
        if span == part {
            continue;
        }
        let is_core = span == machine.smt;
        let shares_cache = span <= llc;
        let between_nodes = span > node;
        levels.push(Level {
            span,
            part,
            imbalance_pct: if is_core { 110 } else { 117 },
            cache_nice_tries: match (is_core, shares_cache, between_nodes) {
                (true, _, _) => 0,
                (_, true, _) => 1,
                (_, _, true) => 2,
                _ => 1,
            },
            spreads: part > 1 && part <= node,
            shares_cache,
            is_core,
            numa_slack: between_nodes.then(|| numa_slack(machine)),
        });
    }
    levels
}

/// As `build_sched_domains()`: an eighth of a node's CPUs, or one thread a cache where a node has several.
fn numa_slack(machine: &Machine) -> u32 {
    match machine.llcs / machine.nodes {
        1 => (machine.cpus / machine.nodes / 8).max(1),
        caches => caches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(machine: Machine) -> Vec<(u32, u32)> {
        levels(&machine).iter().map(|level| (level.span, level.part)).collect()
    }

    #[test]
    fn a_level_that_adds_nothing_is_left_out() {
        assert_eq!(spans(Machine::ONE_CPU), []);
        assert_eq!(spans(Machine { cpus: 4, smt: 1, llcs: 1, nodes: 1 }), [(4, 1)]);
        assert_eq!(spans(Machine { cpus: 4, smt: 1, llcs: 4, nodes: 1 }), [(4, 1)]);
        let two_sockets = Machine { cpus: 16, smt: 2, llcs: 2, nodes: 2 };
        assert_eq!(spans(two_sockets), [(2, 1), (8, 2), (16, 8)]);
        let chiplets = Machine { cpus: 32, smt: 2, llcs: 4, nodes: 2 };
        assert_eq!(spans(chiplets), [(2, 1), (8, 2), (16, 8), (32, 16)]);
    }

    #[test]
    fn a_domain_is_the_block_around_a_cpu() {
        let level = &levels(&Machine { cpus: 16, smt: 2, llcs: 2, nodes: 2 })[1];
        assert_eq!((level.domain(CpuId(11)), level.part(CpuId(11))), (8..16, 10..12));
        assert!(level.shares_cache && level.spreads && !level.is_core);
    }
}
