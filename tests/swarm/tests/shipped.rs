//! Every shipped scenario under every policy, cut short, and watched by every rule.

#[path = "../../../crates/arms/sim/tests/common/shipped.rs"]
mod shipped;

use model::PolicySpec;
use swarm::{Case, run};

#[test]
fn shipped_scenarios_break_no_rule() {
    for scenario in shipped::cut_short() {
        for name in sim::names() {
            let policy = PolicySpec::plain(name);
            let case = Case { seed: 1, scenario: scenario.clone(), policy, changes: Vec::new() };
            let outcome = run(&case);
            let said: Vec<String> = outcome.faults.iter().map(|fault| fault.to_string()).collect();
            assert!(said.is_empty(), "{} under {name}: {}", case.scenario.name, said.join("\n"));
            assert!(outcome.events > 10, "{} under {name}: nothing happened", case.scenario.name);
        }
    }
}
