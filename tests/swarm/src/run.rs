//! A run of a case under every checker.

use std::panic::{AssertUnwindSafe, catch_unwind};

use check::{Checks, Fault, Finding};
use model::change::Change;
use model::event::Event;
use model::{Failure, Nanos, Silent, ThreadId};
use sim::events::Tournament;
use sim::{Observer, Run};

use crate::draw::Case;

/// What came of it.
pub struct Outcome {
    /// What is wrong, rule by rule.
    pub faults: Vec<Fault>,
    /// Events that the simulator handled.
    pub events: u64,
}

/// The checkers as the simulator's observer.
pub struct Watcher(pub Checks);

impl Observer for Watcher {
    fn on(&mut self, event: &Event) {
        self.0.on(event);
    }

    fn changed(&mut self, change: &Change) {
        self.0.changed(change);
    }

    fn stamped(&mut self, thread: ThreadId, at: Nanos) {
        self.0.stamped(thread, at);
    }
}

/// Runs a case. A run that fails or panics is a fault like any other.
pub fn run(case: &Case) -> Outcome {
    let Case { seed, scenario, policy, changes } = case;
    watch(case, |watcher| {
        let changes = changes.clone();
        sim::arm::observe_changing(scenario, policy, *seed, &Silent, changes, watcher)
    })
}

/// Judges a run of another program.
pub fn watch(
    case: &Case,
    simulate: impl FnOnce(&mut Watcher) -> Result<Run<Tournament>, Failure>,
) -> Outcome {
    let Case { seed, scenario, policy, .. } = case;
    let engine = |text: String| Fault {
        rule: "engine",
        seed: *seed,
        at: Nanos::ZERO,
        finding: Finding::general(text),
    };
    let broke_off = |checks: Option<Checks>, text: String| {
        let mut faults = checks.map(Checks::break_off).unwrap_or_default();
        faults.push(engine(text));
        Outcome { faults, events: 0 }
    };
    let mut watcher = match Checks::new(scenario, policy, *seed) {
        Ok(checks) => Watcher(checks),
        Err(failure) => return broke_off(None, failure.to_string()),
    };
    match catch_unwind(AssertUnwindSafe(|| simulate(&mut watcher))) {
        Ok(Ok(run)) => Outcome { faults: watcher.0.finish(&run.trace), events: run.events },
        Ok(Err(failure)) => broke_off(Some(watcher.0), failure.to_string()),
        Err(_) => broke_off(Some(watcher.0), "the simulator panicked: see above".to_string()),
    }
}
