//! SCHED_FIFO and SCHED_RR, checked against recursions of queueing theory.

mod common;

use common::{run_realtime, run_under, scenario, service, setup, share};
use model::scenario::{Alteration, AlterationKind, Architecture, Kind, Service};
use model::trace::Request;
use model::{CpuId, Nanos, Trace};
use sim::Setup;
use sim::class::fair::Eevdf;
use sim::class::rt::{self, Rt};
use sim::costs::Costs;

/// Lindley's recursion for M servers, first come, first served (Kiefer and Wolfowitz): when each request is
/// done.
fn fifo_completions(
    requests: &[Request],
    servers: usize,
    service: impl Fn(&Request) -> Nanos,
) -> Vec<Nanos> {
    let mut free = vec![Nanos::ZERO; servers];
    let complete = |request: &Request| {
        let first = (0..servers).min_by_key(|&server| free[server]).unwrap();
        free[first] = free[first].max(request.intended) + service(request);
        free[first]
    };
    requests.iter().map(complete).collect()
}

fn completions(trace: &Trace) -> Vec<Nanos> {
    trace.programs[0].requests.iter().map(|request| request.completed).collect()
}

#[test]
fn fifo_on_one_cpu_is_lindleys_recursion() {
    // Enough connections that none is ever short.
    let service = Service { connections: 1_000, ..service(500, 0.8) };
    let scenario = scenario(1, vec![("service", Kind::Service(service))]);
    let free = run_realtime(&scenario, rt::Kind::Fifo, Costs::NONE);
    let requests = &free.programs[0].requests;
    assert!(requests.len() > 10_000);
    assert_eq!(completions(&free), fifo_completions(requests, 1, |r| r.service));
    // With costs, one switch a request, that of the ideal queue: the same recursion on `service`.
    let costly = run_realtime(&scenario, rt::Kind::Fifo, Costs::EXACT);
    let requests = &costly.programs[0].requests;
    assert_eq!(requests[0].service, Nanos(501_350));
    assert_eq!(completions(&costly), fifo_completions(requests, 1, |r| r.service));
    assert_ne!(completions(&costly), completions(&free));
}

#[test]
fn a_pool_of_m_workers_under_fifo_is_kiefer_and_wolfowitz() {
    let architecture = Architecture::SharedQueue { workers: 4 };
    let service = Service { architecture, connections: 1_000, ..service(500, 0.8) };
    let scenario = scenario(4, vec![("service", Kind::Service(service))]);
    let trace = run_realtime(&scenario, rt::Kind::Fifo, Costs::NONE);
    let requests = &trace.programs[0].requests;
    assert_eq!(completions(&trace), fifo_completions(requests, 4, |r| r.service));
    assert_ne!(completions(&trace), fifo_completions(requests, 3, |r| r.service));
}

#[test]
fn fifo_starves_batch_and_its_absence_does_not() {
    let service = Service { connections: 4, ..service(500, 0.8) };
    let programs = vec![("service", Kind::Service(service)), ("hog", Kind::Batch { threads: 4 })];
    let scenario = scenario(1, programs);
    let starved = run_realtime(&scenario, rt::Kind::Fifo, Costs::NONE);
    // What the service leaves, the hogs get, and not more.
    assert!((share(&starved, 0) - 0.8).abs() < 0.02);
    assert!((share(&starved, 0) + share(&starved, 1) - 1.0).abs() < 1e-9);
    let even = run_under(&scenario, Rt::new(rt::Kind::RoundRobin, &scenario.machine));
    assert!(share(&even, 0) < 0.55, "{}", share(&even, 0));
}

#[test]
fn round_robin_takes_turns_of_100_ms_and_fifo_none() {
    let scenario = scenario(1, vec![("hogs", Kind::Batch { threads: 2 })]);
    let with = |kind| run_under(&scenario, Rt::new(kind, &scenario.machine));
    let turns = with(rt::Kind::RoundRobin);
    assert_eq!(turns.counters.switches, Some(100));
    let received = |trace: &Trace, thread: usize| {
        trace.usage.last().unwrap().cpu_time[thread] - trace.usage[0].cpu_time[thread]
    };
    // But for the rest of the tick's interrupt that ends the last turn.
    assert!(received(&turns, 0).0.abs_diff(5_000_000_000) <= Costs::DEFAULT.tick.0);
    let stays = with(rt::Kind::Fifo);
    assert_eq!(stays.counters.switches, Some(0));
    assert_eq!(received(&stays, 1), Nanos::ZERO);
}

#[test]
fn the_fair_server_gives_5_percent_of_a_cpu_that_real_time_threads_would_keep() {
    let beside = |utilisation| {
        let programs = vec![
            ("service", Kind::Service(service(500, utilisation))),
            ("hog", Kind::Batch { threads: 1 }),
        ];
        let scenario = scenario(1, programs);
        share(&run_realtime(&scenario, rt::Kind::Fifo, Costs::NONE), 1)
    };
    let overload = beside(1.5);
    assert!((0.045..0.055).contains(&overload), "{overload}");
    // Where the service leaves more than that, the server never steps in: the hog gets what is left.
    let leaves_20_percent = beside(0.8);
    assert!((leaves_20_percent - 0.2).abs() < 0.02, "{leaves_20_percent}");
}

/// The share of a CPU that spinning threads get beside one real-time thread that wants 90% of another.
fn beside_realtime(pinned: bool) -> f64 {
    let one = Service { connections: 1, ..service(8_000, 0.45) };
    let mut scenario =
        scenario(2, vec![("service", Kind::Service(one)), ("batch", Kind::Batch { threads: 1 })]);
    if pinned {
        scenario.alterations = (0..2)
            .map(|program| Alteration {
                at: Nanos::ZERO,
                kind: AlterationKind::Affinity { program, cpus: vec![CpuId(0)] },
            })
            .collect();
    }
    let setup = Setup { realtime: Some(rt::Kind::Fifo), ..setup(&scenario) };
    let class = Eevdf::seeded(&scenario.machine, &scenario.groups, 1);
    share(&sim::simulate(&setup, class).unwrap(), 1)
}

#[test]
fn a_thread_behind_a_real_time_one_is_pulled_by_an_idle_cpu() {
    let (free, pinned) = (beside_realtime(false), beside_realtime(true));
    assert!(free > 0.97, "{free}");
    assert!(pinned < 0.3, "the control, where no CPU may pull: {pinned}");
}
