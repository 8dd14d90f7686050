//! Amounts by cause.

use std::collections::BTreeMap;
use std::ops::{AddAssign, Deref};

/// Longer lists have an index: a trace may give a request a million causes.
const FEW: usize = 16;

/// Amounts by key, in the order in which keys came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Amounts<K, N> {
    list: Vec<(K, N)>,
    /// Where each key is; empty until a long list is added to.
    places: BTreeMap<K, usize>,
}

impl<K, N> Default for Amounts<K, N> {
    fn default() -> Amounts<K, N> {
        Vec::new().into()
    }
}

impl<K, N> From<Vec<(K, N)>> for Amounts<K, N> {
    fn from(list: Vec<(K, N)>) -> Amounts<K, N> {
        Amounts { list, places: BTreeMap::new() }
    }
}

impl<K, N> Deref for Amounts<K, N> {
    type Target = [(K, N)];

    fn deref(&self) -> &[(K, N)] {
        &self.list
    }
}

impl<K: Copy + Ord, N: AddAssign> Amounts<K, N> {
    pub fn add(&mut self, key: K, by: N) {
        match self.place(key) {
            Some(place) => self.list[place].1 += by,
            None => {
                if !self.places.is_empty() {
                    self.places.insert(key, self.list.len());
                }
                self.list.push((key, by));
            }
        }
    }

    /// The latest first: neighbours in time often blame the same.
    fn place(&mut self, key: K) -> Option<usize> {
        if self.list.len() <= FEW {
            return self.list.iter().rposition(|(known, _)| *known == key);
        }
        if self.places.is_empty() {
            self.places = self.list.iter().map(|(known, _)| *known).zip(0..).collect();
        }
        self.places.get(&key).copied()
    }

    /// Drops the index, which takes as much room as the list.
    pub fn settle(&mut self) {
        self.places = BTreeMap::new();
    }

    pub fn into_list(self) -> Vec<(K, N)> {
        self.list
    }
}

#[cfg(test)]
pub(crate) mod counted {
    use std::cell::Cell;
    use std::cmp::Ordering;

    thread_local!(static COMPARISONS: Cell<u64> = const { Cell::new(0) });

    /// A key whose comparisons are counted.
    #[derive(Clone, Copy, Debug)]
    pub struct Counted(pub u32);

    impl Ord for Counted {
        fn cmp(&self, other: &Counted) -> Ordering {
            COMPARISONS.set(COMPARISONS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Counted) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl PartialEq for Counted {
        fn eq(&self, other: &Counted) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl Eq for Counted {}

    /// How many comparisons something takes.
    pub fn comparisons(of: impl FnOnce()) -> u64 {
        let before = COMPARISONS.get();
        of();
        COMPARISONS.get() - before
    }
}

#[cfg(test)]
mod tests {
    use super::counted::{Counted, comparisons};
    use super::*;

    #[test]
    fn amounts_are_added_by_key_in_the_order_of_keys_that_came() {
        for keys in [3, 100] {
            let mut amounts = Amounts::default();
            (0..3 * keys).for_each(|n| amounts.add((7 * n) % keys, 1));
            let first: Vec<(u32, u32)> = (0..keys).map(|n| ((7 * n) % keys, 3)).collect();
            assert_eq!(amounts.into_list(), first);
        }
    }

    #[test]
    fn many_causes_are_found_without_a_search() {
        const MANY: u32 = 1_000;
        let mut amounts = Amounts::default();
        let work = comparisons(|| (0..2 * MANY).for_each(|n| amounts.add(Counted(n % MANY), 1)));
        assert!(work < 60 * u64::from(MANY), "{work}");
        let search = comparisons(|| {
            (0..MANY).for_each(|n| assert!(amounts.iter().any(|(known, _)| *known == Counted(n))));
        });
        assert!(search > 400 * u64::from(MANY), "the control: {search}");
    }
}
