//! Simulated traces to explain.

use std::fs;

use explain::{Service, Setting, explain};
use model::{Arm, Events, Nanos, PolicySpec, Scenario, Silent, Trace};
use sim::SimArm;

/// A run with events.
pub fn trace(scenario: &Scenario, policy: &str, seed: u64) -> Trace {
    let policy = PolicySpec::plain(policy);
    SimArm.run(scenario, &policy, seed, Events::Recorded, &Silent).expect("a run")
}

/// The scenarios that are shipped, so long.
pub fn shipped(duration: &str) -> Vec<Scenario> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = fs::read_dir(folder).expect("scenarios").map(|entry| entry.expect("a file").path());
    let duration = model::units::duration(duration).expect("a duration");
    let read = |path: std::path::PathBuf| {
        let text = fs::read_to_string(&path).expect("a scenario");
        let scenario = Scenario::read(&text, &path.display().to_string()).expect("a scenario");
        Scenario { duration, warm_up: Nanos::from_millis(50), ..scenario }
    };
    files.filter(|path| path.is_file()).map(read).collect()
}

/// A scenario of programs on so many CPUs.
pub fn lines(duration: &str, cpus: u32, programs: &[&str]) -> String {
    format!(
        "# Test.\nduration = \"{duration}\"\nwarm_up = \"1s\"\n[machine]\ncpus = {cpus}\n{}",
        programs.concat()
    )
}

/// The services of a scenario's run, explained.
pub fn explained(text: &str, policy: &str, seed: u64) -> Vec<Service> {
    let scenario = Scenario::read(text, "test.toml").expect("a scenario");
    let trace = trace(&scenario, policy, seed);
    explain(&trace, &Setting::of(&scenario)).expect("events").services
}

/// The p99.9 as it was.
pub fn p99_9(service: &Service) -> u64 {
    let mut all: Vec<u64> = service.requests.iter().map(|one| one.latency.0).collect();
    all.sort_unstable();
    all[(all.len() as f64 * 0.999) as usize]
}
