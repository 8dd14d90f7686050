//! Amounts that only grow, and what of them grew since a moment, without a look at the others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A moment that was marked.
pub(super) type Mark = u32;

/// Amounts by key.
#[derive(Default)]
pub(super) struct Ledger {
    lines: Vec<Line>,
    /// Where each key is in `lines`.
    places: BTreeMap<usize, usize>,
    /// The line that grew last.
    newest: Option<usize>,
    /// The latest mark.
    mark: Mark,
    /// The marks that are still asked for.
    live: BTreeSet<Mark>,
    /// The sums that lines remember.
    sums: usize,
    /// How often a line was touched.
    pub steps: u64,
}

/// A key's amount.
struct Line {
    key: usize,
    sum: u64,
    /// What it was at marks, by the latest mark at which it was that.
    before: VecDeque<(Mark, u64)>,
    /// Its neighbours by when they grew last.
    newer: Option<usize>,
    older: Option<usize>,
}

impl Line {
    /// What it grew by since a mark.
    fn since(&self, mark: Mark) -> u64 {
        let first = self.before.partition_point(|(at, _)| *at < mark);
        self.before.get(first).map_or(0, |(_, sum)| self.sum - sum)
    }
}

impl Ledger {
    /// Marks this moment; what grows from now on can be asked for.
    pub fn mark(&mut self) -> Mark {
        self.mark += 1;
        self.live.insert(self.mark);
        self.mark
    }

    /// A mark is asked for no more.
    pub fn drop(&mut self, mark: Mark) {
        self.live.remove(&mark);
    }

    /// An amount grows.
    pub fn add(&mut self, key: usize, by: u64) {
        let next = self.lines.len();
        let place = *self.places.entry(key).or_insert(next);
        if place == next {
            let before = VecDeque::new();
            self.lines.push(Line { key, sum: 0, before, newer: None, older: None });
        }
        self.steps += 1;
        self.renew(place);
        self.remember(place);
        self.lines[place].sum += by;
    }

    /// Writes down what a line was, if none has asked since it was written last.
    fn remember(&mut self, place: usize) {
        let (mark, oldest) = (self.mark, self.live.first().copied());
        let Line { sum, before, .. } = &mut self.lines[place];
        let count = before.len();
        while before.front().is_some_and(|(at, _)| oldest.is_none_or(|oldest| *at < oldest)) {
            before.pop_front();
        }
        if oldest.is_some() && before.back().is_none_or(|(at, _)| *at < mark) {
            before.push_back((mark, *sum));
        }
        self.sums = self.sums + before.len() - count;
    }

    /// Puts a line before all others.
    fn renew(&mut self, place: usize) {
        if self.newest == Some(place) {
            return;
        }
        let (newer, older) = (self.lines[place].newer, self.lines[place].older);
        newer.into_iter().for_each(|line| self.lines[line].older = older);
        older.into_iter().for_each(|line| self.lines[line].newer = newer);
        self.newest.into_iter().for_each(|line| self.lines[line].newer = Some(place));
        (self.lines[place].newer, self.lines[place].older) = (None, self.newest);
        self.newest = Some(place);
    }

    /// What grew since a mark, and by how much: the key that came first before others.
    pub fn since(&mut self, mark: Mark) -> Vec<(usize, u64)> {
        let grown =
            |place: &usize| self.lines[*place].before.back().is_some_and(|one| one.0 >= mark);
        let lines = std::iter::successors(self.newest, |place| self.lines[*place].older);
        let mut places: Vec<usize> = lines.take_while(grown).collect();
        places.sort_unstable();
        let line = |place: usize| (self.lines[place].key, self.lines[place].since(mark));
        let grown: Vec<(usize, u64)> = places.into_iter().map(line).collect();
        self.steps += 1 + grown.len() as u64;
        grown
    }

    /// The room that it takes, in words.
    pub fn words(&self) -> usize {
        2 * self.sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without an order, the same each time.
    fn drawn(seed: &mut u64, below: u64) -> u64 {
        *seed =
            seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    }

    /// The oracle keeps all sums as they were at each mark.
    #[test]
    fn what_grew_since_a_mark_is_told_whatever_others_are_asked_for() {
        let (mut ledger, mut sums) = (Ledger::default(), Vec::<(usize, u64)>::new());
        let (mut marks, mut seed) = (Vec::new(), 1);
        for _ in 0..20_000 {
            match drawn(&mut seed, 8) {
                0 => marks.push((ledger.mark(), sums.clone())),
                1 if !marks.is_empty() => {
                    let at = drawn(&mut seed, marks.len() as u64) as usize;
                    let (mark, before) = marks.swap_remove(at);
                    let was = |place: usize| before.get(place).map_or(0, |one| one.1);
                    let grown =
                        (0..).zip(&sums).map(|(place, (key, sum))| (*key, sum - was(place)));
                    let grown: Vec<(usize, u64)> = grown.filter(|one| one.1 > 0).collect();
                    assert_eq!(ledger.since(mark), grown);
                    ledger.drop(mark);
                }
                _ => {
                    let (key, by) = (drawn(&mut seed, 50) as usize, 1 + drawn(&mut seed, 9));
                    ledger.add(key, by);
                    match sums.iter_mut().find(|one| one.0 == key) {
                        Some(one) => one.1 += by,
                        None => sums.push((key, by)),
                    }
                }
            }
        }
        marks.iter().for_each(|(mark, _)| ledger.drop(*mark));
        (0..50).for_each(|key| ledger.add(key, 1));
        assert_eq!(ledger.words(), 0, "what no mark asks for is forgotten");
    }

    #[test]
    fn keys_that_did_not_grow_are_not_looked_at() {
        const MANY: usize = 10_000;
        let mut ledger = Ledger::default();
        (0..MANY).for_each(|key| ledger.add(key, 1));
        ledger.steps = 0;
        for key in 0..MANY {
            let mark = ledger.mark();
            ledger.add(key, 1);
            assert_eq!(ledger.since(mark), [(key, 1)]);
            ledger.drop(mark);
        }
        assert!(ledger.steps < 4 * MANY as u64, "{}", ledger.steps);
        let mark = ledger.mark();
        ledger.steps = 0;
        (0..MANY).for_each(|key| ledger.add(key, 1));
        assert_eq!(ledger.since(mark).len(), MANY);
        assert!(ledger.steps > 2 * MANY as u64, "the control: all of them grew");
    }
}
