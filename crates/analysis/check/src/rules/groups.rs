//! The groups of a scenario, as rules about their shares look at them.

use model::scenario::Kind;
use model::weight::thread_weight;
use model::{Scenario, Trace};

/// The groups of a scenario whose weights, groups, threads and CPUs stay as it says.
#[derive(Clone, Copy)]
pub struct Groups<'a>(pub &'a Scenario);

impl<'a> Groups<'a> {
    /// Those of the top level.
    pub fn top(self) -> impl Iterator<Item = usize> + use<'a> {
        (0..self.0.groups.len()).filter(move |&group| self.0.groups[group].parent.is_none())
    }

    /// The group of the top level that holds a group.
    pub fn top_of(self, group: usize) -> usize {
        let above = |at: &usize| self.0.groups[*at].parent;
        std::iter::successors(Some(group), above).last().unwrap_or(group)
    }

    pub fn weight(self, group: usize) -> f64 {
        f64::from(self.0.groups[group].weight)
    }

    /// The weight of all threads that belong to no group.
    pub fn weight_outside(self) -> f64 {
        let outside = self.0.programs.iter().filter(|p| p.group.is_none());
        outside.map(|p| thread_weight(p.nice) * f64::from(p.kind.threads())).sum()
    }

    /// Whether a group wants every CPU at any time: so many of its threads spin, directly in it.
    pub fn wants_all(self, group: usize) -> bool {
        let inside = self.0.programs.iter().filter(|p| p.group == Some(group));
        let spinning = inside.filter(|p| matches!(p.kind, Kind::Batch { .. }));
        spinning.map(|p| p.kind.threads()).sum::<u32>() >= self.0.machine.cpus
    }

    /// What a group and those below it received in the window, in CPU seconds.
    pub fn received_s(self, trace: &Trace, group: usize) -> Option<f64> {
        let (first, last) = (trace.usage.first()?, trace.usage.last()?);
        let above = |group: &usize| self.0.groups[*group].parent;
        let inside = |program: usize| {
            std::iter::successors(self.0.programs[program].group, above).any(|at| at == group)
        };
        let threads = (0..trace.threads.len()).filter(|&id| inside(trace.threads[id].program));
        let received = |id: usize| (last.cpu_time[id] - first.cpu_time[id]).as_secs_f64();
        Some(threads.map(received).sum())
    }

    /// What the machine had in the window, in CPU seconds.
    pub fn capacity_s(self, trace: &Trace) -> Option<f64> {
        let span = trace.usage.last()?.at - trace.usage.first()?.at;
        Some(f64::from(self.0.machine.cpus) * span.as_secs_f64())
    }
}
