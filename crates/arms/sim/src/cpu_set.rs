//! A set of CPUs as a bit map: what the kernel calls a cpumask.

use std::ops::Range;

use model::CpuId;

/// Which CPUs of a machine are in the set. Looking for one costs a word per 4,096 CPUs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuSet {
    words: Vec<u64>,
    /// Which words are not 0, as such a map itself.
    filled: Vec<u64>,
}

impl CpuSet {
    /// The set of none of `cpus` CPUs.
    pub fn none(cpus: u32) -> CpuSet {
        let words = cpus.div_ceil(64) as usize;
        CpuSet { words: vec![0; words], filled: vec![0; words.div_ceil(64)] }
    }

    /// The set of all of `cpus` CPUs.
    pub fn all(cpus: u32) -> CpuSet {
        let mut set = CpuSet::none(cpus);
        (0..cpus).for_each(|cpu| set.insert(CpuId(cpu)));
        set
    }

    /// Whether a CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words[cpu.index() / 64] >> (cpu.0 % 64) & 1 == 1
    }

    /// Puts a CPU in.
    #[inline]
    pub fn insert(&mut self, cpu: CpuId) {
        let word = cpu.index() / 64;
        self.words[word] |= 1 << (cpu.0 % 64);
        self.filled[word / 64] |= 1 << (word % 64);
    }

    /// Takes a CPU out.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId) {
        let index = cpu.index() / 64;
        let word = &mut self.words[index];
        *word &= !(1 << (cpu.0 % 64));
        if *word == 0 {
            self.filled[index / 64] &= !(1 << (index % 64));
        }
    }

    /// The lowest CPU of the set.
    #[inline]
    pub fn first(&self) -> Option<CpuId> {
        self.first_in(0..self.words.len() as u32 * 64)
    }

    /// The lowest CPU of the set within a range of CPUs.
    #[inline]
    pub fn first_in(&self, range: Range<u32>) -> Option<CpuId> {
        if range.is_empty() {
            return None;
        }
        let word = range.start as usize / 64;
        let bits = self.words[word] & (u64::MAX << (range.start % 64));
        let found = if bits != 0 {
            word as u32 * 64 + bits.trailing_zeros()
        } else if range.end as usize > (word + 1) * 64 {
            self.first_after(word)?
        } else {
            return None;
        };
        (found < range.end).then_some(CpuId(found))
    }

    /// How many CPUs of the set lie within a range.
    pub fn count_in(&self, range: Range<u32>) -> u32 {
        if range.is_empty() {
            return 0;
        }
        let (first, last) = (range.start / 64, (range.end - 1) / 64);
        let within = |word: u32| {
            let floor = if word == first { u64::MAX << (range.start % 64) } else { u64::MAX };
            let ceiling =
                if word == last { u64::MAX >> (63 - (range.end - 1) % 64) } else { u64::MAX };
            self.words[word as usize] & floor & ceiling
        };
        (first..=last).map(|word| within(word).count_ones()).sum()
    }

    /// The lowest CPU of the words behind one.
    fn first_after(&self, word: usize) -> Option<u32> {
        let next = word + 1;
        let mut floor = u64::MAX << (next % 64);
        for (index, filled) in self.filled.iter().enumerate().skip(next / 64) {
            let bits = filled & floor;
            if bits != 0 {
                let word = index * 64 + bits.trailing_zeros() as usize;
                return Some(word as u32 * 64 + self.words[word].trailing_zeros());
            }
            floor = u64::MAX;
        }
        None
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
                let inside = members.iter().filter(|cpu| (start..end).contains(*cpu));
                assert_eq!(set.count_in(start..end) as usize, inside.count());
            }
        }
        assert_eq!(set.first(), Some(CpuId(3)));
        set.remove(CpuId(3));
        assert!(!set.contains(CpuId(3)) && set.contains(CpuId(63)));
        set.remove(CpuId(63));
        assert_eq!(set.first(), Some(CpuId(64)));
        assert_eq!(CpuSet::all(65).first_in(64..65), Some(CpuId(64)));
        assert_eq!(CpuSet::none(65).first(), None);
    }

    #[test]
    fn large_sets_are_searched_by_their_words() {
        let mut set = CpuSet::none(10_000);
        [70, 8_191, 8_192, 9_999].into_iter().for_each(|cpu| set.insert(CpuId(cpu)));
        let mut order = Vec::new();
        while let Some(cpu) = set.first() {
            order.push(cpu.0);
            set.remove(cpu);
            assert_eq!(set.first_in(cpu.0..10_000), set.first());
        }
        assert_eq!(order, [70, 8_191, 8_192, 9_999]);
    }
}
