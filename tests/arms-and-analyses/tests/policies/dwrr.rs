//! What `dwrr` does, on the modelled kernel: GVTS's Table 1 and Figure 15.

use crate::fairness::{due, migrations_per_s, over_due, shipped, summary, worst_lag_s};

#[test]
fn rounds_make_threads_even_and_their_length_trades_moves_for_it() {
    let scenario = shipped("gvts-fig8");
    let [short, long] = ["dwrr", "dwrr:interval=1s"].map(|policy| summary(&scenario, policy));
    assert!(worst_lag_s(&short) < 0.04, "{:?}", short.threads_lag_s);
    assert!(worst_lag_s(&long) > 0.4, "{:?}", long.threads_lag_s);
    let moves = [&short, &long].map(|summary| migrations_per_s(&scenario, summary));
    assert!(moves[1] < 0.1 * moves[0], "{moves:?}");
    let apart = worst_lag_s(&summary(&scenario, "dwrr:balance=steal"));
    assert!(apart > 0.3, "{apart}");
}

#[test]
fn weights_of_threads_count_and_those_of_groups_do_not() {
    let nice = summary(&shipped("weights-nice-5-on-4"), "dwrr");
    let off = |group: &stats::GroupShare| (group.share / due(group) - 1.0).abs() < 0.02;
    assert!(nice.groups.iter().all(off), "{:?}", nice.groups);
    let groups = summary(&shipped("gvts-fig9"), "dwrr");
    assert!((over_due(&groups, "eight") - 0.8).abs() < 0.01, "{:?}", groups.groups);
    let gvts = summary(&shipped("gvts-fig9"), "gvts");
    assert!((over_due(&gvts, "eight") - 1.0).abs() < 0.01, "{:?}", gvts.groups);
}
