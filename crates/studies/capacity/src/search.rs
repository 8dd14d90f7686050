//! Where a tail crosses an objective: a search over loads by number, which knows nothing of what runs.

use std::collections::BTreeMap;

use crate::loads::{SCANNED, TOP};

/// What runs at a load say of the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The whole interval of the proportion is within the objective.
    Meets,
    /// The interval holds the objective, and the proportion is within it.
    Below,
    /// The interval holds the objective, and the proportion is beyond it.
    Above,
    /// The whole interval is beyond.
    Fails,
}

/// The greatest load that surely meets, the greatest whose proportion is within the objective, the least
/// that surely fails; and whether a greater load meets than one that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edges {
    /// The greatest load below the least failing one that surely meets the objective.
    pub meets: Option<usize>,
    /// The load before the first whose proportion is beyond the objective.
    pub within: Option<usize>,
    /// The least load that surely fails.
    pub fails: Option<usize>,
    /// A load that surely meets the objective although a lesser one surely fails.
    pub reversal: Option<usize>,
}

/// The search for one capacity. Loads that were found out are kept, so that each runs once.
#[derive(Clone, Debug, Default)]
pub struct Search {
    known: BTreeMap<usize, Finding>,
}

impl Search {
    /// Keeps what a load showed.
    pub fn record(&mut self, load: usize, finding: Finding) {
        self.known.insert(load, finding);
    }

    /// The loads to try next, in rising order; none: the search is over. A scan comes first, since bisection
    /// alone would see neither a curve nor that it falls again.
    pub fn wanted(&self) -> Vec<usize> {
        if self.known.is_empty() {
            return SCANNED.to_vec();
        }
        let edges = self.edges();
        let beyond = edges.meets.and_then(|meets| self.after(meets));
        let value = self.first(|finding| matches!(finding, Finding::Above | Finding::Fails));
        let bisected = [
            edges.meets.zip(beyond).and_then(|(meets, beyond)| between(Some(meets), beyond)),
            value.and_then(|value| between(self.before(value), value)),
            edges.fails.and_then(|fails| between(self.before(fails), fails)),
        ];
        let mut wanted: Vec<usize> = bisected.into_iter().flatten().collect();
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    /// How often the widest bracket must be halved.
    pub fn rounds_left(&self) -> usize {
        let gap = |load: usize| load - self.before(load).unwrap_or(0);
        let widest =
            self.wanted().into_iter().filter_map(|load| Some(gap(self.after(load)?))).max();
        widest.map_or(0, |gap| gap.ilog2() as usize + 1)
    }

    /// Where the tail crosses, as far as it is known.
    pub fn edges(&self) -> Edges {
        let fails = self.first(|finding| finding == Finding::Fails);
        let value = self.first(|finding| matches!(finding, Finding::Above | Finding::Fails));
        let met =
            |(load, finding): (&usize, &Finding)| (*finding == Finding::Meets).then_some(*load);
        let mut meeting = self.known.iter().filter_map(met);
        let greatest = meeting.clone().next_back();
        let meets = meeting.rfind(|load| fails.is_none_or(|fails| *load < fails));
        Edges {
            meets,
            // A load that surely meets is within, though chance put one before it beyond.
            within: value.map_or(Some(TOP), |value| self.before(value)).max(meets),
            fails,
            reversal: greatest.filter(|load| fails.is_some_and(|fails| *load > fails)),
        }
    }

    fn first(&self, is_so: impl Fn(Finding) -> bool) -> Option<usize> {
        self.known.iter().find(|(_, finding)| is_so(**finding)).map(|(load, _)| *load)
    }

    fn before(&self, load: usize) -> Option<usize> {
        self.known.range(..load).next_back().map(|(load, _)| *load)
    }

    fn after(&self, load: usize) -> Option<usize> {
        self.known.range(load + 1..).next().map(|(load, _)| *load)
    }
}

/// The load in the middle; the least of all where none is known below.
fn between(below: Option<usize>, above: usize) -> Option<usize> {
    match below {
        None => (above > 0).then_some(0),
        Some(below) => (above - below > 1).then(|| usize::midpoint(below, above)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search to its end: its edges, and how many loads it tried.
    fn found(show: impl Fn(usize) -> Finding) -> (Edges, usize) {
        let mut search = Search::default();
        loop {
            let wanted = search.wanted();
            if wanted.is_empty() {
                return (search.edges(), search.known.len());
            }
            assert!(search.known.is_empty() || search.rounds_left() > 0);
            wanted.into_iter().for_each(|load| search.record(load, show(load)));
        }
    }

    /// Meets up to the first, is within up to the second, fails from the third on.
    fn step(meets: usize, within: usize, fails: usize) -> impl Fn(usize) -> Finding {
        move |load| match load {
            load if load <= meets => Finding::Meets,
            load if load <= within => Finding::Below,
            load if load < fails => Finding::Above,
            _ => Finding::Fails,
        }
    }

    #[test]
    fn every_edge_is_found_exactly_in_few_loads() {
        for (meets, within, fails) in
            [(2_400, 2_410, 2_430), (7, 7, 8), (900, 1_400, 2_000), (2_559, 2_559, 2_560)]
        {
            let (edges, tried) = found(step(meets, within, fails));
            assert_eq!(
                edges,
                Edges {
                    meets: Some(meets),
                    within: Some(within),
                    fails: Some(fails),
                    reversal: None
                }
            );
            assert!(tried <= 45, "{tried} loads");
        }
    }

    #[test]
    fn what_lies_beyond_all_loads_is_no_edge() {
        let none = found(|_| Finding::Fails).0;
        assert_eq!(none, Edges { meets: None, within: None, fails: Some(0), reversal: None });
        let all = found(|_| Finding::Meets).0;
        assert_eq!(all, Edges { meets: Some(TOP), within: Some(TOP), fails: None, reversal: None });
        let dark = found(|_| Finding::Below).0;
        assert_eq!(dark, Edges { meets: None, within: Some(TOP), fails: None, reversal: None });
    }

    #[test]
    fn a_tail_that_falls_again_is_seen() {
        // Fails in a band of loads, meets above it.
        let band =
            |load| if (2_000..2_350).contains(&load) { Finding::Fails } else { Finding::Meets };
        let edges = found(band).0;
        assert_eq!((edges.meets, edges.fails), (Some(1_999), Some(2_000)));
        assert_eq!(edges.reversal, Some(TOP));
        // The control: a tail that only rises.
        assert_eq!(found(step(1_999, 1_999, 2_000)).0.reversal, None);
    }
}
