//! What `rearguard` promises to groups whose weights change, or are infeasible.

use crate::fairness::{over_due, summary};
use crate::production_node::{NO_ACCOUNTS, case, case_with, received};
use model::Scenario;

/// The first group has so much of its due, and under the control less than a part of it.
fn has_its_due(
    scenario: &Scenario,
    due: f64,
    [least, most]: [f64; 2],
    (control, part): (&str, f64),
) {
    let at = received(scenario, "rearguard");
    assert!(at > least * due && at < most * due, "{at} of {due}");
    let control = received(scenario, control);
    assert!(control < part * due, "{control} of {due}");
}

#[test]
fn a_weight_that_falls_and_rises_does_not_cost_what_its_last_turns_were_worth() {
    // Half of the time half of the machine, else 1%.
    let due = (0.5 + 1.0 / 101.0) / 2.0;
    has_its_due(&case("changing-weight"), due, [0.9, 1.1], (NO_ACCOUNTS, 0.6));
}

#[test]
fn what_a_group_received_while_it_was_light_does_not_hold_it_back_when_it_is_heavy() {
    // A third of a percent of a CPU of four for 5.9 s, then half of it for 6 s. First it has a turn a thread.
    let due = 0.25 * (5.9 / 301.0 + 6.0 * 0.5) / 11.9;
    has_its_due(&case("raised-weight"), due, [0.98, 1.2], (NO_ACCOUNTS, 0.8));
}

#[test]
fn threads_of_a_heavy_group_that_run_all_the_time_leave_the_rest_to_others_by_weight() {
    // Of 8 CPUs five and two, and of 4 three.
    let on_four = ("cpus = 8\nsmt = 2", "cpus = 4");
    for machine in [
        &[("threads = 5", "threads = 5")][..],
        &[("threads = 5", "threads = 2")],
        &[on_four, ("threads = 5", "threads = 3")],
    ] {
        let scenario = case_with("heavy-neighbour", machine);
        let at = |policy: &str| over_due(&summary(&scenario, policy), "service");
        assert!((0.96..1.04).contains(&at("rearguard")), "{machine:?}: {}", at("rearguard"));
    }
    let control =
        over_due(&summary(&case("heavy-neighbour"), "rearguard:infeasible=off"), "service");
    assert!(control > 1.15, "{control}");
}

/// They have all of it, or by weight what a quarter of three CPUs is. In the control they are raised to where
/// the set is.
#[test]
fn threads_bound_to_a_cpu_of_a_set_share_it_by_weight_while_the_set_is_raised() {
    for (weight, due) in [("weight = 10000", 1.0 / 8.0), ("weight = 100", 0.75 / 8.0)] {
        let scenario = case_with("bound-in-set", &[("weight = 10000", weight)]);
        has_its_due(&scenario, due, [0.98, 1.1], ("rearguard:infeasible=off", 0.6));
    }
}

/// The first of three sets has all of its two CPUs, or a third of three. In the control the sets are raised
/// to the same place at each tick.
#[test]
fn sets_that_fall_behind_together_share_by_weight() {
    for (weight, due) in [("weight = 10000", 2.0 / 8.0), ("weight = 300", 1.0 / 8.0)] {
        let first = "name = \"first\"\nweight = 300";
        let scenario =
            case_with("overlapping-sets", &[(first, &format!("name = \"first\"\n{weight}"))]);
        has_its_due(&scenario, due, [0.98, 1.02], ("rearguard:infeasible=off", 0.6));
    }
}

/// The first of three sets has as many threads as CPUs, of which the others have two, and ten times the
/// weight of each. In the control what runs is raised to where the others are.
#[test]
fn a_set_whose_threads_all_run_shares_by_weight() {
    let full = [
        (
            "name = \"first\"\nweight = 300\ncpus = [2, 6]",
            "name = \"first\"\nweight = 1000\ncpus = [0, 2, 6]",
        ),
        ("weight = 300\ncpus = [0, 2, 6]", "weight = 100\ncpus = [2, 6]"),
        ("weight = 300\ncpus = [0, 6]", "weight = 100\ncpus = [2, 6]"),
        ("threads = 8", "threads = 3"),
    ];
    let due = 3.0 / 8.0 * 1_000.0 / 1_200.0;
    let scenario = case_with("overlapping-sets", &full);
    has_its_due(&scenario, due, [0.98, 1.02], ("rearguard:infeasible=off", 0.7));
}

#[test]
fn what_a_group_is_owed_its_subgroups_have_by_their_weights() {
    let scenario = case("subgroups");
    let [ours, control] = ["rearguard", NO_ACCOUNTS].map(|policy| summary(&scenario, policy));
    for (group, [least, most]) in [
        ("a", [0.985, 1.015]),
        ("z", [0.985, 1.015]),
        ("a/b", [0.985, 1.015]),
        ("a/b/c", [0.95, 1.05]),
    ] {
        let at = over_due(&ours, group);
        assert!(at > least && at < most, "{group}: {at}");
    }
    for group in ["z", "a/b/c"] {
        let at = over_due(&control, group);
        assert!(at > 1.05, "{group}: {at}");
    }
}
