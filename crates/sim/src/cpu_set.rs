//! A set of CPUs as a bit map: what the kernel calls a cpumask.

use std::ops::Range;

use model::CpuId;

/// Which CPUs of a machine are in the set. Looking for one costs a word per 64 CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// The set of none of `cpus` CPUs.
    pub fn none(cpus: u32) -> CpuSet {
        CpuSet { words: vec![0; cpus.div_ceil(64) as usize] }
    }

    /// The set of all of `cpus` CPUs.
    pub fn all(cpus: u32) -> CpuSet {
        let mut set = CpuSet::none(cpus);
        (0..cpus).for_each(|cpu| set.insert(CpuId(cpu)));
        set
    }

    /// Whether a CPU is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    /// Puts a CPU in.
    pub fn insert(&mut self, cpu: CpuId) {
        self.words[cpu.index() / 64] |= 1 << (cpu.0 % 64);
    }

    /// Takes a CPU out.
    pub fn remove(&mut self, cpu: CpuId) {
        self.words[cpu.index() / 64] &= !(1 << (cpu.0 % 64));
    }

    /// The lowest CPU of the set.
    pub fn first(&self) -> Option<CpuId> {
        self.first_in(0..self.words.len() as u32 * 64)
    }

    /// The lowest CPU of the set within a range of CPUs.
    pub fn first_in(&self, range: Range<u32>) -> Option<CpuId> {
        if range.is_empty() {
            return None;
        }
        let (first, last) = (range.start / 64, (range.end - 1) / 64);
        let found = (first..=last).find_map(|word| {
            let floor = if word == first { range.start % 64 } else { 0 };
            let bits = self.words[word as usize] & (u64::MAX << floor);
            (bits != 0).then(|| word * 64 + bits.trailing_zeros())
        });
        found.filter(|&cpu| cpu < range.end).map(CpuId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_in_a_range_is_what_a_walk_finds() {
        let members = [3, 63, 64, 130, 199];
        let mut set = CpuSet::none(200);
        members.iter().for_each(|&cpu| set.insert(CpuId(cpu)));
        for start in 0..200 {
            for end in start..=200 {
                let walked = members.iter().find(|cpu| (start..end).contains(*cpu));
                assert_eq!(set.first_in(start..end), walked.map(|&cpu| CpuId(cpu)));
            }
        }
        assert_eq!(set.first(), Some(CpuId(3)));
        set.remove(CpuId(3));
        assert!(!set.contains(CpuId(3)) && set.contains(CpuId(63)));
        assert_eq!(CpuSet::all(65).first_in(64..65), Some(CpuId(64)));
        assert_eq!(CpuSet::none(65).first(), None);
    }
}
