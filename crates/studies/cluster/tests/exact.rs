//! Clusters whose figures are known exactly.

mod common;

use common::outcomes;
use queue::exact::MMc;
use stats::Estimate;

fn covers(what: &str, found: &Estimate, exact: f64) {
    assert!(found.covers(exact), "{what}: {found:?}, exactly {exact}");
    let reach = (found.high - found.low) / exact;
    assert!(reach < 0.2, "{what}: {found:?} says too little");
}

/// The mean latency of the supermarket model with infinitely many servers, services of mean 1 (Mitzenmacher
/// 1996): the sum of rho^((d^i - d) / (d - 1)) over i from 1.
fn supermarket(rho: f64, d: i32) -> f64 {
    let power = |i: i32| f64::from(d.pow(i as u32) - d) / f64::from(d - 1);
    (1..=10).map(|i| rho.powf(power(i))).sum()
}

#[test]
fn choices_have_the_means_of_the_supermarket_model() {
    assert!(
        (supermarket(0.9, 2) - 2.614).abs() < 1e-3 && (supermarket(0.9, 3) - 2.028).abs() < 1e-3
    );
    assert!(
        (supermarket(0.95, 2) - 3.383).abs() < 1e-3 && (supermarket(0.95, 3) - 2.535).abs() < 1e-3
    );
    let text = r#"
        duration = "1s"
        warm_up = "300ms"
        arrivals.utilisation = [0.9, 0.95]
        leaf = { servers = 2000, service_time = { law = "exponential", mean = "1ms" } }
        dispatch = ["choices:d=2", "choices:d=3"]"#;
    let exact = [(0.9, 2), (0.95, 2), (0.9, 3), (0.95, 3)];
    for ((case, outcome), (rho, d)) in outcomes(text).iter().zip(exact) {
        covers(&format!("{case:?}"), &outcome.latency.mean, 1e6 * supermarket(rho, d));
    }
}

/// The control: a random server is M/M/1, four times and six times as slow.
#[test]
fn random_dispatch_is_as_many_single_queues() {
    let text = r#"
        duration = "12s"
        warm_up = "8s"
        arrivals.utilisation = [0.9, 0.95]
        leaf = { servers = 200, service_time = { law = "exponential", mean = "1ms" } }"#;
    for ((_, outcome), rho) in outcomes(text).iter().zip([0.9, 0.95]) {
        covers("mean", &outcome.latency.mean, 1e6 / (1.0 - rho));
        assert!(outcome.latency.p99.covers(1e6 * 100f64.ln() / (1.0 - rho)), "{outcome:?}");
        let utilisation = outcome.utilisation.expect("queues");
        assert!((utilisation - rho).abs() < 0.005, "{utilisation}");
    }
}

#[test]
fn a_central_queue_is_one_queue_of_all_workers() {
    let text = r#"
        duration = "40s"
        warm_up = "1s"
        arrivals.utilisation = 0.9
        leaf = { servers = 4, workers = 4, service_time = { law = "exponential", mean = "1ms" } }
        dispatch = ["central", "random", "shortest"]"#;
    let found: Vec<_> = outcomes(text).into_iter().map(|(_, outcome)| outcome.latency).collect();
    let exact = MMc::new(16, 0.9).expect("stable");
    covers("mean", &found[0].mean, 1e6 * exact.mean());
    covers("p99", &found[0].p99, 1e6 * exact.quantile(0.99));
    covers("p99.9", &found[0].p99_9, 1e6 * exact.quantile(0.999));
    let split = MMc::new(4, 0.9).expect("stable");
    assert!((found[1].mean.value / split.mean() / 1e6 - 1.0).abs() < 0.1, "{:?}", found[1]);
    let mean = |at: usize| found[at].mean.value;
    assert!(mean(0) < mean(2) && 1.5 * mean(2) < mean(1), "{found:?}");
}

/// Binding late to two reservations finds what a central queue would, nearly; binding at once to two queues
/// does not.
#[test]
fn reservations_come_close_to_the_central_queue() {
    let text = r#"
        duration = "2s"
        warm_up = "300ms"
        fan_out = 20
        arrivals.utilisation = 0.8
        leaf = { servers = 500, service_time = { law = "exponential", mean = "1ms" } }
        dispatch = ["central", "batch-sampling:d=2", "choices:d=2", "random"]"#;
    let p99: Vec<f64> = outcomes(text).iter().map(|(_, o)| o.latency.p99.value).collect();
    assert!(p99[0] < p99[1] && 1.2 * p99[1] < p99[2] && 1.5 * p99[2] < p99[3], "{p99:?}");
}

#[test]
fn leaves_by_lot_are_as_good_as_independent() {
    let text = r#"
        duration = "4s"
        warm_up = "200ms"
        outlier_threshold = "8ms"
        fan_out = 10
        arrivals.utilisation = 0.5
        leaf = { servers = 1000, replicas = 1, service_time = { law = "exponential", mean = "1ms" } }"#;
    let (_, outcome) = outcomes(text).remove(0);
    let leaf = (-8.0f64 / 2.0).exp();
    covers("leaf", &outcome.sub_outliers.expect("answers"), leaf);
    covers("service", &outcome.outliers, stats::service_proportion(leaf, 10.0));
    covers(
        "equation 4",
        &outcome.independent_outliers.expect("answers"),
        stats::service_proportion(leaf, 10.0),
    );
}

/// The control: where every request asks every leaf for equal work, all queues are one, and equation 4 is
/// wrong.
#[test]
fn leaves_that_all_requests_ask_are_not_independent() {
    let text = r#"
        duration = "20s"
        outlier_threshold = "4ms"
        fan_out = 10
        arrivals.utilisation = 0.7
        leaf = { servers = 10, replicas = 1, service_time = "1ms" }"#;
    let (_, outcome) = outcomes(text).remove(0);
    let leaf = outcome.sub_outliers.expect("answers");
    assert!((outcome.outliers.value / leaf.value - 1.0).abs() < 0.01, "{outcome:?}");
    assert!(outcome.independent_outliers.expect("answers").low > 3.0 * outcome.outliers.high);
}

/// Two copies without cancellation at 20% are two M/M/1 at 40%, and the first of two answers comes after half
/// the mean of one.
#[test]
fn the_first_of_two_copies_takes_half_as_long() {
    let text = r#"
        duration = "20s"
        warm_up = "1s"
        arrivals.utilisation = 0.2
        leaf = { servers = 200, service_time = { law = "exponential", mean = "1ms" } }
        redundancy = ["none", "replicate:copies=2:cancel=nothing"]"#;
    let found = outcomes(text);
    covers("one", &found[0].1.latency.mean, 1e6 / 0.8);
    covers("two", &found[1].1.latency.mean, 1e6 / 0.6 / 2.0);
    assert_eq!(found[1].1.copies_per_sub_request, 2.0);
    assert!((found[1].1.utilisation.expect("queues") - 0.4).abs() < 0.005);
    // The copy that loses is the longer one more often than not; without a queue it would be three
    // quarters of the work.
    assert!((0.5..0.75).contains(&found[1].1.wasted_share), "{}", found[1].1.wasted_share);
}

/// A server that is slow for a share s of the time, f times: its mean work is (1 - s) + s f without a queue.
#[test]
fn episodes_take_their_share() {
    let text = |slow: &str| {
        format!(
            r#"
            duration = "2000s"
            arrivals.utilisation = 0.02
            [leaf]
            servers = 10
            service_time = "1ms"
            {slow}"#
        )
    };
    let mean = |slow: &str| outcomes(&text(slow))[0].1.latency.mean;
    let slow = mean("slow = { share = 0.1, length = \"500ms\", factor = 2 }");
    // Little waiting: M/D/1 at 2% adds 1%.
    assert!((slow.value / 1.11e6 - 1.0).abs() < 0.02, "{slow:?}");
    assert!((mean("").value / 1.01e6 - 1.0).abs() < 0.005, "control: {:?}", mean(""));
}
