//! Services behind one another beside the ideal of all of them together.

use model::{Nanos, Scenario, Trace};
use queue::{Chain, Tier};

use crate::fairness::runs;
use crate::production_node::case_with;
use crate::shuffled::run_shuffled;

/// The p99.9 of a chain's requests over that of the ideal: all services share all CPUs.
fn excess(scenario: &Scenario, trace: &Trace) -> f64 {
    let services: Vec<Vec<Nanos>> = trace
        .programs
        .iter()
        .map(|program| program.requests.iter().map(|request| request.service).collect())
        .collect();
    let services: Vec<&[Nanos]> = services.iter().map(Vec::as_slice).collect();
    let requests = &trace.programs[0].requests;
    let arrivals: Vec<Nanos> = requests.iter().map(|request| request.intended).collect();
    let tier =
        |program: &model::scenario::Program| Tier { pool: 0, workers: program.kind.threads() };
    let chain = Chain {
        tiers: scenario.programs.iter().map(tier).collect(),
        pools: vec![scenario.machine.cpus],
        connections: 64,
    };
    let ends = chain.completions(&arrivals, &services).pop().expect("a last service");
    let inside =
        || requests.iter().zip(&ends).filter(|(one, _)| trace.window.contains(one.intended));
    let measured: Vec<Nanos> = inside().map(|(one, _)| one.latency()).collect();
    let ideal: Vec<Nanos> = inside().map(|(one, end)| *end - one.intended).collect();
    p99_9(measured) / p99_9(ideal)
}

fn p99_9(mut latencies: Vec<Nanos>) -> f64 {
    latencies.sort();
    latencies[(latencies.len() as f64 * 0.999) as usize].0 as f64
}

/// How far a chain is from its ideal under a policy, by requests, by wake-ups, under EEVDF, and with the
/// moments of other requests.
fn of(cpus: &str, rate: &str) -> [f64; 4] {
    let scenario = case_with("two-tiers", &[("cpus = 1", cpus), ("2k/s", rate)]);
    let run = |policy| excess(&scenario, &runs(&scenario, policy)[0]);
    let by_request = "rearguard:pick=group:order=arrival";
    let shuffled = excess(&scenario, &run_shuffled(&scenario, by_request));
    [run(by_request), run("rearguard:pick=group"), run("eevdf"), shuffled]
}

/// Requests that have gone on to the store are served before those that came later.
#[test]
fn a_chain_on_one_cpu_is_served_as_its_requests_came() {
    let [by_request, by_wake_up, eevdf, shuffled] = of("cpus = 1", "2k/s");
    assert!(by_request < 1.005 && by_wake_up > 1.01, "{by_request} {by_wake_up}");
    assert!(eevdf > 2.0 && shuffled > 1.5, "{eevdf} {shuffled}");
}

/// Two CPUs bring requests to the store in another order than they came.
#[test]
fn a_chain_on_two_cpus_is_near_its_ideal() {
    let [by_request, by_wake_up, eevdf, shuffled] = of("cpus = 2", "4k/s");
    assert!(by_request < 1.035 && by_wake_up > by_request + 0.01, "{by_request} {by_wake_up}");
    assert!(eevdf > 2.0 && shuffled > 1.5, "{eevdf} {shuffled}");
}

/// What comes to the store was sent by the proxy, and the client has its answer from the store.
#[test]
fn a_request_goes_from_the_proxy_to_the_store_and_back_to_its_client() {
    let scenario = case_with("two-tiers", &[("60s", "2s")]);
    let trace = &runs(&scenario, "rearguard")[0];
    let [proxy, store] = &trace.programs[..] else { panic!("two programs") };
    assert!(proxy.requests.len() > 5_000 && proxy.requests.len() == store.requests.len());
    for (first, last) in proxy.requests.iter().zip(&store.requests) {
        assert_eq!([first.intended, first.completed], [last.intended, last.sent]);
        assert!(last.sent <= last.started && last.started < last.completed);
        assert_eq!([last.completed, last.completed], [last.received, first.received]);
    }
}
