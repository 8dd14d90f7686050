//! The last records, as many as there is room for.

use std::collections::{BTreeMap, VecDeque};

use model::Nanos;

use super::recording::{Kind, Left, Recording, Seen};

/// Records in order of time; the oldest give way.
pub struct Ring {
    seen: VecDeque<Seen>,
    most: usize,
    /// The thread on each CPU when the oldest record was made.
    holders: BTreeMap<u16, u32>,
}

impl Ring {
    /// A ring of so many bytes.
    pub fn new(bytes: u64) -> Ring {
        let most = (bytes as usize / size_of::<Seen>()).max(1);
        Ring { seen: VecDeque::with_capacity(most), most, holders: BTreeMap::new() }
    }

    /// Takes up records, which are younger than those before.
    pub fn push(&mut self, records: Recording) {
        for one in records.seen {
            while self.seen.len() >= self.most {
                let oldest = self.seen.pop_front();
                oldest.iter().for_each(|oldest| hold(&mut self.holders, oldest));
            }
            self.seen.push_back(one);
        }
    }

    /// The oldest record's moment.
    pub fn begin(&self) -> Option<Nanos> {
        self.seen.front().map(|first| first.at)
    }

    /// The bytes that its records take.
    pub fn bytes(&self) -> u64 {
        (self.seen.len() * size_of::<Seen>()) as u64
    }

    /// What was seen from one moment until another, of that the last `most` records. CPUs without a switch
    /// have one at the beginning, to the thread that they were at.
    pub fn cut(&self, from: Nanos, until: Nanos, most: usize) -> Recording {
        let first = self.seen.partition_point(|one| one.at < from);
        let last = self.seen.partition_point(|one| one.at <= until);
        let first = first.max(last.saturating_sub(most));
        let mut holders = self.holders.clone();
        self.seen.range(..first).for_each(|one| hold(&mut holders, one));
        let inside = self.seen.range(first..last);
        for one in inside.clone().filter(|one| matches!(one.kind, Kind::Switch { .. })) {
            holders.remove(&one.cpu);
        }
        let at = self.seen.get(first).map_or(from, |first| first.at);
        let kind = Kind::Switch { from: 0, left: Left::Preempted };
        let opening = holders.into_iter().map(|(cpu, thread)| Seen { at, cpu, thread, kind });
        Recording { seen: opening.chain(inside.copied()).collect(), ..Recording::default() }
    }

    /// The threads of all records.
    pub(super) fn threads(&self) -> std::collections::BTreeSet<u32> {
        let held = self.holders.values().copied();
        held.chain(self.seen.iter().map(|one| one.thread)).collect()
    }
}

fn hold(holders: &mut BTreeMap<u16, u32>, seen: &Seen) {
    if let Kind::Switch { .. } = seen.kind {
        holders.insert(seen.cpu, seen.thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(at: u64, cpu: u16, thread: u32) -> Seen {
        Seen { at: Nanos(at), cpu, thread, kind: Kind::Switch { from: 0, left: Left::Preempted } }
    }

    fn ring(records: u64, seen: Vec<Seen>) -> Ring {
        let mut ring = Ring::new(records * size_of::<Seen>() as u64);
        ring.push(Recording { seen, ..Recording::default() });
        ring
    }

    #[test]
    fn the_oldest_give_way() {
        let ring = ring(3, (1..=5).map(|at| switch(at, 0, at as u32)).collect());
        assert_eq!(ring.begin(), Some(Nanos(3)));
        assert_eq!(ring.cut(Nanos(4), Nanos(5), 9).seen.len(), 2);
        assert_eq!(ring.cut(Nanos(3), Nanos(5), 1).seen, [switch(5, 0, 5)]);
    }

    /// A thread that was given its CPU long ago, and keeps it, must not look like an idle CPU.
    #[test]
    fn who_holds_a_cpu_all_along_is_known_though_its_switch_is_gone() {
        let old = vec![switch(1, 1, 77), switch(2, 0, 5), switch(3, 0, 6), switch(4, 0, 5)];
        for ring in [ring(2, old.clone()), ring(9, old)] {
            let cut = ring.cut(Nanos(4), Nanos(9), 9).seen;
            assert_eq!(cut, [switch(4, 1, 77), switch(4, 0, 5)]);
        }
    }
}
