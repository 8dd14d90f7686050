//! What is due to the threads that want a CPU.

use std::collections::BTreeMap;

use super::rows::{Active, Quota};

/// What some threads may have together.
struct Limit {
    cpus: f64,
    threads: Vec<usize>,
}

/// How many CPUs are due to each thread of a machine with so many of them: in proportion to the weights, but
/// no thread runs on two at once, no group has more than its quota, and what that leaves goes to the others.
pub fn due(threads: &[Active], cpus: f64, quotas: &BTreeMap<u32, Quota>) -> Vec<f64> {
    let mut limits: BTreeMap<u32, Limit> = BTreeMap::new();
    for (at, thread) in threads.iter().enumerate() {
        for (group, cpus) in lineage(thread.group, cpus, quotas) {
            let limit = limits.entry(group).or_insert_with(|| Limit { cpus, threads: Vec::new() });
            limit.threads.push(at);
        }
    }
    let weights: Vec<f64> = threads.iter().map(|thread| thread.weight).collect();
    within(&weights, limits.into_values().collect())
}

/// The groups above a thread that limit it, and by how much; the root has the machine.
fn lineage(
    group: u32,
    cpus: f64,
    quotas: &BTreeMap<u32, Quota>,
) -> impl Iterator<Item = (u32, f64)> {
    let above = |at: &u32| quotas.get(at).map(|quota| quota.parent);
    let line = std::iter::successors(Some(group), above).take(quotas.len());
    line.filter_map(|at| Some((at, quotas.get(&at)?.cpus?))).chain([(0, cpus)])
}

/// Raises all shares in proportion to the weights, and leaves those of a set where they are once it is full.
fn within(weights: &[f64], limits: Vec<Limit>) -> Vec<f64> {
    let mut shares: Vec<Option<f64>> = vec![None; weights.len()];
    let full = |limit: &Limit, shares: &[Option<f64>]| {
        let had: f64 = limit.threads.iter().filter_map(|&at| shares[at]).sum();
        let weight =
            limit.threads.iter().filter(|&&at| shares[at].is_none()).map(|&at| weights[at]);
        let weight: f64 = weight.sum();
        (weight > 0.0).then(|| (limit.cpus - had).max(0.0) / weight)
    };
    loop {
        let levels = limits.iter().filter_map(|limit| Some((full(limit, &shares)?, limit)));
        let Some((level, first)) = levels.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        let rising = |at: &usize| shares[*at].is_none();
        let whole = |at: &usize| weights[*at] * level >= 1.0;
        let capped: Vec<usize> = (0..weights.len()).filter(rising).filter(whole).collect();
        let held: Vec<usize> = first.threads.iter().copied().filter(rising).collect();
        let stop = if capped.is_empty() { held } else { capped };
        stop.into_iter().for_each(|at| shares[at] = Some((weights[at] * level).min(1.0)));
    }
    shares.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(of: &[(f64, u32)]) -> Vec<Active> {
        let thread = |&(weight, group): &(f64, u32)| Active { weight, group, ..Active::default() };
        of.iter().map(thread).collect()
    }

    /// Groups by (row, parent, CPUs).
    fn quotas(of: &[(u32, u32, Option<f64>)]) -> BTreeMap<u32, Quota> {
        let quota = |&(group, parent, cpus)| (group, Quota { parent, cpus });
        of.iter().map(quota).collect()
    }

    fn assert_due(of: &[(f64, u32)], cpus: f64, groups: &[(u32, u32, Option<f64>)], is: &[f64]) {
        let found = due(&threads(of), cpus, &quotas(groups));
        let near = found.iter().zip(is).all(|(a, b)| (a - b).abs() < 1e-9);
        assert!(near && found.len() == is.len(), "{found:?} {is:?}");
    }

    #[test]
    fn weights_share_in_proportion() {
        assert_due(&[(300.0, 0), (100.0, 0)], 1.0, &[], &[0.75, 0.25]);
        assert_due(&[], 4.0, &[], &[]);
    }

    #[test]
    fn no_thread_is_due_more_than_a_cpu_and_the_rest_is_shared() {
        assert_due(&[(1.0, 0), (1000.0, 0), (1.0, 0), (2.0, 0)], 3.0, &[], &[0.5, 1.0, 0.5, 1.0]);
        assert_due(&[(7.0, 0), (1.0, 0)], 4.0, &[], &[1.0, 1.0]);
    }

    #[test]
    fn a_group_is_due_its_quota_and_others_what_it_may_not_use() {
        let equal = [(1.0, 1), (1.0, 1), (1.0, 2), (1.0, 2)];
        assert_due(&equal, 2.0, &[(1, 0, Some(0.3)), (2, 0, None)], &[0.15, 0.15, 0.85, 0.85]);
        // The control: as much as it may have anyway.
        assert_due(&equal, 2.0, &[(1, 0, Some(1.5)), (2, 0, None)], &[0.5; 4]);
    }

    #[test]
    fn a_quota_holds_for_the_groups_below() {
        let both = [(1.0, 2), (1.0, 3), (1.0, 0)];
        let above = [(1, 0, Some(1.0)), (2, 1, Some(0.9)), (3, 1, None)];
        assert_due(&both, 4.0, &above, &[0.5, 0.5, 1.0]);
        let tight = [(1, 0, Some(1.0)), (2, 1, Some(0.2)), (3, 1, None)];
        assert_due(&both, 4.0, &tight, &[0.2, 0.8, 1.0]);
        // Groups that stand in a circle, as rows do that are being changed.
        assert_due(&[(1.0, 1)], 1.0, &[(1, 2, None), (2, 1, None)], &[1.0]);
    }
}
