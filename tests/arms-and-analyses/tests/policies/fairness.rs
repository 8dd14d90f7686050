//! How evenly a policy divides the machine, over three seeds.

use std::path::Path;

use model::{Arm, Events, Nanos, PolicySpec, Scenario, Silent, Trace};
use sim::SimArm;
use stats::{GroupShare, Summary};

/// The text of a shipped scenario.
pub fn shipped_text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    std::fs::read_to_string(folder.join(name).with_extension("toml")).unwrap()
}

/// A shipped scenario by name.
pub fn shipped(name: &str) -> Scenario {
    Scenario::read(&shipped_text(name), name).unwrap()
}

/// The runs of a scenario under a policy, each seed once.
pub fn runs(scenario: &Scenario, policy: &str) -> Vec<Trace> {
    let spec = PolicySpec::parse(policy).expect("a valid policy");
    let run = |seed| {
        SimArm.run(scenario, &spec, seed, Events::Omitted, &Silent).expect("the run succeeds")
    };
    scenario.seeds.iter().map(|seed| run(*seed)).collect()
}

/// What a policy did in a scenario.
pub fn summary(scenario: &Scenario, policy: &str) -> Summary {
    let traces = runs(scenario, policy);
    stats::summarise(scenario, &traces.iter().collect::<Vec<_>>())
}

/// The greatest lag of a batch thread at any sampled moment, before or behind what is due, in seconds.
pub fn worst_lag_s(summary: &Summary) -> f64 {
    let (least, most) = summary.threads_lag_s.expect("batch threads");
    most.max(-least)
}

/// What is due to a group that weights say it of.
pub fn due(group: &GroupShare) -> f64 {
    group.due_share.expect("no group is bound")
}

/// By how much of its due the worst group is off.
pub fn worst_share(summary: &Summary) -> f64 {
    let off = |group: &GroupShare| (group.share / due(group) - 1.0).abs();
    summary.groups.iter().map(off).fold(0.0, f64::max)
}

/// The share over the due share of a group.
pub fn over_due(summary: &Summary, name: &str) -> f64 {
    let group = summary.groups.iter().find(|group| group.name == name).expect("the group");
    group.share / due(group)
}

/// Threads that moved to another CPU a second.
pub fn migrations_per_s(scenario: &Scenario, summary: &Summary) -> f64 {
    let seconds = scenario.duration.as_secs_f64() * scenario.seeds.len() as f64;
    summary.migrations.expect("the simulator counts them") as f64 / seconds
}

/// The 99th percentile of the first program's latency.
pub fn p99(summary: &Summary) -> Nanos {
    Nanos(summary.programs[0].latency.as_ref().expect("a service").p99.value as u64)
}
