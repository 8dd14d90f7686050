//! A group is held to its weight, whatever its threads do: it never receives more than what is due to it
//! beside groups that always want every CPU.
//!
//! Others that want less would only take from it, so the bound needs no demand of theirs. It is the share of
//! its weight among those that want everything.

use model::change::ChangeKind;
use model::{Scenario, Trace};

use super::Rule;
use super::groups::Groups;
use crate::fault::Finding;
use crate::promises::Held as Promise;
use crate::scene::Scene;

pub const NAME: &str = "held to its weight";

pub struct Held {
    scenario: Scenario,
    promise: Promise,
    /// Whether weights, groups, threads and CPUs are as the scenario says for the whole run.
    known: bool,
}

impl Held {
    pub fn new(scenario: &Scenario, promise: Promise) -> Held {
        Held { scenario: scenario.clone(), promise, known: true }
    }

    /// The part of the machine that a group may have at most.
    fn most(&self, group: usize) -> Option<f64> {
        let groups = Groups(&self.scenario);
        let others = groups.top().filter(|&other| other != group && groups.wants_all(other));
        let others: f64 = others.map(|other| groups.weight(other)).sum();
        (others > 0.0).then(|| groups.weight(group) / (groups.weight(group) + others))
    }
}

impl Rule for Held {
    fn name(&self) -> &'static str {
        NAME
    }

    fn changed(&mut self, _scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        self.known &= matches!(kind, ChangeKind::Nice { .. });
        None
    }

    fn ended(&mut self, _scene: &Scene, trace: &Trace) -> Option<Finding> {
        let groups = Groups(&self.scenario);
        let capacity_s = groups.capacity_s(trace)?;
        groups.top().filter(|_| self.known).find_map(|group| {
            let bound_s = self.promise.bound_s(&self.scenario, self.most(group)? * capacity_s);
            let received_s = groups.received_s(trace, group)?;
            let name = &self.scenario.groups[group].name;
            let text =
                format!("`{name}` received {received_s:.3} CPU s, at most {bound_s:.3} are due");
            (received_s > bound_s).then(|| Finding::general(text))
        })
    }
}
