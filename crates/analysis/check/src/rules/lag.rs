//! Lag: at no moment of the run has a thread that always wants to run received much more or less than was due
//! to it.

use model::change::ChangeKind;
use model::scenario::Kind;
use model::{Scenario, ThreadId, Trace};
use stats::Shares;

use super::Rule;
use crate::fault::Finding;
use crate::promises::Fair;
use crate::scene::Scene;

pub const NAME: &str = "lag";

pub struct Lag {
    scenario: Scenario,
    promise: Fair,
    /// Whether what is due is known: every thread always wants to run, everywhere.
    known: bool,
}

impl Lag {
    pub fn new(scenario: &Scenario, promise: Fair) -> Lag {
        let batch = |kind: &Kind| matches!(kind, Kind::Batch { .. });
        let known = scenario.programs.iter().all(|program| batch(&program.kind));
        Lag { scenario: scenario.clone(), promise, known }
    }
}

impl Rule for Lag {
    fn name(&self) -> &'static str {
        NAME
    }

    fn changed(&mut self, _scene: &Scene, _kind: &ChangeKind) -> Option<Finding> {
        self.known = false;
        None
    }

    fn ended(&mut self, _scene: &Scene, trace: &Trace) -> Option<Finding> {
        if !self.known {
            return None;
        }
        let programs: Vec<usize> = trace.threads.iter().map(|thread| thread.program).collect();
        let shares = Shares::new(&self.scenario, &programs);
        let cpus = f64::from(self.scenario.machine.cpus);
        let due = shares.due(cpus, 1.0, &vec![1.0; programs.len()]);
        let bounds_s = self.promise.lags_s(&self.scenario);
        let first = trace.usage.first()?;
        for usage in &trace.usage {
            let span_s = (usage.at - first.at).as_secs_f64();
            for (id, due) in due.iter().enumerate() {
                let received_s = (usage.cpu_time[id] - first.cpu_time[id]).as_secs_f64();
                let lag_s = due * span_s - received_s;
                let bound_s = bounds_s[id];
                if lag_s.abs() > bound_s {
                    let text =
                        format!("lags by {lag_s:.3} s at {}, more than {bound_s:.3} s", usage.at);
                    return Some(Finding::of(ThreadId(id as u32), text));
                }
            }
        }
        None
    }
}
