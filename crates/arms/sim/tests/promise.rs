//! Promises of groups: kept within a budget, and no other group below its floor.

mod common;

use common::{scenario, service, share};
use model::law::Law;
use model::scenario::{Architecture, Group, Kind, Machine, Program, Promise, Scenario, Service};
use model::{Nanos, PolicySpec, Silent, Trace};

/// Policies behind the seam that keep promises.
const POLICIES: [&str; 4] = ["rearguard", "cts", "vtime", "rearguard:pick=group"];

fn ms(span: u64) -> Nanos {
    Nanos::from_millis(span)
}

/// A promise in milliseconds, for at most so many percent of the machine.
fn promise(within_ms: u64, percent: u32) -> Promise {
    Promise {
        within: ms(within_ms),
        outliers_per_million: 1_000,
        at_most_per_million: percent * 10_000,
    }
}

/// Programs in a group of their own each, with its weight and its promise.
fn groups(cpus: u32, llcs: u32, rows: Vec<(Kind, u32, Option<Promise>)>) -> Scenario {
    let mut scenario = scenario(cpus, Vec::new());
    scenario.machine = Machine { cpus, llcs, ..Machine::ONE_CPU };
    for (at, (kind, weight, promise)) in rows.into_iter().enumerate() {
        let name = format!("g{at}");
        scenario.groups.push(Group { promise, ..Group::new(&name, None, weight) });
        scenario.programs.push(Program { group: Some(at), ..Program::new(&name, kind) });
    }
    scenario
}

fn batch(threads: u32) -> Kind {
    Kind::Batch { threads }
}

fn daemon(threads: u32, run_us: u64, sleep_us: u64) -> Kind {
    let (run, sleep) = (Nanos::from_micros(run_us), Nanos::from_micros(sleep_us));
    Kind::Daemon { threads, run, sleep }
}

/// Memcached over TCP and Nginx: a thread serves many connections (Tales section 4.3).
fn event_loops(workers: u32, service_us: u64, utilisation: f64) -> Kind {
    let architecture = Architecture::Partitioned { workers };
    Kind::Service(Service { architecture, ..service(service_us, utilisation) })
}

fn run(scenario: &Scenario, policy: &str) -> Trace {
    let policy = PolicySpec::parse(policy).expect("a policy");
    let run = sim::arm::run_on::<sim::events::Tournament>(scenario, &policy, 1, &Silent);
    run.unwrap_or_else(|failure| panic!("{policy}: {failure}")).trace
}

/// Latencies of the first program's requests in the window, in rising order.
fn latencies(trace: &Trace) -> Vec<Nanos> {
    let requests = trace.programs[0].requests.iter();
    let inside = requests.filter(|request| trace.window.contains(request.intended));
    let mut latencies: Vec<Nanos> =
        inside.map(|request| request.received.saturating_sub(request.intended)).collect();
    latencies.sort_unstable();
    latencies
}

fn p99_9(trace: &Trace) -> Nanos {
    let latencies = latencies(trace);
    latencies[latencies.len() * 999 / 1_000]
}

/// Of a million requests those that took longer.
fn outliers_per_million(trace: &Trace, than: Nanos) -> u32 {
    let latencies = latencies(trace);
    let late = latencies.iter().filter(|latency| **latency > than).count();
    (late * 1_000_000 / latencies.len()) as u32
}

/// As loaded, and with promises off: the control.
fn off(policy: &str) -> String {
    format!("{policy}:promises=off")
}

/// Tales' story (section 4.1): housekeeping, a monitor that has the CPU for 15 ms twice a second, and batch
/// work beside an event loop that wants more than its part.
fn event_loop_beside_daemons() -> Scenario {
    let mut case = groups(
        1,
        1,
        vec![(event_loops(1, 400, 0.6), 100, Some(promise(2, 80))), (batch(2), 100, None)],
    );
    case.programs.push(Program::new("housekeeping", daemon(8, 500, 199_000)));
    case.programs.push(Program::new("monitor", daemon(1, 15_000, 485_000)));
    case
}

#[test]
fn an_event_loop_beside_daemons_is_as_fast_as_under_real_time_priority() {
    let case = event_loop_beside_daemons();
    let fifo = run(&case, "fifo");
    for policy in POLICIES {
        let kept = run(&case, policy);
        let (own, realtime) = (p99_9(&kept), p99_9(&fifo));
        assert!(own.0 as f64 <= 1.1 * realtime.0 as f64, "{policy}: {own}, fifo {realtime}");
        // What the loop leaves is divided as ever: the daemons have what they want.
        for (program, wanted) in [(2, 0.02), (3, 0.03)] {
            let got = share(&kept, program);
            assert!(got >= 0.85 * wanted, "{policy}, program {program}: {got}");
        }
        let control = p99_9(&run(&case, &off(policy)));
        assert!(control > ms(500), "{policy}: {control} without");
    }
}

/// Sixteen threads a CPU wake at once beside a service.
#[test]
fn a_storm_of_wake_ups_does_not_delay_a_promised_service() {
    let service = Kind::Service(service(2_000, 0.4));
    let storm = Kind::Periodic { threads: 64, run: Nanos::from_micros(500), period: ms(50) };
    let case = groups(4, 1, vec![(service, 100, Some(promise(4, 80))), (storm, 100, None)]);
    let realtime = p99_9(&run(&case, "fifo")).0 as f64;
    for policy in POLICIES {
        let (own, control) = (p99_9(&run(&case, policy)).0 as f64, run(&case, &off(policy)));
        assert!(own <= 1.15 * realtime, "{policy}: {own}, fifo {realtime}");
        assert!(p99_9(&control).0 as f64 > 1.15 * realtime, "{policy}: the control");
    }
}

/// A promise of ten milliseconds is kept by threads that wait for half of it, not by putting them first.
#[test]
fn threads_are_urgent_once_they_are_old() {
    let mut case = event_loop_beside_daemons();
    case.groups[0].promise = Some(promise(10, 80));
    for policy in ["rearguard", "cts"] {
        let (kept, control) = (run(&case, policy), run(&case, &off(policy)));
        let late = outliers_per_million(&kept, ms(10));
        assert!(late <= 1_000, "{policy}: {late} in a million");
        assert!(outliers_per_million(&control, ms(10)) > 500_000, "{policy}: the control");
        // They were let wait: fewer switches than where each goes first.
        case.groups[0].promise = Some(promise(2, 80));
        let first = p99_9(&run(&case, policy));
        case.groups[0].promise = Some(promise(10, 80));
        assert!(p99_9(&kept).0 > 2 * first.0, "{policy}: {} and {first}", p99_9(&kept));
    }
}

/// Bursts that carry more than the CPU can serve meanwhile: no scheduler keeps 10 ms, and real-time priority
/// is no better.
#[test]
fn bursts_are_served_as_under_real_time_priority() {
    let arrival_law = Law::Mmpp { ratio: 4.0, share: 0.1, length: 100.0 };
    let bursty = Service { arrival_law, connections: 256, ..service(500, 0.4) };
    let rows = vec![(Kind::Service(bursty), 100, Some(promise(10, 95))), (batch(3), 100, None)];
    let case = groups(1, 1, rows);
    let realtime = p99_9(&run(&case, "fifo")).0 as f64;
    for policy in ["rearguard", "cts"] {
        let own = p99_9(&run(&case, policy)).0 as f64;
        let control = p99_9(&run(&case, &off(policy))).0 as f64;
        assert!(own <= 1.05 * realtime, "{policy}: {own}, fifo {realtime}");
        assert!(control > 1.5 * realtime, "{policy}: {control} without, fifo {realtime}");
    }
}

/// Tenants that abuse a promise of 60%: one spins, one forges tiny requests, one naps.
fn hostile(threads: u32) -> [Kind; 3] {
    [batch(2 * threads), daemon(16 * threads, 100, 100), daemon(16 * threads, 20_000, 1_000)]
}

#[test]
fn abuse_takes_the_budget_and_no_more() {
    for (cpus, llcs) in [(1, 1), (4, 1), (4, 2)] {
        for (kind, within_ms) in hostile(cpus).into_iter().zip([1, 1, 10]) {
            let rows = |promise| {
                let others = [300, 100].map(|weight| (batch(2 * cpus), weight, None));
                [(kind.clone(), 100, promise)].into_iter().chain(others).collect()
            };
            let case = groups(cpus, llcs, rows(Some(promise(within_ms, 60))));
            let plain = groups(cpus, llcs, rows(None));
            let all = f64::from(cpus);
            let taken = share(&run(&case, "rearguard"), 0) / all;
            let name = format!("{cpus} CPUs, {llcs} caches, {within_ms} ms, {kind:?}");
            assert!((0.59..=0.606).contains(&taken), "{name}: {taken}");
            let control = share(&run(&plain, "rearguard"), 0) / all;
            assert!(control < 0.25, "{name}: {control} without");
        }
    }
}

/// What a promised group leaves is divided by weights, to 1% of the machine's time.
#[test]
fn the_others_keep_their_shares_of_the_rest() {
    for (cpus, llcs) in [(1, 1), (4, 2)] {
        for kind in hostile(cpus) {
            let sleepers = daemon(8 * cpus, 3_000, 100);
            let rows = vec![
                (kind.clone(), 100, Some(promise(2, 60))),
                (batch(2 * cpus), 300, None),
                (sleepers, 100, None),
            ];
            let trace = run(&groups(cpus, llcs, rows), "rearguard");
            for (program, due) in [(1, 0.3), (2, 0.1)] {
                let got = share(&trace, program) / f64::from(cpus);
                assert!((got - due).abs() < 0.01, "{cpus}, {kind:?}, {program}: {got} of {due}");
            }
        }
    }
}

/// Two groups that always want more have their budgets, and the rest is left.
#[test]
fn two_promises_have_a_budget_each() {
    let rows = vec![
        (batch(8), 100, Some(promise(2, 50))),
        (daemon(8, 5_000, 1_000), 200, Some(promise(10, 40))),
        (batch(8), 100, None),
    ];
    let trace = run(&groups(2, 1, rows), "rearguard");
    for (program, due) in [(0, 0.5), (1, 0.4), (2, 0.1)] {
        let got = share(&trace, program) / 2.0;
        assert!((got - due).abs() < 0.01, "{program}: {got} of {due}");
    }
}

/// A group whose due is more than its budget has its due.
#[test]
fn a_small_budget_takes_nothing_from_what_is_due() {
    let rows = vec![(batch(2), 300, Some(promise(2, 10))), (batch(2), 100, None)];
    let got = share(&run(&groups(1, 1, rows), "rearguard"), 0);
    assert!((got - 0.75).abs() < 0.01, "{got}");
}

/// A spinner in the group of a service leaves half of the budget to those that serve.
#[test]
fn requests_go_before_what_computes_beside_them() {
    let served = Kind::Service(service(200, 0.2));
    let rows = vec![(served, 100, Some(promise(2, 50))), (batch(4), 400, None)];
    let mut case = groups(1, 1, rows);
    case.programs.push(Program { group: Some(0), ..Program::new("compacts", batch(1)) });
    let own = p99_9(&run(&case, "rearguard"));
    assert!(own < ms(2), "{own}");
    let control = p99_9(&run(&case, "rearguard:promises=off"));
    assert!(control > ms(100), "{control} without");
}

/// Nothing changes without a promise, and policies that cannot keep one run as if there were none.
#[test]
fn without_a_promise_nothing_changes() {
    let mut case = event_loop_beside_daemons();
    case.groups[0].promise = None;
    let plain = run(&case, "rearguard");
    assert_eq!(plain.programs, run(&case, "rearguard:promises=off").programs);
    let promised = event_loop_beside_daemons();
    assert_ne!(plain.programs, run(&promised, "rearguard").programs, "the control");
    for policy in ["gvts", "dwrr", "credit", "global", "eevdf"] {
        assert_eq!(run(&case, policy).programs, run(&promised, policy).programs, "{policy}");
    }
}
