//! Promises: a group that has one takes no more than its budget or its due, and the others keep the rest by
//! their weights, whatever its threads do.
//!
//! Both are known beside groups that always want every CPU: what another leaves is theirs.

use model::change::ChangeKind;
use model::scenario::{Kind, Promise as Of};
use model::weight::nice_weight;
use model::{Scenario, Trace};

use super::Rule;
use crate::fault::Finding;
use crate::promises::Budgets;
use crate::scene::Scene;

pub const NAME: &str = "promise";

/// A thread of nice 0 weighs as much as a group of weight 100.
const GROUP_UNIT: f64 = 100.0 / 1024.0;

pub struct Promise {
    scenario: Scenario,
    budgets: Budgets,
    /// Whether weights, groups, threads and CPUs are as the scenario says for the whole run.
    known: bool,
}

impl Promise {
    pub fn new(scenario: &Scenario, budgets: Budgets) -> Promise {
        // One inside of another group has its part of that one's due, which is not computed here.
        let known = scenario.groups.iter().all(|g| g.promise.is_none() || g.parent.is_none());
        Promise { scenario: scenario.clone(), budgets, known }
    }

    /// The groups of the top level.
    fn top(&self) -> impl Iterator<Item = usize> {
        (0..self.scenario.groups.len())
            .filter(|&group| self.scenario.groups[group].parent.is_none())
    }

    fn weight(&self, group: usize) -> f64 {
        f64::from(self.scenario.groups[group].weight)
    }

    fn promise(&self, group: usize) -> Option<Of> {
        self.scenario.groups[group].promise
    }

    /// Whether a group wants every CPU at any time: so many of its threads spin, directly in it.
    fn wants_all(&self, group: usize) -> bool {
        let inside = self.scenario.programs.iter().filter(|p| p.group == Some(group));
        let spinning = inside.filter(|p| matches!(p.kind, Kind::Batch { .. }));
        spinning.map(|p| p.kind.threads()).sum::<u32>() >= self.scenario.machine.cpus
    }

    /// The groups without a promise that want every CPU.
    fn fillers(&self) -> Vec<usize> {
        self.top().filter(|&group| self.promise(group).is_none() && self.wants_all(group)).collect()
    }

    /// The weight of all threads that belong to no group.
    fn ungrouped(&self) -> f64 {
        let outside = self.scenario.programs.iter().filter(|p| p.group.is_none());
        let own = |nice| f64::from(nice_weight(nice)) * GROUP_UNIT;
        outside.map(|p| own(p.nice) * f64::from(p.kind.threads())).sum()
    }

    /// The part of the machine that a group with a promise may have at most.
    fn most(&self, group: usize, promise: Of) -> f64 {
        let others: f64 = self.fillers().into_iter().map(|other| self.weight(other)).sum();
        let due = self.weight(group) / (self.weight(group) + others);
        due.max(f64::from(promise.at_most_per_million) / 1e6)
    }

    /// The part that a group without one has at least.
    fn least(&self, group: usize) -> f64 {
        let promised = self.top().filter_map(|at| self.promise(at));
        let budgets: f64 = promised.map(|p| f64::from(p.at_most_per_million) / 1e6).sum();
        let weights = |with: bool| -> f64 {
            let inside = self.top().filter(|&at| with || self.promise(at).is_none());
            inside.map(|at| self.weight(at)).sum::<f64>() + self.ungrouped()
        };
        let of_rest = (1.0 - budgets) * self.weight(group) / weights(false);
        of_rest.min(self.weight(group) / weights(true))
    }

    /// What a group and those below it received in the window, in CPU seconds.
    fn received_s(&self, trace: &Trace, group: usize) -> Option<f64> {
        let (first, last) = (trace.usage.first()?, trace.usage.last()?);
        let above = |group: &usize| self.scenario.groups[*group].parent;
        let inside = |program: usize| {
            let own = self.scenario.programs[program].group;
            std::iter::successors(own, above).any(|at| at == group)
        };
        let threads = (0..trace.threads.len()).filter(|&id| inside(trace.threads[id].program));
        let received = |id: usize| (last.cpu_time[id] - first.cpu_time[id]).as_secs_f64();
        Some(threads.map(received).sum())
    }

    /// What a group received, if that is beyond its bound.
    fn breach(&self, trace: &Trace, group: usize, capacity_s: f64) -> Option<Finding> {
        let name = &self.scenario.groups[group].name;
        let received_s = self.received_s(trace, group)?;
        if let Some(promise) = self.promise(group) {
            let most_s =
                self.budgets.most_s(&self.scenario, self.most(group, promise) * capacity_s);
            let text = || {
                format!("`{name}` took {received_s:.3} CPU s, {most_s:.3} at most for {promise}")
            };
            return (received_s > most_s).then(|| Finding::general(text()));
        }
        let least_s = self.budgets.least_s(&self.scenario, self.least(group) * capacity_s);
        let text = || {
            format!(
                "`{name}` was left {received_s:.3} CPU s beside promises, {least_s:.3} are its floor"
            )
        };
        (self.wants_all(group) && received_s < least_s).then(|| Finding::general(text()))
    }
}

impl Rule for Promise {
    fn name(&self) -> &'static str {
        NAME
    }

    fn changed(&mut self, _scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        self.known &= matches!(kind, ChangeKind::Nice { .. });
        None
    }

    fn ended(&mut self, _scene: &Scene, trace: &Trace) -> Option<Finding> {
        let span = trace.usage.last()?.at - trace.usage.first()?.at;
        let capacity_s = f64::from(self.scenario.machine.cpus) * span.as_secs_f64();
        if !self.known || self.fillers().is_empty() {
            return None;
        }
        self.top().find_map(|group| self.breach(trace, group, capacity_s))
    }
}
