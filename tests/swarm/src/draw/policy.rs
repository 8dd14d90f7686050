//! Policies with their options.

use std::collections::BTreeMap;

use model::{PolicySpec, Scenario};
use policy_native::{OPTIONS, OptionRow, Options, Values};

use crate::rng::Rng;

/// The kernel's own classes have no options.
const CLASSES: [&str; 4] = ["cfs", "eevdf", "fifo", "rr"];

/// Durations to draw, inside the bounds of `policy/policies.def`.
const DURATIONS: [(&str, &[&str]); 2] = [
    ("slice", &["100us", "1ms", "4ms", "10ms", "100ms"]),
    ("interval", &["1ms", "10ms", "30ms", "300ms"]),
];

/// The values of an option that are drawn.
fn values(option: &OptionRow) -> Vec<&'static str> {
    let duration = DURATIONS.iter().find(|(name, _)| *name == option.name);
    let of_limit = matches!(option.values, Values::Limit { .. }).then_some("8ms");
    let words = || option.words().into_iter().chain(of_limit).collect();
    duration.map_or_else(words, |(_, values)| values.to_vec())
}

/// A policy: mostly as it is, else with a few options. What the policy itself refuses is drawn again.
pub fn draw(rng: &mut Rng, scenario: &Scenario) -> PolicySpec {
    let options_known: Vec<&OptionRow> = OPTIONS.iter().collect();
    let behind_the_seam: Vec<&str> = policy_native::policies().map(|(name, _)| name).collect();
    if rng.one_in(6) {
        return PolicySpec::plain(rng.of(&CLASSES));
    }
    loop {
        let name = if rng.one_in(3) { "rearguard" } else { rng.of(&behind_the_seam) };
        let count = rng.of(&[0, 0, 1, 1, 2, 3, 6]);
        let mut options = BTreeMap::new();
        for _ in 0..count {
            let option = rng.of(&options_known);
            options.insert(option.name.to_string(), rng.of(&values(option)).to_string());
        }
        let spec = PolicySpec { name: name.to_string(), options };
        if !left_out(&spec) && Options::parse(&spec, &scenario.machine, scenario.slice).is_ok() {
            return spec;
        }
    }
}

/// One policy in six goes by when requests came, if it can and its order was not drawn.
pub fn by_request(rng: &mut Rng, scenario: &Scenario, spec: PolicySpec) -> PolicySpec {
    if !rng.one_in(6) || CLASSES.contains(&&*spec.name) || spec.options.contains_key("order") {
        return spec;
    }
    let mut other = spec.clone();
    other.options.insert("order".to_string(), "arrival".to_string());
    let can = Options::parse(&other, &scenario.machine, scenario.slice).is_ok();
    if can { other } else { spec }
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
