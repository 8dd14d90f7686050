//! Policies with their options.

use std::collections::BTreeMap;

use model::{PolicySpec, Scenario};
use policy_native::Options;

use crate::rng::Rng;

/// The kernel's own classes have no options.
const CLASSES: [&str; 4] = ["cfs", "eevdf", "fifo", "rr"];

/// Options and their values.
const OPTIONS: [(&str, &[&str]); 16] = [
    ("balance", &["steal", "none", "gvts", "dwrr", "credit"]),
    ("pick", &["process", "thread", "credit"]),
    ("order", &["fcfs", "lcfs", "vtime", "random"]),
    ("queue", &["cpu", "llc", "machine"]),
    ("requeue", &["head", "tail"]),
    ("fair", &["thread", "process"]),
    ("preempt", &["off", "on"]),
    ("burst_limit", &["off", "on"]),
    ("infeasible", &["off", "on"]),
    ("min_vruntime", &["queue", "machine", "target"]),
    ("sticky", &["off", "on"]),
    ("vruntime_cap", &["off", "on"]),
    ("starvation_limit", &["off", "on"]),
    ("direct", &["off", "on"]),
    ("slice", &["100us", "1ms", "4ms", "10ms", "100ms"]),
    ("interval", &["1ms", "10ms", "30ms", "300ms"]),
];

/// A policy: mostly as it is, else with a few options. What the policy itself refuses is drawn again.
pub fn draw(rng: &mut Rng, scenario: &Scenario) -> PolicySpec {
    let behind_the_seam: Vec<&str> = policy_native::policies().map(|(name, _)| name).collect();
    if rng.one_in(6) {
        return PolicySpec::plain(rng.of(&CLASSES));
    }
    loop {
        let name = if rng.one_in(3) { "rearguard" } else { rng.of(&behind_the_seam) };
        let count = rng.of(&[0, 0, 1, 1, 2, 3, 6]);
        let mut options = BTreeMap::new();
        for _ in 0..count {
            let (key, values) = rng.of(&OPTIONS);
            options.insert(key.to_string(), rng.of(values).to_string());
        }
        let spec = PolicySpec { name: name.to_string(), options };
        if !left_out(&spec) && Options::parse(&spec, &scenario.machine, scenario.slice).is_ok() {
            return spec;
        }
    }
}

/// With `balance=credit` beside another pick than its own the policy may go round in circles (seed 627):
/// known, and to be mended there.
fn left_out(spec: &PolicySpec) -> bool {
    let given = |key: &str| spec.options.get(key).map(String::as_str);
    let by_credit = spec.name == "credit";
    let balance = given("balance").unwrap_or(if by_credit { "credit" } else { "" });
    let pick = given("pick").unwrap_or(if by_credit { "credit" } else { "" });
    balance == "credit" && pick != "credit"
}
