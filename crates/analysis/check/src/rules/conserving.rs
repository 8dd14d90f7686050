//! No CPU idles while a thread that it could run waits within reach.

use model::scenario::{Kind, Machine};
use model::{CpuId, Scenario, ThreadId};

use super::Rule;
use crate::fault::Finding;
use crate::promises::Reach;
use crate::scene::{Scene, State};

pub const NAME: &str = "work conserving";

pub struct Conserving {
    machine: Machine,
    promise: Reach,
    /// For each program whether the promise is made to it.
    promised: Vec<bool>,
}

impl Conserving {
    pub fn new(scenario: &Scenario, promise: Reach) -> Conserving {
        let programs = scenario.programs.iter();
        let promised = |kind: &Kind| !promise.services_only || matches!(kind, Kind::Service(_));
        let promised = programs.map(|program| promised(&program.kind)).collect();
        Conserving { machine: scenario.machine, promise, promised }
    }
}

impl Rule for Conserving {
    fn name(&self) -> &'static str {
        NAME
    }

    fn settled(&mut self, scene: &Scene) -> Option<Finding> {
        if scene.waiting.is_empty() || scene.idle().next().is_none() {
            return None;
        }
        if scene.restricted && !self.promise.restricted {
            return None;
        }
        let scope = self.promise.scope;
        let promised =
            scene.waiting.iter().copied().filter(|&t| self.promised[scene.thread(t).program]);
        let reaches = |thread: ThreadId, cpu: CpuId| {
            let State::Waits(Some(at)) = scene.thread(thread).state else { return false };
            scope.joins(&self.machine, at, cpu) && scene.may_run_on(thread, cpu)
        };
        let beside = |thread: ThreadId| {
            scene.idle().find(|&cpu| reaches(thread, cpu)).map(|cpu| (thread, cpu))
        };
        let (thread, cpu) = promised.into_iter().find_map(beside)?;
        Some(Finding::at(thread, cpu, "the thread waits while the CPU idles"))
    }
}
