//! What `rearguard` promises, on the modelled kernel. Every promise stands beside a run without the rule that
//! keeps it.

use crate::common::{scenario, share};
use crate::fairness::{due, migrations_per_s, runs, shipped, summary, worst_lag_s, worst_share};
use crate::tails::{inversions, tails};
use model::scenario::{Kind, Scenario};
use model::{Nanos, PolicySpec, Trace};
use sim::class::ext::Ext;

fn load(scenario: &Scenario, policy: &str) -> Ext {
    let spec = PolicySpec::parse(policy).expect("a valid policy");
    Ext::new(scenario, &spec, 1).expect("a known policy")
}

fn batch(threads: u32) -> Kind {
    Kind::Batch { threads }
}

/// The first run of a shipped scenario.
fn first(name: &str, policy: &str) -> (Scenario, Trace) {
    let scenario = Scenario { seeds: vec![1], ..shipped(name) };
    let trace = runs(&scenario, policy).remove(0);
    (scenario, trace)
}

#[test]
fn services_have_the_ideal_tail_alone_and_beside_hogs() {
    let alone = ["null-rpc", "long-service", "four-cpus"];
    for name in
        alone.into_iter().chain(["service-and-batch", "greedy-service", "four-cpus-and-batch"])
    {
        let (scenario, trace) = first(name, "rearguard");
        // By completion several CPUs differ by what a switch costs each.
        assert_eq!(inversions(&trace)[0], 0, "{name}");
        let at = tails(&scenario, &trace).excess(0.999);
        assert!((0.98..1.02).contains(&at), "{name}: {at}");
    }
}

#[test]
fn sixteen_cpus_of_two_caches_have_the_ideal_tail_beside_batch() {
    let at = |policy: &str| {
        let (scenario, trace) = first("batch-share", policy);
        tails(&scenario, &trace).excess(0.999)
    };
    assert!((0.98..1.02).contains(&at("rearguard")), "{}", at("rearguard"));
    assert!(at("rearguard:preempt=off") > 1.5, "{}", at("rearguard:preempt=off"));
}

#[test]
fn the_tail_beside_hogs_rests_on_preemption_and_credit() {
    let at = |name: &str, policy: &str| {
        let (scenario, trace) = first(name, policy);
        tails(&scenario, &trace).excess(0.999)
    };
    for name in ["service-and-batch", "four-cpus-and-batch"] {
        assert!(at(name, "rearguard:preempt=off") > 1.5, "{name}");
        assert!(at(name, "rearguard:wakeup_credit=off") > 1.3, "{name}");
    }
    assert!(at("null-rpc", "rearguard:order=lcfs") > 2.0);
    assert!(at("long-service", "rearguard:requeue=tail") > 1.3);
    assert!(at("four-cpus-and-batch", "rearguard:queue=cpu") > 1.01);
}

#[test]
fn weights_hold_within_a_hundredth_of_the_machine() {
    for name in ["groups", "nested", "nice-19", "nice-5", "one-of-three"] {
        for cpus in ["", "-on-4"] {
            let name = format!("weights-{name}{cpus}");
            let summary = summary(&shipped(&name), "rearguard");
            let off = |group: &stats::GroupShare| (group.share - due(group)).abs();
            let worst = summary.groups.iter().map(off).fold(0.0, f64::max);
            assert!(worst < 0.01, "{name}: {:?}", summary.groups);
        }
    }
}

#[test]
fn lag_is_bounded_over_the_machine_and_few_threads_move() {
    for name in ["gvts-fig8", "gvts-fig9", "gvts-fig7"] {
        let scenario = shipped(name);
        let rearguard = summary(&scenario, "rearguard");
        assert!(worst_lag_s(&rearguard) < 0.04, "{name}: {:?}", rearguard.threads_lag_s);
        assert!(worst_share(&rearguard) < 0.01, "{name}");
        assert!(rearguard.pulls_per_s < Some(20.0), "{name}: {:?}", rearguard.pulls_per_s);
        let moves = migrations_per_s(&scenario, &rearguard);
        assert!(moves < 300.0, "{name}: {moves}");
        let restless = migrations_per_s(&scenario, &summary(&scenario, "rearguard:sticky=off"));
        assert!(restless > 3.0 * moves, "{name}: {restless}");
    }
    // Queues that only idle CPUs pull from differ for ever.
    let steal = summary(&shipped("gvts-fig7"), "rearguard:balance=steal");
    assert!(worst_lag_s(&steal) > 0.2, "{:?}", steal.threads_lag_s);
}

#[test]
fn an_infeasible_weight_leaves_the_others_even() {
    let rearguard = summary(&shipped("infeasible-weight"), "rearguard");
    assert!(worst_lag_s(&rearguard) < 0.04, "{:?}", rearguard.threads_lag_s);
    let cts = summary(&shipped("infeasible-weight"), "cts");
    assert!(worst_lag_s(&cts) > 0.3, "{:?}", cts.threads_lag_s);
}

/// A thread of nice -15 on one of two CPUs, for a minute beside others.
fn beside_a_heavy_thread(others: Vec<(&str, Kind)>, policy: &str) -> Trace {
    let mut programs = vec![("heavy", batch(1))];
    programs.extend(others);
    let mut scenario = scenario(2, programs);
    scenario.programs[0].nice = -15;
    scenario.duration = Nanos::from_secs(60);
    crate::common::run_under(&scenario, load(&scenario, policy))
}

fn daemon(run: Nanos, sleep: Nanos) -> Kind {
    Kind::Daemon { threads: 1, run, sleep }
}

#[test]
fn a_waking_thread_beside_an_infeasible_weight_takes_its_turn() {
    let late = |policy: &str| {
        let late = daemon(Nanos::from_secs(2), Nanos::from_secs(6));
        share(&beside_a_heavy_thread(vec![("equal", batch(3)), ("late", late)], policy), 2)
    };
    // One of four on the other CPU is due a quarter of it: 2 s of some 14 instead of 8 s.
    let in_turn = late("rearguard");
    assert!(in_turn < 0.17, "{in_turn}");
    let at_once = late("rearguard:infeasible=off");
    assert!(at_once > 0.22, "{at_once}");
}

#[test]
fn what_a_thread_owes_is_not_forgiven_while_no_thread_waits() {
    let naps = daemon(Nanos::from_millis(180), Nanos::from_millis(20));
    let trace = beside_a_heavy_thread(vec![("hog", batch(1)), ("napper", naps)], "rearguard");
    let [hog, napper] = [share(&trace, 1), share(&trace, 2)];
    assert!(hog - napper < 0.06, "{hog} {napper}");
}
