//! Which CPUs are online and which of them each thread may run on (`cpus_mask`).

use std::collections::BTreeMap;

use model::{CpuId, ThreadId};

use crate::cpu_set::CpuSet;

/// The affinity of every thread. Where no thread has one and no CPU is offline, asking costs one comparison.
#[derive(Clone, Debug)]
pub struct Affinities {
    online: CpuSet,
    cpus: u32,
    /// Different sets; what a number means never changes. 0: all CPUs.
    sets: Vec<CpuSet>,
    /// Their numbers.
    known: BTreeMap<CpuSet, u32>,
    /// The number of each thread's set; of those beyond the end 0.
    numbers: Vec<u32>,
    /// How many threads have another than 0.
    bound: usize,
    /// Whether a thread has an affinity or a CPU is offline.
    restricted: bool,
}

impl Affinities {
    /// Every thread on every CPU.
    pub fn new(cpus: u32) -> Affinities {
        let online = CpuSet::all(cpus);
        Affinities {
            sets: vec![online.clone()],
            known: BTreeMap::from([(online.clone(), 0)]),
            online,
            cpus,
            numbers: Vec::new(),
            bound: 0,
            restricted: false,
        }
    }

    /// Whether a thread may run on a CPU.
    #[inline]
    pub fn admit(&self, thread: ThreadId, cpu: CpuId) -> bool {
        !self.restricted || (self.online.contains(cpu) && self.set(thread).contains(cpu))
    }

    /// Whether any thread may not run on any CPU.
    #[inline]
    pub fn are_restricted(&self) -> bool {
        self.restricted
    }

    /// Equal for threads with equal sets, 0 for those that may run everywhere.
    pub fn number(&self, thread: ThreadId) -> u32 {
        self.numbers.get(thread.index()).copied().unwrap_or(0)
    }

    /// The set of a thread, whichever of its CPUs are online.
    pub fn set(&self, thread: ThreadId) -> &CpuSet {
        &self.sets[self.number(thread) as usize]
    }

    /// The CPUs that a thread may run on at present.
    pub fn admitted(&self, thread: ThreadId) -> impl Iterator<Item = CpuId> {
        (0..self.cpus).map(CpuId).filter(move |&cpu| self.admit(thread, cpu))
    }

    /// The first CPU from `from` on, wrapping round, that a thread may run on.
    pub fn nearest(&self, thread: ThreadId, from: CpuId) -> Option<CpuId> {
        let around = (from.0..self.cpus).chain(0..from.0).map(CpuId);
        around.into_iter().find(|&cpu| self.admit(thread, cpu))
    }

    /// Whether a thread's set has one CPU only, offline ones included (`nr_cpus_allowed`).
    pub fn is_pinned(&self, thread: ThreadId) -> bool {
        self.cpus == 1 || (self.restricted && self.set(thread).count_in(0..self.cpus) == 1)
    }

    /// The CPUs of a set that a thread may run on.
    pub fn within(&self, thread: ThreadId, set: &CpuSet) -> CpuSet {
        let mut within = CpuSet::none(self.cpus);
        self.admitted(thread).filter(|&cpu| set.contains(cpu)).for_each(|cpu| within.insert(cpu));
        within
    }

    /// Whether a CPU is online.
    pub fn is_online(&self, cpu: CpuId) -> bool {
        self.online.contains(cpu)
    }

    /// Whether all CPUs are.
    pub fn are_all_online(&self) -> bool {
        self.online.count_in(0..self.cpus) == self.cpus
    }

    /// Gives a thread a set.
    pub fn assign(&mut self, thread: ThreadId, cpus: &[CpuId]) {
        let mut set = CpuSet::none(self.cpus);
        cpus.iter().for_each(|&cpu| set.insert(cpu));
        let number = self.number_of(set);
        self.numbers.resize(self.numbers.len().max(thread.index() + 1), 0);
        let before = std::mem::replace(&mut self.numbers[thread.index()], number);
        self.bound = self.bound + usize::from(number > 0) - usize::from(before > 0);
        self.note();
    }

    fn number_of(&mut self, set: CpuSet) -> u32 {
        if let Some(&known) = self.known.get(&set) {
            return known;
        }
        let number = self.sets.len() as u32;
        self.sets.push(set.clone());
        self.known.insert(set, number);
        number
    }

    /// A CPU comes or goes.
    pub fn set_online(&mut self, cpu: CpuId, online: bool) {
        if online {
            self.online.insert(cpu);
        } else {
            self.online.remove(cpu);
        }
        self.note();
    }

    fn note(&mut self) {
        self.restricted = self.bound > 0 || !self.are_all_online();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_its_set_and_the_machine_admit_it() {
        let mut affinities = Affinities::new(4);
        let admitted = |affinities: &Affinities, thread| -> Vec<u32> {
            affinities.admitted(ThreadId(thread)).map(|cpu| cpu.0).collect()
        };
        assert_eq!(admitted(&affinities, 1), [0, 1, 2, 3]);
        assert!(!affinities.are_restricted());
        affinities.assign(ThreadId(1), &[CpuId(1), CpuId(3)]);
        affinities.assign(ThreadId(2), &[CpuId(3), CpuId(1)]);
        assert_eq!(affinities.number(ThreadId(1)), affinities.number(ThreadId(2)));
        assert_eq!(affinities.number(ThreadId(0)), 0);
        assert_eq!(affinities.nearest(ThreadId(1), CpuId(2)), Some(CpuId(3)));
        affinities.set_online(CpuId(3), false);
        assert_eq!(admitted(&affinities, 1), [1]);
        assert_eq!(admitted(&affinities, 0), [0, 1, 2]);
        assert!(!affinities.is_pinned(ThreadId(1)));
        affinities.set_online(CpuId(3), true);
        affinities.assign(ThreadId(1), &[CpuId(1)]);
        assert!(affinities.is_pinned(ThreadId(1)) && !affinities.is_pinned(ThreadId(0)));
        affinities.assign(ThreadId(1), &[0, 1, 2, 3].map(CpuId));
        assert_eq!(affinities.number(ThreadId(1)), 0);
    }
}
