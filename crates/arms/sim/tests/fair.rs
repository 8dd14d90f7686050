//! The default classes against what real kernels do, and against what any fair class must do.

mod common;

use common::{cpu_time, run_under, scenario, service, setup, share};
use model::scenario::{Group, Kind, Machine, Mechanisms, Scenario, Service, Wait};
use model::trace::Request;
use model::{Nanos, Trace};
use proptest::prelude::*;
use sim::Setup;
use sim::class::fair::{Cfs, Eevdf};
use sim::class::rt::{self, Rt};
use sim::costs::Costs;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Which {
    Cfs,
    Eevdf,
}

const BOTH: [Which; 2] = [Which::Cfs, Which::Eevdf];

fn run(scenario: &Scenario, which: Which) -> Trace {
    run_with(&setup(scenario), which)
}

fn run_with(setup: &Setup, which: Which) -> Trace {
    let Scenario { machine, groups, .. } = setup.scenario;
    let trace = match which {
        Which::Cfs => sim::simulate(setup, Cfs::seeded(machine, groups, setup.seed)),
        Which::Eevdf => sim::simulate(setup, Eevdf::seeded(machine, groups, setup.seed)),
    };
    trace.expect("the run succeeds")
}

fn hogs(threads: u32) -> Kind {
    Kind::Batch { threads }
}

/// Two sockets of eight CPUs in pairs (GVTS section 5.1).
const SOCKETS: Machine = Machine { cpus: 16, smt: 2, llcs: 2, nodes: 2 };

fn on(machine: Machine, programs: Vec<(&str, Kind)>) -> Scenario {
    Scenario { machine, ..scenario(machine.cpus, programs) }
}

fn group(name: &str, parent: Option<usize>, weight: u32) -> Group {
    Group::new(name, parent, weight)
}

/// How far a program's share is from what it is due.
fn off(trace: &Trace, program: usize, due: f64) -> f64 {
    (share(trace, program) - due).abs()
}

// ---- Shares on one CPU ----

#[test]
fn equal_spinners_share_equally() {
    for which in BOTH {
        let mut five = scenario(1, (0..5).map(|_| ("hog", hogs(1))).collect());
        let trace = run(&five, which);
        assert!((0..5).all(|program| off(&trace, program, 0.2) < 0.002), "{which:?}");
        five.programs[0].nice = 1;
        let trace = run(&five, which);
        assert!(off(&trace, 0, 0.2) > 0.02, "{which:?}: one step of nice must show");
    }
}

#[test]
fn five_steps_of_nice_are_three_quarters_of_a_cpu() {
    for which in BOTH {
        let mut two = scenario(1, vec![("favoured", hogs(1)), ("plain", hogs(1))]);
        two.programs[0].nice = -5;
        assert!(off(&run(&two, which), 0, 0.753) < 0.003, "{which:?}");
        two.programs[0].nice = 0;
        assert!(off(&run(&two, which), 0, 0.5) < 0.003, "{which:?}");
    }
}

#[test]
fn nested_groups_get_their_weights() {
    let programs = vec![("x", hogs(2)), ("y", hogs(1)), ("b", hogs(3))];
    let mut nested = scenario(1, programs);
    nested.groups = vec![
        group("a", None, 300),
        group("b", None, 100),
        group("a/x", Some(0), 100),
        group("a/y", Some(0), 200),
    ];
    let dues = [0.25, 0.5, 0.25];
    for which in BOTH {
        for (program, inside) in [2, 3, 1].into_iter().enumerate() {
            nested.programs[program].group = Some(inside);
        }
        let trace = run(&nested, which);
        assert!((0..3).all(|program| off(&trace, program, dues[program]) < 0.01), "{which:?}");
        // In no group, every thread counts alike.
        nested.programs.iter_mut().for_each(|program| program.group = None);
        let trace = run(&nested, which);
        let threads = [2.0, 1.0, 3.0];
        assert!((0..3).all(|program| off(&trace, program, threads[program] / 6.0) < 0.01));
    }
}

// ---- Tails of services ----

/// Requests that a window holds.
fn measured(trace: &Trace) -> Vec<&Request> {
    let requests = &trace.programs[0].requests;
    requests.iter().filter(|request| trace.window.contains(request.intended)).collect()
}

/// The latencies of one queue for all CPUs, first come, first served, for the same arrivals.
fn ideal(trace: &Trace, cpus: u32) -> Vec<u64> {
    let mut free = vec![0; cpus as usize];
    let serve = |request: &&Request| {
        let first = (0..free.len()).min_by_key(|&cpu| free[cpu]).unwrap();
        free[first] = free[first].max(request.intended.0) + request.service.0;
        free[first] - request.intended.0
    };
    measured(trace).iter().map(serve).collect()
}

fn quantile(mut values: Vec<u64>, share: f64) -> f64 {
    values.sort_unstable();
    values[((values.len() as f64 * share).ceil() as usize).max(1) - 1] as f64
}

/// A quantile of the latency over the ideal one.
fn excess(trace: &Trace, cpus: u32, share: f64) -> f64 {
    let latencies = measured(trace).iter().map(|request| request.latency().0).collect();
    quantile(latencies, share) / quantile(ideal(trace, cpus), share)
}

/// Pairs of requests of which the later arrival was started first, for each request.
fn inversions(trace: &Trace) -> f64 {
    let starts: Vec<Nanos> = measured(trace).iter().map(|request| request.started).collect();
    let behind = |(index, start): (usize, &Nanos)| {
        let later = &starts[index + 1..];
        later.iter().take(2_000).filter(|other| *other < start).count()
    };
    starts.iter().enumerate().map(behind).sum::<usize>() as f64 / starts.len() as f64
}

/// What several seeds measure, in the middle.
fn median(scenario: &Scenario, which: Which, measure: impl Fn(&Trace) -> f64) -> f64 {
    let of_seed = |seed| measure(&run_with(&Setup { seed, ..setup(scenario) }, which));
    let mut values: Vec<f64> = (1..=5).map(of_seed).collect();
    values.sort_by(f64::total_cmp);
    values[2]
}

/// A service of 64 threads for 3 s from its start on: as long as the runs on real kernels that the bounds
/// below come from. CFS keeps for seconds the virtual time that each thread got when it was created.
fn from_the_start(cpus: u32, service: Service, beside: Vec<(&'static str, Kind)>) -> Scenario {
    let mut programs = vec![("service", Kind::Service(service))];
    programs.extend(beside);
    let (warm_up, duration) = (Nanos::ZERO, Nanos::from_secs(3));
    Scenario { warm_up, duration, ..scenario(cpus, programs) }
}

#[test]
fn on_one_cpu_cfs_reorders_and_eevdf_hardly_does() {
    // Linux 6.1: 0.81 inversions a request, p99.9 3.2 times the ideal. Linux 7.2: 0.03 and 1.02.
    let alone = from_the_start(1, service(500, 0.8), vec![]);
    let tail = |trace: &Trace| excess(trace, 1, 0.999);
    assert!((0.4..1.2).contains(&median(&alone, Which::Cfs, inversions)));
    assert!((2.0..5.0).contains(&median(&alone, Which::Cfs, tail)));
    assert!((0.01..0.06).contains(&median(&alone, Which::Eevdf, inversions)));
    assert!((0.99..1.05).contains(&median(&alone, Which::Eevdf, tail)));
    let fifo = run_under(&alone, Rt::new(rt::Kind::Fifo, &alone.machine));
    assert!(inversions(&fifo) == 0.0 && tail(&fifo) < 1.001);
}

#[test]
fn beside_hogs_cfs_serves_at_once_and_eevdf_does_not() {
    // Linux 6.1: p99.9 1.05 times the ideal; Linux 7.2: 3.8 times, p99 7.4 ms.
    let crowd = from_the_start(1, service(500, 0.4), vec![("hogs", hogs(4))]);
    let tail = |trace: &Trace| excess(trace, 1, 0.999);
    assert!((0.99..1.1).contains(&median(&crowd, Which::Cfs, tail)));
    assert!((3.0..5.5).contains(&median(&crowd, Which::Eevdf, tail)));
    for which in BOTH {
        let trace = run(&crowd, which);
        let all = share(&trace, 0) + share(&trace, 1);
        assert!((all - 1.0).abs() < 1e-6 && off(&trace, 0, 0.4) < 0.03, "{which:?}");
    }
}

#[test]
fn a_service_that_wants_most_of_a_cpu_gets_it_beside_one_hog() {
    // Linux 7.2: shares 0.782 and 0.221, p99.9 1.5 to 1.9 times the ideal.
    let greedy = from_the_start(1, service(500, 0.8), vec![("hog", hogs(1))]);
    let tail = median(&greedy, Which::Eevdf, |trace| excess(trace, 1, 0.999));
    assert!((1.15..2.0).contains(&tail), "{tail}");
    for which in BOTH {
        assert!(median(&greedy, which, |trace| off(trace, 0, 0.8)) < 0.03, "{which:?}");
    }
}

#[test]
fn long_services_share_the_cpu_under_eevdf() {
    // Linux 7.2, services of 8 ms: p50 31 ms and p99 127 ms where the ideal has 18 and 77.
    let mut long = from_the_start(1, service(8_000, 0.8), vec![]);
    long.duration = Nanos::from_secs(12);
    let tail = median(&long, Which::Eevdf, |trace| excess(trace, 1, 0.99));
    assert!((1.4..2.0).contains(&tail), "{tail}");
}

#[test]
fn on_four_cpus_both_leave_requests_waiting_in_queues_of_their_own() {
    // Linux 6.1: p99.9 3.4 times the ideal, 0.62 inversions a request; Linux 7.2: 2.2 times, 0.51.
    let four = from_the_start(4, service(2_000, 0.8), vec![]);
    let tail = |trace: &Trace| excess(trace, 4, 0.999);
    assert!((2.5..5.5).contains(&median(&four, Which::Cfs, tail)));
    assert!((0.4..1.0).contains(&median(&four, Which::Cfs, inversions)));
    assert!((1.1..2.5).contains(&median(&four, Which::Eevdf, tail)));
    assert!((0.35..0.75).contains(&median(&four, Which::Eevdf, inversions)));
    let one_queue = run_under(&four, Rt::new(rt::Kind::Fifo, &four.machine));
    assert!(tail(&one_queue) < 1.1 && inversions(&one_queue) < 0.2);
}

// ---- Several CPUs ----

/// The least and the greatest of received minus due over 10 s, where all threads are due the same.
fn lags(trace: &Trace) -> (f64, f64) {
    let (first, last) = (&trace.usage[0].cpu_time, &trace.usage.last().unwrap().cpu_time);
    let received: Vec<f64> = first.iter().zip(last).map(|(a, b)| (*b - *a).as_secs_f64()).collect();
    let due = received.iter().sum::<f64>() / received.len() as f64;
    let lag = received.iter().map(|time| time - due);
    (lag.clone().fold(0.0, f64::min), lag.fold(0.0, f64::max))
}

#[test]
fn twenty_threads_on_sixteen_cpus_drift_apart() {
    // Linux 6.1: lag -0.61..0.65 s after 10 s; Linux 7.2: -0.66..0.84.
    for which in BOTH {
        let trace = run(&on(SOCKETS, vec![("spin", hogs(20))]), which);
        let (least, most) = lags(&trace);
        assert!(
            (-1.6..-0.3).contains(&least) && (0.3..1.6).contains(&most),
            "{which:?} {least} {most}"
        );
        assert!(trace.counters.pulls.unwrap() > 50, "{which:?}");
        let even = run(&on(SOCKETS, vec![("spin", hogs(16))]), which);
        let (least, most) = lags(&even);
        assert!(least > -0.05 && most < 0.05, "{which:?}: a CPU each: {least} {most}");
    }
}

#[test]
fn equal_groups_are_equal_on_one_cpu_and_not_on_sixteen() {
    // Linux 6.1: lag -1.45..1.68 s for 8 and 12 threads in equal groups after 10 s (GVTS section 2.3 says
    // why).
    for which in BOTH {
        let mut groups = on(SOCKETS, vec![("a", hogs(8)), ("b", hogs(12))]);
        groups.groups = vec![group("a", None, 100), group("b", None, 100)];
        groups.programs[0].group = Some(0);
        groups.programs[1].group = Some(1);
        // As late as in the guest that this was measured in.
        groups.mechanisms.tick_late = Some(Nanos::from_micros(1_650));
        // The groups' shares are right in one run of five, as they were in the guest; those of their threads
        // never.
        let worst_lag_s = median(&groups, which, |wide| {
            assert!((share(wide, 0) + share(wide, 1) - 16.0).abs() < 0.01, "{which:?}");
            let usage = (&wide.usage[0].cpu_time, &wide.usage.last().unwrap().cpu_time);
            let lag = |(thread, due): (usize, f64)| {
                (usage.1[thread] - usage.0[thread]).as_secs_f64() - due
            };
            let dues = (0..20).map(|thread| (thread, if thread < 8 { 10.0 } else { 20.0 / 3.0 }));
            dues.map(|one| lag(one).abs()).fold(0.0, f64::max)
        });
        assert!((0.8..4.0).contains(&worst_lag_s), "{which:?} {worst_lag_s}");
        groups.machine = Machine::ONE_CPU;
        assert!(off(&run(&groups, which), 0, 0.5) < 0.005, "{which:?}");
    }
}

#[test]
fn no_cpu_idles_while_threads_wait() {
    for which in BOTH {
        let mut mixed = on(SOCKETS, vec![("spin", hogs(17))]);
        let service = Service { connections: 16, ..service(500, 0.05) };
        mixed.programs.extend(on(SOCKETS, vec![("service", Kind::Service(service))]).programs);
        let trace = run(&mixed, which);
        // 7.2 does not always look for work when a CPU runs out of it.
        let idle = trace.counters.idle.unwrap();
        assert!(idle.0 < trace.window.span().0 / 50, "{which:?}: {idle} of 16 CPUs");
        let three = run(&scenario(4, vec![("spin", hogs(3))]), which);
        assert_eq!(
            three.counters.idle,
            Some(three.window.span()),
            "{which:?}: one of four has none"
        );
    }
}

#[test]
fn a_cpu_that_falls_idle_pulls_what_waits_elsewhere() {
    for which in BOTH {
        let four = from_the_start(4, service(2_000, 0.8), vec![]);
        let pulls = |scenario: &Scenario| run(scenario, which).counters.pulls.unwrap();
        assert!(pulls(&four) > 300, "{which:?}");
        // At 5% hardly anything ever waits.
        let quiet = from_the_start(4, service(2_000, 0.05), vec![]);
        assert!(pulls(&quiet) < 10, "{which:?}");
    }
}

// ---- Beside real-time threads, and whatever comes ----

#[test]
fn a_local_client_makes_cfs_forget_waiting_threads_and_not_eevdf() {
    let calls = || vec![("calls", Kind::Service(service(2_000, 0.8)))];
    let elsewhere = scenario(4, calls());
    let mechanisms = Mechanisms { client_local: true, ..Mechanisms::default() };
    let beside = Scenario { mechanisms, ..scenario(4, calls()) };
    let pulls = |scenario, which| run(scenario, which).counters.pulls.expect("counted");
    let [few, many] = [&beside, &elsewhere].map(|scenario| pulls(scenario, Which::Cfs));
    assert!(3 * few < 2 * many, "{few} of {many}");
    assert!(few > 0, "ticks balance as before");
    assert_eq!(pulls(&beside, Which::Eevdf), pulls(&elsewhere, Which::Eevdf));
}

#[test]
fn hogs_below_a_realtime_service_share_the_rest() {
    let programs = vec![("service", Kind::Service(service(500, 0.6))), ("hogs", hogs(3))];
    let crowd = scenario(1, programs);
    for which in BOTH {
        let realtime = Some(rt::Kind::Fifo);
        let costs = Costs::EXACT;
        let trace = run_with(&Setup { realtime, costs, ..setup(&crowd) }, which);
        assert!(off(&trace, 0, 0.6) < 0.02 && off(&trace, 1, 0.4) < 0.02, "{which:?}");
        let last = &trace.usage.last().unwrap().cpu_time;
        let hog_times = last.iter().rev().take(3).map(|time| time.as_secs_f64());
        let spread = hog_times.clone().fold(0.0, f64::max) - hog_times.fold(f64::MAX, f64::min);
        assert!(spread < 0.05, "{which:?}: {spread}");
    }
}

fn machines() -> impl Strategy<Value = Machine> {
    (0..2u32, 0..3u32, 0..2u32, 0..2u32).prop_map(|(smt, cores, llcs, nodes)| {
        let (smt, cores, llcs, nodes) = (1 << smt, 1 << cores, 1 << llcs, 1 << nodes);
        Machine { cpus: smt * cores * llcs * nodes, smt, llcs: llcs * nodes, nodes }
    })
}

fn kinds() -> impl Strategy<Value = Kind> {
    let short = |us: u64| Nanos::from_micros(us);
    prop_oneof![
        (1..6u32).prop_map(hogs),
        (1..6u32, 50..9_000u64, 50..9_000u64).prop_map(move |(threads, run, sleep)| {
            Kind::Daemon { threads, run: short(run), sleep: short(sleep) }
        }),
        (1..6u32, 50..5_000u64).prop_map(move |(threads, work)| Kind::ForkJoin {
            threads,
            work: short(work),
            wait: Wait::Block
        }),
        (50..3_000u64, 1..60u32).prop_map(|(us, percent)| {
            Kind::Service(Service { connections: 8, ..service(us, f64::from(percent) / 100.0) })
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every nanosecond of every CPU goes to a thread or is idle, every spinning thread runs, and a second
    /// run is the same.
    #[test]
    fn nothing_is_lost(
        machine in machines(),
        programs in prop::collection::vec((kinds(), -5..=5i8, prop::option::of(0..3usize)), 1..5),
    ) {
        let mut mixed = on(machine, programs.iter().map(|(kind, ..)| ("p", kind.clone())).collect());
        mixed.groups = vec![group("a", None, 100), group("b", None, 30), group("a/c", Some(0), 300)];
        for (program, (_, nice, group)) in mixed.programs.iter_mut().zip(&programs) {
            (program.nice, program.group) = (*nice, *group);
        }
        mixed.duration = Nanos::from_millis(1_500);
        mixed.warm_up = Nanos::from_millis(300);
        for which in BOTH {
            let trace = run(&mixed, which);
            let used: u64 = (0..programs.len()).map(|program| cpu_time(&trace, program).0).sum();
            let idle = trace.counters.idle.unwrap().0;
            prop_assert_eq!(used + idle, trace.window.span().0 * u64::from(machine.cpus));
            let last = &trace.usage.last().unwrap().cpu_time;
            let starved = trace.threads.iter().zip(last).any(|(thread, time)| {
                matches!(programs[thread.program].0, Kind::Batch { .. }) && *time == Nanos::ZERO
            });
            prop_assert!(!starved, "{:?}", which);
            prop_assert!(run(&mixed, which) == trace, "{:?}: the same seed, another trace", which);
        }
    }
}

#[test]
fn costs_do_not_change_shares() {
    let two = scenario(1, vec![("a", hogs(1)), ("b", hogs(2))]);
    let free = run_with(&Setup { costs: Costs::NONE, ..setup(&two) }, Which::Eevdf);
    assert!(off(&free, 0, 1.0 / 3.0) < 0.002);
    assert!(off(&run(&two, Which::Eevdf), 0, 1.0 / 3.0) < 0.002);
}
