//! Policies in files of their own: they run, they agree with what they claim to be, and mistakes are said.

use std::path::{Path, PathBuf};

use model::event::Event;
use model::{Arm, Failure, Nanos, PolicySpec, Scenario, Silent, Trace, Watch};
use sim::SimArm;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn example(name: &str) -> String {
    root().join(format!("policy/examples/{name}.c")).display().to_string()
}

fn shipped(name: &str, seconds: u64) -> Scenario {
    let path = root().join(format!("scenarios/{name}.toml"));
    let mut scenario = Scenario::read(&std::fs::read_to_string(path).unwrap(), name).unwrap();
    scenario.duration = Nanos::from_secs(seconds);
    scenario
}

/// Wants every event.
struct Curious;

impl Watch for Curious {
    fn progress(&self, _: f64) {}

    fn cancelled(&self) -> bool {
        false
    }

    fn wants_events(&self) -> bool {
        true
    }
}

fn events(scenario: &Scenario, policy: &str) -> Vec<Event> {
    let policy = PolicySpec::parse(policy).unwrap();
    let trace = SimArm.run(scenario, &policy, 7, &Curious).unwrap();
    let events = trace.events.unwrap();
    assert!(events.len() > 1_000, "{policy}: {} events", events.len());
    events
}

fn run(scenario: &Scenario, policy: &str) -> Result<Trace, Failure> {
    SimArm.run(scenario, &PolicySpec::parse(policy)?, 7, &Silent)
}

/// How many decisions are the same before two runs part, and how many there are.
fn together(a: &[Event], b: &[Event]) -> (usize, usize) {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (same, a.len().max(b.len()))
}

#[test]
fn fifo_decides_as_the_built_in_global() {
    for name in ["service-and-batch", "four-cpus-and-batch", "fork-join", "weights-nice-5-on-4"] {
        let scenario = shipped(name, 3);
        let ours = events(&scenario, "global");
        let file = events(&scenario, &format!("{}:slice=20ms", example("fifo")));
        let (same, all) = together(&ours, &file);
        assert_eq!(same, all, "{name}: {:?} and {:?}", ours.get(same), file.get(same));
        let other = events(&scenario, &format!("{}:slice=4ms", example("fifo")));
        assert_ne!(ours, other, "{name}: another slice must show");
    }
}
