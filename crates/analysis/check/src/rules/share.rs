//! Shares: over the run every group, and every program that has none, receives what is due to it.

use model::change::ChangeKind;
use model::scenario::Kind;
use model::{Nanos, Scenario, Trace};

use super::Rule;
use crate::fault::Finding;
use crate::promises::Fair;
use crate::scene::Scene;

pub const NAME: &str = "share";

pub struct Share {
    /// As changes of weights leave it.
    scenario: Scenario,
    promise: Fair,
    /// Whether what is due is known: every thread always wants to run, everywhere, and keeps its own weight.
    known: bool,
    /// Since when what is due is as it is.
    since: Nanos,
}

impl Share {
    pub fn new(scenario: &Scenario, promise: Fair) -> Share {
        let batch = |kind: &Kind| matches!(kind, Kind::Batch { .. });
        let known = scenario.programs.iter().all(|program| batch(&program.kind));
        Share { scenario: scenario.clone(), promise, known, since: Nanos::ZERO }
    }
}

impl Rule for Share {
    fn name(&self) -> &'static str {
        NAME
    }

    fn changed(&mut self, scene: &Scene, kind: &ChangeKind) -> Option<Finding> {
        match kind {
            ChangeKind::Weight { group, weight } => {
                self.scenario.groups[*group].weight = *weight;
                self.since = scene.now;
            }
            _ => self.known = false,
        }
        None
    }

    fn ended(&mut self, _scene: &Scene, trace: &Trace) -> Option<Finding> {
        let usage = trace.usage.iter().filter(|usage| usage.at >= self.since).cloned().collect();
        let trace = Trace { usage, ..trace.clone() };
        let span = trace.usage.last()?.at - trace.usage.first()?.at;
        if !self.known || span == Nanos::ZERO {
            return None;
        }
        let capacity_s = f64::from(self.scenario.machine.cpus) * span.as_secs_f64();
        let bound = self.promise.share_s(&self.scenario) / capacity_s;
        let summary = stats::summarise(&self.scenario, &[&trace]);
        let known =
            summary.groups.into_iter().filter_map(|g| Some((g.name, g.share, g.due_share?)));
        let (name, share, due) =
            known.into_iter().find(|(_, share, due)| (share - due).abs() > bound)?;
        let text = format!("`{name}` has {share:.4} of the machine, due {due:.4} +- {bound:.4}");
        Some(Finding::general(text))
    }
}
