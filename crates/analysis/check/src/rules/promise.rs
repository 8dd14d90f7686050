//! Promises: a group that has one takes no more than its budget or its due, and the others keep the rest by
//! their weights, whatever its threads do.
//!
//! Both are known beside groups that always want every CPU: what another leaves is theirs.

use model::change::ChangeKind;
use model::scenario::Promise as Of;
use model::{Scenario, Trace};

use super::Rule;
use super::groups::Groups;
use crate::fault::Finding;
use crate::promises::Budgets;
use crate::scene::Scene;

pub const NAME: &str = "promise";

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

    fn groups(&self) -> Groups<'_> {
        Groups(&self.scenario)
    }

    fn promise(&self, group: usize) -> Option<Of> {
        self.scenario.groups[group].promise
    }

    /// The groups without a promise that want every CPU.
    fn fillers(&self) -> impl Iterator<Item = usize> {
        let groups = self.groups();
        groups.top().filter(move |&group| self.promise(group).is_none() && groups.wants_all(group))
    }

    /// The part of the machine that a group with a promise may have at most.
    fn most(&self, group: usize, promise: Of) -> f64 {
        let groups = self.groups();
        let others: f64 = self.fillers().map(|other| groups.weight(other)).sum();
        let due = groups.weight(group) / (groups.weight(group) + others);
        due.max(f64::from(promise.at_most_per_million) / 1e6)
    }

    /// The part that a group without one has at least.
    fn least(&self, group: usize) -> f64 {
        let groups = self.groups();
        let promised = groups.top().filter_map(|at| self.promise(at));
        let budgets: f64 = promised.map(|p| f64::from(p.at_most_per_million) / 1e6).sum();
        let weights = |with: bool| -> f64 {
            let inside = groups.top().filter(|&at| with || self.promise(at).is_none());
            inside.map(|at| groups.weight(at)).sum::<f64>() + groups.weight_outside()
        };
        let of_rest = (1.0 - budgets) * groups.weight(group) / weights(false);
        of_rest.min(groups.weight(group) / weights(true))
    }

    /// What a group received, if that is beyond its bound.
    fn breach(&self, trace: &Trace, group: usize, capacity_s: f64) -> Option<Finding> {
        let name = &self.scenario.groups[group].name;
        let received_s = self.groups().received_s(trace, group)?;
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
        (self.groups().wants_all(group) && received_s < least_s).then(|| Finding::general(text()))
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
        let groups = self.groups();
        let capacity_s = groups.capacity_s(trace)?;
        if !self.known || self.fillers().next().is_none() {
            return None;
        }
        groups.top().find_map(|group| self.breach(trace, group, capacity_s))
    }
}
