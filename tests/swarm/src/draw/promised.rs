//! Promises to groups.

use model::Nanos;
use model::scenario::{Promise, Scenario};

use crate::rng::Rng;

/// All promises together may take so many percent of the machine.
const TOGETHER: u64 = 95;

/// Nothing in half of the cases; else of some groups, none of them inside of another.
pub fn add(rng: &mut Rng, scenario: &mut Scenario) {
    if scenario.groups.is_empty() || !rng.one_in(2) {
        return;
    }
    let mut left = TOGETHER;
    for at in 0..scenario.groups.len() {
        let promised = |&at: &usize| scenario.groups[at].promise.is_some();
        let above = |&at: &usize| scenario.groups[at].parent;
        let lies_in_one = std::iter::successors(Some(at), above).any(|at| promised(&at));
        if left == 0 || lies_in_one || !rng.one_in(2) {
            continue;
        }
        let percent = rng.within(1, left);
        left -= percent;
        scenario.groups[at].promise = Some(Promise {
            within: Nanos(rng.magnitude(100_000, 1_000_000_000)),
            outliers_per_million: 1_000,
            at_most_per_million: percent as u32 * 10_000,
        });
    }
}
