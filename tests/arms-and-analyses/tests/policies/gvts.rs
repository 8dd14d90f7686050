//! What `gvts` promises, on the modelled kernel. Every promise stands beside a run without what keeps it.

use crate::fairness::{
    migrations_per_s, over_due, p99, shipped, summary, worst_lag_s, worst_share,
};
use model::scenario::{Kind, Machine};
use model::{Nanos, Scenario};

/// The same queues with CPUs that take work only when they idle.
const STEAL: &str = "gvts:balance=steal";

/// One queue a cache and first come, first served inside a process: targets hold caches together.
const BY_CACHE: &str = "gvts:queue=llc:pick=process:order=fcfs";

#[test]
fn threads_that_do_not_divide_over_cpus_receive_alike() {
    let scenario = shipped("gvts-fig8");
    let gvts = summary(&scenario, "gvts");
    // GVTS section 5.2: -0.05 to 0.04 s, and CFS a second and more.
    assert!(worst_lag_s(&gvts) < 0.05, "{:?}", gvts.threads_lag_s);
    let moves = migrations_per_s(&scenario, &gvts);
    assert!(moves < 150.0, "{moves}");
    for control in [STEAL, "cfs", "eevdf"] {
        let lag = worst_lag_s(&summary(&scenario, control));
        assert!(lag > 0.3, "{control}: {lag}");
    }
}

#[test]
fn groups_receive_their_weight_however_they_nest() {
    for name in ["gvts-fig9", "gvts-fig7"] {
        let scenario = shipped(name);
        let gvts = summary(&scenario, "gvts");
        assert!(worst_lag_s(&gvts) < 0.05, "{name}: {:?}", gvts.threads_lag_s);
        assert!(worst_share(&gvts) < 0.01, "{name}");
        assert!(worst_share(&summary(&scenario, STEAL)) > 0.01, "{name}");
    }
}

#[test]
fn weights_of_groups_hold_on_eighty_cpus() {
    for name in ["gvts-fig16", "gvts-fig17"] {
        let scenario = Scenario { seeds: vec![1], ..shipped(name) };
        let gvts = worst_share(&summary(&scenario, "gvts"));
        assert!(gvts < 0.01, "{name}: {gvts}");
        let cfs = worst_share(&summary(&scenario, "cfs"));
        assert!(cfs > 0.05, "{name}: {cfs}");
    }
}

#[test]
fn targets_hold_caches_together_that_have_a_queue_each() {
    for (name, most) in [("gvts-fig8", 0.04), ("gvts-fig9", 0.04), ("gvts-fig7", 0.04)] {
        let by_cache = summary(&shipped(name), BY_CACHE);
        assert!(worst_lag_s(&by_cache) < most, "{name}: {:?}", by_cache.threads_lag_s);
        assert!(by_cache.pulls_per_s < Some(30.0), "{name}: {:?}", by_cache.pulls_per_s);
    }
    let apart = worst_lag_s(&summary(&shipped("gvts-fig7"), "cts"));
    assert!(apart > 0.3, "{apart}");
}

#[test]
fn shorter_intervals_are_more_even_and_move_more() {
    let scenario = shipped("gvts-fig8");
    let [long, short] = ["gvts", "gvts:interval=5ms"].map(|policy| summary(&scenario, policy));
    assert!(worst_lag_s(&short) < 0.8 * worst_lag_s(&long));
    let moves = [&long, &short].map(|summary| migrations_per_s(&scenario, summary));
    assert!(moves[1] > 2.0 * moves[0], "{moves:?}");
}

/// Three threads that are due more than a CPU and four of weight 100 on two cores of two CPUs; another sleeps
/// for long and then wants to run for long.
fn infeasible() -> Scenario {
    let (run, sleep) = (Nanos::from_millis(400), Nanos::from_secs(2));
    let others = Kind::Daemon { threads: 1, run, sleep };
    let batch = |threads| Kind::Batch { threads };
    let programs = vec![("heavy", batch(3)), ("light", batch(4)), ("sleeper", others)];
    let mut scenario = crate::common::scenario(4, programs);
    scenario.machine = Machine { smt: 2, ..scenario.machine };
    scenario.programs[0].nice = -15;
    scenario.duration = Nanos::from_secs(30);
    scenario
}

#[test]
fn a_weight_that_no_cpu_can_serve_does_not_hold_the_least_target_back() {
    let scenario = infeasible();
    let with = worst_lag_s(&summary(&scenario, "gvts"));
    assert!(with < 0.05, "{with}");
    // The core of two heavy threads never reaches a target: the sleeper wakes with all that it did not use.
    let without = worst_lag_s(&summary(&scenario, "gvts:infeasible=off"));
    assert!(without > 0.5, "{without}");
}

#[test]
fn one_infeasible_thread_leaves_the_others_even() {
    let scenario = shipped("infeasible-weight");
    let [gvts, by_cache, cts] = ["gvts", BY_CACHE, "cts"].map(|policy| summary(&scenario, policy));
    for even in [&gvts, &by_cache] {
        assert!(worst_lag_s(even) < 0.15, "{:?}", even.threads_lag_s);
    }
    assert!(worst_share(&gvts) < 0.05, "{:?}", gvts.groups);
    assert!(worst_lag_s(&cts) > 0.3, "{:?}", cts.threads_lag_s);
}

/// Figure 18: the batch's weight from 10 to 80 of 100 leaves the service what it wants, and 97 does not.
#[test]
fn a_service_gets_what_it_wants_until_the_batch_has_too_great_a_weight() {
    let at = |percent: u32, policy: &str| {
        let mut scenario = shipped("batch-share");
        scenario.seeds.truncate(1);
        scenario.groups[0].weight = 100 - percent;
        scenario.groups[1].weight = percent;
        summary(&scenario, policy)
    };
    for percent in [10, 40, 80] {
        let gvts = at(percent, "gvts");
        assert!(worst_share(&gvts) < 0.01 && p99(&gvts) < Nanos::from_millis(20), "{percent}");
    }
    let gvts = at(97, "gvts");
    assert!(worst_share(&gvts) < 0.05 && p99(&gvts) > Nanos::from_secs(1), "{:?}", gvts.groups);
    // A policy that does not see groups gives it all the same, and has the longest tail (GVTS section 5.4).
    let dwrr = at(95, "dwrr");
    assert!(over_due(&dwrr, "service") > 2.0, "{:?}", dwrr.groups);
    assert!(p99(&at(70, "dwrr")) > p99(&at(70, "gvts")));
}
