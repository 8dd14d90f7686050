//! Which version to ask next, and what the answers amount to.

/// Where a version stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// No worse than the first.
    Good,
    /// As bad as the last.
    Worse,
    /// It could not be run, or its runs did not tell.
    Unknown,
}

/// What is known of each version, from the good end to the worse one.
#[derive(Debug)]
pub(crate) struct Search(Vec<Option<Side>>);

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The last that was found good.
    pub good: usize,
    /// The first that was found worse.
    pub worse: usize,
}

impl Found {
    /// Whether no version lies between them.
    pub fn is_one(self) -> bool {
        self.worse == self.good + 1
    }
}

impl Search {
    /// Of so many versions, two or more: the first is good, the last is worse.
    pub fn new(versions: usize) -> Search {
        let mut known = vec![None; versions];
        known[0] = Some(Side::Good);
        known[versions - 1] = Some(Side::Worse);
        Search(known)
    }

    /// Takes an answer.
    pub fn learn(&mut self, version: usize, side: Side) {
        self.0[version] = Some(side);
    }

    /// As far as it is known.
    pub fn found(&self) -> Found {
        let is = |side| move |known: &Option<Side>| *known == Some(side);
        Found {
            good: self.0.iter().rposition(is(Side::Good)).expect("an end"),
            worse: self.0.iter().position(is(Side::Worse)).expect("an end"),
        }
    }

    /// The open version that is nearest to the middle; `None` once none is open.
    pub fn next(&self) -> Option<usize> {
        let Found { good, worse } = self.found();
        let open = (good + 1..worse).filter(|version| self.0[*version].is_none());
        open.min_by_key(|version| (2 * version).abs_diff(good + worse))
    }

    /// How many answers a search of so many versions needs where every version tells.
    pub fn answers(versions: usize) -> u32 {
        (versions - 1).next_power_of_two().ilog2()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(versions: usize, first: usize, unknown: &[usize]) -> (Found, u32) {
        let mut search = Search::new(versions);
        let mut asked = 0;
        while let Some(version) = search.next() {
            asked += 1;
            let side = if version < first { Side::Good } else { Side::Worse };
            let side = if unknown.contains(&version) { Side::Unknown } else { side };
            search.learn(version, side);
        }
        (search.found(), asked)
    }

    #[test]
    fn the_first_worse_one_is_found_wherever_it_is_and_by_few_answers() {
        for versions in 2..40 {
            for first in 1..versions {
                let (found, asked) = searched(versions, first, &[]);
                assert_eq!(found, Found { good: first - 1, worse: first }, "of {versions}");
                assert!(asked <= Search::answers(versions), "{asked} of {versions}");
            }
        }
    }

    #[test]
    fn what_cannot_be_told_is_left_between_and_nothing_else() {
        for first in 1..20 {
            for unknown in 1..19 {
                let (found, _) = searched(20, first, &[unknown, unknown + 1]);
                assert!(found.good < first && first <= found.worse, "{first}: {found:?}");
                let between = found.good + 1..found.worse;
                assert!(between.clone().all(|v| v == unknown || v == unknown + 1), "{found:?}");
                let hides = [unknown, unknown + 1, unknown + 2].contains(&first);
                assert!(hides || found.is_one(), "{first}: {found:?}");
            }
        }
    }
}
