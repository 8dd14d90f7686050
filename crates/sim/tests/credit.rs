//! What `credit` does, on the modelled kernel: GVTS's Table 1.

#[path = "common/fairness.rs"]
mod fairness;

use fairness::{over_due, p99, shipped, summary, worst_lag_s};
use model::{Nanos, Scenario};

#[test]
fn credits_make_threads_and_groups_even() {
    for (name, within, beyond) in [("gvts-fig8", 0.06, 1.5), ("gvts-fig9", 0.8, 3.0)] {
        let credit = summary(&shipped(name), "credit");
        assert!(worst_lag_s(&credit) < within, "{name}: {:?}", credit.threads_lag_s);
        let apart = worst_lag_s(&summary(&shipped(name), "credit:balance=none"));
        assert!(apart > beyond, "{name}: {apart}");
    }
}

#[test]
fn groups_count_on_one_level_only() {
    let credit = summary(&shipped("gvts-fig7"), "credit");
    // The groups in the root, then one inside another that has four threads beside three and six.
    for (name, due, within) in
        [("front", 1.0, 0.03), ("back", 1.0, 0.03), ("front/api/v2", 1.25, 0.05)]
    {
        let share = over_due(&credit, name);
        assert!((share - due).abs() < within, "{name}: {share}");
    }
}

#[test]
fn whoever_wakes_with_credit_goes_before_those_who_run() {
    let scenario = Scenario { seeds: vec![1], ..shipped("service-and-batch") };
    let [with, without] =
        ["credit", "credit:preempt=off"].map(|policy| p99(&summary(&scenario, policy)));
    assert!(without.0 > 3 * with.0, "{with} {without}");
    assert!(with < Nanos::from_millis(10), "{with}");
}
