//! Explanations of simulated traces: parts that sum to the whole, and the named source.

mod common;

use common::{explained, lines, shipped, trace};
use explain::{Culprit, Explained, Service, Setting, Source, explain};

/// The exact accounts of a request.
fn balances(one: &Explained) -> bool {
    let (latency, service, ideal) =
        (one.latency.0 as i64, one.service.0 as i64, one.ideal.0 as i64);
    let excess = one.excess() as i64;
    latency - service == one.inherent as i64 + excess + one.other
        && latency - ideal == excess + one.other - one.saved as i64
}

#[test]
fn parts_sum_to_the_whole_in_every_scenario_under_every_policy() {
    let policies = ["cfs", "eevdf", "fifo", "rr", "cts", "gvts", "rearguard", "dwrr", "credit"];
    let mut seen = 0;
    for scenario in shipped("200ms") {
        let setting = Setting::of(&scenario);
        for policy in policies {
            let trace = trace(&scenario, policy, 1);
            for service in explain(&trace, &setting).unwrap().services {
                seen += service.requests.len();
                let wrong = service.requests.iter().find(|one| !balances(one));
                assert_eq!(wrong, None, "{} under {policy}", scenario.name);
                assert_eq!(service.unknown, 0, "{} under {policy}", scenario.name);
            }
        }
    }
    assert!(seen > 10_000, "{seen} requests");
}

/// The part of the slowest requests' excess that a source has.
fn share(service: &Service, source: Source) -> f64 {
    let found = service.findings();
    found.iter().find(|finding| finding.source == source).map_or(0.0, |finding| finding.share)
}

/// The part of the slowest requests for which a culprit is the right one, of those with an excess: some are
/// slow because the ideal is.
fn named(service: &Service, culprit: Culprit) -> f64 {
    let culprits: Vec<Culprit> = service.slowest().filter_map(|one| Some(one.worst()?.1)).collect();
    let right = culprits.iter().filter(|who| **who == culprit).count();
    right as f64 / culprits.len() as f64
}

fn service_of(text: &str, policy: &str) -> Service {
    explained(text, policy, 1).remove(0)
}

const ONE: &str = "
[[program]]
name = \"service\"
kind = \"service\"
architecture = \"thread-per-connection\"
connections = 64
service_time = \"500us\"
arrivals = { law = \"poisson\", utilisation = 0.4 }
";

const HOG: &str = "
[[program]]
name = \"hog\"
kind = \"batch\"
threads = 4
";

#[test]
fn a_hog_is_named_and_without_it_the_tail_is_as_predicted() {
    let beside = service_of(&lines("20s", 1, &[ONE, HOG]), "eevdf");
    assert!(share(&beside, Source::Background) > 0.5, "{}", share(&beside, Source::Background));
    assert!(named(&beside, Culprit::Program(1)) >= 0.95);
    let alone = service_of(&lines("20s", 1, &[ONE]), "eevdf");
    near(beside.p99_9_without(Source::Background).0, common::p99_9(&alone));
    // The control: an absent program is not blamed.
    assert_eq!(share(&alone, Source::Background), 0.0);
}

#[test]
fn later_siblings_are_named_under_cfs_and_none_under_fifo() {
    let text = lines("20s", 1, &[&ONE.replace("0.4", "0.8")]);
    let cfs = service_of(&text, "cfs");
    assert!(share(&cfs, Source::Inversion) > 0.9, "{}", share(&cfs, Source::Inversion));
    assert!(named(&cfs, Culprit::Program(0)) >= 0.95);
    let fifo = service_of(&text, "fifo");
    near(cfs.p99_9_without(Source::Inversion).0, common::p99_9(&fifo));
    let of_fifo: u64 = fifo.requests.iter().map(|one| one.of(Source::Inversion)).sum();
    assert_eq!(of_fifo, 0);
}

#[test]
fn partitioned_connections_are_named_and_shared_ones_are_not() {
    let workers = |architecture: &str| {
        let service = ONE
            .replace("thread-per-connection\"", &format!("{architecture}\"\nworkers = 4"))
            .replace("0.4", "0.8");
        service_of(&lines("20s", 4, &[&service]), "fifo")
    };
    let partitioned = workers("partitioned");
    assert!(
        share(&partitioned, Source::IdleElsewhere) > 0.9,
        "{}",
        share(&partitioned, Source::IdleElsewhere)
    );
    assert!(named(&partitioned, Culprit::Worker) >= 0.95);
    let shared = workers("shared-queue");
    near(partitioned.p99_9_without(Source::IdleElsewhere).0, common::p99_9(&shared));
    let of_shared: u64 = shared.requests.iter().map(|one| one.of(Source::IdleElsewhere)).sum();
    let waited: u64 = shared.requests.iter().map(|one| one.inherent).sum();
    assert!(of_shared < waited / 50, "{of_shared} ns of {waited}");
}

/// A service that wants 40% of the CPU in bursts, and may use half of it in each 100 ms.
#[test]
fn a_quota_is_named_where_it_holds_threads_and_not_where_there_is_none() {
    for policy in ["cfs", "eevdf", "rearguard", "dwrr"] {
        let run = |max: &str| {
            let group = format!("[[group]]\nname = \"held\"\nmax = \"{max}\"\n");
            let load = format!("{ONE}group = \"held\"\n");
            service_of(&lines("20s", 1, &[&group, &load]), policy)
        };
        let (held, free) = (run("45ms/100ms"), run("max"));
        let throttled = share(&held, Source::Throttled);
        assert!(throttled > 0.8, "{policy}: {throttled}");
        assert_eq!(share(&free, Source::Throttled), 0.0, "{policy}");
        assert!(common::p99_9(&held) > 2 * common::p99_9(&free), "{policy}");
    }
}

/// Within 30% of each other.
fn near(foretold: u64, measured: u64) {
    let ratio = foretold as f64 / measured as f64;
    assert!((0.7..=1.3).contains(&ratio), "foretold {foretold} ns, measured {measured} ns");
}

/// Four connections' worth of softirq work for each request, on all CPUs or on one of its own.
#[test]
fn interrupts_are_named_where_they_are_spread_and_not_where_they_have_a_cpu() {
    let run = |cpus: u32, place: &str| {
        let mechanism =
            format!("[machine.interrupts]\ncpus = \"{place}\"\nhard = \"5us\"\nsoft = \"60us\"\n");
        // The load of four CPUs of five.
        let load = ONE.replace("utilisation = 0.4", "rate = \"5k/s\"");
        explained(&lines("20s", cpus, &[&mechanism, &load]), "fifo", 1).remove(0)
    };
    let spread = run(4, "spread");
    assert!(share(&spread, Source::Interrupt) > 0.5, "{:?}", spread.findings());
    let right = spread
        .slowest()
        .filter(|one| one.worst().is_some_and(|(source, _)| source == Source::Interrupt));
    assert!(right.count() as f64 >= 0.95 * spread.slow.len() as f64);
    let dedicated = run(5, "dedicated");
    near(spread.p99_9_without(Source::Interrupt).0, common::p99_9(&dedicated));
    let slowed = |service: &Service| {
        let all = service.slowest().map(|one| one.of(Source::Interrupt)).sum::<u64>();
        all as f64 / service.slowest().map(|one| one.latency.0).sum::<u64>() as f64
    };
    assert!(slowed(&dedicated) < 0.05 && slowed(&spread) > 0.2, "{}", slowed(&dedicated));
}

#[test]
fn the_exit_from_an_idle_state_is_named() {
    let quiet = ONE.replace("500us", "50us").replace("0.4", "0.1");
    let sleepy = service_of(&lines("20s", 1, &["[machine.idle]\n", &quiet]), "fifo");
    assert!(share(&sleepy, Source::Power) > 0.5, "{:?}", sleepy.findings());
    let named = sleepy
        .slowest()
        .filter(|one| matches!(one.worst(), Some((Source::Power, Culprit::IdleState(Some(_))))));
    assert!(named.count() as f64 >= 0.95 * sleepy.slow.len() as f64);
    let awake = service_of(&lines("20s", 1, &[&quiet]), "fifo");
    near(sleepy.p99_9_without(Source::Power).0, common::p99_9(&awake));
    assert_eq!(share(&awake, Source::Power), 0.0);
}

#[test]
fn remote_memory_is_named() {
    let nodes = |bound: &str| {
        let memory = "nodes = 2\nllcs = 2\n[machine.memory]\nremote = 3\n";
        let service = format!("{ONE}memory_bound = {bound}\n");
        service_of(&lines("20s", 4, &[memory, &service]), "fifo")
    };
    let far = nodes("0.8");
    assert!(share(&far, Source::Numa) > 0.5, "{:?}", far.findings());
    let named = far.slowest().filter(|one| one.worst().is_some_and(|w| w.1 == Culprit::Remote));
    assert!(named.count() as f64 >= 0.95 * far.slow.len() as f64);
    let near_by = nodes("0");
    near(far.p99_9_without(Source::Numa).0, common::p99_9(&near_by));
    assert_eq!(share(&near_by, Source::Numa), 0.0);
}
