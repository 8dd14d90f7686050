//! What a quota does to the requests of its group, to their spinners and to others. Each stands beside EEVDF.

use crate::fairness::summary;
use crate::production_node::{case, case_with, excess, keeps_its_tail, received};

#[test]
fn a_quota_of_all_cpus_delays_nobody_in_its_group() {
    keeps_its_tail(2, &case("quota-of-all"), "all CPUs", [1.1, 50.0]);
}

#[test]
fn a_quota_is_no_matter_for_requests_while_spinners_of_their_group_can_wait() {
    let few = case_with("quota-of-all", &[("200ms/100ms", "150ms/100ms")]);
    keeps_its_tail(2, &few, "three quarters of two CPUs", [1.2, 50.0]);
    for max in ["100ms/100ms", "50ms/100ms", "10ms/10ms"] {
        let pod = case_with("quota-of-one", &[("100ms/100ms", max)]);
        keeps_its_tail(8, &pod, max, [1.2, 50.0]);
    }
    let crowd = case_with("quota-of-one", &[("threads = 4", "threads = 400")]);
    keeps_its_tail(8, &crowd, "400 spinners", [1.2, 50.0]);
    let event_loop = [("connections = 16", "connections = 1"), ("0.02", "0.04")];
    let alone = case_with("quota-of-one", &event_loop);
    keeps_its_tail(8, &alone, "a single thread of a third of it", [5.0, 50.0]);
}

/// Where a period is hardly longer than a turn, a request may wait for the next one.
#[test]
fn a_quota_of_short_periods_delays_requests_by_no_more_than_one() {
    for threads in ["threads = 4", "threads = 64"] {
        for max in ["1ms/1ms", "2ms/2ms", "4ms/4ms", "8ms/4ms", "5ms/5ms"] {
            let pod = case_with("quota-of-one", &[("100ms/100ms", max), ("threads = 4", threads)]);
            keeps_its_tail(8, &pod, max, [10.0, 20.0]);
        }
    }
}

#[test]
fn threads_of_longer_bursts_that_want_all_of_a_quota_do_not_delay_requests() {
    keeps_its_tail(8, &case("quota-and-daemons"), "daemons", [1.2, 50.0]);
    let meeting = [
        ("kind = \"daemon\"", "kind = \"fork-join\""),
        ("count = 12", "threads = 6"),
        ("run = \"1ms\"", "work = \"5ms\""),
        ("sleep = \"1ms\"\n", ""),
        ("100ms/100ms", "200ms/100ms"),
    ];
    keeps_its_tail(8, &case_with("quota-and-daemons", &meeting), "fork-join", [1.5, 50.0]);
}

/// What came while it was held is one burst of an event loop, however long, and no batch work.
#[test]
fn an_event_loop_that_wants_more_than_an_equal_part_of_a_quota_keeps_its_tail() {
    let pod = case("quota-and-event-loop");
    keeps_its_tail(1, &pod, "half of the quota", [1.2, 1000.0]);
    let third = case_with("quota-and-event-loop", &[("utilisation = 0.05", "utilisation = 0.04")]);
    keeps_its_tail(1, &third, "a third of it", [1.2, 1000.0]);
    let fifth = [("100ms/100ms", "20ms/100ms"), ("utilisation = 0.05", "utilisation = 0.008")];
    keeps_its_tail(
        1,
        &case_with("quota-and-event-loop", &fifth),
        "a fifth of a CPU",
        [1.2, 1000.0],
    );
}

/// What a period shows of a mean is little, if it is short. The control wants more than there is.
#[test]
fn services_within_a_quota_of_short_periods_do_not_delay_each_other() {
    let pod = case("quota-of-short-periods");
    let at = excess(&pod, "rearguard");
    assert!(at < 1.3, "{at}");
    let less = case_with("quota-of-short-periods", &[("7000us/10ms", "5000us/10ms")]);
    let control = excess(&less, "rearguard");
    assert!(control > 5.0, "{control}");
}

#[test]
fn what_is_kept_for_requests_is_not_lost_to_the_spinners() {
    let pod = case("quota-of-one");
    let got = received(&pod, "rearguard") * 8.0;
    assert!((0.98..1.02).contains(&got), "{got}");
    let full = case_with("quota-of-one", &[("max = \"100ms/100ms\"", "")]);
    assert!(received(&full, "rearguard") * 8.0 > 4.0);
}

/// Requests that want four fifths of a quota and more leave an eighth, and no more than they must.
#[test]
fn spinners_have_their_part_of_a_quota_that_requests_would_use_up() {
    let pod = case_with("quota-of-one", &[("utilisation = 0.02", "utilisation = 0.1")]);
    let used = |policy: &str| {
        summary(&pod, policy).programs.iter().map(|own| own.utilisation * 8.0).collect::<Vec<_>>()
    };
    let [ours, eevdf] = ["rearguard", "eevdf"].map(used);
    assert!(ours[0] > 0.8 && (0.12..0.2).contains(&ours[1]), "{ours:?}");
    assert!(eevdf[1] > 0.4, "{eevdf:?}");
}

#[test]
fn a_group_that_a_quota_holds_does_not_delay_its_neighbour() {
    let next = case("quota-and-neighbour");
    let [at, eevdf] = ["rearguard", "eevdf"].map(|policy| excess(&next, policy));
    assert!(at < 1.5, "{at}");
    assert!(eevdf > 10.0, "{eevdf}");
}
