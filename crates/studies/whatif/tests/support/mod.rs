//! Traces of the sim arm, with their headers.

use model::{Arm, Events, PolicySpec, Scenario, Silent};
use sim::SimArm;
use trace::{Header, Making, Recorded};

/// A policy of that name.
pub fn policy(name: &str) -> PolicySpec {
    PolicySpec::parse(name).expect("a name")
}

/// What a scenario's first seed gives under a policy, with all events.
pub fn recorded(text: &str, name: &str) -> Recorded {
    let scenario = Scenario::read(text, "a.toml").expect("ours");
    let trace = SimArm
        .run(&scenario, &policy(name), 1, Events::Recorded, &Silent)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let making = Making {
        scenario: &scenario,
        scenario_text: text,
        arm: "sim",
        machine: "simulated",
        replay: String::new(),
        version: "0",
    };
    Recorded { header: Header::new(&making, &trace), trace }
}
