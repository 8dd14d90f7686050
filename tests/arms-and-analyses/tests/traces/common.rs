//! Traces of the simulator.

use std::path::Path;

use model::{Arm, Events, Nanos, PolicySpec, Scenario, Silent};
use sim::SimArm;
use trace::{Header, Making, Recorded};

/// The text of a shipped scenario.
pub fn shipped(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap()
}

/// The names of all shipped scenarios.
pub fn all_shipped() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let toml = files.filter(|file| file.extension().is_some_and(|end| end == "toml"));
    let mut names: Vec<String> =
        toml.map(|file| file.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    names.sort();
    assert!(names.len() >= 11, "{names:?}");
    names
}

/// A run of a shipped scenario, 20 ms of warm-up and so long.
pub fn recorded(name: &str, policy: &str, seed: u64, duration: Nanos) -> Recorded {
    let text = shipped(name);
    let read = Scenario::read(&text, name).unwrap();
    let scenario = Scenario { warm_up: Nanos::from_millis(20), duration, ..read };
    let policy = PolicySpec::parse(policy).unwrap();
    let trace = SimArm.run(&scenario, &policy, seed, Events::Recorded, &Silent).unwrap();
    let making = Making {
        scenario: &scenario,
        scenario_text: &text,
        arm: "sim",
        machine: "simulated",
        replay: format!("rearguard compare {name}.toml --policy {policy} --seed {seed}"),
        version: "0.0.0",
    };
    Recorded { header: Header::new(&making, &trace), trace }
}

/// It as a file.
pub fn bytes(recorded: &Recorded) -> Vec<u8> {
    let mut out = Vec::new();
    trace::write(&recorded.header, &recorded.trace, &mut out).unwrap();
    out
}
