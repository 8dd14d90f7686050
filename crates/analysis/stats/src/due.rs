//! What is due in the course of a run, in which weights, limits and threads change.

use std::collections::BTreeSet;
use std::iter;

use model::change::{Change, ChangeKind};
use model::scenario::{Alteration, AlterationKind};
use model::{CpuId, Nanos, Scenario, ThreadId};

use crate::share::Shares;

/// What is due, from change to change.
pub struct Due {
    periods: Vec<Period>,
}

/// From one change to the next.
struct Period {
    from: Nanos,
    shares: Shares,
    /// Of each thread 1, or 0 where it is not there.
    there: Vec<f64>,
}

impl Due {
    /// That of a scenario with these threads, each given by the index of its program. `None`: they are bound
    /// to CPUs so that weights alone do not say what is due.
    pub fn new(scenario: &Scenario, programs_of_threads: &[usize]) -> Option<Due> {
        let moments: BTreeSet<Nanos> = scenario.alterations.iter().map(|own| own.at).collect();
        let changes = scenario.changes();
        let mut there = vec![1.0; programs_of_threads.len()];
        let period = |from| {
            let now = scenario.as_of(from);
            let shares = weights_say(&now).then(|| Shares::new(&now, programs_of_threads))?;
            changes.iter().filter(|change| change.at == from).for_each(|one| note(one, &mut there));
            Some(Period { from, shares, there: there.clone() })
        };
        let moments = moments.into_iter().filter(|at| *at > Nanos::ZERO);
        let periods = iter::once(Nanos::ZERO).chain(moments).map(period);
        Some(Due { periods: periods.collect::<Option<_>>()? })
    }

    /// What is due to each thread of `cpus` CPUs in a span, in CPU seconds, if each wants so much of a CPU
    /// and no more.
    pub fn in_span(&self, cpus: f64, [from, to]: [Nanos; 2], wants: &[f64]) -> Vec<f64> {
        let mut due = vec![0.0; wants.len()];
        let ends = self.periods.iter().skip(1).map(|next| next.from).chain([Nanos::NEVER]);
        for (period, end) in self.periods.iter().zip(ends) {
            let span_s = end.min(to).saturating_sub(period.from.max(from)).as_secs_f64();
            if span_s > 0.0 {
                let claims =
                    wants.iter().zip(&period.there).map(|(wants, there)| wants * there * span_s);
                let parts = period.shares.due(cpus, span_s, &claims.collect::<Vec<f64>>());
                due.iter_mut().zip(parts).for_each(|(sum, part)| *sum += part);
            }
        }
        due
    }
}

/// Notes whether a thread is there from a change on.
fn note(change: &Change, there: &mut [f64]) {
    let (ThreadId(id), now) = match change.kind {
        ChangeKind::Fork(thread) => (thread, 1.0),
        ChangeKind::Exit(thread) => (thread, 0.0),
        _ => return,
    };
    if let Some(own) = there.get_mut(id as usize) {
        *own = now;
    }
}

/// Whether weights say what is due where groups have CPUs of their own: no program is bound by itself, and
/// sets of CPUs lie one in another, or have none in common. A group wants at most as many CPUs as it has.
fn weights_say(scenario: &Scenario) -> bool {
    let is_bound = |own: &Alteration| matches!(own.kind, AlterationKind::Affinity { .. });
    if scenario.alterations.iter().any(is_bound) {
        return false;
    }
    let groups = 0..scenario.groups.len();
    let (sets, pinned): (Vec<_>, Vec<bool>) =
        groups.clone().map(|group| set(scenario, Some(group))).unzip();
    let (root, _) = set(scenario, None);
    let above = |group: usize| scenario.groups[group].parent.map_or(&root, |parent| &sets[parent]);
    let narrowed: Vec<usize> = groups.filter(|group| sets[*group] != *above(*group)).collect();
    let lie_apart = |one: usize, other: usize| {
        is_inside(scenario, one, other) || sets[one].is_disjoint(&sets[other])
    };
    let root_is_whole = root.len() == scenario.machine.cpus as usize;
    let root_is_empty = scenario.programs.iter().all(|program| program.group.is_some());
    (root_is_whole || root_is_empty)
        && !pinned.contains(&true)
        && (0..narrowed.len())
            .all(|at| narrowed[..at].iter().all(|other| lie_apart(narrowed[at], *other)))
}

/// The CPUs of a group, and whether its threads are pinned one by one.
fn set(scenario: &Scenario, group: Option<usize>) -> (BTreeSet<CpuId>, bool) {
    let (cpus, pinned) = scenario.cpus_of(group);
    (cpus.into_iter().collect(), pinned)
}

/// Whether a group lies in another. A parent stands before its children.
fn is_inside(scenario: &Scenario, group: usize, outer: usize) -> bool {
    let mut up = iter::successors(Some(group), |group| scenario.groups[*group].parent);
    up.any(|group| group == outer)
}
