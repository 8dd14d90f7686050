//! A group is held to its weight, whatever its threads do: it never receives more than what is due to it
//! beside groups that always want every CPU.
//!
//! Others that want less would only take from it, so the bound needs no demand of theirs. It is the share of
//! its weight among those that want everything.

use model::change::ChangeKind;
use model::scenario::Kind;
use model::{Nanos, Scenario, Trace};

use super::Rule;
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

    /// Threads that spin directly in a group of the top level, which thereby wants every CPU.
    fn spinning(&self, group: usize) -> u32 {
        let inside = self.scenario.programs.iter().filter(|p| p.group == Some(group));
        inside.filter(|p| matches!(p.kind, Kind::Batch { .. })).map(|p| p.kind.threads()).sum()
    }

    /// The groups of the top level.
    fn top(&self) -> impl Iterator<Item = usize> {
        (0..self.scenario.groups.len())
            .filter(|&group| self.scenario.groups[group].parent.is_none())
    }

    /// The part of the machine that a group may have at most.
    fn most(&self, group: usize) -> Option<f64> {
        let weight = |group: usize| f64::from(self.scenario.groups[group].weight);
        let cpus = self.scenario.machine.cpus;
        let others = self.top().filter(|&other| other != group && self.spinning(other) >= cpus);
        let others: f64 = others.map(weight).sum();
        (others > 0.0).then(|| weight(group) / (weight(group) + others))
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
        let span: Nanos = trace.usage.last()?.at - trace.usage.first()?.at;
        let capacity_s = f64::from(self.scenario.machine.cpus) * span.as_secs_f64();
        self.top().filter(|_| self.known).find_map(|group| {
            let due_s = self.most(group)? * capacity_s;
            let (received_s, bound_s) =
                (self.received_s(trace, group)?, self.promise.bound_s(&self.scenario, due_s));
            let name = &self.scenario.groups[group].name;
            let text =
                format!("`{name}` received {received_s:.3} CPU s, at most {bound_s:.3} are due");
            (received_s > bound_s).then(|| Finding::general(text))
        })
    }
}
