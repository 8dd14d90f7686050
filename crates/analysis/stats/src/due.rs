//! What is due in the course of a run, in which weights, limits and threads change.

use std::iter;
use std::sync::Arc;

use model::change::ChangeKind;
use model::scenario::{Alteration, AlterationKind, Course, Placement};
use model::{Nanos, Scenario, ThreadId};

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
        let is_bound = |own: &Alteration| matches!(own.kind, AlterationKind::Affinity { .. });
        if scenario.alterations.iter().any(is_bound) {
            return None;
        }
        let (mut course, mut from, mut periods) = (Course::of(scenario), Nanos::ZERO, Vec::new());
        let mut there = vec![1.0; programs_of_threads.len()];
        // CPUs seldom change, and take long to look through.
        let mut looked: Option<(Arc<Placement>, bool)> = None;
        loop {
            if course.next_at() == Some(from) {
                course.advance().iter().for_each(|kind| note(kind, &mut there));
            }
            let (now, placement) = (course.now(), course.placement());
            let known = looked.filter(|(known, _)| Arc::ptr_eq(known, placement));
            let say = known.map_or_else(|| sets_say(now, placement), |(_, say)| say);
            if !say || !root_is_whole_or_empty(now, placement) {
                return None;
            }
            looked = Some((placement.clone(), say));
            let shares = Shares::placed(now, placement, programs_of_threads);
            periods.push(Period { from, shares, there: there.clone() });
            let Some(next) = course.next_at() else { return Some(Due { periods }) };
            from = next;
        }
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
fn note(kind: &ChangeKind, there: &mut [f64]) {
    let (ThreadId(id), now) = match kind {
        ChangeKind::Fork(thread) => (thread, 1.0),
        ChangeKind::Exit(thread) => (thread, 0.0),
        _ => return,
    };
    if let Some(own) = there.get_mut(*id as usize) {
        *own = now;
    }
}

/// Whether threads outside of groups have the whole machine, or there are none.
fn root_is_whole_or_empty(scenario: &Scenario, placement: &Placement) -> bool {
    placement.of_group(None).cpus.len() == scenario.machine.cpus as usize
        || scenario.programs.iter().all(|program| program.group.is_some())
}

/// Whether weights say what is due where groups have CPUs of their own: no thread is pinned, and sets of CPUs
/// lie one in another, or have none in common. A group wants at most as many CPUs as it has.
fn sets_say(scenario: &Scenario, placement: &Placement) -> bool {
    // Of each CPU the innermost group so far that is narrower than the one above it. Parents come first, so
    // that another one's set lies in its set or apart, wherever it lies in the group itself.
    let mut innermost: Vec<Option<usize>> = vec![None; scenario.machine.cpus as usize];
    (0..scenario.groups.len()).all(|group| {
        let (own, above) = (placement.of_group(Some(group)), scenario.groups[group].parent);
        if own.pinned || own.cpus == placement.of_group(above).cpus {
            return !own.pinned;
        }
        own.cpus.iter().all(|cpu| {
            let before = innermost[cpu.index()].replace(group);
            before.is_none_or(|outer| is_inside(scenario, group, outer))
        })
    })
}

/// Whether a group lies in another. A parent stands before its children.
fn is_inside(scenario: &Scenario, group: usize, outer: usize) -> bool {
    let mut up = iter::successors(Some(group), |group| scenario.groups[*group].parent);
    up.any(|group| group == outer)
}
