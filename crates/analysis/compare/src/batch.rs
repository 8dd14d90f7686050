//! Which runs share a preparation.

use crate::plan::Run;

/// Runs of one policy that an arm makes in one go.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// Index into the plan's policies.
    pub policy: usize,
    /// The runs' seeds.
    pub seeds: Vec<u64>,
    /// The runs' places among all runs.
    pub places: Vec<usize>,
}

/// Every run by itself, in its order. Where preparation is shared, a policy's runs together, except as far as
/// workers would have nothing to do; an A/A pair never shares, or it would not show what a preparation
/// changes.
pub(crate) fn batches(runs: &[Run], shared: bool, workers: usize) -> Vec<Batch> {
    let mut contenders: Vec<(usize, bool)> = Vec::new();
    for run in runs {
        let contender = (run.policy, run.twin);
        if !contenders.contains(&contender) {
            contenders.push(contender);
        }
    }
    if !shared {
        return (0..runs.len()).map(|place| batch(runs, &[place])).collect();
    }
    let parts = workers.div_ceil(contenders.len().max(1));
    let of = |contender: &(usize, bool)| -> Vec<usize> {
        let its = |run: &Run| (run.policy, run.twin) == *contender;
        (0..runs.len()).filter(|&place| its(&runs[place])).collect()
    };
    let all = contenders.iter().map(of);
    let split = |places: Vec<usize>| -> Vec<Batch> {
        let each = places.len().div_ceil(parts).max(1);
        places.chunks(each).map(|places| batch(runs, places)).collect()
    };
    all.flat_map(split).collect()
}

fn batch(runs: &[Run], places: &[usize]) -> Batch {
    let seeds = places.iter().map(|&place| runs[place].seed).collect();
    Batch { policy: runs[places[0]].policy, seeds, places: places.to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two policies and a twin of the first, by seed.
    fn runs() -> Vec<Run> {
        let round = |seed| {
            [(0, false), (1, false), (0, true)].map(|(policy, twin)| Run { policy, twin, seed })
        };
        [7, 8, 9, 10].into_iter().flat_map(round).collect()
    }

    fn seeds(shared: bool, workers: usize) -> Vec<Vec<u64>> {
        batches(&runs(), shared, workers).into_iter().map(|batch| batch.seeds).collect()
    }

    #[test]
    fn preparation_is_shared_by_one_policy_and_by_no_twin() {
        assert_eq!(seeds(true, 2), [[7, 8, 9, 10], [7, 8, 9, 10], [7, 8, 9, 10]]);
        assert_eq!(seeds(false, 2).len(), 12, "every run by itself");
        let first = &batches(&runs(), true, 2)[0];
        assert_eq!((first.policy, &first.places), (0, &vec![0, 3, 6, 9]), "not those of its twin");
    }

    #[test]
    fn workers_without_a_batch_take_a_part_of_one() {
        assert_eq!(seeds(true, 6), [[7, 8], [9, 10], [7, 8], [9, 10], [7, 8], [9, 10]]);
        assert_eq!(seeds(true, 99).len(), 12, "a run is never split");
    }
}
