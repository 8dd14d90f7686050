//! Interrupts within each other.

use std::collections::BTreeMap;

/// Those of a CPU that have begun and not ended. A trace may lack the ends of millions, so that an end must
/// be found without a look at each.
#[derive(Clone, Debug)]
pub(crate) struct Nesting<K> {
    /// The outermost first; `None`: it has ended before one within it did.
    open: Vec<Option<K>>,
    /// Where each is in `open`, the innermost last.
    places: BTreeMap<K, Vec<usize>>,
}

impl<K> Default for Nesting<K> {
    fn default() -> Nesting<K> {
        Nesting { open: Vec::new(), places: BTreeMap::new() }
    }
}

impl<K: Copy + Ord> Nesting<K> {
    pub fn begin(&mut self, one: K) {
        self.places.entry(one).or_default().push(self.open.len());
        self.open.push(Some(one));
    }

    /// Ends the innermost of this name. One that began before the trace has no place to end.
    pub fn end(&mut self, one: K) {
        let Some(place) = self.places.get_mut(&one).and_then(Vec::pop) else { return };
        self.open[place] = None;
        while self.open.pop_if(|last| last.is_none()).is_some() {}
    }

    pub fn innermost(&self) -> Option<K> {
        self.open.last().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amounts::counted::{Counted, comparisons};

    #[test]
    fn the_innermost_of_a_name_ends() {
        let mut nesting = Nesting::default();
        nesting.end('a');
        assert_eq!(nesting.innermost(), None);
        "abab".chars().for_each(|one| nesting.begin(one));
        nesting.end('a');
        assert_eq!(nesting.innermost(), Some('b'));
        nesting.end('b');
        assert_eq!(nesting.innermost(), Some('b'), "the inner ones have ended both");
        nesting.end('b');
        assert_eq!(nesting.innermost(), Some('a'));
    }

    /// A thousand interrupts without an end, then a thousand ends without a beginning.
    #[test]
    fn ends_are_found_without_a_search() {
        const MANY: u32 = 1_000;
        let mut nesting = Nesting::default();
        let work = comparisons(|| {
            (0..MANY).for_each(|_| nesting.begin(Counted(0)));
            (0..MANY).for_each(|_| nesting.end(Counted(1)));
        });
        assert!(work < 10 * u64::from(MANY), "{work}");
        let list = vec![Counted(0); MANY as usize];
        let search = comparisons(|| {
            (0..MANY).for_each(|_| assert!(!list.contains(&Counted(1))));
        });
        assert!(search > 100 * u64::from(MANY), "the control: {search}");
    }
}
