//! What is due in the course of a run, in which weights, limits and threads change.

use std::collections::BTreeSet;

use model::change::ChangeKind;
use model::scenario::{Alteration, AlterationKind, Program};
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
        let mut periods = Vec::new();
        for from in std::iter::once(Nanos::ZERO).chain(moments) {
            let now = scenario.as_of(from);
            if !weights_say(&now) {
                return None;
            }
            let shares = Shares::new(&now, programs_of_threads);
            periods.push(Period {
                from,
                shares,
                there: there(scenario, from, programs_of_threads),
            });
        }
        Some(Due { periods })
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

/// Which threads are there at a moment.
fn there(scenario: &Scenario, moment: Nanos, programs_of_threads: &[usize]) -> Vec<f64> {
    let mut there = vec![1.0; programs_of_threads.len()];
    for change in scenario.changes().iter().take_while(|change| change.at <= moment) {
        let (ThreadId(id), now) = match change.kind {
            ChangeKind::Fork(thread) => (thread, 1.0),
            ChangeKind::Exit(thread) => (thread, 0.0),
            _ => continue,
        };
        if let Some(own) = there.get_mut(id as usize) {
            *own = now;
        }
    }
    there
}

/// Whether weights say what is due where groups have CPUs of their own: no program is bound by itself, and
/// sets of CPUs lie one in another, or have none in common. A group wants at most as many CPUs as it has.
fn weights_say(scenario: &Scenario) -> bool {
    let bound = |own: &Alteration| matches!(own.kind, AlterationKind::Affinity { .. });
    let in_none = |program: &Program| program.group.is_none();
    let root_is_whole = set(scenario, None).len() == scenario.machine.cpus as usize;
    let groups = 0..scenario.groups.len();
    !scenario.alterations.iter().any(bound)
        && (root_is_whole || !scenario.programs.iter().any(in_none))
        && !groups.clone().any(|group| scenario.cpus_of(Some(group)).1)
        && groups.clone().all(|one| (0..one).all(|other| lie_apart(scenario, one, other)))
}

fn set(scenario: &Scenario, group: Option<usize>) -> BTreeSet<CpuId> {
    scenario.cpus_of(group).0.into_iter().collect()
}

/// Whether one of two groups lies in the other, or has the CPUs of its parent, or shares none with the other.
fn lie_apart(scenario: &Scenario, one: usize, other: usize) -> bool {
    let narrowed =
        |group: usize| set(scenario, Some(group)) != set(scenario, scenario.groups[group].parent);
    is_inside(scenario, one, other)
        || !narrowed(one)
        || !narrowed(other)
        || set(scenario, Some(one)).is_disjoint(&set(scenario, Some(other)))
}

/// Whether a group lies in another. A parent stands before its children.
fn is_inside(scenario: &Scenario, group: usize, outer: usize) -> bool {
    let mut up = std::iter::successors(Some(group), |group| scenario.groups[*group].parent);
    up.any(|group| group == outer)
}
