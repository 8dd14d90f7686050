//! What redundancy is worth, and from which load it harms; each mechanism beside its control.

mod common;

use cluster::Outcome;
use common::outcomes;

fn p99_9_ms(outcome: &Outcome) -> f64 {
    outcome.latency.p99_9.value / 1e6
}

/// The Tail at Scale: reissue cuts p99.9 from 1,800 to 74 ms for 2% more requests, where servers are slow for
/// a while.
const SLOW_SERVERS: &str = r#"
    duration = "12s"
    fan_out = 100
    network = "50us"
    arrivals.utilisation = 0.2
    redundancy = ["none", "reissue:after=10ms", "reissue:quantile=0.99", "tied:copies=2"]
    [leaf]
    servers = 300
    replicas = 3
    service_time = { law = "exponential", mean = "1ms" }"#;

#[test]
fn reissue_cuts_the_tail_that_slow_servers_make() {
    let slow =
        format!("{SLOW_SERVERS}\nslow = {{ share = 0.002, length = \"500ms\", factor = 50 }}");
    let found = outcomes(&slow);
    let [none, after, quantile, tied] = [0, 1, 2, 3].map(|at| &found[at].1);
    assert!(p99_9_ms(none) > 500.0, "{none:?}");
    for (hedged, more) in [(after, 1.01), (quantile, 1.02)] {
        assert!(p99_9_ms(hedged) < p99_9_ms(none) / 20.0, "{hedged:?}");
        assert!(hedged.copies_per_sub_request < more, "{hedged:?}");
    }
    // A tied copy that a slow server has begun is past help: the queue was not the reason.
    assert!(p99_9_ms(tied) > 3.0 * p99_9_ms(after), "{tied:?}");
}

/// The control: without slow servers there is little to cut.
#[test]
fn reissue_gains_little_where_no_server_is_slow() {
    let found = outcomes(SLOW_SERVERS);
    assert!(p99_9_ms(&found[1].1) > p99_9_ms(&found[0].1) / 1.5, "{found:?}");
}

/// Two copies turn M/M/1 at rho into two at 2 rho, of which the quicker counts: a mean of 1 / (2 (1 - 2 rho))
/// against 1 / (1 - rho). The two are equal at a load of one third (10-ms computing section V.B: beyond light
/// load, redundancy adds outliers).
#[test]
fn replication_helps_below_a_third_and_harms_above() {
    let text = r#"
        duration = "20s"
        arrivals.utilisation = [0.28, 0.38]
        leaf = { servers = 100, service_time = { law = "exponential", mean = "1ms" } }
        redundancy = ["none", "replicate:copies=2:cancel=nothing"]"#;
    let found = outcomes(text);
    let [below, above, below_two, above_two] = [0, 1, 2, 3].map(|at| found[at].1.latency);
    for (one, two) in [(below.mean, below_two.mean), (below.p99, below_two.p99)] {
        assert!(two.high < one.low, "below a third: {two:?} against {one:?}");
    }
    for (one, two) in [(above.mean, above_two.mean), (above.p99, above_two.p99)] {
        assert!(two.low > one.high, "above a third: {two:?} against {one:?}");
    }
}

/// Reissue after a short delay cuts the tail while there is time to spare; without cancellation each second
/// copy makes the next one likelier, and at half the capacity all is sent twice. With cancellation it helps
/// on.
#[test]
fn reissue_harms_under_load_unless_it_cancels() {
    let text = r#"
        duration = "8s"
        arrivals.utilisation = [0.3, 0.55]
        leaf = { servers = 100, service_time = { law = "exponential", mean = "1ms" } }
        redundancy = ["none", "reissue:after=2ms:cancel=nothing", "reissue:after=2ms"]"#;
    let found = outcomes(text);
    let p99 = |at: usize| found[at].1.latency.p99;
    assert!(p99(2).high < p99(0).low, "at 30%: {:?} against {:?}", p99(2), p99(0));
    assert!(p99(3).low > 5.0 * p99(1).high, "at 55%: {:?} against {:?}", p99(3), p99(1));
    assert!(found[3].1.copies_per_sub_request > 1.9, "{:?}", found[3].1);
    assert!(p99(4).high < p99(0).low && p99(5).high < p99(1).low, "cancelled: {found:?}");
}

/// What a rule cancels decides from which load it harms: nothing, copies in queues, or tied ones before they
/// cost anything.
#[test]
fn cancellation_moves_the_load_from_which_copies_harm() {
    let text = r#"
        duration = "6s"
        arrivals.utilisation = 0.6
        leaf = { servers = 100, service_time = { law = "exponential", mean = "1ms" } }
        redundancy = ["none", "replicate:copies=2:cancel=nothing", "replicate:copies=2", "replicate:copies=2:cancel=running", "tied:copies=2"]"#;
    let found = outcomes(text);
    let p99 = |at: usize| found[at].1.latency.p99.value;
    let busy = |at: usize| found[at].1.utilisation.expect("queues");
    assert!(p99(1) > 50.0 * p99(0) && busy(1) > 0.99, "{found:?}");
    assert!(p99(2) < p99(0) && busy(2) > 0.75, "{found:?}");
    // Exponential work aborted on one server is as likely to end as on the other: no work is added at all.
    assert!(p99(3) < p99(0) && (busy(3) - 0.6).abs() < 0.01, "{found:?}");
    assert!(p99(4) < p99(0) && (busy(4) - 0.6).abs() < 0.01 && found[4].1.wasted_share == 0.0);
}

/// Tied copies that follow each other too closely on a slow network are both served.
#[test]
fn tied_copies_cross_on_the_network() {
    let text = |apart: &str| {
        format!(
            r#"
            duration = "4s"
            network = "300us"
            arrivals.utilisation = 0.2
            leaf = {{ servers = 100, service_time = {{ law = "exponential", mean = "1ms" }} }}
            redundancy = "tied:copies=2{apart}""#
        )
    };
    let wasted = |apart: &str| outcomes(&text(apart))[0].1.wasted_share;
    let (at_once, apart) = (wasted(":apart=0"), wasted(""));
    assert!(at_once > 0.2, "both find idle servers: {at_once}");
    // What is left: the second begins at once, while the first comes to the head of its queue.
    assert!(apart < at_once / 3.0, "{apart} {at_once}");
}

/// A copy that is cancelled on its way leaves its worker to the central queue: without workers all requests
/// would miss the deadline. The control is the rule that cancels nothing.
#[test]
fn a_central_queue_keeps_the_workers_of_cancelled_copies() {
    for network in ["0", "50us"] {
        let text = format!(
            r#"
            duration = "4s"
            network = "{network}"
            deadline = "100ms"
            arrivals.utilisation = 0.2
            dispatch = "central"
            leaf = {{ servers = 12, replicas = 4, service_time = {{ law = "exponential", mean = "1ms" }} }}
            redundancy = ["none", "replicate:copies=2", "tied:copies=2", "reissue:quantile=0.95"]"#
        );
        for (case, outcome) in outcomes(&text) {
            let busy = outcome.utilisation.expect("queues");
            assert!(outcome.lost == 0 && busy > 0.15, "{network} {case:?}: {outcome:?}");
        }
    }
}

/// Copies of the same work end together: only queues and slow servers differ (the S and X parts of a
/// service).
#[test]
fn copies_of_the_same_work_gain_less() {
    let text = |same: bool| {
        format!(
            r#"
            duration = "6s"
            arrivals.utilisation = 0.1
            leaf = {{ servers = 100, same_work = {same}, service_time = {{ law = "exponential", mean = "1ms" }} }}
            redundancy = "replicate:copies=2:cancel=nothing""#
        )
    };
    let mean = |same: bool| outcomes(&text(same))[0].1.latency.mean.value;
    assert!((mean(false) / 0.625e6 - 1.0).abs() < 0.02, "{}", mean(false));
    assert!(mean(true) > 1.0e6 && mean(true) < 1.25e6, "{}", mean(true));
}
