//! The ideal of services behind one another.

use std::collections::{BTreeMap, BTreeSet};

use model::scenario::{Chain, Kind, Service};
use model::{CpuId, Nanos, Scenario, Trace};
use queue::Tier;

/// For each service of a chain the ideal latencies of the window's requests: of the first until the last
/// answer, of others until they are done. Nothing of a chain whose services share some of their CPUs: then
/// no rule says which CPU is whose.
pub(crate) fn ideals(scenario: &Scenario, trace: &Trace) -> BTreeMap<usize, Vec<Nanos>> {
    let chains = scenario.chains();
    if chains.is_empty() {
        return BTreeMap::new();
    }
    let sets = scenario.usable_sets(trace.window.start);
    chains.iter().flat_map(|chain| of_chain(scenario, trace, chain, &sets)).collect()
}

fn of_chain(
    scenario: &Scenario,
    trace: &Trace,
    chain: &Chain,
    sets: &[BTreeSet<CpuId>],
) -> BTreeMap<usize, Vec<Nanos>> {
    let Some(network) = network(scenario, chain, sets) else { return BTreeMap::new() };
    let requests = |program: &usize| &trace.programs[*program].requests;
    let arrivals: Vec<Nanos> = requests(&chain.first()).iter().map(|own| own.intended).collect();
    let services: Vec<Vec<Nanos>> =
        chain.0.iter().map(|own| requests(own).iter().map(|one| one.service).collect()).collect();
    let services: Vec<&[Nanos]> = services.iter().map(Vec::as_slice).collect();
    let mut ends = network.completions(&arrivals, &services);
    let inside = |ends: Vec<Nanos>| -> Vec<Nanos> {
        let own = arrivals.iter().zip(ends).filter(|(at, _)| trace.window.contains(**at));
        own.map(|(at, end)| end.saturating_sub(*at)).collect()
    };
    // The client of the first has its answer from the last.
    ends[0] = ends.last().cloned().unwrap_or_default();
    chain.0.iter().copied().zip(ends.into_iter().map(inside)).collect()
}

/// Its queues; `None` where two services share some CPUs and not all.
fn network(scenario: &Scenario, chain: &Chain, sets: &[BTreeSet<CpuId>]) -> Option<queue::Chain> {
    let mut pools: Vec<&BTreeSet<CpuId>> = Vec::new();
    let mut tiers = Vec::new();
    for own in &chain.0 {
        let set = &sets[*own];
        let pool = pools.iter().position(|pool| *pool == set);
        if pool.is_none() && pools.iter().any(|pool| !pool.is_disjoint(set)) {
            return None;
        }
        let pool = pool.unwrap_or_else(|| {
            pools.push(set);
            pools.len() - 1
        });
        tiers.push(Tier { pool, workers: threads(service(scenario, *own)?) });
    }
    let connections = service(scenario, chain.first())?.connections;
    let pools = pools.iter().map(|pool| pool.len() as u32).collect();
    Some(queue::Chain { tiers, pools, connections })
}

/// How many requests a service can work on at once.
fn threads(service: &Service) -> u32 {
    service.threads().min(service.connections)
}

fn service(scenario: &Scenario, program: usize) -> Option<&Service> {
    match &scenario.programs[program].kind {
        Kind::Service(service) => Some(service),
        _ => None,
    }
}

/// The most requests a second that a service, and those behind it, can have.
pub fn saturation_per_s(scenario: &Scenario, program: usize) -> f64 {
    let chains = scenario.chains();
    let alone = Chain(vec![program]);
    let chain = chains.iter().find(|chain| chain.first() == program).unwrap_or(&alone);
    let sets = scenario.usable_sets(Nanos::ZERO);
    let services = || chain.0.iter().filter_map(|own| Some((*own, service(scenario, *own)?)));
    let time_s = |service: &Service| service.service_time.as_secs_f64();
    let of_threads = services().map(|(_, service)| f64::from(threads(service)) / time_s(service));
    // The CPUs of a service serve all whose CPUs are among them.
    let of_cpus = services().map(|(own, _)| {
        let inside = services().filter(|(other, _)| sets[*other].is_subset(&sets[own]));
        sets[own].len() as f64 / inside.map(|(_, service)| time_s(service)).sum::<f64>()
    });
    of_threads.chain(of_cpus).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use model::trace::{ProgramTrace, Request, Window};

    use super::*;

    /// A proxy of 10 us with a store of 20 us behind it, each with these CPUs.
    fn scenario(proxy: &str, store: &str) -> Scenario {
        let group =
            |name: &str, cpus: &str| format!("[[group]]\nname = \"{name}\"\ncpus = {cpus}\n");
        let service = |name: &str, rest: &str| {
            format!(
                "[[program]]\nname = \"{name}\"\nkind = \"service\"\ngroup = \"{name}\"\n{rest}\n"
            )
        };
        let text = format!(
            "# A.\nduration = \"1s\"\n[machine]\ncpus = 2\n{}{}{}{}",
            group("proxy", proxy),
            group("store", store),
            service("proxy", "service_time = \"10us\"\narrivals = { rate = \"1/s\" }"),
            service("store", "service_time = \"20us\"\nbehind = \"proxy\"")
        );
        Scenario::read(&text, "chain.toml").expect("a valid scenario")
    }

    /// In microseconds, the ideal latencies of two requests that come at 0 and 1.
    fn found(scenario: &Scenario) -> BTreeMap<usize, Vec<u64>> {
        let us = Nanos::from_micros;
        let program = |service| {
            let of = |at| Request::at_once(us(at), us(at), us(service));
            ProgramTrace { requests: vec![of(0), of(1)], ..ProgramTrace::default() }
        };
        let window = Window { start: Nanos::ZERO, end: us(9) };
        let trace = Trace { window, programs: vec![program(10), program(20)], ..Trace::default() };
        let whole = |all: Vec<Nanos>| all.into_iter().map(|one| one.0 / 1_000).collect();
        ideals(scenario, &trace).into_iter().map(|(own, all)| (own, whole(all))).collect()
    }

    #[test]
    fn services_on_one_cpu_are_one_queue_and_on_two_a_series() {
        let shared = found(&scenario("[0]", "[0]"));
        assert_eq!(shared, BTreeMap::from([(0, vec![30, 59]), (1, vec![30, 59])]));
        let apart = found(&scenario("[0]", "[1]"));
        assert_eq!(apart, BTreeMap::from([(0, vec![30, 49]), (1, vec![30, 49])]));
        assert_eq!(found(&scenario("[0]", "[0, 1]")), BTreeMap::new(), "neither");
    }

    #[test]
    fn the_most_that_a_chain_can_have_is_what_its_cpus_can_do() {
        let most = |proxy, store| saturation_per_s(&scenario(proxy, store), 0).round();
        assert_eq!([most("[0]", "[0]"), most("[0]", "[1]")], [33_333.0, 50_000.0]);
        assert_eq!(most("[0, 1]", "[0, 1]"), 66_667.0);
    }
}
