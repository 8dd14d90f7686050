//! Partial answers, deadlines, roots, seeds, and files that are wrong.

mod common;

use cluster::Cluster;
use common::{cluster, outcomes};
use model::{Failure, Silent};

const SEARCH: &str = r#"
    duration = "4s"
    fan_out = 100
    arrivals.utilisation = 0.5
    leaf = { servers = 200, replicas = 1, service_time = { law = "exponential", mean = "1ms" } }"#;

#[test]
fn enough_answers_trade_quality_for_latency() {
    let whole = outcomes(SEARCH).remove(0).1;
    assert_eq!((whole.quality, whole.complete_share), (1.0, 1.0));
    let most = outcomes(&format!("partial.enough = 0.95\n{SEARCH}")).remove(0).1;
    assert!((most.quality - 0.95).abs() < 1e-9 && most.complete_share == 0.0, "{most:?}");
    assert!(most.latency.p99.value < whole.latency.p99.value / 1.5, "{most:?}");
}

#[test]
fn an_answer_after_a_time_has_what_came_by_then() {
    // P(T > t) = e^(-t / 2) of M/M/1 at 50%: but leaves drop what is late, which makes them quicker.
    let some = outcomes(&format!("partial.after = \"4ms\"\n{SEARCH}")).remove(0).1;
    assert_eq!(some.latency.max.0, 4_000_000);
    assert!(some.quality > 1.0 - (-2.0f64).exp() && some.quality < 0.93, "{}", some.quality);
    // As load grows, the same time buys less quality (10-ms computing section V.B).
    let full = SEARCH.replace("0.5", "0.9");
    let less = outcomes(&format!("partial.after = \"4ms\"\n{full}")).remove(0).1;
    assert!(less.quality < some.quality - 0.05, "{} {}", less.quality, some.quality);
}

#[test]
fn an_answer_after_its_deadline_is_lost_and_infinitely_slow() {
    let single = SEARCH.replace("fan_out = 100", "fan_out = 1").replace("0.5", "0.8");
    let found = outcomes(&format!("deadline = \"10ms\"\noutlier_threshold = \"5ms\"\n{single}"))
        .remove(0)
        .1;
    let lost = found.lost as f64 / found.requests as f64;
    assert!(lost > 0.03 && lost < 0.12, "{lost}");
    assert!(found.latency.p99.value.is_infinite() && found.latency.p50.value < 5e6, "{found:?}");
    assert!(found.outliers.value > lost && found.quality < 1.0 - lost / 2.0);
    // Beyond its capacity a cluster with a deadline sheds load and stays in order.
    let over = single.replace("0.8", "1.3");
    let over = outcomes(&format!("deadline = \"10ms\"\n{over}")).remove(0).1;
    assert!(over.utilisation.expect("queues") > 0.97 && over.lost > over.requests / 5, "{over:?}");
    // The control: without a deadline nothing is lost.
    assert_eq!(outcomes(&single).remove(0).1.lost, 0);
}

#[test]
fn requests_wait_for_their_root_too() {
    let root = format!("{SEARCH}\nroot = {{ servers = 2, workers = 4, service_time = \"1ms\" }}");
    let plain = outcomes(SEARCH).remove(0).1;
    let rooted = outcomes(&root).remove(0).1;
    let more = rooted.latency.mean.value - plain.latency.mean.value;
    // 1,000 requests a second over 8 workers of 1 ms: 12.5% load, next to no waiting.
    assert!(more > 0.95e6 && more < 1.15e6, "{more}");
}

/// A Jackson network: each request passes its one root twice, and in between a leaf that has room for all.
const TWICE: &str = r#"
    duration = "200s"
    warm_up = "5s"
    arrivals.rate = "800/s"
    leaf = { servers = 1000, service_time = "1ms" }
    dispatch = "choices:d=2""#;

#[test]
fn a_root_puts_answers_together_in_the_queue_in_which_requests_come() {
    const HALF: &str = r#"{ law = "exponential", mean = "500us" }"#;
    let mean = |merge: &str| {
        let root = format!("root = {{ servers = 1, service_time = {HALF}{merge} }}");
        outcomes(&format!("{TWICE}\n{root}")).remove(0).1.latency.mean
    };
    // Twice the mean of M/M/1 at 80%, and the leaf's service.
    let exact = 2.0 * 0.5e6 / (1.0 - 0.8) + 1e6;
    let merged = mean(&format!(", merge.service_time = {HALF}"));
    assert!(merged.low < exact && exact < merged.high && merged.high < 1.2 * exact, "{merged:?}");
    // The control: once at 40%.
    let exact = 0.5e6 / (1.0 - 0.4) + 1e6;
    let plain = mean("");
    assert!(plain.low < exact && exact < plain.high && plain.high < 1.1 * exact, "{plain:?}");
}

#[test]
fn answers_that_come_while_others_are_merged_come_too_late() {
    let root = "root = { servers = 5, workers = 40, service_time = \"1ns\", merge.service_time = \"5ms\" }";
    let run = |text: &str| outcomes(&format!("partial.enough = 0.95\n{text}")).remove(0).1;
    let (plain, merged) = (run(SEARCH), run(&format!("{SEARCH}\n{root}")));
    assert!((merged.quality - 0.95).abs() < 1e-9 && merged.complete_share == 0.0, "{merged:?}");
    let more = merged.latency.p50.value - plain.latency.p50.value;
    assert!((more / 5e6 - 1.0).abs() < 0.05, "{more}");
    // A deadline counts the merge: what would be answered in 4 ms and merged by 9 is lost.
    let run = |text: &str| run(&format!("deadline = \"6ms\"\n{text}"));
    let (plain, merged) = (run(SEARCH), run(&format!("{SEARCH}\n{root}")));
    assert!(merged.lost > merged.requests / 2 && plain.lost < plain.requests / 2, "{merged:?}");
}

/// At 90% a server is busy for a whole second now and then, by chance.
#[test]
fn a_short_run_that_was_full_is_not_called_unstable() {
    let mut one = cluster(
        r#"duration = "1s"
        arrivals.utilisation = 0.9
        leaf = { servers = 1, service_time = { law = "exponential", mean = "10ms" } }"#,
    );
    let case = |seed| {
        one.seed = seed;
        one.run_all(1, &Silent).expect("no interrupt").cases.remove(0)
    };
    let cases: Vec<_> = (1..=8).map(case).collect();
    assert!(cases.iter().all(|case| case.stable), "{cases:?}");
    assert!(cases.iter().any(|case| case.is_full()), "the control: {cases:?}");
}

#[test]
fn a_load_with_its_copies_and_slow_episodes_is_unstable_from_the_capacity_on() {
    let stable = |load: f64, slow: &str, more: &str| {
        let leaf = format!("leaf = {{ servers = 10, service_time = \"1ms\"{slow} }}");
        let text = format!("duration = \"1s\"\narrivals.utilisation = {load}\n{leaf}\n{more}");
        cluster(&text).run_all(1, &Silent).expect("no interrupt").cases[0].stable
    };
    let two = "redundancy = \"replicate:copies=2:cancel=nothing\"";
    assert_eq!([0.4, 0.6].map(|load| stable(load, "", two)), [true, false]);
    // Nothing is answered within 1 us.
    let late = "redundancy = \"reissue:after=1us:cancel=nothing\"";
    assert_eq!([0.4, 0.6].map(|load| stable(load, "", late)), [true, false]);
    // A tenth of the time a server does a tenth of its work: 91% in all.
    let slow = ", slow = { share = 0.1, length = \"10ms\", factor = 10 }";
    assert_eq!([0.85, 0.95].map(|load| stable(load, slow, "")), [true, false]);
    // The controls: copies that can be cancelled may cost nothing, and what is late is dropped.
    assert!(stable(0.6, "", "redundancy = \"replicate:copies=2\""));
    assert!(stable(1.3, "", "deadline = \"10ms\""));
}

#[test]
fn the_network_is_paid_both_ways() {
    let mean = |network: &str| {
        outcomes(&format!("network = \"{network}\"\n{SEARCH}"))[0].1.latency.mean.value
    };
    let more = mean("1ms") - mean("0");
    assert!((more / 2e6 - 1.0).abs() < 0.05, "{more}");
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let cluster = cluster(&format!(
        "redundancy = \"reissue:quantile=0.9\"\ndispatch = \"choices:d=2\"\n{}",
        SEARCH.replace(
            "replicas = 1",
            "replicas = 10, slow = { share = 0.1, length = \"10ms\", factor = 3 }"
        )
    ));
    let run = |seed: u64| cluster.run(&cluster.cases()[0], seed, &Silent).expect("no interrupt");
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).latency, run(2).latency, "control: another seed shows");
}

#[test]
fn mistakes_are_named_with_their_place() {
    let find = |name: &str| Err(Failure::Input(format!("no {name}")));
    for (text, words) in [
        ("", "no comment at the top"),
        ("# x\nduration = \"1s\"", "missing key `arrivals`"),
        ("# x\nfanout = 3", "did you mean `fan_out`?"),
        ("# x\nfan_out = 20000", "1 to 10000"),
        ("# x\ndispatch = \"quickest\"", "expected one of random"),
        ("# x\nredundancy = [\"none\", \"reissue\"]", "expected one of none"),
        ("# x\n[leaf]\nservers = 10\nservice_time = \"1ms\"\nreplicas = 3", "divides"),
        ("# x\n[leaf]\nservers = 10\nmeasured = \"gone.json\"", "no gone.json"),
    ] {
        let failure = Cluster::read(text, "a.toml", &find).expect_err(text).to_string();
        assert!(failure.contains(words), "{text}: {failure}");
    }
    let whole = |more: &str, load: &str| {
        format!(
            "# x\nduration = \"1s\"\narrivals.utilisation = {load}\nleaf = {{ servers = 4, service_time = \"1ms\" }}\n{more}"
        )
    };
    for (text, words) in [
        (whole("", "1.2"), "queues would grow for ever"),
        (whole("redundancy = \"replicate:copies=5\"", "0.5"), "as many replicas"),
        (
            whole(
                "root = { servers = 1, service_time = \"1ms\", merge.service_time = \"1s\" }",
                "0.5",
            ),
            "the roots' utilisation is",
        ),
        (
            whole("redundancy = \"tied\"\ndispatch = \"batch-sampling\"", "0.5"),
            "whose reservations are its redundancy",
        ),
    ] {
        let failure = Cluster::read(&text, "a.toml", &find).expect_err(&text).to_string();
        assert!(failure.contains(words), "{text}: {failure}");
    }
    assert!(Cluster::read(&whole("", "0.5"), "a.toml", &find).is_ok(), "control");
}
