//! What `credit` does, on the modelled kernel: GVTS's Table 1.

use crate::fairness::{over_due, p99, shipped, shipped_text, summary, worst_lag_s};
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
fn a_waking_thread_with_credit_goes_before_running_ones() {
    let scenario = Scenario { seeds: vec![1], ..shipped("service-and-batch") };
    let [with, without] =
        ["credit", "credit:preempt=off"].map(|policy| p99(&summary(&scenario, policy)));
    assert!(without.0 > 3 * with.0, "{with} {without}");
    assert!(with < Nanos::from_millis(10), "{with}");
}

/// What a nice 19 thread receives of what its nice 0 rival does, beside five daemons of the greatest
/// weight; due is 0.015.
fn humble_beside_daemons(run: &str) -> f64 {
    let weights = shipped_text("weights-nice-19");
    let daemons = format!(
        "{weights}\n[[program]]\nname = \"daemons\"\nkind = \"daemon\"\nthreads = 5\nnice = -20\n\
         run = \"{run}\"\nsleep = \"100ms\"\n"
    );
    let credit = summary(&Scenario::read(&daemons, "daemons").unwrap(), "credit");
    over_due(&credit, "humble") / over_due(&credit, "plain") * 0.015
}

#[test]
fn threads_that_hardly_run_earn_nothing_and_take_nothing_from_others() {
    let hardly = humble_beside_daemons("20us");
    assert!(hardly < 0.15, "{hardly}");
    // A tick every 4 ms meets these.
    let met = humble_beside_daemons("5ms");
    assert!(met > 0.22, "{met}");
}
