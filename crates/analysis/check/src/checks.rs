//! All rules over one run.

use model::change::Change;
use model::event::{Event, What};
use model::{Failure, Nanos, PolicySpec, Scenario, ThreadId, Trace};

use crate::fault::{Fault, Finding};
use crate::promises::Promises;
use crate::rules::{Rule, all};
use crate::scene::Scene;

/// Follows a run and notes the first fault of each rule.
pub struct Checks {
    scene: Scene,
    rules: Vec<Box<dyn Rule>>,
    faults: Vec<Fault>,
    seed: u64,
}

impl Checks {
    /// Checks of what a policy promises, and of what every scheduler must. [`Failure::Input`] for an unknown
    /// policy.
    pub fn new(scenario: &Scenario, policy: &PolicySpec, seed: u64) -> Result<Checks, Failure> {
        let promises = Promises::of(policy, scenario)?;
        let rules = all(scenario, &promises);
        Ok(Checks { scene: Scene::new(scenario), rules, faults: Vec::new(), seed })
    }

    /// An event has happened.
    pub fn on(&mut self, event: &Event) {
        self.advance(event.at);
        if let What::Block { thread, .. } = event.what {
            self.resume_silently(Some(thread));
        }
        self.ask(|rule, scene| rule.event(scene, event));
        if let What::Switch { cpu, to: Some(thread), .. } = event.what {
            self.ask(|rule, scene| rule.started(scene, thread, cpu));
        }
        self.scene.follow(&event.what);
    }

    /// Something about the machine or a thread has changed.
    pub fn changed(&mut self, change: &Change) {
        self.advance(change.at);
        self.ask(|rule, scene| rule.changed(scene, &change.kind));
        self.scene.change(&change.kind);
    }

    /// A thread is about to be woken for a request that is at the machine since then, or has read it.
    pub fn stamped(&mut self, thread: ThreadId, at: Nanos) {
        self.scene.threads[thread.index()].request = Some(at);
    }

    /// The run is over, and this is its trace: what is wrong with it?
    pub fn finish(mut self, trace: &Trace) -> Vec<Fault> {
        self.settle();
        self.ask(|rule, scene| rule.ended(scene, trace));
        self.faults
    }

    /// The run broke off: what was wrong until then?
    pub fn break_off(self) -> Vec<Fault> {
        self.faults
    }

    /// All of one moment is seen when a later one comes.
    fn advance(&mut self, at: Nanos) {
        if at > self.scene.now {
            self.settle();
            self.ask(|rule, scene| rule.passes(scene, at));
            self.scene.now = at;
        } else if at < self.scene.now {
            self.ask(|rule, scene| rule.passes(scene, at));
        }
    }

    fn settle(&mut self) {
        self.resume_silently(None);
        self.ask(|rule, scene| rule.settled(scene));
    }

    fn resume_silently(&mut self, only: Option<ThreadId>) {
        if self.scene.waiting.is_empty() {
            return;
        }
        for (thread, cpu) in self.scene.silently_resumed() {
            if only.is_none_or(|only| only == thread) {
                self.ask(|rule, scene| rule.started(scene, thread, cpu));
                self.scene.start(thread, cpu);
            }
        }
    }

    /// Asks every rule that has found nothing yet.
    fn ask(&mut self, mut question: impl FnMut(&mut dyn Rule, &Scene) -> Option<Finding>) {
        for rule in &mut self.rules {
            if self.faults.iter().any(|fault| fault.rule == rule.name()) {
                continue;
            }
            if let Some(finding) = question(rule.as_mut(), &self.scene) {
                let (rule, seed, at) = (rule.name(), self.seed, self.scene.now);
                self.faults.push(Fault { rule, seed, at, finding });
            }
        }
    }
}
