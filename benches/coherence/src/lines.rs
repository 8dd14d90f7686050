//! Cache lines: which CPU wrote one last, and which have read it since.
//!
//! Caches are without bounds: what a CPU once had it loses only to another's write.

use model::CpuId;
use model::scenario::Machine;

/// What a cache writes and reads as one, in bytes.
pub const LINE: u32 = 64;

/// CPUs at most.
pub const CPUS: u32 = 256;

/// A set of CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpus([u64; CPUS as usize / 64]);

impl Cpus {
    fn only(cpu: CpuId) -> Cpus {
        let mut set = Cpus::default();
        set.insert(cpu);
        set
    }

    /// Puts one in.
    pub fn insert(&mut self, cpu: CpuId) {
        self.0[cpu.index() / 64] |= 1 << (cpu.0 % 64);
    }

    /// Whether it has one.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.0[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    /// How many.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// How far a line went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// Between CPUs that share a last-level cache.
    Cache,
    /// Between caches of a node.
    Node,
    /// Between nodes.
    Machine,
}

/// All, the shortest first.
pub const DISTANCES: [Distance; 3] = [Distance::Cache, Distance::Node, Distance::Machine];

impl Distance {
    /// Between two CPUs.
    pub fn between(machine: &Machine, a: CpuId, b: CpuId) -> Distance {
        let shared =
            |domains: u32| a.0 / (machine.cpus / domains) == b.0 / (machine.cpus / domains);
        match (shared(machine.llcs), shared(machine.nodes)) {
            (true, _) => Distance::Cache,
            (false, true) => Distance::Node,
            (false, false) => Distance::Machine,
        }
    }
}

/// A cache line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    writer: Option<CpuId>,
    /// CPUs that have it as it was written last.
    holders: Cpus,
    /// CPUs that have ever had it.
    pub users: Cpus,
    /// How often a CPU that did not have it alone wrote it.
    pub taken: u64,
}

/// What an access did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The line came from this CPU, which wrote it last.
    pub from: Option<CpuId>,
    /// Others lost it, or would have if they had it.
    pub took: bool,
}

impl Line {
    /// A CPU reads or writes it.
    pub fn touch(&mut self, cpu: CpuId, writes: bool) -> Effect {
        let has = self.holders.contains(cpu);
        let from = self.writer.filter(|&writer| writer != cpu && !has);
        let alone = self.writer == Some(cpu) && self.holders == Cpus::only(cpu);
        self.users.insert(cpu);
        let took = writes && !alone;
        if writes {
            self.writer = Some(cpu);
            self.holders = Cpus::only(cpu);
            self.taken += u64::from(took);
        } else {
            self.holders.insert(cpu);
        }
        Effect { from, took }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slow oracle: the whole history of a line, searched backwards.
    fn expected(history: &[(u32, bool)], cpu: u32) -> Option<CpuId> {
        let own = history.iter().rposition(|&(who, _)| who == cpu);
        let since = &history[own.map_or(0, |at| at + 1)..];
        let written = since.iter().any(|&(_, writes)| writes);
        let last = history.iter().rev().find(|(_, writes)| *writes)?.0;
        (written || own.is_none()).then_some(CpuId(last)).filter(|last| last.0 != cpu)
    }

    #[test]
    fn a_line_comes_from_who_wrote_it_since_the_cpu_had_it() {
        let (mut line, mut history, mut state) = (Line::default(), Vec::new(), 1_u64);
        for _ in 0..5_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (cpu, writes) = ((state >> 33) as u32 % 5, (state >> 60) & 3 == 0);
            assert_eq!(line.touch(CpuId(cpu), writes).from, expected(&history, cpu));
            history.push((cpu, writes));
        }
        assert_eq!(line.users.len(), 5);
    }

    #[test]
    fn a_cpu_that_has_it_alone_takes_it_from_nobody() {
        let mut line = Line::default();
        let took = |line: &mut Line, cpu, writes| line.touch(CpuId(cpu), writes).took;
        assert!(took(&mut line, 0, true), "the first write");
        assert!(!took(&mut line, 0, true));
        assert!(!took(&mut line, 1, false));
        assert!(took(&mut line, 0, true), "CPU 1 had read it");
        assert!(took(&mut line, 1, true));
        assert_eq!(line.taken, 3);
    }

    #[test]
    fn distances_are_those_of_the_machine() {
        let machine = Machine { cpus: 16, smt: 1, llcs: 4, nodes: 2 };
        let between = |a, b| Distance::between(&machine, CpuId(a), CpuId(b));
        assert_eq!(between(0, 3), Distance::Cache);
        assert_eq!(between(0, 4), Distance::Node);
        assert_eq!(between(7, 8), Distance::Machine);
    }
}
